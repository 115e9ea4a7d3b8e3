//! lease-exporter: tells lease authority and work progress apart, and says `unknown` when it cannot know.
#![forbid(unsafe_code)]

pub mod clock;
pub mod expose;
pub mod lease;
pub mod observer;
pub mod web;
