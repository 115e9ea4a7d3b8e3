//! The two text formats of the metrics. They differ in the header of a family and in the end of the text.
//!
//! Sample lines are the same bytes in both formats, so that Prometheus stores the same series from either. State sets are
//! therefore gauges in OpenMetrics too: its `stateset` requires a label with the name of the family, as in
//! `lease_state{lease_state="active"}`.

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Text, Self::OpenMetrics];

    /// The content type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The text that ends an exposition. OpenMetrics treats a text without it as truncated.
    #[must_use]
    pub const fn end(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::OpenMetrics => "# EOF\n",
        }
    }
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyType {
    /// A number that can go up and down.
    Gauge,
    /// A number that only grows. The name of its samples ends in `_total`.
    Counter,
    /// Text in a label; the value is always 1. The name of its samples ends in `_info`.
    Info,
}

/// The metadata of a family, which precedes its samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FamilyMetadata<'a> {
    /// The name of its samples.
    pub(crate) name: &'a str,
    pub(crate) help: &'a str,
    pub(crate) family_type: FamilyType,
    pub(crate) unit: Option<&'a str>,
}

impl FamilyMetadata<'_> {
    /// The `# HELP`, `# TYPE` and `# UNIT` lines.
    pub(crate) fn header(self, format: Format) -> String {
        let Self { name, help, family_type, unit } = self;
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        match format {
            Format::Text => {
                let family_type = if family_type == FamilyType::Counter { "counter" } else { "gauge" };
                format!("# HELP {name} {help}\n# TYPE {name} {family_type}\n")
            }
            Format::OpenMetrics => {
                let (family_type, suffix) = match family_type {
                    FamilyType::Gauge => ("gauge", ""),
                    FamilyType::Counter => ("counter", "_total"),
                    FamilyType::Info => ("info", "_info"),
                };
                let name = name.strip_suffix(suffix).unwrap_or(name);
                let help = help.replace('"', "\\\"");
                let unit = unit.map(|unit| format!("# UNIT {name} {unit}\n")).unwrap_or_default();
                format!("# HELP {name} {help}\n# TYPE {name} {family_type}\n{unit}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_escapes_and_types_of_its_format() {
        let of = |name, family_type, unit| FamilyMetadata { name, help: "A \"b\"\\\nc.", family_type, unit };
        for (description, text, open_metrics) in [
            (
                of("a_seconds", FamilyType::Gauge, Some("seconds")),
                "# HELP a_seconds A \"b\"\\\\\\nc.\n# TYPE a_seconds gauge\n",
                "# HELP a_seconds A \\\"b\\\"\\\\\\nc.\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n",
            ),
            (
                of("a_seconds_total", FamilyType::Counter, Some("seconds")),
                "# HELP a_seconds_total A \"b\"\\\\\\nc.\n# TYPE a_seconds_total counter\n",
                "# HELP a_seconds A \\\"b\\\"\\\\\\nc.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n",
            ),
            (
                of("a_info", FamilyType::Info, None),
                "# HELP a_info A \"b\"\\\\\\nc.\n# TYPE a_info gauge\n",
                "# HELP a A \\\"b\\\"\\\\\\nc.\n# TYPE a info\n",
            ),
        ] {
            assert_eq!(description.header(Format::Text), text);
            assert_eq!(description.header(Format::OpenMetrics), open_metrics);
        }
    }
}
