//! TLS versions, cipher suites and curves, by their names in Go's `crypto/tls`.

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::{NamedGroup, SupportedCipherSuite, SupportedProtocolVersion, version};

use super::problem::{Problem, Problems};
use super::raw::{RawTls, Text, non_blank};
use crate::diagnostic::QuotedValue;

const CURVES: [(&str, NamedGroup); 3] =
    [("CurveP256", NamedGroup::secp256r1), ("CurveP384", NamedGroup::secp384r1), ("X25519", NamedGroup::X25519)];

pub(super) fn versions(tls: &RawTls, problems: &mut Problems) -> Vec<&'static SupportedProtocolVersion> {
    let min = parse_version("min_version", &tls.min_version, problems).unwrap_or(&version::TLS12);
    let max = parse_version("max_version", &tls.max_version, problems).unwrap_or(&version::TLS13);
    let (from, to) = (u16::from(min.version), u16::from(max.version));
    if from > to {
        let line = tls.min_version.as_ref().map_or(1, |text| text.referenced.line());
        problems.note(line, Problem::NoVersion);
    }
    let is_allowed = |version: &&SupportedProtocolVersion| (from..=to).contains(&u16::from(version.version));
    [&version::TLS13, &version::TLS12].into_iter().filter(is_allowed).collect()
}

fn parse_version(
    key: &'static str,
    text: &Option<Text>,
    problems: &mut Problems,
) -> Option<&'static SupportedProtocolVersion> {
    let text = non_blank(text)?;
    let problem = match text.value.as_str() {
        "TLS12" => return Some(&version::TLS12),
        "TLS13" => return Some(&version::TLS13),
        "TLS10" => Problem::OldVersion { key, value: "TLS10" },
        "TLS11" => Problem::OldVersion { key, value: "TLS11" },
        other => Problem::Choice { key, value: QuotedValue::new(other), known: "TLS12 or TLS13" },
    };
    problems.note(text.referenced.line(), problem);
    None
}

/// The `ring` provider, restricted to the configured cipher suites and curves, in the configured order.
pub(super) fn provider(tls: &RawTls, problems: &mut Problems) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if let Some(names) = tls.cipher_suites.as_ref().filter(|names| !names.is_empty()) {
        // As in Go, the suites of TLS 1.3 are always enabled, and naming them has no effect.
        let (tls13, tls12): (Vec<_>, Vec<_>) =
            provider.cipher_suites.iter().partition(|suite| matches!(suite, SupportedCipherSuite::Tls13(_)));
        let mut suites = tls13.clone();
        for text in names {
            if let Some(suite) = tls12.iter().find(|suite| go_name(suite) == text.value) {
                suites.push(*suite);
            } else if !tls13.iter().any(|suite| go_name(suite) == text.value) {
                let known = tls12.iter().map(go_name).collect::<Vec<_>>().join(", ");
                problems.note(text.referenced.line(), not_implemented("cipher_suites", text, known));
            }
        }
        provider.cipher_suites = suites;
    }
    if let Some(names) = tls.curve_preferences.as_ref().filter(|names| !names.is_empty()) {
        let mut groups: Vec<&'static dyn SupportedKxGroup> = Vec::new();
        for text in names {
            let curve = CURVES.iter().find(|(name, _)| *name == text.value);
            match curve.and_then(|(_, group)| provider.kx_groups.iter().find(|known| known.name() == *group)) {
                Some(group) => groups.push(*group),
                None => {
                    let known = CURVES.map(|(name, _)| name).join(", ");
                    problems.note(text.referenced.line(), not_implemented("curve_preferences", text, known));
                }
            }
        }
        provider.kx_groups = groups;
    }
    provider
}

fn not_implemented(key: &'static str, text: &Text, known: String) -> Problem {
    Problem::NotImplemented { key, value: QuotedValue::new(&text.value), known }
}

/// The name of a suite in Go, which has no version for suites of TLS 1.3.
fn go_name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}
