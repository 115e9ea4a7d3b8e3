use std::time::Duration;

use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;

use super::super::tests::own_authority;
use super::*;

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn clients(authorities: ClientRoots) -> ClientVerifier {
    let provider = Arc::new(ring::default_provider());
    ClientVerifier::new(ClientAuth::RequireAndVerify, Some(authorities), None, &provider).unwrap().unwrap()
}

/// The first second of 2026.
fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(1_767_225_600))
}

fn verified(clients: &ClientVerifier, certificate: &CertificateDer<'_>) -> Result<(), Error> {
    clients.verify_client_cert(certificate, &[], now()).map(drop)
}

#[test]
fn a_configured_certificate_needs_no_issuer_even_if_it_is_an_authority() {
    type Change = fn(&mut CertificateParams);
    let cases: [(&str, Change, Result<(), CertificateError>); 8] = [
        ("an authority", |_| (), Ok(())),
        ("no authority", |params| params.is_ca = rcgen::IsCa::NoCa, Ok(())),
        ("for clients", |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth], Ok(())),
        ("for anything", |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any], Ok(())),
        (
            "for servers and clients",
            |params| {
                params.extended_key_usages =
                    vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            },
            Ok(()),
        ),
        (
            "for servers",
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
            Err(CertificateError::InvalidPurpose),
        ),
        ("ran out", |params| params.not_after = date_time_ymd(2025, 12, 31), Err(CertificateError::Expired)),
        ("not yet", |params| params.not_before = date_time_ymd(2026, 1, 2), Err(CertificateError::NotValidYet)),
    ];
    for (what, change, expected) in cases {
        let own = der(&own_authority(change).0);
        let clients = clients(ClientRoots::Configured(vec![own.clone()]));
        assert_eq!(verified(&clients, &own), expected.map_err(Error::from), "{what}");
        assert!(verified(&clients, &der(&own_authority(change).0)).is_err(), "another one, {what}");
    }
}

#[test]
fn system_roots_verify_clients_and_are_not_sent_as_hints() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let client = CertificateParams::new(vec!["first.example".to_owned()]).unwrap();
    let signed = client.signed_by(&KeyPair::generate().unwrap(), &issuer).unwrap();
    let system = clients(ClientRoots::System(vec![authority.der().clone()]));
    assert_eq!(verified(&system, signed.der()), Ok(()));
    assert!(system.root_hint_subjects().is_empty() && !system.requires_known_clients());
    assert_eq!(system.warnings(), [Warning::SystemRoots]);
    assert!(verified(&system, &der(&own_authority(|_| ()).0)).is_err());
    let nobody = clients(ClientRoots::System(Vec::new()));
    assert_eq!(verified(&nobody, signed.der()), Err(CertificateError::UnknownIssuer.into()));
    assert_eq!(nobody.warnings(), [Warning::NoSystemRoots]);
    let configured = clients(ClientRoots::Configured(vec![authority.der().clone()]));
    assert!(configured.requires_known_clients() && configured.warnings().is_empty());
    assert_eq!(configured.root_hint_subjects().len(), 1);
}
