//! Answers and their headers.

use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, REFERRER_POLICY, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::body::ResponseBody;
use crate::observer::EncodedText;

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const SVG: &str = "image/svg+xml";

/// The page loads what the exporter itself serves and nothing else, and nothing on it can be made to run or send.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

pub(super) type Reply = Response<ResponseBody>;

/// Content that is true now and not later.
pub(super) fn content(content_type: &'static str, body: impl Into<ResponseBody>) -> Reply {
    reply(StatusCode::OK, content_type, body.into())
}

/// The metrics. The answer depends on what the client accepts, and a cache must know.
pub(super) fn metrics(content_type: &'static str, body: EncodedText) -> Reply {
    with(encoded(content_type, body), VARY, "Accept, Accept-Encoding")
}

/// Content that is sent compressed to who wants that.
fn encoded(content_type: &'static str, body: EncodedText) -> Reply {
    let reply = match body {
        EncodedText::Plain(pieces) => content(content_type, pieces),
        EncodedText::Lazy(text) => without_length(content(content_type, text)),
        EncodedText::Gzip(pieces) => with(content(content_type, pieces), CONTENT_ENCODING, "gzip"),
    };
    with(reply, VARY, "Accept-Encoding")
}

/// The leases.
pub(super) fn json(body: EncodedText) -> Reply {
    encoded(JSON, body)
}

/// A status page, which says so itself where what was asked for is not there.
pub(super) fn page(found: bool, body: EncodedText) -> Reply {
    let mut page = with(encoded(HTML, body), CONTENT_SECURITY_POLICY, PAGE_POLICY);
    *page.status_mut() = if found { StatusCode::OK } else { StatusCode::NOT_FOUND };
    with(page, REFERRER_POLICY, "no-referrer")
}

/// The main part of a status page, with a tag of its content.
pub(super) fn fragment(body: EncodedText, etag: Option<HeaderValue>) -> Reply {
    let mut fragment = with(encoded(HTML, body), CONTENT_SECURITY_POLICY, PAGE_POLICY);
    fragment.headers_mut().extend(etag.map(|etag| (ETAG, etag)));
    with(fragment, REFERRER_POLICY, "no-referrer")
}

/// The client has what this tag is of.
pub(super) fn not_modified(etag: HeaderValue) -> Reply {
    let mut reply = without_length(reply(StatusCode::NOT_MODIFIED, HTML, "".into()));
    reply.headers_mut().remove(CONTENT_TYPE);
    reply.headers_mut().insert(ETAG, etag);
    with(reply, VARY, "Accept-Encoding")
}

/// The answer to HEAD where nothing was made that would be sent to GET: RFC 9110 (9.3.2) lets headers be left out that
/// only making it would tell, which are its length and whether that was worth compressing.
pub(super) fn unmade(reply: Reply) -> Reply {
    without_length(reply)
}

fn without_length(mut reply: Reply) -> Reply {
    reply.headers_mut().remove(CONTENT_LENGTH);
    reply
}

/// A file that is part of the program. Kept by browsers for a short time, so that a new version of the exporter is
/// not shown with the styles of the old one for long.
pub(super) fn asset(content_type: &'static str, body: &'static str) -> Reply {
    with(content(content_type, body), CACHE_CONTROL, "max-age=60")
}

/// Why there is nothing of that name.
pub(super) fn unknown(what: &'static str) -> Reply {
    reply(StatusCode::NOT_FOUND, TEXT, what.into())
}

/// Why there is no content, in a few words that say nothing of the inside.
pub(super) fn error(status: StatusCode) -> Reply {
    match status {
        StatusCode::NOT_FOUND => reply(status, TEXT, "not found\n".into()),
        StatusCode::METHOD_NOT_ALLOWED => {
            with(reply(status, TEXT, "only GET and HEAD are allowed here\n".into()), ALLOW, "GET, HEAD")
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            with(reply(status, TEXT, "too many requests at once; try again\n".into()), RETRY_AFTER, "1")
        }
        _ => reply(status, TEXT, "internal error; the log says more\n".into()),
    }
}

/// Why there is no content, in words of one's own that say nothing of the inside.
pub(super) fn refusal(status: StatusCode, why: &'static str) -> Reply {
    reply(status, TEXT, why.into())
}

fn reply(status: StatusCode, content_type: &'static str, body: ResponseBody) -> Reply {
    // HEAD needs the length too, and hyper knows it only from a body that it sends.
    let length = body.len();
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
    let reply = with(reply, CONTENT_TYPE, content_type);
    let reply = with(reply, X_CONTENT_TYPE_OPTIONS, "nosniff");
    with(reply, CACHE_CONTROL, "no-store")
}

pub(super) fn with(mut reply: Reply, name: HeaderName, value: &'static str) -> Reply {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
    reply
}
