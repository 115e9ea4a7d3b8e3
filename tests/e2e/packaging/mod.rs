//! Packaging, releases and systemd.

mod debian;
mod filter;
mod notify;
mod passed_socket;
mod publication;
mod release;
mod sandbox;
mod socket;
mod unit;
mod units;
mod workflows;
