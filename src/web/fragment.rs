//! `/live`: the main part of the status page, which its script requests every few seconds.
//!
//! The response has an `ETag` of its content, so an unchanged page costs a 304 without a body. Windows that show the same view of
//! the same readings share one rendering.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use hyper::header::{ETAG, HeaderValue, IF_NONE_MATCH};
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::response::{self, Response};
use crate::expose::Encoding;
use crate::expose::page::{ObservedSource, PageRequest};
use crate::lease::SourceSnapshot;
use crate::observer::{EncodedText, encoded};

/// Requests that may read sources at once. They have their own limit, so that open pages do not use up that of scrapes.
const MAX_REQUESTS: usize = 32;
/// Cached renderings.
const CACHE_SIZE: usize = 8;

/// The rendered main part of a page.
#[derive(Debug)]
pub(super) struct Fragment {
    chunks: Vec<Bytes>,
    is_compressed: bool,
    etag: HeaderValue,
}

impl Fragment {
    /// The ETag is weak, because it is the same for each encoding.
    pub(super) fn new(html: String, encoding: Encoding) -> Self {
        let digest = Sha256::digest(html.as_bytes());
        let half = digest.iter().take(16).fold(0, |all, byte| all << 8 | u128::from(*byte));
        // Hexadecimal digits are always valid in a header.
        let etag = HeaderValue::try_from(format!("W/\"{half:032x}\"")).unwrap_or(HeaderValue::from_static("W/\"\""));
        let (chunks, is_compressed) = match encoded(vec![html.into()], encoding) {
            EncodedText::Plain(chunks) => (chunks, false),
            EncodedText::Gzip(chunks) => (chunks, true),
            EncodedText::Lazy(text) => (text.pieces.collect(), false),
        };
        Self { chunks, is_compressed, etag }
    }

    /// Responds with the fragment, or with 304 if `If-None-Match` has its ETag.
    pub(super) fn respond(&self, headers: &HeaderMap) -> Response {
        let mut response = if matches_etag(headers, &self.etag) {
            response::not_modified()
        } else {
            let chunks = self.chunks.clone();
            let body = if self.is_compressed { EncodedText::Gzip(chunks) } else { EncodedText::Plain(chunks) };
            response::html(StatusCode::OK, body)
        };
        response.headers_mut().insert(ETAG, self.etag.clone());
        response
    }
}

/// Whether `If-None-Match` has this ETag, by the weak comparison of RFC 9110 (8.8.3.2).
fn matches_etag(headers: &HeaderMap, etag: &HeaderValue) -> bool {
    let opaque = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    let Ok(etag) = etag.to_str().map(opaque) else { return false };
    let lists = headers.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).map(str::trim).any(|tag| tag == "*" || opaque(tag) == etag)
}

/// Caches fragments, and limits the requests for them.
#[derive(Debug)]
pub(super) struct FragmentCache {
    requests: Arc<Semaphore>,
    entries: Mutex<VecDeque<CachedFragment>>,
}

#[derive(Debug)]
struct CachedFragment {
    view: PageRequest,
    encoding: Encoding,
    /// The readings that the fragment shows. The cache does not keep them alive.
    readings: Vec<Weak<SourceSnapshot>>,
    fragment: Arc<Fragment>,
}

impl CachedFragment {
    fn shows(&self, view: &PageRequest, encoding: Encoding, sources: &[ObservedSource]) -> bool {
        self.encoding == encoding
            && self.view == *view
            && self.readings.len() == sources.len()
            && sources
                .iter()
                .zip(&self.readings)
                .all(|(source, reading)| std::ptr::eq(Arc::as_ptr(&source.snapshot), reading.as_ptr()))
    }
}

impl Default for FragmentCache {
    fn default() -> Self {
        Self { requests: Arc::new(Semaphore::new(MAX_REQUESTS)), entries: Mutex::default() }
    }
}

impl FragmentCache {
    /// Waits until the deadline for a permit to read sources.
    pub(super) async fn permit(&self, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        timeout_at(deadline, Arc::clone(&self.requests).acquire_owned()).await.ok()?.ok()
    }

    pub(super) fn get(
        &self,
        view: &PageRequest,
        encoding: Encoding,
        sources: &[ObservedSource],
    ) -> Option<Arc<Fragment>> {
        if !is_cacheable(sources) {
            return None;
        }
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter().find(|entry| entry.shows(view, encoding, sources));
        entry.map(|entry| Arc::clone(&entry.fragment))
    }

    /// Caches a fragment, in place of those whose readings are gone.
    pub(super) fn insert(
        &self,
        view: PageRequest,
        encoding: Encoding,
        sources: &[ObservedSource],
        fragment: &Arc<Fragment>,
    ) {
        if !is_cacheable(sources) {
            return;
        }
        let readings = sources.iter().map(|source| Arc::downgrade(&source.snapshot)).collect();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.readings.iter().all(|reading| reading.strong_count() > 0));
        entries.truncate(CACHE_SIZE - 1);
        entries.push_front(CachedFragment { view, encoding, readings, fragment: Arc::clone(fragment) });
    }
}

/// A page that shows for how long a source has not answered changes with each request.
fn is_cacheable(sources: &[ObservedSource]) -> bool {
    !sources.is_empty() && sources.iter().all(|source| source.unanswered_for.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_identifies_the_content_and_matches_in_a_list_whether_weak_or_strong() {
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
            assert_eq!(matches_etag(&headers, &one.etag), found, "{named}");
            let status = one.respond(&headers).status();
            assert_eq!(status.as_u16(), if found { 304 } else { 200 }, "{named}");
        }
        assert_eq!(one.respond(&HeaderMap::new()).status(), 200);
    }
}
