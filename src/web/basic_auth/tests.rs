use std::sync::atomic::Ordering;

use hyper::header::HeaderValue;

use super::*;
use crate::web::config::{Users, WebConfig};

/// Users with two bcrypt costs. The lowest cost takes about a millisecond.
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

fn login() -> BasicAuth {
    BasicAuth::new([7; 32])
}

fn checked(login: &BasicAuth) -> usize {
    login.comparisons.load(Ordering::SeqCst)
}

#[tokio::test]
async fn only_the_right_password_of_a_user_is_accepted() {
    let (users, login) = (users(), login());
    for (user, password, verdict) in [
        ("one", "right", LoginResult::Accepted),
        ("two", "also right", LoginResult::Accepted),
        ("one", "also right", LoginResult::Rejected),
        ("one", "", LoginResult::Rejected),
        ("nobody", "right", LoginResult::Rejected),
        ("nobody", "also right", LoginResult::Rejected),
        ("", "right", LoginResult::Rejected),
        ("ONE", "right", LoginResult::Rejected),
    ] {
        for time in ["first", "again"] {
            assert_eq!(login.check(&users, &basic(user, password), peer(1)).await, verdict, "{user}:{password} {time}");
        }
    }
}

#[tokio::test]
async fn known_and_unknown_users_cost_the_same_number_of_comparisons() {
    let users = users();
    for (user, password) in [("one", "wrong"), ("two", "wrong"), ("nobody", "wrong"), ("", "wrong")] {
        let login = login();
        for time in 0..3 {
            assert_eq!(
                login.check(&users, &basic(user, password), peer(1)).await,
                LoginResult::Rejected,
                "{user} {time}"
            );
            assert_eq!(checked(&login), 1, "{user} {time}");
        }
        login.check(&users, &basic(user, "another"), peer(1)).await;
        assert_eq!(checked(&login), 2, "{user}");
    }
}

#[test]
fn an_unknown_user_is_always_compared_with_the_same_existing_hash() {
    let (users, login) = (users(), login());
    let of = |name: &str| users.decoy_hash(login.decoy_number(name.as_bytes())).to_owned();
    let hashes: std::collections::BTreeSet<_> = (0..50).map(|n| of(&format!("nobody{n}"))).collect();
    let real = ["one", "two"].map(|name| users.hash_of(name.as_bytes()).unwrap().to_owned());
    assert_eq!(hashes, real.into());
    assert_eq!(of("nobody1"), of("nobody1"));
}

#[tokio::test]
async fn unreadable_credentials_cost_no_comparison() {
    let (users, login) = (users(), login());
    let unreadable = ["", "Basic", "Basic ", "Basic !!!", "Basic b25l", "Bearer b25lOnJpZ2h0", "Basicb25lOnJpZ2h0"];
    for headers in unreadable.map(header).into_iter().chain([HeaderMap::new()]) {
        assert_eq!(login.check(&users, &headers, peer(1)).await, LoginResult::Rejected, "{headers:?}");
    }
    assert_eq!(checked(&login), 0);
    assert_eq!(login.check(&users, &header("bAsIc   b25lOnJpZ2h0"), peer(1)).await, LoginResult::Accepted);
}

#[tokio::test]
async fn a_password_longer_than_bcrypt_supports_is_rejected() {
    let (users, login) = (users(), login());
    assert_eq!(login.check(&users, &basic("one", &"right".repeat(20)), peer(1)).await, LoginResult::Rejected);
}

#[tokio::test]
async fn simultaneous_logins_with_the_same_password_cost_one_comparison() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let asking: Vec<_> = (0..200)
        .map(|_| {
            let (users, login) = (Arc::clone(&users), Arc::clone(&login));
            tokio::spawn(async move { login.check(&users, &basic("one", "right"), peer(1)).await })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap(), LoginResult::Accepted);
    }
    assert_eq!(checked(&login), 1);
}

#[tokio::test]
async fn a_guessing_peer_delays_a_user_elsewhere_by_few_comparisons() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let guess = |guess: usize| {
        let (users, login) = (Arc::clone(&users), Arc::clone(&login));
        tokio::spawn(async move { login.check(&users, &basic("one", &guess.to_string()), peer(1)).await })
    };
    let permit = Arc::clone(&login.comparison).acquire_owned().await.unwrap();
    let guesses: Vec<_> = (0..200).map(guess).collect();
    while login.state().pending.len() < MAX_PENDING {
        tokio::task::yield_now().await;
    }
    let (of_user, headers) = (Arc::clone(&login), basic("one", "right"));
    let user = async { of_user.check(&users, &headers, peer(2)).await };
    let (verdict, ()) = tokio::join!(biased; user, async { drop(permit) });
    assert_eq!(verdict, LoginResult::Accepted);
    assert_eq!(checked(&login), MAX_PENDING + 1);
    let mut verdicts = Vec::new();
    for guess in guesses {
        verdicts.push(guess.await.unwrap());
    }
    let of = |verdict| verdicts.iter().filter(|other| **other == verdict).count();
    assert_eq!((of(LoginResult::Rejected), of(LoginResult::Busy)), (MAX_PENDING, 200 - MAX_PENDING));
    assert!(login.state().pending.is_empty());
    assert_eq!(login.check(&users, &basic("two", "also right"), peer(1)).await, LoginResult::Accepted, "later");
}

#[tokio::test]
async fn a_first_login_waits_for_at_most_one_guess_of_many_suspects() {
    let (users, login) = (Arc::new(users()), Arc::new(login()));
    let guess = |from: u8, guess: usize| {
        let (users, login) = (Arc::clone(&users), Arc::clone(&login));
        tokio::spawn(async move { login.check(&users, &basic("one", &guess.to_string()), peer(from)).await })
    };
    for from in 10..40 {
        assert_eq!(guess(from, from.into()).await.unwrap(), LoginResult::Rejected);
    }
    let before = checked(&login);
    let permit = Arc::clone(&login.comparison).acquire_owned().await.unwrap();
    let guesses: Vec<_> = (10..40).map(|from| guess(from, 1000 + usize::from(from))).collect();
    while login.state().pending.len() < guesses.len() {
        tokio::task::yield_now().await;
    }
    let (of_user, headers) = (Arc::clone(&login), basic("one", "right"));
    let user = async {
        assert_eq!(of_user.check(&users, &headers, peer(2)).await, LoginResult::Accepted);
        checked(&login) - before
    };
    let (checks, ()) = tokio::join!(biased; user, async { drop(permit) });
    assert!(checks <= 3, "{checks} checks until the user was let in");
    for guess in guesses {
        assert_eq!(guess.await.unwrap(), LoginResult::Rejected);
    }
}

#[tokio::test]
async fn the_cache_of_rejected_logins_is_bounded_and_evicts_no_user() {
    let (users, login) = (users(), login());
    login.check(&users, &basic("one", "right"), peer(1)).await;
    for guess in 0..CACHE_SIZE + 10 {
        login.check(&users, &basic("one", &guess.to_string()), peer(1)).await;
    }
    assert_eq!(login.state().rejected.len(), CACHE_SIZE);
    let before = checked(&login);
    assert_eq!(login.check(&users, &basic("one", "right"), peer(1)).await, LoginResult::Accepted);
    assert_eq!(checked(&login), before);
    assert!(!format!("{login:?}").contains("right"));
}

#[test]
fn the_login_digest_depends_on_the_hash_and_separates_its_parts() {
    let login = login();
    assert_ne!(login.login_digest(b"a", "h1", b"p"), login.login_digest(b"a", "h2", b"p"));
    assert_ne!(login.login_digest(b"ab", "c", b"d"), login.login_digest(b"a", "bc", b"d"));
}
