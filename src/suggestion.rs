//! Suggestions for mistyped names.

/// Longest word, in characters, that gets suggestions. A longer word is a value in the wrong place, not a mistyped name.
const MAX_WORD: usize = 100;
/// Most names that are suggested for one word.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the names closest to `word` by edit distance, closest first. Letter case is ignored.
pub(super) fn similar_names<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    if length > MAX_WORD {
        return Vec::new();
    }
    let max_distance = 1 + length / 4;
    let mut similar: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (strsim::levenshtein(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= max_distance)
        .collect();
    similar.sort_unstable();
    similar.truncate(MAX_SUGGESTIONS);
    similar.into_iter().map(|(_, name)| name).collect()
}

/// Returns the question "did you mean ...?" for the names similar to `word`, or `None` if no name is.
pub(super) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let similar = similar_names(word, names);
    (!similar.is_empty()).then(|| format!("did you mean `{}`?", similar.join("` or `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_few_letters_inserted_removed_or_changed_are_suggested() {
        for (word, name) in
            [("epoch", "epochs"), ("leases", "lease"), ("laese", "lease"), ("LEASE", "lease"), ("reading", "reeding")]
        {
            assert_eq!(similar_names(word, [name]), [name], "{word}");
        }
        assert_eq!(similar_names("lease", ["leases", "lease", "phase"]), ["lease", "leases", "phase"]);
        assert_eq!(similar_names("a", ["b", "c", "d", "e"]).len(), 3);
    }

    #[test]
    fn names_far_from_the_word_are_not_suggested() {
        let names = ["lease_state", "lease_epoch", "lease_age_seconds"];
        assert_eq!(did_you_mean("lease_stat", names).as_deref(), Some("did you mean `lease_state`?"));
        assert_eq!(did_you_mean("zzz", names), None);
        assert_eq!(did_you_mean("kitten", ["sitting"]), None);
        assert_eq!(did_you_mean("", ["abc"]), None);
        assert_eq!(did_you_mean("abc", [""]), None);
        assert_eq!(did_you_mean(&"lease_state".repeat(100), names), None);
    }
}
