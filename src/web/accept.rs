//! In which format a client wants the metrics: `Accept`.

use std::cmp::Reverse;

use hyper::HeaderMap;
use hyper::header::ACCEPT;

use super::quality::{Member, Quality, members};
use crate::expose::Format;

/// A format, and what to call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) format: Format,
    pub(super) content_type: &'static str,
}

/// The format that is wanted most; where that leaves a choice, the one that was named more exactly, then earlier. Who
/// wants neither, or says nothing, gets text format 0.0.4, which everything reads: never an error.
pub(super) fn accepted(headers: &HeaderMap) -> Accepted {
    let members = members(headers, &ACCEPT).unwrap_or_default();
    let wanted = Format::ALL.into_iter().filter_map(|format| Some((wanted(&members, format)?, format)));
    match wanted.max_by_key(|(wanted, format)| (*wanted, *format == Format::Text)) {
        Some((Wanted { place: Reverse(place), .. }, Format::OpenMetrics)) => {
            let format = Format::OpenMetrics;
            Accepted { format, content_type: open_metrics(&members[place]) }
        }
        _ => Accepted { format: Format::Text, content_type: Format::Text.content_type() },
    }
}

/// Prometheus 3 says how names are to be escaped that an earlier one could not read, and wants that said back. No name
/// here needs it, so the text is right whatever it says.
fn open_metrics(member: &Member) -> &'static str {
    let escaping = member.parameters.iter().find(|(name, _)| name == "escaping").map(|(_, value)| &**value);
    match escaping {
        Some("allow-utf-8") => "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=allow-utf-8",
        Some("underscores") => "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
        Some("dots") => "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=dots",
        Some("values") => "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=values",
        _ => Format::OpenMetrics.content_type(),
    }
}

/// How much a format is wanted, compared member by member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    quality: Quality,
    fit: Fit,
    place: Reverse<usize>,
}

/// How exactly a member names a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Anything,
    /// `text/*`
    Kind,
    /// Without a version.
    Name,
    Version,
}

/// What the member says that fits a format most exactly; of several, the first. Nothing, if that is a refusal.
fn wanted(members: &[Member], format: Format) -> Option<Wanted> {
    let fitting = members.iter().enumerate().filter_map(|(place, member)| {
        let place = Reverse(place);
        Some(Wanted { quality: member.quality, fit: fit(member, format)?, place })
    });
    fitting.max_by_key(|wanted| (wanted.fit, wanted.place)).filter(|wanted| wanted.quality > 0)
}

fn fit(member: &Member, format: Format) -> Option<Fit> {
    let (kind, name, version) = match format {
        Format::Text => ("text/*", "text/plain", "0.0.4"),
        Format::OpenMetrics => ("application/*", "application/openmetrics-text", "1.0.0"),
    };
    let mut fit = match &*member.name {
        "*/*" | "*" => Fit::Anything,
        other if other == kind => Fit::Kind,
        other if other == name => Fit::Name,
        _ => return None,
    };
    for (parameter, value) in &member.parameters {
        match &**parameter {
            "version" if value == version => fit = fit.max(Fit::Version),
            "charset" if value.eq_ignore_ascii_case("utf-8") => {}
            "version" | "charset" => return None,
            // `escaping`, and whatever else there may come to be.
            _ => {}
        }
    }
    Some(fit)
}

#[cfg(test)]
mod tests;
