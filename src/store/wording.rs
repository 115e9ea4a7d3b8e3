//! What of a server's message may be passed on.

/// Whether a text says nothing but what is known anyhow: each of its words is one of the vocabulary's, or stands in the
/// statement that was sent. A stored function can make a server say anything, the value of a row too.
pub(super) fn names_only(text: &str, vocabulary: &[&str], sql: &str) -> bool {
    let known = |word: &str| {
        let is_it = |other: &str| other.eq_ignore_ascii_case(word);
        words(sql).any(is_it) || vocabulary.iter().copied().flat_map(words).any(is_it)
    };
    words(text).all(known)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| !(letter.is_alphanumeric() || matches!(letter, '_' | '$')));
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_holds_a_word_of_neither_is_not_passed_on() {
        let sql = "SELECT `name` AS lease, l.until FROM App.Jobs AS l WHERE größe > 17";
        for known in ["app.jobs", "`name`", "l.until", "JOBS.größe", "no column name", "17", ""] {
            assert!(names_only(known, &["no column", "other"], sql), "{known}");
        }
        for unknown in ["app.job", "name2", "there is no column name", "1", "größ", "until_", "planted"] {
            assert!(!names_only(unknown, &["no column", "other"], sql), "{unknown}");
        }
    }
}
