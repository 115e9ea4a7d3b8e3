//! lease-exporter: tells lease authority and work progress apart, and says `unknown` when it cannot know.
#![forbid(unsafe_code)]

pub mod build_info;
pub mod clock;
pub mod command;
pub mod config;
pub mod diagnostic;
mod duration;
pub mod expose;
pub mod file;
#[cfg(test)]
mod fixtures;
pub mod history;
pub mod lease;
pub mod log;
pub mod observer;
pub mod panics;
pub mod preset;
pub mod self_metrics;
pub mod store;
mod suggestion;
#[cfg(test)]
mod testing;
pub mod web;
mod wildcard;
mod yaml;
