//! Names that someone may have meant.

/// The candidates closest to a word, best first, three at the most.
pub(super) fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    // A long word is a value in the wrong place, not a name mistyped.
    if word.chars().count() > 100 {
        return Vec::new();
    }
    let tolerance = 1 + word.chars().count() / 4;
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    close.sort_unstable();
    close.truncate(3);
    close.into_iter().map(|(_, candidate)| candidate).collect()
}

/// How many letters must be put in, taken out or changed to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        for (cell, there) in row[1..].iter_mut().zip(&other) {
            let change = diagonal + usize::from(letter != *there);
            diagonal = *cell;
            left = change.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
        row[0] = above + 1;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters_put_in_taken_out_or_changed() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("lease", "lease", 0),
            ("laese", "lease", 2),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn names_far_from_the_word_are_not_offered() {
        assert_eq!(near("lease_stat", ["lease_state", "lease_epoch", "lease_age_seconds"]), ["lease_state"]);
        assert!(near("zzz", ["lease_state"]).is_empty());
        assert!(near(&"lease_state".repeat(100), ["lease_state"]).is_empty());
    }
}
