//! Output in a terminal, and output elsewhere.

mod progress;
mod watch;
mod watch_piped;
