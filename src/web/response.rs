//! Responses and their headers.

use hyper::StatusCode;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};

use super::body::ResponseBody;
use crate::observer::EncodedText;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";
pub(super) const SCRIPT: &str = "text/javascript; charset=utf-8";
pub(super) const SVG: &str = "image/svg+xml";

/// The page loads only what the exporter serves, runs no inline script, and sends its forms only to the exporter.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

pub(super) type Response = hyper::Response<ResponseBody>;

pub(super) fn metrics(content_type: &'static str, body: EncodedText) -> Response {
    with_header(encoded(content_type, body), VARY, "Accept, Accept-Encoding")
}

pub(super) fn json(body: EncodedText) -> Response {
    encoded(JSON, body)
}

/// A status page, or the main part of one.
pub(super) fn html(status: StatusCode, body: EncodedText) -> Response {
    let mut page = with_header(encoded(HTML, body), CONTENT_SECURITY_POLICY, PAGE_POLICY);
    *page.status_mut() = status;
    with_header(page, REFERRER_POLICY, "no-referrer")
}

fn encoded(content_type: &'static str, body: EncodedText) -> Response {
    let response = match body {
        EncodedText::Plain(chunks) => new(StatusCode::OK, content_type, chunks),
        EncodedText::Lazy(text) => new(StatusCode::OK, content_type, text),
        EncodedText::Gzip(chunks) => with_header(new(StatusCode::OK, content_type, chunks), CONTENT_ENCODING, "gzip"),
    };
    with_header(response, VARY, "Accept-Encoding")
}

/// 304: the client already has the current content.
pub(super) fn not_modified() -> Response {
    let mut response = without_length(text(StatusCode::NOT_MODIFIED, ""));
    response.headers_mut().remove(CONTENT_TYPE);
    with_header(response, VARY, "Accept-Encoding")
}

/// Removes `Content-Length`. RFC 9110 (9.3.2) lets a response to HEAD leave out headers that would need the content.
pub(super) fn without_length(mut response: Response) -> Response {
    response.headers_mut().remove(CONTENT_LENGTH);
    response
}

/// A file that is compiled in. Browsers may cache it briefly, so that an upgrade soon shows with its own styles.
pub(super) fn asset(content_type: &'static str, body: &'static str) -> Response {
    with_header(new(StatusCode::OK, content_type, body), CACHE_CONTROL, "max-age=60")
}

/// A text. Error texts reveal no internals.
pub(super) fn text(status: StatusCode, text: &'static str) -> Response {
    new(status, TEXT, text)
}

pub(super) fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "not found\n")
}

pub(super) fn method_not_allowed(text: &'static str, allow: &'static str) -> Response {
    with_header(self::text(StatusCode::METHOD_NOT_ALLOWED, text), ALLOW, allow)
}

pub(super) fn busy() -> Response {
    let response = text(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once; try again\n");
    with_header(response, RETRY_AFTER, "1")
}

pub(super) fn internal_error() -> Response {
    text(StatusCode::INTERNAL_SERVER_ERROR, "internal error; the log says more\n")
}

fn new(status: StatusCode, content_type: &'static str, body: impl Into<ResponseBody>) -> Response {
    let body = body.into();
    // hyper sets the length only if it sends the body, and a response to HEAD needs it too.
    let length = body.len();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, HeaderValue::from(length))));
    let response = with_header(response, CONTENT_TYPE, content_type);
    let response = with_header(response, X_CONTENT_TYPE_OPTIONS, "nosniff");
    with_header(response, CACHE_CONTROL, "no-store")
}

pub(super) fn with_header(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}
