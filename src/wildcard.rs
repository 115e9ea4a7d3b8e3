//! Matches whole texts against patterns with `*`.

/// Whether a pattern matches a whole text. `is_run` says whether a token is a `*`, and `takes` whether another token matches
/// one character.
///
/// On a mismatch only the last `*` needs to take one more character: an earlier `*` could gain nothing that the last does
/// not. So the time is bounded by the length of the pattern times that of the text.
pub(crate) fn matches<T, C: Copy>(
    tokens: &[T],
    text: impl Iterator<Item = C> + Clone,
    is_run: impl Fn(&T) -> bool,
    takes: impl Fn(&T, C) -> bool,
) -> bool {
    let (mut at, mut rest) = (0, text);
    let mut last_run = None;
    loop {
        let mut next = rest.clone();
        match (tokens.get(at), next.next()) {
            (Some(token), _) if is_run(token) => {
                at += 1;
                last_run = Some((at, rest.clone()));
            }
            (Some(token), Some(character)) if takes(token, character) => (at, rest) = (at + 1, next),
            (None, None) => return true,
            (_, None) => return false,
            _ => {
                let Some((after, taken)) = &mut last_run else { return false };
                taken.next();
                (at, rest) = (*after, taken.clone());
            }
        }
    }
}
