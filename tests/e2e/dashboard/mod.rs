//! The Grafana dashboard that is shipped: what its file says, and what a real Prometheus answers to its queries.
//!
//! No Grafana server is to be had where the tests run, so what Grafana would do before it asks is restated here, as
//! little of it as the queries need.

mod answers;
mod document;
mod environment;
mod form;
mod grafana;
mod names;
mod replicas;
