//! A strict parser of the HTML of the templates. It refuses what a browser would repair.

/// A tag or a text of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// `<name attribute="value" …>`
    Open(String, Vec<(String, String)>),
    Close(String),
    Text(String),
}

/// The tokens of a page, or a message about the first error.
pub(super) fn tokens(page: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut rest) = (Vec::new(), page);
    while !rest.is_empty() {
        let Some(after) = rest.strip_prefix('<') else {
            let end = rest.find('<').unwrap_or(rest.len());
            tokens.push(Token::Text(unescaped(&rest[..end])?));
            rest = &rest[end..];
            continue;
        };
        if let Some(after) = after.strip_prefix('/') {
            let (name, after) = after.split_once('>').ok_or("a tag without end")?;
            tokens.push(Token::Close(checked_name(name)?));
            rest = after;
        } else if let Some(after) = after.strip_prefix("!doctype html>") {
            rest = after;
        } else {
            let (token, after) = open_tag(after)?;
            tokens.push(token);
            rest = after;
        }
    }
    Ok(tokens)
}

fn open_tag(text: &str) -> Result<(Token, &str), String> {
    let end = text.find([' ', '>', '/']).ok_or("a tag without end")?;
    let (name, mut rest) = (checked_name(&text[..end])?, &text[end..]);
    let mut attributes = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix("/>").or_else(|| rest.strip_prefix('>')) {
            return Ok((Token::Open(name, attributes), after));
        }
        rest = rest.strip_prefix(' ').ok_or_else(|| format!("in the tag {name}: {:.40}", rest))?;
        let end = rest.find(['=', ' ', '>']).ok_or("a tag without end")?;
        let attribute = checked_name(&rest[..end])?;
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

fn checked_name(text: &str) -> Result<String, String> {
    let plain =
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':');
    if plain { Ok(text.to_owned()) } else { Err(format!("no name: {text:.40}")) }
}

/// Decodes character references. A bare `<`, `>` or `&` is an error.
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
    fn malformed_tags_attributes_and_references_are_refused() {
        let tag = Token::Open("a".into(), vec![("b".into(), "\"<".into()), ("c".into(), String::new())]);
        assert_eq!(
            tokens("<a b=\"&quot;&#60;\" c>x&amp;</a>").unwrap(),
            [tag, Token::Text("x&".into()), Token::Close("a".into())]
        );
        for bad in ["a&b", "a>b", "<a b=c>", "<a b=\"x\"y=\"z\">", "<a", "<a b=\"", "&nosuch;", "<\"a>", "< a>"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}
