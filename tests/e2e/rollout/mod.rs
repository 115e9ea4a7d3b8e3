//! From the exporter to whoever is told: the files that are shipped, in a real Prometheus and a real Alertmanager.

mod cleanup;
mod compose;
mod image;
mod inhibition;
mod local;
mod options;
mod paging;
mod shipped;
mod test_stack;
