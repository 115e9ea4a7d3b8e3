//! The exporter's metrics of itself: its build, its configuration and its process.

use prometheus::core::Collector;
use prometheus::proto::{MetricFamily, MetricType};
use prometheus::{Gauge, GaugeVec, IntCounter, IntGauge, Opts, Registry, TextEncoder};

use crate::expose::{FamilyMetadata, FamilyType, Format};
use crate::{build_info, clock};

/// The exporter's metrics of itself.
#[derive(Clone, Debug)]
pub struct SelfMetrics {
    registry: Registry,
    /// The metrics of the configuration.
    pub config: ReloadMetrics,
    /// The counter of panics.
    pub panics: IntCounter,
}

/// The metrics of a file that is reloaded while the exporter runs. Clones share the metrics.
#[derive(Clone, Debug)]
pub struct ReloadMetrics {
    successful: IntGauge,
    success: Gauge,
}

impl ReloadMetrics {
    /// Registers the metrics of a file that has just been loaded.
    fn register(registry: &Registry, [successful, success]: [&str; 2], file: &str) -> prometheus::Result<Self> {
        let successful = IntGauge::new(successful, format!("Whether the last attempt to load {file} succeeded."))?;
        let success = Gauge::new(success, format!("When {file} was last loaded."))?;
        registry.register(Box::new(successful.clone()))?;
        registry.register(Box::new(success.clone()))?;
        let metrics = Self { successful, success };
        metrics.succeeded();
        Ok(metrics)
    }

    /// Records that the file has been loaded.
    pub fn succeeded(&self) {
        self.successful.set(1);
        self.success.set(clock::unix_seconds());
    }

    /// Records that the file could not be loaded, so that its previous content stays in effect.
    pub fn failed(&self) {
        self.successful.set(0);
    }
}

/// The metrics of the web configuration. Clones share the metrics.
#[derive(Clone, Debug)]
pub struct WebConfigMetrics {
    reload: ReloadMetrics,
    /// A vector without labels, because the metric is absent without TLS.
    not_after: GaugeVec,
}

impl WebConfigMetrics {
    /// Records that the file has been loaded, and when the first of its certificates expires, if it has any.
    pub fn succeeded(&self, not_after: Option<f64>) {
        self.reload.succeeded();
        match not_after {
            Some(time) => self.not_after.with_label_values::<&str>(&[]).set(time),
            None => self.not_after.reset(),
        }
    }

    /// Records that the file could not be loaded, so that its previous content stays in effect.
    pub fn failed(&self) {
        self.reload.failed();
    }
}

impl SelfMetrics {
    /// The names of the metrics, except `process_*`. The metrics of the web configuration exist only if there is one, and
    /// that of the certificates only if there are any.
    pub const NAMES: [&'static str; 7] = [
        "lease_exporter_build_info",
        "lease_exporter_panics_total",
        "lease_exporter_config_last_reload_successful",
        "lease_exporter_config_last_reload_success_timestamp_seconds",
        "lease_exporter_web_config_last_reload_successful",
        "lease_exporter_web_config_last_reload_success_timestamp_seconds",
        "lease_exporter_web_certificate_not_after_timestamp_seconds",
    ];

    /// The metrics of an exporter whose configuration has just been loaded.
    ///
    /// # Errors
    /// If two metrics have the same name, which is a bug.
    pub fn new() -> prometheus::Result<Self> {
        let [build, panics, successful, success, ..] = Self::NAMES;
        let registry = Registry::new();
        let mut build = Opts::new(build, "What this exporter was built from and with; always 1.");
        for (label, value) in [
            ("branch", build_info::BRANCH),
            ("revision", build_info::REVISION),
            ("rustc", build_info::RUSTC),
            ("target", build_info::TARGET),
            ("version", build_info::VERSION),
        ] {
            build = build.const_label(label, value);
        }
        let build = IntGauge::with_opts(build)?;
        build.set(1);
        let panics = IntCounter::new(panics, "Panics, each of which ended one request or one reading. Any is a bug.")?;
        let collectors: [Box<dyn Collector>; 3] = [
            Box::new(build),
            Box::new(panics.clone()),
            Box::new(prometheus::process_collector::ProcessCollector::for_self()),
        ];
        for collector in collectors {
            registry.register(collector)?;
        }
        let config = ReloadMetrics::register(&registry, [successful, success], "the configuration")?;
        Ok(Self { registry, config, panics })
    }

    /// Registers the metrics of the web configuration, which has just been loaded.
    ///
    /// # Errors
    /// If they are registered already.
    pub fn web_config(&self) -> prometheus::Result<WebConfigMetrics> {
        let [.., successful, success, not_after] = Self::NAMES;
        let help = "When the first of the certificates that the exporter presents runs out.";
        let not_after = GaugeVec::new(Opts::new(not_after, help), &[])?;
        self.registry.register(Box::new(not_after.clone()))?;
        let reload = ReloadMetrics::register(&self.registry, [successful, success], "the web configuration")?;
        Ok(WebConfigMetrics { reload, not_after })
    }

    /// The metrics in an exposition format.
    #[must_use]
    pub fn text(&self, format: Format) -> String {
        self.registry.gather().iter().map(|family| text(family, format)).collect()
    }
}

fn text(family: &MetricFamily, format: Format) -> String {
    let name = family.name();
    let family_type = match family.get_field_type() {
        MetricType::COUNTER => FamilyType::Counter,
        _ if name.ends_with("_info") => FamilyType::Info,
        _ => FamilyType::Gauge,
    };
    let named = name.strip_suffix("_total").unwrap_or(name);
    let unit = ["seconds", "bytes"].into_iter().find(|unit| named.ends_with(&format!("_{unit}")));
    let mut text = FamilyMetadata { name, help: family.help(), family_type, unit }.header(format);
    // Encoding fails only for a family without samples, which the registry does not return.
    let encoded = TextEncoder::new().encode_to_string(std::slice::from_ref(family)).unwrap_or_default();
    // The encoder's headers are those of text format 0.0.4, whatever the format.
    text.extend(encoded.split_inclusive('\n').filter(|line| !line.starts_with('#')));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_an_absent_file_are_absent_and_a_failed_reload_keeps_the_time_of_success() {
        let metrics = SelfMetrics::new().unwrap();
        let value = |name: &str| {
            let text = metrics.text(Format::Text);
            text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).map(|value| value.parse().unwrap())
        };
        let [.., successful, success, not_after] = SelfMetrics::NAMES;
        assert_eq!((value(successful), value(success)), (None, None::<f64>));
        let web = metrics.web_config().unwrap();
        let loaded = value(success);
        assert_eq!(value(successful), Some(1.0));
        assert!(loaded.is_some_and(|time| time > 1e9), "{loaded:?}");
        web.failed();
        assert_eq!((value(successful), value(success)), (Some(0.0), loaded));
        assert_eq!(value(SelfMetrics::NAMES[2]), Some(1.0), "the other file is not affected");
        assert_eq!(value(not_after), None, "without TLS there is no certificate");
        web.succeeded(Some(2e9));
        assert_eq!((value(successful), value(not_after)), (Some(1.0), Some(2e9)));
        web.failed();
        assert_eq!(value(not_after), Some(2e9), "the certificate is still in use");
        web.succeeded(None);
        assert_eq!(value(not_after), None);
        assert!(metrics.web_config().is_err(), "they are registered already");
    }

    #[test]
    fn both_formats_have_the_same_samples_and_their_own_headers() {
        let metrics = SelfMetrics::new().unwrap();
        let samples = |format| -> Vec<String> {
            let text = metrics.text(format);
            let samples = text.lines().filter(|line| !line.starts_with('#'));
            samples.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(samples(Format::Text), samples(Format::OpenMetrics));
        assert!(samples(Format::Text).len() > SelfMetrics::NAMES.len());
        for (format, lines) in [
            (
                Format::Text,
                ["# TYPE lease_exporter_build_info gauge\n", "# TYPE process_cpu_seconds_total counter\n"].as_slice(),
            ),
            (
                Format::OpenMetrics,
                &[
                    "# TYPE lease_exporter_build info\n",
                    "# TYPE process_cpu_seconds counter\n# UNIT process_cpu_seconds seconds\n",
                    "# UNIT process_resident_memory_bytes bytes\n",
                    "# UNIT lease_exporter_config_last_reload_success_timestamp_seconds seconds\n",
                    "# TYPE process_open_fds gauge\nprocess_open_fds ",
                ],
            ),
        ] {
            let text = metrics.text(format);
            let heads: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
            assert_eq!(heads.iter().collect::<std::collections::BTreeSet<_>>().len(), heads.len(), "{text}");
            for line in lines {
                assert!(text.contains(line), "{format:?} {line}\n{text}");
            }
        }
    }
}
