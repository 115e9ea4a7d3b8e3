use std::sync::atomic::Ordering;

use hyper::header::HeaderValue;

use super::*;
use crate::web::config::{Users, WebConfig};

/// Users of two costs. bcrypt of the least cost takes a millisecond or so.
fn users() -> Users {
    let hash = |password: &str, cost| bcrypt::hash_with_salt(password, cost, *b"sixteen bytes ok").unwrap().to_string();
    let text = format!("basic_auth_users:\n  one: {}\n  two: {}\n", hash("right", 4), hash("also right", 5));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.yml");
    std::fs::write(&path, text).unwrap();
    WebConfig::load(&path).unwrap().users.unwrap()
}

fn header(value: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
}

fn basic(user: &str, password: &str) -> HeaderMap {
    header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

fn peer(number: u8) -> Peer {
    Peer::new(Some([192, 0, 2, number].into()))
}

fn login() -> Login {
    Login::new([7; 32])
}

fn checked(login: &Login) -> usize {
    login.checked.load(Ordering::SeqCst)
}

#[tokio::test]
async fn only_the_right_password_of_a_user_is_let_in() {
    let (users, login) = (users(), login());
    for (user, password, verdict) in [
        ("one", "right", Verdict::Admitted),
        ("two", "also right", Verdict::Admitted),
        ("one", "also right", Verdict::Refused),
        ("one", "", Verdict::Refused),
        ("nobody", "right", Verdict::Refused),
        ("nobody", "also right", Verdict::Refused),
        ("", "right", Verdict::Refused),
        ("ONE", "right", Verdict::Refused),
    ] {
        for time in ["first", "again"] {
            assert_eq!(
                login.verdict(&users, &basic(user, password), peer(1)).await,
                verdict,
                "{user}:{password} {time}"
            );
        }
    }
}

#[tokio::test]
async fn a_user_and_nobody_cost_the_same_number_of_checks() {
    let users = users();
    for (user, password) in [("one", "wrong"), ("two", "wrong"), ("nobody", "wrong"), ("", "wrong")] {
        let login = login();
        for time in 0..3 {
            assert_eq!(login.verdict(&users, &basic(user, password), peer(1)).await, Verdict::Refused, "{user} {time}");
            assert_eq!(checked(&login), 1, "{user} {time}");
        }
        login.verdict(&users, &basic(user, "another"), peer(1)).await;
        assert_eq!(checked(&login), 2, "{user}");
    }
}

#[test]
fn nobody_is_checked_against_what_some_user_is_and_always_the_same() {
    let (users, login) = (users(), login());
    let of = |name: &str| users.hash_by(login.number(name.as_bytes())).to_owned();
    let hashes: std::collections::BTreeSet<_> = (0..50).map(|n| of(&format!("nobody{n}"))).collect();
    let real = ["one", "two"].map(|name| users.hash_of(name.as_bytes()).unwrap().to_owned());
    assert_eq!(hashes, real.into());
    assert_eq!(of("nobody1"), of("nobody1"));
}

#[tokio::test]
async fn who_says_nothing_that_can_be_read_costs_nothing() {
    let (users, login) = (users(), login());
    let unreadable = ["", "Basic", "Basic ", "Basic !!!", "Basic b25l", "Bearer b25lOnJpZ2h0", "Basicb25lOnJpZ2h0"];
    for headers in unreadable.map(header).into_iter().chain([HeaderMap::new()]) {
        assert_eq!(login.verdict(&users, &headers, peer(1)).await, Verdict::Refused, "{headers:?}");
    }
    assert_eq!(checked(&login), 0);
    assert_eq!(login.verdict(&users, &header("bAsIc   b25lOnJpZ2h0"), peer(1)).await, Verdict::Admitted);
}

#[tokio::test]
async fn a_password_longer_than_bcrypt_looks_at_is_refused() {
    let (users, login) = (users(), login());
    assert_eq!(login.verdict(&users, &basic("one", &"right".repeat(20)), peer(1)).await, Verdict::Refused);
}

#[tokio::test]
async fn many_at_once_with_the_same_password_cost_one_check() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let asking: Vec<_> = (0..200)
        .map(|_| {
            let (users, login) = (Arc::clone(&users), Arc::clone(&login));
            tokio::spawn(async move { login.verdict(&users, &basic("one", "right"), peer(1)).await })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap(), Verdict::Admitted);
    }
    assert_eq!(checked(&login), 1);
}

#[tokio::test]
async fn one_who_guesses_keeps_a_user_from_elsewhere_waiting_for_few_checks_alone() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let guess = |guess: usize| {
        let (users, login) = (Arc::clone(&users), Arc::clone(&login));
        tokio::spawn(async move { login.verdict(&users, &basic("one", &guess.to_string()), peer(1)).await })
    };
    let turn = Arc::clone(&login.turn).acquire_owned().await.unwrap();
    let guesses: Vec<_> = (0..200).map(guess).collect();
    while login.waiting().len() < WAITING {
        tokio::task::yield_now().await;
    }
    let (of_user, headers) = (Arc::clone(&login), basic("one", "right"));
    let user = async { of_user.verdict(&users, &headers, peer(2)).await };
    let (verdict, ()) = tokio::join!(biased; user, async { drop(turn) });
    assert_eq!(verdict, Verdict::Admitted);
    assert_eq!(checked(&login), WAITING + 1);
    let mut verdicts = Vec::new();
    for guess in guesses {
        verdicts.push(guess.await.unwrap());
    }
    let of = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
    assert_eq!((of(Verdict::Refused), of(Verdict::Busy)), (WAITING, 200 - WAITING));
    assert!(login.waiting().is_empty());
    assert_eq!(login.verdict(&users, &basic("two", "also right"), peer(1)).await, Verdict::Admitted, "later");
}

#[tokio::test]
async fn a_first_login_comes_before_all_but_one_guess_however_many_guess() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let guess = |from: u8, guess: usize| {
        let (users, login) = (Arc::clone(&users), Arc::clone(&login));
        tokio::spawn(async move { login.verdict(&users, &basic("one", &guess.to_string()), peer(from)).await })
    };
    for from in 10..40 {
        assert_eq!(guess(from, from.into()).await.unwrap(), Verdict::Refused);
    }
    let before = checked(&login);
    let turn = Arc::clone(&login.turn).acquire_owned().await.unwrap();
    let guesses: Vec<_> = (10..40).map(|from| guess(from, 1000 + usize::from(from))).collect();
    while login.waiting().len() < guesses.len() {
        tokio::task::yield_now().await;
    }
    let (of_user, headers) = (Arc::clone(&login), basic("one", "right"));
    let user = async {
        assert_eq!(of_user.verdict(&users, &headers, peer(2)).await, Verdict::Admitted);
        checked(&login) - before
    };
    let (checks, ()) = tokio::join!(biased; user, async { drop(turn) });
    assert!(checks <= 3, "{checks} checks until the user was let in");
    for guess in guesses {
        assert_eq!(guess.await.unwrap(), Verdict::Refused);
    }
}

#[tokio::test]
async fn guesses_are_forgotten_in_time_and_push_out_no_user() {
    let (users, login) = (users(), login());
    login.verdict(&users, &basic("one", "right"), peer(1)).await;
    for guess in 0..KEPT + 10 {
        login.verdict(&users, &basic("one", &guess.to_string()), peer(1)).await;
    }
    assert_eq!(login.refused.0.lock().unwrap().len(), KEPT);
    let before = checked(&login);
    assert_eq!(login.verdict(&users, &basic("one", "right"), peer(1)).await, Verdict::Admitted);
    assert_eq!(checked(&login), before);
    assert!(!format!("{login:?}").contains("right"));
}

#[test]
fn another_hash_is_another_verdict_and_parts_do_not_run_into_each_other() {
    let login = login();
    assert_ne!(login.code(b"a", "h1", b"p"), login.code(b"a", "h2", b"p"));
    assert_ne!(login.code(b"ab", "c", b"d"), login.code(b"a", "bc", b"d"));
}
