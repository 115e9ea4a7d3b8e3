//! lease-exporter: tells lease authority and work progress apart, and says `unknown` when it cannot know.
#![forbid(unsafe_code)]

pub mod clock;
pub mod config;
pub mod lease;
pub mod preset;
