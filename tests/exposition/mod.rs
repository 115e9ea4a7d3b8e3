//! A strict parser of metrics pages. It accepts what both text formats require and nothing that they only tolerate.

use std::collections::BTreeSet;

/// A sample line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    /// The labels in the order of the line, each once.
    pub(crate) labels: Vec<(String, String)>,
    /// The value as written.
    pub(crate) value: String,
}

/// Parses the samples of a page in either format, in order.
///
/// Every line ends with a line feed. Each family is declared once, at least by its type, and its samples follow.
pub(crate) fn samples(page: &str) -> Result<Vec<Sample>, String> {
    let whole = page.is_empty() || page.ends_with('\n');
    let mut page = whole.then_some(page).ok_or("the last line does not end")?;
    let (mut samples, mut typed, mut described) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut family: Option<&str> = None;
    while let Some((line, rest)) = page.split_once('\n') {
        page = rest;
        let bad = |what: &str| format!("{what}: {line:?}");
        let Some(comment) = line.strip_prefix("# ") else {
            let sample = sample(line).ok_or_else(|| bad("not a sample"))?;
            let of = family.filter(|family| belongs(&sample.name, family));
            of.ok_or_else(|| bad("a sample outside of its family"))?;
            samples.push(sample);
            continue;
        };
        if comment == "EOF" {
            return if rest.is_empty() { Ok(samples) } else { Err(bad("more after the end")) };
        }
        let mut words = comment.splitn(3, ' ');
        let (keyword, name, text) = (words.next(), words.next(), words.next());
        let name = name.filter(|name| is_name(name, true)).ok_or_else(|| bad("no name"))?;
        let known = match (keyword, text) {
            (Some("HELP"), Some(text)) => !text.contains('\r') && described.insert(name),
            (Some("TYPE"), Some("counter" | "gauge" | "info")) => {
                family = Some(name);
                typed.insert(name)
            }
            (Some("UNIT"), Some(unit)) => family == Some(name) && name.ends_with(&format!("_{unit}")),
            _ => false,
        };
        known.then_some(()).ok_or_else(|| bad("not what is said of a family, or said twice"))?;
    }
    Ok(samples)
}

/// Whether a sample belongs to a family.
fn belongs(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|suffix| ["", "_total", "_info"].contains(&suffix))
}

/// `name{label="value",…} value`, with nothing after it.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels: Vec<(String, String)> = Vec::new();
    if let Some(mut within) = rest.strip_prefix('{') {
        loop {
            let (label, after) = within.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if !is_name(label, false) || labels.iter().any(|(other, _)| other == label) {
                return None;
            }
            labels.push((label.to_owned(), value));
            match after.strip_prefix(',') {
                Some(next) => within = next,
                None => {
                    rest = after.strip_prefix('}')?;
                    break;
                }
            }
        }
    }
    let value = rest.strip_prefix(' ').filter(|value| is_number(value))?;
    is_name(name, true).then(|| Sample { name: name.to_owned(), labels, value: value.to_owned() })
}

fn is_name(text: &str, of_metric: bool) -> bool {
    let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || (of_metric && letter == ':');
    text.starts_with(letter) && text.chars().all(|other| letter(other) || other.is_ascii_digit())
}

/// A plain finite number without a redundant sign.
fn is_number(text: &str) -> bool {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    plain && text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) && {
        text.parse::<f64>().is_ok_and(f64::is_finite)
    }
}

/// The value of a label up to its closing quote, and the rest of the line.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                _ => return None,
            }),
            _ => value.push(letter),
        }
    }
    None
}
