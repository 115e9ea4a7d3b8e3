//! Whether a query returns the clock of its transaction as `store_now`.

/// The warning about a clock that stands still during a transaction.
#[derive(Debug, thiserror::Error)]
#[error(
    "the query returns `{0}` as `store_now`, which is when its transaction began and not when its rows were read; \
     write `clock_timestamp()` or `statement_timestamp()`"
)]
pub(super) struct TransactionClock(pub(super) &'static str);

/// The function that returns when the transaction began, if the query returns its value as `store_now`.
///
/// This is a heuristic: the text is not parsed, only split into words, without strings and comments.
pub(super) fn find(sql: &str) -> Option<&'static str> {
    let words = words(sql);
    let named = |at: usize, name: &str| words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(name));
    let names_clock = (0..words.len()).filter(|at| named(*at, "store_now"));
    names_clock.into_iter().find_map(|at| {
        let expression = expression_before(&words[..at]);
        expression.clone().find_map(|at| match words[at].to_ascii_lowercase().as_str() {
            "now" if named(at + 1, "(") => Some("now()"),
            "transaction_timestamp" if named(at + 1, "(") => Some("transaction_timestamp()"),
            "current_timestamp" => Some("CURRENT_TIMESTAMP"),
            "localtimestamp" => Some("LOCALTIMESTAMP"),
            _ => None,
        })
    })
}

/// The range of the expression that has the name after these words as its alias. It is empty after a comma or a dot.
fn expression_before(words: &[&str]) -> std::ops::Range<usize> {
    let end = words.len() - usize::from(words.last().is_some_and(|word| word.eq_ignore_ascii_case("as")));
    let mut depth = 0_usize;
    for at in (0..end).rev() {
        match words[at] {
            ")" => depth += 1,
            "(" if depth > 0 => depth -= 1,
            "(" | "," | "." | ";" if depth == 0 => return at + 1..end,
            word if depth == 0 && ENDS.iter().any(|end| end.eq_ignore_ascii_case(word)) => return at + 1..end,
            _ => {}
        }
    }
    0..end
}

/// Words that end an expression.
const ENDS: [&str; 14] =
    ["select", "returning", "distinct", "from", "where", "on", "using", "by", "having", "and", "or", "<", ">", "="];

/// Splits a statement into names and other characters. A name in double quotes counts as a name.
fn words(sql: &str) -> Vec<&str> {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let escapes = words.last().is_some_and(|word: &&str| word.eq_ignore_ascii_case("e"));
        let length = match first {
            '\'' => string(rest, escapes),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '$' => dollars(rest),
            letter if is_name(letter) => {
                let length = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
                words.push(&rest[..length]);
                length
            }
            // Quotes are skipped, so the name between them is a word.
            '"' => 1,
            sign if sign.is_whitespace() => sign.len_utf8(),
            sign => {
                words.push(&rest[..sign.len_utf8()]);
                sign.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    words
}

/// The length of the string that begins here. A doubled quote ends one string and begins the next.
fn string(text: &str, escapes: bool) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if escapes => escaped = true,
            b'\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the comment that begins here. Comments can be nested.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find(['/', '*']) {
        at += found;
        let length = match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += length;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the dollar-quoted string that begins here; 1 if none does.
fn dollars(text: &str) -> usize {
    let end = text[1..].find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).map(|at| at + 1);
    let Some(mark) = end.filter(|end| text[*end..].starts_with('$')).map(|end| &text[..=end]) else { return 1 };
    text[mark.len()..].find(mark).map_or(text.len(), |at| at + 2 * mark.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_clock_of_the_transaction_is_found_where_it_is_returned_as_the_stores() {
        for (sql, found) in [
            ("SELECT now() AS store_now", Some("now()")),
            ("select Now ( ) store_now, 1", Some("now()")),
            ("SELECT lease, extract(epoch FROM now()) AS \"store_now\" FROM t", Some("now()")),
            ("SELECT CURRENT_TIMESTAMP AS store_now", Some("CURRENT_TIMESTAMP")),
            ("SELECT current_timestamp(3) AS store_now", Some("CURRENT_TIMESTAMP")),
            ("SELECT pg_catalog.transaction_timestamp() AS STORE_NOW", Some("transaction_timestamp()")),
            ("SELECT (SELECT now()) AS store_now", Some("now()")),
            ("WITH clock AS (SELECT now() AS store_now) SELECT clock.store_now FROM clock", Some("now()")),
            ("SELECT /* 'a' */ now() -- b'\n AS store_now", Some("now()")),
            ("SELECT E'it\\'s', now() AS store_now", Some("now()")),
            ("SELECT statement_timestamp() AS store_now", None),
            ("SELECT clock_timestamp() AS store_now, now() AS renewed_at", None),
            ("SELECT now() AS renewed_at, clock_timestamp() AS store_now", None),
            ("SELECT now() AS at, clock.store_now FROM clock", None),
            ("SELECT now() - interval '1 s' AS renewed_at, store_now FROM clock", None),
            ("SELECT now_ms / 1000.0 AS store_now FROM clock", None),
            ("SELECT clock_timestamp() /* now() */ AS store_now -- now() AS store_now", None),
            ("SELECT 'now() AS store_now', clock_timestamp() AS store_now", None),
            ("SELECT $q$ now() AS store_now $q$, clock_timestamp() AS store_now", None),
            ("SELECT /* /* */ now() AS store_now */ clock_timestamp() AS store_now", None),
            ("SELECT 1 WHERE now() > store_now", None),
            ("SELECT now() AS renewed_at FROM clock ORDER BY store_now", None),
            ("store_now", None),
            ("", None),
        ] {
            assert_eq!(find(sql), found, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(sql in "[-a'\"$/*.,();é \n\\\\eE]{0,40}", tail in ".{0,20}") {
            let _ = find(&format!("{sql}{tail} AS store_now"));
        }
    }
}
