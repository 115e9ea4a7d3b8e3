//! A strict parser of the Prometheus text format.

use std::collections::BTreeMap;

use crate::exposition;

/// One scrape.
pub(crate) struct Metrics {
    text: String,
    samples: Vec<Sample>,
}

/// The name and labels of a sample.
pub(crate) type Series = (String, BTreeMap<String, String>);

struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: String,
}

impl Metrics {
    /// Parses a scrape.
    pub(crate) fn parse(text: &str) -> Self {
        let samples = exposition::samples(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let sample =
            |exposition::Sample { name, labels, value }| Sample { name, labels: labels.into_iter().collect(), value };
        Self { text: text.to_owned(), samples: samples.into_iter().map(sample).collect() }
    }

    /// The text of the scrape.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The names and labels of all samples. Panics if one occurs twice.
    pub(crate) fn series(&self) -> impl Iterator<Item = Series> {
        let series: std::collections::BTreeSet<Series> =
            self.samples.iter().map(|sample| (sample.name.clone(), sample.labels.clone())).collect();
        assert_eq!(series.len(), self.samples.len(), "a series twice:\n{}", self.text);
        series.into_iter()
    }

    /// The text of the value of the only sample with all these labels.
    pub(crate) fn text_of(&self, name: &str, labels: &[(&str, &str)]) -> Option<&str> {
        let fits = |sample: &&Sample| {
            sample.name == name
                && labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|have| have == value))
        };
        let mut fitting = self.samples.iter().filter(fits);
        let first = fitting.next();
        assert!(fitting.next().is_none(), "several samples {name} {labels:?}");
        first.map(|sample| sample.value.as_str())
    }

    /// The value of the only sample with all these labels.
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.text_of(name, labels).map(|value| value.parse().unwrap())
    }

    /// A value of a lease.
    pub(crate) fn of(&self, name: &str, source: &str, lease: &str) -> Option<f64> {
        self.value(name, &[("source", source), ("lease", lease)])
    }

    /// A value of a lease. Panics if there is none.
    pub(crate) fn known(&self, name: &str, source: &str, lease: &str) -> f64 {
        self.of(name, source, lease).unwrap_or_else(|| panic!("no {name} of {lease}:\n{}", self.text))
    }

    /// A value of a source.
    pub(crate) fn source(&self, name: &str, source: &str) -> Option<f64> {
        self.value(name, &[("source", source)])
    }

    /// A counter of a source, by its reason.
    pub(crate) fn counted(&self, name: &str, source: &str, reason: &str) -> f64 {
        self.value(name, &[("source", source), ("reason", reason)]).unwrap()
    }

    /// The state and the reason of a lease, or `None` without rows. Panics unless exactly one state row is 1.
    pub(crate) fn says(&self, source: &str, lease: &str) -> Option<(&str, &str)> {
        let of_lease = |name: &str| {
            let is_of = move |sample: &&Sample, label: &str, value: &str| {
                sample.labels.get(label).is_some_and(|have| have == value)
            };
            let name = name.to_owned();
            self.samples.iter().filter(move |sample| {
                sample.name == name && is_of(sample, "source", source) && is_of(sample, "lease", lease)
            })
        };
        of_lease("lease_state").next()?;
        let mut values = BTreeMap::new();
        for set in ["lease_state", "lease_authority_state", "lease_progress_state"] {
            let current: Vec<_> = of_lease(set).filter(|sample| sample.value == "1").collect();
            assert_eq!(current.len(), 1, "{set} of {lease} has not exactly one state:\n{}", self.text);
            assert!(of_lease(set).all(|sample| ["0", "1"].contains(&sample.value.as_str())));
            values.insert(set, current[0].labels["state"].as_str());
        }
        let reasons: Vec<_> = of_lease("lease_state_reason").collect();
        assert_eq!(reasons.len(), 1, "{lease} has not exactly one reason:\n{}", self.text);
        Some((values["lease_state"], reasons[0].labels["reason"].as_str()))
    }

    /// The names of the leases of a source, in the order of the scrape.
    pub(crate) fn leases(&self, source: &str) -> Vec<&str> {
        let reasons = self.samples.iter().filter(|sample| sample.name == "lease_state_reason");
        reasons
            .filter(|sample| sample.labels["source"] == source)
            .map(|sample| sample.labels["lease"].as_str())
            .collect()
    }
}
