//! From the exporter to whoever is told: the files that are shipped, in a real Prometheus and a real Alertmanager.

mod compose;
mod image;
mod inhibition;
mod leftovers;
mod local;
mod options;
mod servers_themselves;
mod shipped;
mod story;
