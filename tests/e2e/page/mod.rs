//! The status page, in a real browser.

mod accessibility;
mod browser;
mod fixture;
mod live_updates;
mod slow_source;
mod states;
