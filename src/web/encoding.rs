//! Whether a client wants its answer compressed: `Accept-Encoding`.

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

use super::quality::{Member, Quality, members};
use crate::expose::Encoding;

/// gzip, where the client accepts it and does not want the plain answer more; otherwise the plain answer. It is sent
/// even to a client that refuses it, if that accepts nothing else either.
pub(super) fn encoding(headers: &HeaderMap) -> Encoding {
    let Some(members) = members(headers, &ACCEPT_ENCODING) else { return Encoding::Identity };
    let named = |names: &[&str]| members.iter().find(|member| names.contains(&&*member.name));
    let quality = |member: &Member| member.quality;
    let any = named(&["*"]).map(quality);
    let gzip = named(&["gzip", "x-gzip"]).map(quality).or(any).unwrap_or(0);
    // What is not named is accepted, but not asked for; `*;q=0` refuses it all the same.
    let identity: Option<Quality> = named(&["identity"]).map(quality).or(any.filter(|any| *any == 0));
    match identity {
        _ if gzip == 0 => Encoding::Identity,
        Some(0) => Encoding::GzipRequired,
        Some(identity) if identity > gzip => Encoding::Identity,
        Some(_) | None => Encoding::Gzip,
    }
}

#[cfg(test)]
mod tests;
