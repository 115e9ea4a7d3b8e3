//! Versions, cipher suites and curves by the names that Go gives them.

use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::{NamedGroup, SupportedCipherSuite, SupportedProtocolVersion, version};

use super::problem::{Faults, Problem};
use super::raw::{RawTls, Text, given};
use crate::diagnostic::QuotedValue;

const CURVES: [(&str, NamedGroup); 3] =
    [("CurveP256", NamedGroup::secp256r1), ("CurveP384", NamedGroup::secp384r1), ("X25519", NamedGroup::X25519)];

/// The versions from `min_version` to `max_version`.
pub(super) fn versions(tls: &RawTls, faults: &mut Faults) -> Vec<&'static SupportedProtocolVersion> {
    let min = chosen("min_version", given(tls.min_version.clone()), faults).unwrap_or(&version::TLS12);
    let max = chosen("max_version", given(tls.max_version.clone()), faults).unwrap_or(&version::TLS13);
    let (from, to) = (u16::from(min.version), u16::from(max.version));
    if from > to {
        let line = tls.min_version.as_ref().map_or(1, |text| text.referenced.line());
        faults.note(line, Problem::NoVersion);
    }
    let within = |version: &&SupportedProtocolVersion| (from..=to).contains(&u16::from(version.version));
    [&version::TLS13, &version::TLS12].into_iter().filter(within).collect()
}

fn chosen(key: &'static str, text: Option<Text>, faults: &mut Faults) -> Option<&'static SupportedProtocolVersion> {
    let text = text?;
    let problem = match text.value.as_str() {
        "TLS12" => return Some(&version::TLS12),
        "TLS13" => return Some(&version::TLS13),
        "TLS10" => Problem::OldVersion { key, value: "TLS10" },
        "TLS11" => Problem::OldVersion { key, value: "TLS11" },
        other => Problem::Choice { key, value: QuotedValue::new(other), known: "TLS12 or TLS13" },
    };
    faults.note(text.referenced.line(), problem);
    None
}

/// The one implementation of cryptography, with the suites and curves that are asked for, in that order.
pub(super) fn provider(tls: &RawTls, faults: &mut Faults) -> CryptoProvider {
    let mut provider = ring::default_provider();
    if let Some(suites) = tls.cipher_suites.as_ref().filter(|suites| !suites.is_empty()) {
        // As in Go, those of TLS 1.3 are always all there, and naming them changes nothing.
        let (of_13, of_12): (Vec<_>, Vec<_>) =
            provider.cipher_suites.iter().partition(|suite| matches!(suite, SupportedCipherSuite::Tls13(_)));
        let known = || of_12.iter().map(name).collect::<Vec<_>>().join(", ");
        let mut wanted: Vec<SupportedCipherSuite> = of_13.clone();
        for text in suites {
            if let Some(suite) = of_12.iter().find(|suite| name(suite) == text.value) {
                wanted.push(*suite);
            } else if !of_13.iter().any(|suite| name(suite) == text.value) {
                let value = QuotedValue::new(&text.value);
                let problem = Problem::NotImplemented { key: "cipher_suites", value, known: known() };
                faults.note(text.referenced.line(), problem);
            }
        }
        provider.cipher_suites = wanted;
    }
    if let Some(curves) = tls.curve_preferences.as_ref().filter(|curves| !curves.is_empty()) {
        let mut wanted: Vec<&'static dyn SupportedKxGroup> = Vec::new();
        for text in curves {
            let named = CURVES.iter().find(|(name, _)| *name == text.value);
            match named.and_then(|(_, group)| provider.kx_groups.iter().find(|known| known.name() == *group)) {
                Some(group) => wanted.push(*group),
                None => {
                    let (value, known) = (QuotedValue::new(&text.value), CURVES.map(|(name, _)| name).join(", "));
                    let problem = Problem::NotImplemented { key: "curve_preferences", value, known };
                    faults.note(text.referenced.line(), problem);
                }
            }
        }
        provider.kx_groups = wanted;
    }
    provider
}

/// The name in Go, which has no version in it.
fn name(suite: &SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}
