use super::*;
use crate::store::section::Section;

/// The section `keys` of a source.
pub(in crate::store) fn section(yaml: &str) -> Section {
    struct Keys(Section);

    impl<'de> serde::Deserialize<'de> for Keys {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Section::deserialize(KEYS, deserializer).map(Self)
        }
    }

    let Keys(section) = crate::yaml::read(yaml, &[]).unwrap();
    section
}

pub(in crate::store) fn layout(yaml: &str) -> KeyLayout {
    KeyLayout::of_section(&section(yaml)).map_err(|faults| format!("{yaml}: {faults:?}")).unwrap()
}

/// The problems, each with the text that has it.
fn faults(yaml: &str) -> Vec<(Option<String>, String)> {
    let section = section(yaml);
    let faults = KeyLayout::of_section(&section).unwrap_err();
    faults.into_iter().map(|fault| (fault.text.map(|text| text.value.clone()), fault.message)).collect()
}

fn names(layout: &KeyLayout, keys: &[&str]) -> Vec<Option<String>> {
    keys.iter().map(|key| layout.lease_name(key).map(str::to_owned)).collect()
}

#[test]
fn with_one_star_a_lease_is_named_by_what_it_stands_for_and_else_by_its_key() {
    let star = layout("lock: 'lock:*:own'");
    assert_eq!(names(&star, &["lock:a:own", "lock:own", "lock::own"]), [Some("a".into()), None, Some(String::new())]);
    let glob = layout("lock: 'lock:[a-c]?'");
    assert_eq!(names(&glob, &["lock:b1", "lock:d1"]), [Some("lock:b1".into()), None]);
    let escaped = layout("lock: 'lock\\[*'");
    assert_eq!(names(&escaped, &["lock[a", "lock\\[a"]), [Some("lock[a".into()), None]);
    let one = layout("lock: 'redbeat::lock'");
    assert!(!one.leases.is_many());
    assert_eq!(names(&one, &["redbeat::lock"]), [Some("redbeat::lock".into())]);
}

#[test]
fn keys_beside_a_lease_are_no_leases_whether_theirs_is_there_or_not() {
    let beside =
        layout("{lock: 'lock:*', epoch: '{key}:fence', progress: 'lock:progress:{name}', due_list: 'queue:{name}'}");
    assert_eq!(
        names(&beside, &["lock:a", "lock:a:fence", "lock:progress:a", "lock:fence", "lock:progress:"]),
        [Some("a".into()), None, None, Some("fence".into()), Some("progress:".into())]
    );
    let whole = layout("{lock: '*:lock:*', epoch: '{key}:fence'}");
    assert_eq!(names(&whole, &["a:lock:b", "a:lock:b:fence"]), [Some("a:lock:b".into()), None]);
}

#[test]
fn a_key_beside_a_lease_takes_its_key_or_name_and_leaves_other_braces() {
    let made = |template: &str| KeyTemplate::new(template).unwrap().key("lock:a", "a");
    assert_eq!(made("{key}:fence"), "lock:a:fence");
    assert_eq!(made("{jobs}:due:{name}"), "{jobs}:due:a");
    assert_eq!(made("due"), "due");
    assert!(KeyTemplate::new("{key}{key}").is_err() && KeyTemplate::new("{name}:{key}").is_err());
}

#[test]
fn the_columns_are_those_that_the_keys_can_give() {
    let columns = |yaml: &str| {
        let mut columns = layout(yaml).columns();
        let count = columns.len();
        columns.sort_by_key(|column| *column as usize);
        columns.dedup();
        assert_eq!(columns.len(), count, "{yaml}");
        columns.into_iter().map(Column::as_str).skip(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(columns("lock: a"), "holder expires_at");
    assert_eq!(
        columns("{lock: 'a*', ttl: 30s, epoch: '{key}:e', progress: '{key}:p', due_set: '{key}:d'}"),
        "holder epoch renewed_at expires_at progress_at progress_epoch progress_cursor due oldest_due_at"
    );
    assert_eq!(
        columns("{lock: a, due_set: d, progress_by_due: true}"),
        "holder expires_at progress_cursor due oldest_due_at"
    );
    assert_eq!(
        columns("hash: a"),
        "holder epoch acquired_at renewed_at expires_at ttl_seconds progress_at progress_epoch progress_cursor due \
         oldest_due_at"
    );
    assert_eq!(columns("{hash: a, fields: [holder, epoch], due_list: q}"), "holder epoch expires_at due");
    assert_eq!(columns("{lock: a, progress: p, fields: [progress_cursor]}"), "holder expires_at progress_cursor");
}

#[test]
fn whatever_does_not_fit_together_is_said_with_the_text_at_fault() {
    for (yaml, at, fault) in [
        ("{}", None, "give it a `lock` or a `hash`"),
        ("{lock: a, hash: b}", Some("b"), "`lock` and `hash` exclude each other"),
        ("{lock: ''}", Some(""), "`lock` cannot be empty"),
        ("{lock: a, ttl: 30}", Some("30"), "`ttl` is no length of time; a number needs a unit"),
        ("{hash: a, ttl: 30s}", Some("30s"), "`ttl` means nothing without `lock`"),
        ("{hash: a, epoch: b}", Some("b"), "`epoch` means nothing without `lock`"),
        ("{lock: a, fields: [due]}", Some("due"), "`fields` means nothing without `progress`"),
        (
            "{lock: a, progress: b, fields: [holder]}",
            Some("holder"),
            "no such field here; those that are read are progress_at, ",
        ),
        ("{hash: a, fields: [due, due]}", Some("due"), "the field `due` is said twice"),
        ("{hash: a, fields: [due], due_set: b}", Some("due"), "the field `due` is said twice"),
        ("{hash: a, fields: [store_now]}", Some("store_now"), "no such field"),
        ("{lock: a, due_set: b, due_list: c}", Some("c"), "`due_set` and `due_list` exclude"),
        ("{lock: a, progress_by_due: true}", Some("true"), "means nothing without `due_set`"),
        ("{lock: a, due_set: b, progress_by_due: maybe}", Some("maybe"), "is `true` or `false`"),
        ("{lock: a, progress: c, due_set: b, progress_by_due: true}", Some("true"), "`progress` and `progress_by_due`"),
        ("{lock: 'a*', epoch: fence}", Some("fence"), "`epoch` is the same key for all leases"),
        ("{lock: 'a*', epoch: '{key}{name}'}", Some("{key}{name}"), "more than one of `{key}` and `{name}`"),
        ("{lock: 'a*', epoch: '{key}'}", Some("{key}"), "names the keys of the leases themselves"),
        ("{lock: 'a*', epoch: 'a{name}'}", Some("a{name}"), "names the keys of the leases themselves"),
        ("{lock: 'lock:*', due_set: '{name}'}", Some("{name}"), "names the keys of the leases themselves"),
        ("{lock: a, due_list: a}", Some("a"), "names the keys of the leases themselves"),
    ] {
        let found = faults(yaml);
        let [(text, said)] = found.as_slice() else { panic!("{yaml}: {found:?}") };
        assert_eq!(text.as_deref(), at, "{yaml}");
        assert!(said.contains(fault), "{yaml}: {said}");
    }
    assert_eq!(faults("{hash: 'a*', ttl: 1, due_set: b}").len(), 2, "all at once");
}

/// As `stringmatchlen` of Redis does it.
#[test]
fn a_pattern_means_what_it_means_to_redis() {
    for (pattern, key, matches) in [
        ("*", "", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "a-b-b-", false),
        ("h?llo", "hello", true),
        ("h?llo", "hllo", false),
        ("h[ae]llo", "hallo", true),
        ("h[ae]llo", "hillo", false),
        ("h[^e]llo", "hallo", true),
        ("h[^e]llo", "hello", false),
        ("h[a-b]llo", "hbllo", true),
        ("h[b-a]llo", "hallo", true),
        ("[\\]a]", "]", true),
        ("[a-]", "-", false),
        ("[a-]", "^", true),
        ("[abc", "c", true),
        ("\\*a", "*a", true),
        ("\\*a", "xa", false),
        ("a\\", "a\\", true),
    ] {
        assert_eq!(glob::RedisGlob::new(pattern).matches(key.as_bytes()), matches, "{pattern} {key}");
    }
    let slow = glob::RedisGlob::new(&"*a".repeat(500));
    assert!(!slow.matches(&[&b"a".repeat(1_000)[..], b"b"].concat()), "and none is slow");
}
