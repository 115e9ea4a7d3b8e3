//! By which rules whoever comes is let through, now and for as long as they stay.

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

/// By what somebody was let through, to be asked again for as long as an answer goes on.
///
/// It goes by the hash of the user's password: the password itself is nowhere kept.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) rules: Rules,
    /// What held when they were let through.
    pub(super) then: Arc<WebConfig>,
    /// As whom.
    pub(super) user: Option<Vec<u8>>,
}

impl Pass {
    /// Whether they would still be let through.
    pub(super) async fn holds(&self) -> bool {
        let now = self.rules.now().await;
        let (then, user) = (&self.then, self.user.as_deref());
        Since::of(then, &now) != Since::Otherwise
            && now.users.as_ref().is_none_or(|users| {
                let then = then.users.as_ref().and_then(|users| users.hash_of(user?));
                then.is_some() && then == user.and_then(|user| users.hash_of(user))
            })
    }
}
