//! lease-exporter: tells lease authority and work progress apart, and says `unknown` when it cannot know.
//!
//! Data flows one way: a [`store`] reads, the tracker of [`lease`] relates readings, its judge decides, and [`expose`]
//! renders the snapshot.
//!
//! - [`command`] runs one command. [`config`] turns the YAML file into sources and policies; [`preset`] has the layouts of
//!   known schedulers.
//! - [`observer`] reads the sources and shares their readings. [`history`] keeps changes of state and gaps.
//! - [`web`] serves the renderings over HTTP. [`log`] writes log lines, and [`self_metrics`] counts what the exporter does.
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
