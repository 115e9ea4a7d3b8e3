//! Replaces variables in a query as Grafana does.

/// The chosen values of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice<'a> {
    /// Everything: the variable's `allValue`, as it is.
    All,
    /// One value, or several.
    These(&'a [&'a str]),
}

/// Replaces the variables of a query. `step` is in seconds.
pub(super) fn interpolated(expression: &str, source: Choice<'_>, lease: Choice<'_>, step: u32, scrape: u32) -> String {
    // As defined in the documentation of Grafana.
    let rate_interval = (step + scrape).max(4 * scrape);
    expression
        .replace("$__rate_interval", &format!("{rate_interval}s"))
        .replace("$source", &chosen(source))
        .replace("$lease", &chosen(lease))
}

fn chosen(choice: Choice<'_>) -> String {
    match choice {
        Choice::All => super::form::ALL_VALUE.to_owned(),
        Choice::These([one]) => escaped(one),
        Choice::These(several) => format!("({})", several.iter().map(|one| escaped(one)).collect::<Vec<_>>().join("|")),
    }
}

/// A value as its Prometheus data source puts it between the quotes of `=~"…"`: special characters are escaped for the
/// regular expression, and the backslashes of that for the string.
fn escaped(value: &str) -> String {
    let mut escaped = String::new();
    for letter in value.chars() {
        match letter {
            '\\' => escaped.push_str(r"\\\\"),
            '"' => escaped.push_str(r#"\\\""#),
            '$' | '^' | '*' | '{' | '}' | '[' | ']' | '\'' | '+' | '?' | '.' | '(' | ')' | '|' => {
                escaped.push_str(r"\\");
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

#[test]
fn a_value_is_escaped_for_the_expression_and_for_the_string() {
    assert_eq!(escaped(r#"a.b|c\d"e"#), r#"a\\.b\\|c\\\\d\\\"e"#);
    assert_eq!(chosen(Choice::These(&["a.b", "c"])), r"(a\\.b|c)");
}
