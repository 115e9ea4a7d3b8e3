//! Whether the message of a server's error may be shown.
//!
//! A message with the name of a table or column helps the author of the query. But stored functions can raise messages,
//! and a stored text can be cast to a name, so a message can contain a value of a row.

/// Whether every word of a message is one of the server's own words or a word of the statement, regardless of case.
pub(super) fn has_only_known_words(message: &str, own_words: &[&str], statement: &str) -> bool {
    const LONGEST: usize = 300;
    message.len() <= LONGEST
        && !message.contains(char::is_control)
        && words(message).all(|word| {
            own_words.iter().any(|own| own.eq_ignore_ascii_case(word))
                || words(statement).any(|asked| asked.eq_ignore_ascii_case(word))
        })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_the_servers_words_and_the_statements_names_may_be_passed_on() {
        let own = ["relation", "does", "not", "exist"];
        let statement = "SELECT now() AS store_now, l.Name AS lease FROM jobs AS l";
        assert!(has_only_known_words("relation \"jobs\" does not exist", &own, statement));
        assert!(has_only_known_words("Relation l.name does not exist", &own, statement));
        for told in [
            "relation \"planted\" does not exist",
            "relation \"jobs planted\" does not exist",
            "relation jobs does not exist\nplanted",
            "jobs, jobs",
        ] {
            assert_eq!(has_only_known_words(told, &own, statement), told == "jobs, jobs", "{told}");
        }
        assert!(!has_only_known_words(&"jobs ".repeat(100), &own, statement));
    }
}
