//! The exporter's own metrics: its build, its configuration, its process.

use prometheus::core::Collector;
use prometheus::{Gauge, IntGauge, Opts, Registry, TextEncoder};

use crate::clock;

/// The exporter's own metrics.
#[derive(Clone, Debug)]
pub struct Own {
    registry: Registry,
    last_reload_successful: IntGauge,
    last_reload_success: Gauge,
}

impl Own {
    /// The names of its metrics, but for `process_*`.
    pub const NAMES: [&'static str; 3] = [
        "lease_exporter_build_info",
        "lease_exporter_config_last_reload_successful",
        "lease_exporter_config_last_reload_success_timestamp_seconds",
    ];

    /// Metrics of an exporter whose configuration has just been loaded.
    ///
    /// # Errors
    /// Never in practice: when two metrics have one name.
    pub fn new() -> prometheus::Result<Self> {
        let [build_info, successful, success_timestamp] = Self::NAMES;
        let registry = Registry::new();
        let build = Opts::new(build_info, "The build of this exporter; always 1.")
            .const_label("version", env!("CARGO_PKG_VERSION"));
        let build = IntGauge::with_opts(build)?;
        build.set(1);
        let last_reload_successful =
            IntGauge::new(successful, "Whether the last attempt to load the configuration succeeded.")?;
        let last_reload_success = Gauge::new(success_timestamp, "When the configuration was last loaded.")?;
        let collectors: [Box<dyn Collector>; 4] = [
            Box::new(build),
            Box::new(last_reload_successful.clone()),
            Box::new(last_reload_success.clone()),
            Box::new(prometheus::process_collector::ProcessCollector::for_self()),
        ];
        for collector in collectors {
            registry.register(collector)?;
        }
        let own = Self { registry, last_reload_successful, last_reload_success };
        own.loaded();
        Ok(own)
    }

    /// Notes that the configuration was loaded now.
    pub fn loaded(&self) {
        self.last_reload_successful.set(1);
        self.last_reload_success.set(clock::unix_seconds());
    }

    /// Notes that the configuration could not be loaded now, so that the one before stays.
    pub fn not_loaded(&self) {
        self.last_reload_successful.set(0);
    }

    /// Its metrics as text format 0.0.4.
    #[must_use]
    pub fn text(&self) -> String {
        // Only a family without samples cannot be encoded, and none of these is.
        TextEncoder::new().encode_to_string(&self.registry.gather()).unwrap_or_default()
    }
}
