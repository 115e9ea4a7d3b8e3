//! The exporter's own metrics: its build, its configuration, its process.

use prometheus::core::Collector;
use prometheus::proto::{MetricFamily, MetricType};
use prometheus::{Gauge, GaugeVec, IntCounter, IntGauge, Opts, Registry, TextEncoder};

use crate::expose::{FamilyMetadata, FamilyType, Format};
use crate::{build_info, clock};

/// The exporter's own metrics.
#[derive(Clone, Debug)]
pub struct SelfMetrics {
    registry: Registry,
    config: Loads,
    panics: IntCounter,
}

/// What is told of a file that is loaded again while the exporter runs. A clone tells of the same.
#[derive(Clone, Debug)]
pub struct Loads {
    successful: IntGauge,
    success: Gauge,
}

impl Loads {
    /// Of a file that has just been loaded.
    fn of(registry: &Registry, [successful, success]: [&str; 2], file: &str) -> prometheus::Result<Self> {
        let successful = IntGauge::new(successful, format!("Whether the last attempt to load {file} succeeded."))?;
        let success = Gauge::new(success, format!("When {file} was last loaded."))?;
        registry.register(Box::new(successful.clone()))?;
        registry.register(Box::new(success.clone()))?;
        let loads = Self { successful, success };
        loads.succeeded();
        Ok(loads)
    }

    /// Notes that the file was loaded now.
    pub fn succeeded(&self) {
        self.successful.set(1);
        self.success.set(clock::unix_seconds());
    }

    /// Notes that the file could not be loaded now, so that what was loaded before stays.
    pub fn failed(&self) {
        self.successful.set(0);
    }
}

/// What is told of the web configuration. A clone tells of the same.
#[derive(Clone, Debug)]
pub struct WebLoads {
    loads: Loads,
    /// Without labels; a vector because without TLS there is nothing to tell.
    not_after: GaugeVec,
}

impl WebLoads {
    fn of(registry: &Registry, [successful, success, not_after]: [&str; 3]) -> prometheus::Result<Self> {
        let help = "When the first of the certificates that the exporter presents runs out.";
        let not_after = GaugeVec::new(Opts::new(not_after, help), &[])?;
        registry.register(Box::new(not_after.clone()))?;
        Ok(Self { loads: Loads::of(registry, [successful, success], "the web configuration")?, not_after })
    }

    /// Notes that the file was loaded now, and when the first of its certificates runs out, if it has any.
    pub fn succeeded(&self, not_after: Option<f64>) {
        self.loads.succeeded();
        match not_after {
            Some(time) => self.not_after.with_label_values::<&str>(&[]).set(time),
            None => self.not_after.reset(),
        }
    }

    /// Notes that the file could not be loaded now, so that what was loaded before stays.
    pub fn failed(&self) {
        self.loads.failed();
    }
}

impl SelfMetrics {
    /// The names of its metrics, but for `process_*`. Those of the web configuration are there if there is one, and
    /// that of its certificates if it has any.
    pub const NAMES: [&'static str; 7] = [
        "lease_exporter_build_info",
        "lease_exporter_panics_total",
        "lease_exporter_config_last_reload_successful",
        "lease_exporter_config_last_reload_success_timestamp_seconds",
        "lease_exporter_web_config_last_reload_successful",
        "lease_exporter_web_config_last_reload_success_timestamp_seconds",
        "lease_exporter_web_certificate_not_after_timestamp_seconds",
    ];

    /// Metrics of an exporter whose configuration has just been loaded.
    ///
    /// # Errors
    /// Never in practice: when two metrics have one name.
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
        let config = Loads::of(&registry, [successful, success], "the configuration")?;
        Ok(Self { registry, config, panics })
    }

    /// What is told of the configuration.
    #[must_use]
    pub const fn config(&self) -> &Loads {
        &self.config
    }

    /// What is told of the web configuration from now on, which has just been loaded.
    ///
    /// # Errors
    /// When this was asked for before.
    pub fn web_config(&self) -> prometheus::Result<WebLoads> {
        let [.., successful, success, not_after] = Self::NAMES;
        WebLoads::of(&self.registry, [successful, success, not_after])
    }

    /// What counts panics.
    #[must_use]
    pub fn panics(&self) -> IntCounter {
        self.panics.clone()
    }

    /// Its metrics in one of the formats.
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
    // Only a family without samples cannot be encoded, and none of these is.
    let encoded = TextEncoder::new().encode_to_string(std::slice::from_ref(family)).unwrap_or_default();
    // Its own headers are of text format 0.0.4.
    text.extend(encoded.split_inclusive('\n').filter(|line| !line.starts_with('#')));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_told_nothing_of_and_one_that_was_refused_keeps_its_time() {
        let own = SelfMetrics::new().unwrap();
        let told = |name: &str| {
            let text = own.text(Format::Text);
            text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).map(|value| value.parse().unwrap())
        };
        let [.., successful, success, not_after] = SelfMetrics::NAMES;
        assert_eq!((told(successful), told(success)), (None, None::<f64>));
        let loads = own.web_config().unwrap();
        let loaded = told(success);
        assert_eq!(told(successful), Some(1.0));
        assert!(loaded.is_some_and(|time| time > 1e9), "{loaded:?}");
        loads.failed();
        assert_eq!((told(successful), told(success)), (Some(0.0), loaded));
        assert_eq!(told(SelfMetrics::NAMES[2]), Some(1.0), "the other file is not meant");
        assert_eq!(told(not_after), None, "without TLS there is no certificate");
        loads.succeeded(Some(2e9));
        assert_eq!((told(successful), told(not_after)), (Some(1.0), Some(2e9)));
        loads.failed();
        assert_eq!(told(not_after), Some(2e9), "it is still presented");
        loads.succeeded(None);
        assert_eq!(told(not_after), None);
        assert!(own.web_config().is_err(), "two would tell of one");
    }

    #[test]
    fn both_formats_have_the_same_samples_and_the_headers_of_their_own() {
        let own = SelfMetrics::new().unwrap();
        let samples = |format| -> Vec<String> {
            let text = own.text(format);
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
            let text = own.text(format);
            let heads: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
            assert_eq!(heads.iter().collect::<std::collections::BTreeSet<_>>().len(), heads.len(), "{text}");
            for line in lines {
                assert!(text.contains(line), "{format:?} {line}\n{text}");
            }
        }
    }
}
