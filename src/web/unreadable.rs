//! What is answered to a request that hyper cannot read. It answers such by itself, without a word.

use bytes::Bytes;

use super::reply::TEXT;

/// hyper's own answer with a reason; nothing, if these bytes are not such an answer.
pub(super) fn with_reason(answer: &[u8]) -> Option<Bytes> {
    let (status, headers) = std::str::from_utf8(answer).ok()?.split_once("\r\n")?;
    let reason = match status.strip_prefix("HTTP/1.1 ")?.get(..3)? {
        "400" => "this cannot be read as a request of HTTP/1.1\n",
        "414" => "the address is too long\n",
        "431" => "the headers are too long or too many\n",
        _ => return None,
    };
    let (before, after) = headers.split_once("content-length: 0\r\n")?;
    if !after.ends_with("\r\n") {
        return None;
    }
    let length = reason.len();
    let said = format!(
        "{status}\r\n{before}content-type: {TEXT}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n\
         content-length: {length}\r\n{after}{reason}"
    );
    Some(said.into())
}
