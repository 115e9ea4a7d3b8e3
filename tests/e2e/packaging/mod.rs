//! How the exporter is started by systemd.

mod notify;
mod passed;
mod socket;
