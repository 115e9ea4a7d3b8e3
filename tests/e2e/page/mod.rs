//! The status page, in a real browser.

mod browser;
mod change;
mod people;
mod slow;
mod stage;
mod states;
