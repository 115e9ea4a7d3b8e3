//! Content negotiation: the format of the metrics by `Accept`, and compression by `Accept-Encoding`.

use std::cmp::Reverse;

use hyper::HeaderMap;
use hyper::header::{ACCEPT, ACCEPT_ENCODING};

use super::accept_header::{Member, Quality, members};
use crate::expose::{Encoding, Format};

/// The format that the client prefers, with its media type: by quality, then by how exactly it is named, then by order. A client that accepts
/// neither format gets text format 0.0.4, as from other exporters, and never an error.
pub(super) fn metrics_format(headers: &HeaderMap) -> (Format, &'static str) {
    let members = members(headers, &ACCEPT).unwrap_or_default();
    let preferences = Format::ALL.into_iter().filter_map(|format| Some((preference(&members, format)?, format)));
    match preferences.max_by_key(|(preference, format)| (*preference, *format == Format::Text)) {
        Some((Preference { position: Reverse(at), .. }, format @ Format::OpenMetrics)) => {
            (format, open_metrics(&members[at]))
        }
        _ => (Format::Text, Format::Text.content_type()),
    }
}

/// Repeats the `escaping` parameter of Prometheus 3, as it requires. The names of the exporter need no escaping, so the text
/// is the same for every value.
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

/// How much a client prefers a format, compared field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Preference {
    quality: Quality,
    specificity: Specificity,
    position: Reverse<usize>,
}

/// How exactly a member of the list names a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    /// `*/*`
    Any,
    /// `text/*`
    Type,
    /// A media type without a version.
    Subtype,
    Version,
}

/// The preference by the member that names the format most exactly; of several, the first. `None` if its quality is 0.
fn preference(members: &[Member], format: Format) -> Option<Preference> {
    let matching = members.iter().enumerate().filter_map(|(at, member)| {
        let specificity = specificity(member, format)?;
        Some(Preference { quality: member.quality, specificity, position: Reverse(at) })
    });
    let most_specific = matching.max_by_key(|preference| (preference.specificity, preference.position));
    most_specific.filter(|preference| preference.quality > 0)
}

/// `None` if the member does not match the format.
fn specificity(member: &Member, format: Format) -> Option<Specificity> {
    let (any_subtype, media_type, version) = match format {
        Format::Text => ("text/*", "text/plain", "0.0.4"),
        Format::OpenMetrics => ("application/*", "application/openmetrics-text", "1.0.0"),
    };
    let mut specificity = match &*member.name {
        "*/*" | "*" => Specificity::Any,
        name if name == any_subtype => Specificity::Type,
        name if name == media_type => Specificity::Subtype,
        _ => return None,
    };
    for (parameter, value) in &member.parameters {
        match &**parameter {
            "version" if value == version => specificity = specificity.max(Specificity::Version),
            "charset" if value.eq_ignore_ascii_case("utf-8") => {}
            "version" | "charset" => return None,
            // Unknown parameters, such as `escaping`, are ignored.
            _ => {}
        }
    }
    Some(specificity)
}

/// gzip if the client accepts it and does not prefer the uncompressed response. A client that refuses both gets the
/// uncompressed response.
pub(super) fn encoding(headers: &HeaderMap) -> Encoding {
    let Some(members) = members(headers, &ACCEPT_ENCODING) else { return Encoding::Identity };
    let quality_of =
        |names: &[&str]| members.iter().find(|member| names.contains(&&*member.name)).map(|member| member.quality);
    let any = quality_of(&["*"]);
    let gzip = quality_of(&["gzip", "x-gzip"]).or(any).unwrap_or(0);
    // `identity` is acceptable unless it is refused by name, or by `*;q=0`.
    let identity = quality_of(&["identity"]).or(any.filter(|any| *any == 0));
    match identity {
        _ if gzip == 0 => Encoding::Identity,
        Some(0) => Encoding::GzipRequired,
        Some(identity) if identity > gzip => Encoding::Identity,
        Some(_) | None => Encoding::Gzip,
    }
}

#[cfg(test)]
mod tests;
