//! HTML, read without leniency: as our templates write it, and nothing that a browser would only put up with.

/// A piece of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// `<name attribute="value" …>`
    Opens(String, Vec<(String, String)>),
    Closes(String),
    Text(String),
}

/// The pieces of a page; or what is none.
pub(super) fn pieces(page: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest) = (Vec::new(), page);
    while !rest.is_empty() {
        let Some(after) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            pieces.push(Piece::Text(unescaped(&rest[..end])?));
            rest = &rest[end..];
            continue;
        };
        if let Some(after) = after.strip_prefix('/') {
            let (name, after) = after.split_once('>').ok_or("a tag without end")?;
            pieces.push(Piece::Closes(named(name)?));
            rest = after;
        } else if let Some(after) = after.strip_prefix("!doctype html>") {
            rest = after;
        } else {
            let (piece, after) = opens(after)?;
            pieces.push(piece);
            rest = after;
        }
    }
    Ok(pieces)
}

fn opens(text: &str) -> Result<(Piece, &str), String> {
    let end = text.find([' ', '>', '/']).ok_or("a tag without end")?;
    let (name, mut rest) = (named(&text[..end])?, &text[end..]);
    let mut attributes = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return Ok((Piece::Opens(name, attributes), after));
        }
        rest = rest.strip_prefix(' ').ok_or_else(|| format!("in the tag {name}: {:.40}", rest))?;
        let end = rest.find(['=', ' ', '>']).ok_or("a tag without end")?;
        let attribute = named(&rest[..end])?;
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix("=\"") {
            let (written, after) = after.split_once('"').ok_or("an attribute without end")?;
            value = unescaped(written)?;
            rest = after;
        }
        attributes.push((attribute, value));
    }
}

fn named(text: &str) -> Result<String, String> {
    let plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':');
    if plain { Ok(text.to_owned()) } else { Err(format!("no name: {text:.40}")) }
}

/// What character references stand for. A `<`, `>` or `&` as it is stands for nothing.
fn unescaped(text: &str) -> Result<String, String> {
    let mut parts = text.split('&');
    let mut unescaped = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (reference, rest) = part.split_once(';').ok_or_else(|| format!("a plain ampersand: &{part:.40}"))?;
        let number = reference.strip_prefix('#').and_then(|number| match number.strip_prefix('x') {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        });
        let letter = match (reference, number) {
            ("amp", _) => '&',
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("quot", _) => '"',
            (_, Some(number)) => char::from_u32(number).ok_or("no character")?,
            _ => return Err(format!("no reference: &{reference};")),
        };
        unescaped.push(letter);
        unescaped.push_str(rest);
    }
    if text.contains(['<', '>']) { Err(format!("a bare bracket: {text:.40}")) } else { Ok(unescaped) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_could_break_out_by_is_seen() {
        let tag = Piece::Opens("a".into(), vec![("b".into(), "\"<".into()), ("c".into(), String::new())]);
        assert_eq!(
            pieces("<a b=\"&quot;&#60;\" c>x&amp;</a>").unwrap(),
            [tag, Piece::Text("x&".into()), Piece::Closes("a".into())]
        );
        for bad in ["a&b", "a>b", "<a b=c>", "<a b=\"x\"y=\"z\">", "<a", "<a b=\"", "&nosuch;", "<\"a>", "< a>"] {
            assert!(pieces(bad).is_err(), "{bad}");
        }
    }
}
