//! Sets and counts of anomalies.

use super::label::Anomaly;

/// The anomalies of one lease at one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnomalySet(u8);

impl AnomalySet {
    /// Adds an anomaly if `occurred`.
    pub(super) const fn insert_if(&mut self, anomaly: Anomaly, occurred: bool) {
        self.0 |= (occurred as u8) << anomaly as u8;
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Anomaly> {
        Anomaly::ALL.into_iter().filter(move |anomaly| self.0 & (1 << *anomaly as u8) != 0)
    }
}

/// How often each anomaly of a lease has occurred since the exporter started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnomalyCounts([u32; Anomaly::ALL.len()]);

impl AnomalyCounts {
    /// The count of one anomaly.
    #[must_use]
    pub fn get(&self, anomaly: Anomaly) -> u64 {
        self.0[anomaly as usize].into()
    }

    /// The anomalies that have occurred, with their counts.
    pub fn noticed(&self) -> impl Iterator<Item = (Anomaly, u64)> {
        Anomaly::ALL.into_iter().map(|anomaly| (anomaly, self.get(anomaly))).filter(|(_, count)| *count > 0)
    }

    /// Adds one to the count of an anomaly.
    pub const fn increment(&mut self, anomaly: Anomaly) {
        self.0[anomaly as usize] = self.0[anomaly as usize].saturating_add(1);
    }
}
