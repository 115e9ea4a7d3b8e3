//! What a person sees in a terminal, and what goes elsewhere.

mod progress;
mod watch;
mod watch_piped;
