//! Tests of whole pages.

use std::time::Duration;

use super::*;
use crate::expose::testing::{golden, snapshots};
use crate::lease::{Age, AgeSource, Due, EventAge, Progress, State};

fn rendered_as(view: &PageRequest, snapshots: &[(SourceSnapshot, History)]) -> RenderedPage {
    let at = snapshots::now().monotonic;
    let sources: Vec<_> = snapshots.iter().map(|snapshot| observed_source(snapshot, at, None)).collect();
    render_view(view, &sources)
}

fn observed_source(
    (snapshot, history): &(SourceSnapshot, History),
    observed_at: Duration,
    unanswered_for: Option<Duration>,
) -> ObservedSource {
    let (snapshot, history) = (Arc::new(snapshot.clone()), history.clone());
    ObservedSource { snapshot, history, observed_at, unanswered_for }
}

fn render_view(view: &PageRequest, sources: &[ObservedSource]) -> RenderedPage {
    let names: Vec<_> = sources.iter().map(|source| &*source.snapshot.source).collect();
    let rendered = render(view, sources, &names, snapshots::now(), "/metrics").unwrap();
    assert!(rendered.html.contains(&render_main(view, sources, snapshots::now()).unwrap()), "one way to render");
    rendered
}

fn list(query: &str, snapshots: &[(SourceSnapshot, History)]) -> String {
    rendered_as(&PageRequest::list(query), snapshots).html
}

fn lease(source: &str, name: &str) -> RenderedPage {
    let view = PageRequest::Lease { source: source.to_owned(), lease: name.to_owned() };
    rendered_as(&view, &snapshots::with_history())
}

fn many(leases: usize) -> (SourceSnapshot, History) {
    let (snapshot, mut history) = (snapshots::many(leases), History::default());
    history.record(&snapshot, snapshots::now().monotonic);
    (snapshot, history)
}

/// The leases on a page, from top to bottom.
fn names(page: &str) -> Vec<String> {
    let after = page.split("<h2><a href=\"lease?").skip(1);
    after.map(|rest| rest.split("<bdi>").nth(1).unwrap().split("</bdi>").next().unwrap().to_owned()).collect()
}

#[test]
fn the_page_of_every_state() {
    golden::assert_matches("status.html", &list("", &snapshots::with_history()));
}

#[test]
fn the_page_of_a_lease_and_its_evidence() {
    golden::assert_matches("lease.html", &lease("documents", "retention").html);
}

#[test]
fn every_lease_has_a_page_and_the_page_of_an_unknown_lease_says_so() {
    for (snapshot, _) in snapshots::with_history() {
        for status in &snapshot.leases {
            let RenderedPage { html, found } = lease(&snapshot.source, &status.lease);
            assert!(found && names(&html).len() == 1, "{}", status.lease);
            assert!(html.contains(&format!("<code>{}</code>", status.verdict.reason)), "{}", status.lease);
        }
    }
    for (source, name) in [("documents", "none"), ("none", "retention"), ("", "")] {
        let RenderedPage { html, found } = lease(source, name);
        assert!(!found && html.contains("is known.") && names(&html).is_empty(), "{html}");
    }
}

#[test]
fn a_hostile_name_stays_text() {
    let observed = snapshots::with_history();
    let hostile = r"&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;\n{{7*7}}\u{202e}gnp.";
    for page in [
        list("", &observed),
        lease("documents", snapshots::HOSTILE_NAME).html,
        lease(snapshots::HOSTILE_NAME, "<b>").html,
    ] {
        assert_eq!(page.matches("<script").count(), 1, "only the page's own");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{200f}'), "direction marks are spelt out");
        assert!(page.contains(hostile), "{page}");
    }
    let filtered = list("q=%22%3E%3Cscript%3E&source=%3Cscript%3E", &observed);
    assert_eq!(filtered.matches("<script").count(), 1);
}

#[test]
fn the_page_contains_nothing_that_its_content_security_policy_forbids() {
    for page in [list("", &snapshots::with_history()), lease("documents", "retention").html] {
        for forbidden in [" style=", "<style", " onclick=", "javascript:", "http://", "https://", "//"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}

#[test]
fn ten_thousand_leases_are_split_into_small_pages_with_the_worst_first() {
    let mut observed = vec![many(10_000)];
    observed.extend(snapshots::with_history());
    let first = list("", &observed);
    assert!(first.len() < 200_000, "{} bytes", first.len());
    assert_eq!(names(&first).len(), LEASES_PER_PAGE);
    assert!(first.find("lease stalled").unwrap() < first.find("lease active").unwrap());
    assert!(first.contains(r##"<a rel="next" href="?page=2">"##) && !first.contains("rel=\"prev\""));
    let mut all = Vec::new();
    let pages = (10_000_usize + 17).div_ceil(LEASES_PER_PAGE);
    for number in 1..=pages {
        all.extend(names(&list(&format!("page={number}"), &observed)));
    }
    let known = observed.iter().map(|(snapshot, _)| snapshot.leases.len()).sum::<usize>();
    assert_eq!(all.len(), known, "each once");
    assert!(list(&format!("page={pages}"), &observed).contains("rel=\"prev\""));
}

/// The count and the link of each state on the page.
fn tallies(page: &str) -> Vec<(usize, String)> {
    let tallies = page.split("<ul class=\"tallies\"").nth(1).unwrap().split("</ul>").next().unwrap();
    let after = tallies.split("<a href=\"").skip(1);
    let read = after.map(|rest| {
        let count = rest.split_once("</svg><b>").unwrap().1.split('<').next().unwrap();
        (count.parse().unwrap(), rest.split('"').next().unwrap().replace("&#38;", "&"))
    });
    read.collect()
}

#[test]
fn each_count_is_the_number_of_leases_behind_its_link() {
    let observed = snapshots::with_history();
    for query in ["", "source=documents", "q=a", "q=a&source=jobs", "q=nothing-is-called-so"] {
        for (count, link) in tallies(&list(query, &observed)) {
            assert_eq!(names(&list(&link[1..], &observed)).len(), count, "{query}: {link}");
        }
    }
}

#[test]
fn a_filtered_page_counts_excluded_leases_and_names_their_unhealthy_states() {
    let observed = snapshots::with_history();
    let page = list("state=stalled&source=documents", &observed);
    assert_eq!(names(&page), ["retention"]);
    assert!(page.contains("1 of 17 leases matches the filter. Among the others: 1 stalled, 3 no leader, "), "{page}");
    assert_eq!(page.matches("aria-current").count(), 1);
    assert!(page.contains(r#"<option value="documents" selected>"#));
    assert!(page.contains("Source <bdi>billing</bdi>"), "a source in trouble is shown whatever the filter");
    assert!(page.contains("<title>1 stalled "), "of the source that is asked for");
    let page = list("q=nothing-is-called-so", &observed);
    assert!(page.contains("0 of 17 leases match the filter. Among the others: 2 stalled,"), "{page}");
}

#[test]
fn a_missing_source_and_ignored_parameters_are_reported() {
    let observed = snapshots::with_history();
    let RenderedPage { html, found } = rendered_as(&PageRequest::list("source=nope%3Cb%3E"), &observed);
    assert!(html.contains("<title>no such source "));
    assert!(!found && html.contains("No source <bdi>nope&#60;b&#62;</bdi> is configured."), "{html}");
    let RenderedPage { html, found } =
        rendered_as(&PageRequest::list("state=STALLED&source=cache&stat=%3Cb%3E"), &observed);
    assert!(
        found
            && html.contains(
                "Ignored in the address: a parameter other than state, source, q and page; an unknown state.</p>"
            ),
        "{html}"
    );
    assert!(!list("state=stalled&q=a", &observed).contains("Ignored in"));
    assert!(!list("q=a%00b&source=%00", &observed).contains('\0'), "HTML knows no NUL");
}

#[test]
fn a_list_abridges_long_names_and_the_page_of_a_lease_does_not() {
    let (beginning, end) = ("b".repeat(300), "e".repeat(300));
    let (mut snapshot, history) = many(1);
    snapshot.leases[0].lease = format!("{beginning}{end}").into();
    let observed = [(snapshot, history)];
    let listed = names(&list("", &observed)).remove(0);
    assert!(listed.starts_with("bbb") && listed.ends_with("eee") && listed.chars().count() < 130, "{listed}");
    let view = PageRequest::Lease { source: "many".to_owned(), lease: format!("{beginning}{end}") };
    assert_eq!(names(&rendered_as(&view, &observed).html), [format!("{beginning}{end}")]);
}

#[test]
fn the_oldest_due_work_has_a_bar_on_the_scale_of_its_own_limit() {
    let fact = |overdue_after: u64| {
        let (mut snapshot, history) = many(1);
        let status = &mut snapshot.leases[0];
        let mut policy = *status.policy;
        policy.overdue_after = (overdue_after > 0).then(|| Duration::from_secs(overdue_after));
        status.policy = policy.into();
        let Ok(evidence) = &mut status.observation else { panic!("it was read") };
        let oldest = EventAge { age: Age::exact(Duration::from_secs(3_600)), source: AgeSource::StoredTime };
        evidence.due = Due::Waiting { count: Some(3), oldest: Some(oldest), oldest_at: None };
        let page = list("", &[(snapshot, history)]);
        let fact = page.split("<div class=\"fact due ").nth(1)?.split("</svg>").next()?.to_owned();
        Some(fact)
    };
    assert_eq!(fact(0), None, "it has no limit of its own");
    let within = fact(7_200).unwrap();
    assert!(within.starts_with("waiting") && within.contains("oldest for 1h"), "{within}");
    assert!(within.contains(r#"width="25.0%""#), "{within}");
    let beyond = fact(600).unwrap();
    assert!(beyond.starts_with("overdue") && beyond.contains(r#"width="100.0%""#), "{beyond}");
    assert!(beyond.contains("torn"), "it goes on beyond the scale: {beyond}");
}

#[test]
fn thirty_sources_with_the_same_problem_share_one_banner() {
    let mut observed = snapshots::with_history();
    let (down, history) = observed.pop().unwrap();
    for number in 0..30 {
        let source = format!("shard-{number:02}").into();
        observed.push((SourceSnapshot { source, ..down.clone() }, history.clone()));
    }
    let page = list("", &observed);
    let before = page.split("<ol class=\"leases\"").next().unwrap();
    assert_eq!(before.matches("class=\"banner failed\"").count(), 1, "{before}");
    assert!(before.contains("<b>30 sources</b>") && before.contains("shard-29"), "all are in the list");
    assert!(page.contains("<title>2 stalled, 30 sources unreadable "));
}

#[test]
fn stalled_and_leaderless_leases_are_ordered_by_their_time_without_progress_and_others_by_name() {
    let aged = |state: State, ages: &[Age]| {
        let (mut snapshot, history) = many(ages.len());
        for (status, age) in snapshot.leases.iter_mut().zip(ages) {
            status.verdict.state = state;
            let Ok(evidence) = &mut status.observation else { panic!("it was read") };
            let Progress::Made { age: when, .. } = &mut evidence.progress else { panic!("it has progress") };
            when.age = *age;
        }
        names(&list("", &[(snapshot, history)]))
    };
    let (hour, day) = (Duration::from_secs(3_600), Duration::from_secs(86_400));
    let ages = [Age::UNBOUNDED, Age::exact(hour), Age::at_least(day), Age::exact(hour * 2)];
    for state in [State::Stalled, State::NoLeader] {
        assert_eq!(aged(state, &ages), ["lease-00002", "lease-00003", "lease-00001", "lease-00000"], "{state}");
    }
    for state in [State::Unknown, State::Active, State::Idle] {
        assert_eq!(aged(state, &ages), ["lease-00000", "lease-00001", "lease-00002", "lease-00003"], "{state}");
    }
}

#[test]
fn the_title_begins_with_the_worst_state() {
    assert!(list("", &snapshots::with_history()).contains("<title>2 stalled, 1 source unreadable "));
    assert!(list("", &[many(2)]).contains("<title>2 active "));
    let mut down = snapshots::with_history().pop().unwrap();
    down.0.leases.clear();
    assert!(list("", &[down]).contains("<title>1 source unreadable "));
    let mut dark = snapshots::with_history().pop().unwrap();
    dark.0.leases.clear();
    assert!(list("", &[many(2), dark]).contains("<title>1 source unreadable, 2 active "), "no count tells of it");
    assert!(list("q=nothing", &[many(2)]).contains("<title>no matching leases "));
    assert!(list("", &[]).contains("<title>no leases "));
    assert!(lease("documents", "retention").html.contains("<title>stalled: retention "));
}

#[test]
fn a_source_read_before_the_others_shows_its_own_time() {
    let mut observed = snapshots::with_history();
    observed.retain(|(snapshot, _)| ["documents", "cache"].contains(&&*snapshot.source));
    let at = |seconds_ago| snapshots::now().monotonic - Duration::from_secs(seconds_ago);
    let sources_of = |documents: u64, unanswered: Option<u64>| {
        let ago = [documents, 1];
        let observed = observed.iter().zip(ago).map(|(snapshot, ago)| {
            let unanswered_for = unanswered.filter(|_| ago == documents).map(Duration::from_secs);
            observed_source(snapshot, at(ago), unanswered_for)
        });
        observed.collect::<Vec<_>>()
    };
    let of_list = |observed: &[ObservedSource]| render_view(&PageRequest::list(""), observed).html;
    let page = of_list(&sources_of(1, None));
    assert!(page.contains("as of <time>2027-01-15 07:59:59 UTC</time>"), "of the readings, not of the answer");
    assert!(!page.contains("</bdi>, as of"), "all of one time");
    let page = of_list(&sources_of(5, Some(3)));
    assert!(page.contains("as of <time>2027-01-15 07:59:59 UTC</time>"), "of the latest");
    assert_eq!(
        page.matches("in <bdi>documents</bdi>, as of <time>07:59:55</time>").count(),
        observed[0].0.leases.len()
    );
    assert!(!page.contains("in <bdi>cache</bdi>, as of"));
    assert!(page.contains("read in 3ms, as of 07:59:55, not answering for 3s</li>"), "{page}");
    let view = PageRequest::Lease { source: "documents".to_owned(), lease: "retention".to_owned() };
    let page = render_view(&view, &sources_of(5, None)[..1]).html;
    assert!(page.contains("as of <time>2027-01-15 07:59:55 UTC</time>") && !page.contains("</bdi>, as of"));
    // PeriodKind as stalled since 07:58:00.
    assert!(page.contains("for 1m55s <br>since 07:58:00"), "{page}");
}

#[test]
fn the_banner_of_an_unanswering_store_shows_for_how_long() {
    let snapshot = snapshots::with_history().pop().unwrap();
    let at = snapshots::now().monotonic;
    for (unanswered, says) in [
        (Some(7_400), "has not answered for 7s (store_timeout). Nothing is known of its lease now."),
        (Some(127_900), "has not answered for 2m7s (store_timeout)."),
        (None, "could not be read: the store did not answer in time (store_timeout, after 5s)."),
    ] {
        let source = observed_source(&snapshot, at, unanswered.map(Duration::from_millis));
        let page = render_view(&PageRequest::list(""), &[source]).html;
        assert!(page.contains(&format!("<b>Source <bdi>billing</bdi></b> {says}")), "{page}");
    }
}

#[test]
fn a_filter_by_a_missing_source_names_it_and_offers_the_configured_sources() {
    let page =
        render(&PageRequest::list("source=%3Cb%3E"), &[], &["one", "two"], snapshots::now(), "/metrics").unwrap().html;
    assert!(page.contains("No source <bdi>&#60;b&#62;</bdi> is configured."), "{page}");
    for choice in [r#"<option value="one">"#, r#"<option value="two">"#, r#"<option value="&#60;b&#62;" selected>"#] {
        assert!(page.contains(choice), "{choice} {page}");
    }
}
