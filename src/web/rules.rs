//! By which rules clients are let in, and whether those that a connection was let in by still hold.

use std::sync::Arc;

use super::config::{Watched, WebConfig};

/// Where the rules come from.
#[derive(Clone, Debug)]
pub(super) enum Rules {
    /// Without a file, anybody may ask.
    Open(Arc<WebConfig>),
    Watched(Arc<Watched>),
}

impl Rules {
    /// What holds now.
    pub(super) async fn now(&self) -> Arc<WebConfig> {
        match self {
            Self::Open(config) => Arc::clone(config),
            Self::Watched(watched) => watched.now().await,
        }
    }
}

/// What has become of the rules that a connection was let in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// They hold.
    Same,
    /// The certificate of the exporter is another and nothing else: a client sees it when it connects again.
    OtherCertificate,
    /// Somebody else may connect now.
    Otherwise,
}

impl Since {
    pub(super) fn of(then: &Arc<WebConfig>, now: &Arc<WebConfig>) -> Self {
        match (&then.tls, &now.tls) {
            _ if Arc::ptr_eq(then, now) => Self::Same,
            (None, None) => Self::Same,
            (Some(then), Some(now)) if now.admits_as(then) => Self::OtherCertificate,
            _ => Self::Otherwise,
        }
    }
}
