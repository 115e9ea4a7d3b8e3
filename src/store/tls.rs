//! What all protected connections share.

/// Makes sure that one implementation of cryptography is chosen for the whole process, before a connection asks for it.
pub(super) fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Whoever was faster chose the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
