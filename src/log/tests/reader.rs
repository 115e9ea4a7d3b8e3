//! A logfmt parser with the rules of go-logfmt's decoder; where versions differ, the stricter rule. Quoted values must be valid in
//! both JSON and Go's `strconv.Unquote`.

/// The pairs of one line, without its newline.
pub(super) fn pairs(line: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c| c <= ' ');
        if rest.is_empty() {
            return Ok(pairs);
        }
        let end = rest.find(|c| c <= ' ' || "=\"'".contains(c)).ok_or("a key without a value")?;
        let (key, after) = rest.split_at(end);
        if key.is_empty() || key.contains('\u{fffd}') || !after.starts_with('=') {
            return Err(format!("no key: {rest}"));
        }
        let after = &after[1..];
        let (value, left) = if after.starts_with('"') { quoted(after)? } else { bare(after)? };
        pairs.push((key.to_owned(), value));
        if !left.is_empty() && !left.starts_with(' ') {
            return Err(format!("no space before {left}"));
        }
        rest = left;
    }
}

fn bare(text: &str) -> Result<(String, &str), String> {
    let end = text.find(|c| c <= ' ').unwrap_or(text.len());
    let (value, left) = text.split_at(end);
    if value.contains(['=', '"', '\'']) { Err(format!("unexpected in {value}")) } else { Ok((value.to_owned(), left)) }
}

fn quoted(text: &str) -> Result<(String, &str), String> {
    let (mut value, mut letters) = (String::new(), text.char_indices().skip(1));
    while let Some((at, c)) = letters.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => {
                let (_, escape) = letters.next().ok_or("ends in an escape")?;
                value.push(match escape {
                    '"' | '\\' => escape,
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        let digits: String = letters.by_ref().take(4).map(|(_, digit)| digit).collect();
                        let code = u32::from_str_radix(&digits, 16).map_err(|_| format!("no digits: {digits}"))?;
                        char::from_u32(code).ok_or_else(|| format!("half a pair: {digits}"))?
                    }
                    // Other escapes are unknown to JSON or to Go.
                    _ => return Err(format!("no such escape: \\{escape}")),
                });
            }
            c if c < ' ' => return Err("a control character".to_owned()),
            c => value.push(c),
        }
    }
    Err("no end of a quoted value".to_owned())
}

#[test]
fn the_test_parser_rejects_what_go_rejects() {
    assert_eq!(pairs("a=1 b=\"x \\\"y\\\" \\u00e9\" c=\"\"").unwrap().len(), 3);
    for line in
        ["a=it's", "a=\"\\'\"", "a=\"\\0\"", "a=\"\\u{1b}\"", "a=\"x", "=1", "a=b=c", "a", "a=\"\\ud83d\"", "a=\"x\"y"]
    {
        assert!(pairs(line).is_err(), "{line}");
    }
}
