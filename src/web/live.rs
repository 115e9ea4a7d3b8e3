//! `/live`: the main part of the page, which its script asks for every few seconds.
//!
//! It comes with a tag of its content, and an answer without a body says that nothing has changed. Windows that show the
//! same view of the same readings share one rendering.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::reply::{self, Reply};
use crate::expose::Encoding;
use crate::expose::page::View;
use crate::lease::SourceSnapshot;
use crate::observer::{EncodedText, PartialView, encoded};

/// How many requests may look at sources at once. They are short and wait for each other: a page that is open must not take
/// the turn of a scrape.
const AT_ONCE: usize = 32;
/// How many renderings are kept.
const KEPT: usize = 8;

/// The main part of a page, as it is sent.
#[derive(Debug)]
pub(super) struct Fragment {
    pieces: Vec<Bytes>,
    is_compressed: bool,
    etag: HeaderValue,
}

impl Fragment {
    /// This HTML in this encoding. The tag is weak: it is the same for each encoding.
    pub(super) fn new(html: String, encoding: Encoding) -> Self {
        let digest = Sha256::digest(html.as_bytes());
        let half = digest.iter().take(16).fold(0, |all, byte| all << 8 | u128::from(*byte));
        // Digits and letters alone are always a value of a header.
        let etag = HeaderValue::try_from(format!("W/\"{half:032x}\"")).unwrap_or(HeaderValue::from_static("W/\"\""));
        let (pieces, is_compressed) = match encoded(vec![html.into()], encoding) {
            EncodedText::Plain(pieces) => (pieces, false),
            EncodedText::Gzip(pieces) => (pieces, true),
            EncodedText::Lazy(text) => (text.pieces.collect(), false),
        };
        Self { pieces, is_compressed, etag }
    }

    /// The answer to a client that has what it says in `If-None-Match`.
    pub(super) fn reply(&self, headers: &HeaderMap) -> Reply {
        if has(headers, &self.etag) {
            return reply::not_modified(self.etag.clone());
        }
        let pieces = self.pieces.clone();
        let body = if self.is_compressed { EncodedText::Gzip(pieces) } else { EncodedText::Plain(pieces) };
        reply::fragment(body, Some(self.etag.clone()))
    }
}

/// Whether `If-None-Match` names this weak tag, by the weak comparison of RFC 9110, 8.8.3.2.
fn has(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let Ok(own) = etag.to_str().map(opaque) else { return false };
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|tag| tag == "*" || opaque(tag) == own)
}

/// Fragments that were rendered, and the turns of those who ask for one.
#[derive(Debug)]
pub(super) struct Fragments {
    turns: Arc<Semaphore>,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    view: View,
    encoding: Encoding,
    /// The readings that it shows. They are not kept alive for it.
    readings: Vec<Weak<SourceSnapshot>>,
    fragment: Arc<Fragment>,
}

impl Default for Fragments {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), kept: Mutex::default() }
    }
}

impl Fragments {
    /// A turn to look at sources, if there is one in time.
    pub(super) async fn turn(&self, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        timeout_at(deadline, Arc::clone(&self.turns).acquire_owned()).await.ok()?.ok()
    }

    /// The fragment that was rendered of this view of these readings. A view of a source that has not answered says for how
    /// long, so it is another each time.
    pub(super) fn rendered(
        &self,
        view: &View,
        encoding: Encoding,
        partial_views: &[PartialView],
    ) -> Option<Arc<Fragment>> {
        let same = |(view, reading): (&PartialView, &Weak<SourceSnapshot>)| {
            std::ptr::eq(Arc::as_ptr(&view.snapshot), reading.as_ptr())
        };
        let is = |kept: &&Kept| {
            kept.encoding == encoding
                && kept.view == *view
                && kept.readings.len() == partial_views.len()
                && partial_views.iter().zip(&kept.readings).all(same)
        };
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(is).map(|kept| Arc::clone(&kept.fragment)).filter(|_| is_lasting(partial_views))
    }

    /// Keeps a fragment for others, in place of those whose readings are gone.
    pub(super) fn keep(&self, view: View, encoding: Encoding, partial_views: &[PartialView], fragment: &Arc<Fragment>) {
        if !is_lasting(partial_views) {
            return;
        }
        let readings = partial_views.iter().map(|view| Arc::downgrade(&view.snapshot)).collect();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.readings.iter().all(|reading| reading.strong_count() > 0));
        kept.truncate(KEPT - 1);
        kept.push_front(Kept { view, encoding, readings, fragment: Arc::clone(fragment) });
    }
}

fn is_lasting(partial_views: &[PartialView]) -> bool {
    !partial_views.is_empty() && partial_views.iter().all(|view| view.unanswered.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_of_the_content_and_is_found_in_a_list_whether_weak_or_strong() {
        let of = |html: &str| Fragment::new(html.to_owned(), Encoding::Identity);
        let (one, other) = (of("<main>1</main>"), of("<main>2</main>"));
        assert_ne!(one.etag, other.etag);
        assert_eq!(one.etag, of("<main>1</main>").etag);
        let tag = one.etag.to_str().unwrap();
        let strong = tag.trim_start_matches("W/");
        for (named, found) in [
            (tag.to_owned(), true),
            (strong.to_owned(), true),
            (format!("\"x\", {tag}"), true),
            ("*".to_owned(), true),
            (other.etag.to_str().unwrap().to_owned(), false),
            (strong.trim_matches('"').to_owned(), false),
            (String::new(), false),
        ] {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::try_from(&named).unwrap())]);
            assert_eq!(has(&headers, &one.etag), found, "{named}");
            let status = one.reply(&headers).status();
            assert_eq!(status.as_u16(), if found { 304 } else { 200 }, "{named}");
        }
        assert_eq!(one.reply(&HeaderMap::new()).status(), 200);
    }
}
