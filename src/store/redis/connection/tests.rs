use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::task::{coop::consume_budget, yield_now};
use tokio::time::{sleep, timeout};

use super::canned_server::{CannedServer, at_once};
use super::*;
use crate::lease::ReadFailure;
use crate::store::RecordLimiter;
use crate::store::redis::decoder::Decoder;
use crate::store::redis::request::{LeaseKey, Request, TransactionReply};
use crate::store::redis::schedule::DueScheduleTracker;
use crate::store::redis::tests::{layout, subject};
use crate::store::redis::{Expiry, Failure};

const HELLO: &str = "%2\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n";
const CLOCK: &str = "*2\r\n$4\r\n1000\r\n$1\r\n0\r\n";
const HASHES: &str = "{hash: 'lock:*', fields: [holder, epoch]}";

/// The answers of a server to a transaction about so many leases that are laid out as [`HASHES`].
fn transaction(leases: usize) -> String {
    let queued = "+QUEUED\r\n".repeat(2 + 2 * leases);
    let answers = ":-1\r\n*2\r\n$1\r\nh\r\n$1\r\n7\r\n".repeat(leases);
    format!("+OK\r\n{queued}*{}\r\n{HELLO}{CLOCK}{answers}", 2 + 2 * leases)
}

fn leases(count: usize) -> Vec<LeaseKey> {
    (0..count).map(|number| subject(&format!("{number:06}"))).collect()
}

/// How many leases are read.
async fn read(connection: &mut Connection, leases: &[LeaseKey]) -> Result<usize, ReadError> {
    let (layout, mut schedules) = (layout(HASHES), DueScheduleTracker::new(100_000));
    let request = Request::new(&layout, leases, Expiry::Time, None, &schedules);
    let TransactionReply { elements, .. } = request.send(connection).await.map_err(Failure::into_read_error)?;
    let decoder = Decoder { layout: &layout, expiry: Expiry::Time, schedules: &mut schedules, start: Duration::ZERO };
    Ok(decoder.read(elements, leases, RecordLimiter::new(100_000), 0).await?.records.accepted.len())
}

fn read_from(answers: &[u8], count: usize) -> Result<usize, ReadError> {
    let mut connection = Connection::new(Box::new(CannedServer::new(answers)));
    at_once(read(&mut connection, &leases(count)))
}

#[test]
fn a_transaction_is_read_in_whatever_pieces_it_arrives() {
    for piece in [1, 2, 7, 4_096, usize::MAX] {
        let canned = CannedServer::new(transaction(300)).in_pieces_of(piece);
        let sent = canned.sent();
        let mut connection = Connection::new(Box::new(canned));
        assert_eq!(at_once(read(&mut connection, &leases(300))).unwrap(), 300, "{piece}");
        let sent = sent.lock().unwrap();
        assert_eq!(sent.windows(4).filter(|word| word == b"EXEC").count(), 1);
        assert_eq!(sent.windows(5).filter(|word| word == b"HMGET").count(), 300);
    }
}

#[test]
fn a_reply_that_ends_early_is_a_connection_that_ended() {
    let whole = transaction(2);
    assert_eq!(read_from(whole.as_bytes(), 2).unwrap(), 2);
    for end in 0..whole.len() {
        let error = read_from(&whole.as_bytes()[..end], 2).unwrap_err();
        assert_eq!(error.to_string(), "the server ended the connection", "{end}");
    }
}

#[test]
fn a_transaction_is_answered_with_as_much_as_was_asked() {
    let whole = transaction(2);
    for (told, elements) in [("fewer", 5), ("more", 7), ("many more", 1_000_000)] {
        let other = whole.replace("*6\r\n", &format!("*{elements}\r\n"));
        assert_eq!(read_from(other.as_bytes(), 2).unwrap_err().failure(), ReadFailure::Unreachable, "{told}");
    }
}

/// An error in the place of one answer, and what is passed over in the place of none.
#[test]
fn errors_messages_and_attributes_among_the_answers_cost_what_they_concern_alone() {
    let read = |answer: &str| {
        let answers = transaction(2).replacen(":-1\r\n*2\r\n$1\r\nh\r\n$1\r\n7\r\n", answer, 1);
        read_from(answers.as_bytes(), 2).map_err(|error| error.to_string())
    };
    for passed_over in [
        ":-1\r\n|1\r\n+ttl\r\n:5\r\n*2\r\n$1\r\nh\r\n$1\r\n7\r\n",
        ":-1\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n*2\r\n$1\r\nh\r\n$1\r\n7\r\n",
        "|1\r\n+a\r\n:5\r\n:-1\r\n*2\r\n|1\r\n+a\r\n:5\r\n$1\r\nh\r\n$1\r\n7\r\n",
    ] {
        assert_eq!(read(passed_over), Ok(2), "{passed_over:?}");
    }
    assert_eq!(read(":-1\r\n-WRONGTYPE x\r\n"), Ok(1), "of another lease");
    assert_eq!(read(":-1\r\n*2\r\n$1\r\nh\r\n-WRONGTYPE x\r\n"), Ok(1));
    let long = format!(":-1\r\n*2\r\n$70000\r\n{}\r\n$1\r\n7\r\n", "h".repeat(70_000));
    assert_eq!(read(&long), Ok(1));
    for (answer, told) in [
        (":-1\r\n-MASTERDOWN ServerStore with MASTER is down\r\n", "replica"),
        (":-1\r\n-OOM planted\r\n", "out of memory"),
        (":-1\r\n!7\r\nBUSY ab\r\n", "busy with a script"),
        (":-1\r\n*2\r\n$1\r\nh\r\n#t\r\n", "does not speak the protocol"),
        (":-1\r\n*2\r\n$1\r\nh\r\n,1.5\r\n", "does not speak the protocol"),
        (":-1\r\n*2\r\n$1\r\nh\r\n(7\r\n", "does not speak the protocol"),
        (":-1\r\n*2\r\n=5\r\ntxt:h\r\n$1\r\n7\r\n", "does not speak the protocol"),
        (":-1\r\n*2\r\n$1\r\nh\r\n*1\r\n:7\r\n", "does not speak the protocol"),
        (":-1\r\n~2\r\n$1\r\nh\r\n$1\r\n7\r\n", "does not speak the protocol"),
        (":-1\r\n%1\r\n$1\r\nh\r\n$1\r\n7\r\n", "does not speak the protocol"),
        (":-1\r\n*3\r\n$1\r\nh\r\n$1\r\n7\r\n$1\r\n7\r\n", "does not speak the protocol"),
        ("(1\r\n*2\r\n$1\r\nh\r\n$1\r\n7\r\n", "does not speak the protocol"),
        (":-1\r\n$-7\r\n", "does not speak the protocol"),
        (":-1\r\n*1152921504606846976\r\n", "does not speak the protocol"),
        (":-1\r\n*2\r\n$1073741824\r\n", "more than 64 MiB"),
    ] {
        let error = read(answer).unwrap_err();
        assert!(error.contains(told) && !error.contains("planted"), "{answer:?}: {error}");
    }
}

#[test]
fn the_first_command_that_is_refused_is_told_by_its_name() {
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    let no_right = |command: &str| format!("-NOPERM User x has no permissions to run the '{command}' command\r\n");
    for (at, command) in ["multi", "hello", "time", "pexpiretime", "hmget", "pexpiretime", "hmget"].iter().enumerate() {
        let queued = |count: usize| "+QUEUED\r\n".repeat(count);
        let answers = [queued(at), no_right(command), queued(6 - at), aborted.to_owned()].concat();
        let error = read_from(answers.as_bytes(), 2).unwrap_err();
        assert!(error.to_string().contains(&format!("`+{command}`")), "{error}");
    }
    // Without a transaction the commands are carried out at once.
    let answers = [&no_right("multi"), HELLO, CLOCK, ":-1\r\n"].concat();
    assert!(read_from(answers.as_bytes(), 2).unwrap_err().to_string().contains("`+multi`"));
    let answers = ["+OK\r\n".to_owned(), "+QUEUED\r\n".repeat(6), no_right("exec")].concat();
    assert!(read_from(answers.as_bytes(), 2).unwrap_err().to_string().contains("`+exec`"));
}

/// A server of before Redis 7 refuses one command, and then the transaction.
#[test]
fn after_a_command_that_the_server_does_not_know_the_connection_is_in_step() {
    let unknown = "-ERR unknown command 'PEXPIRETIME', with args beginning with: 'lock:000000' \r\n";
    let refused = format!("+OK\r\n+QUEUED\r\n+QUEUED\r\n{unknown}+QUEUED\r\n-EXECABORT Transaction discarded\r\n");
    let mut connection = Connection::new(Box::new(CannedServer::new(refused + &transaction(1))));
    let (layout, schedules, leases) = (layout(HASHES), DueScheduleTracker::new(1), leases(1));
    let request = Request::new(&layout, &leases, Expiry::Time, None, &schedules);
    let failure = at_once(request.send(&mut connection)).err().unwrap();
    assert!(matches!(failure, Failure::NoExpiryTime));
    assert_eq!(at_once(read(&mut connection, &leases)).unwrap(), 1);
}

/// With room for few bytes on the way, a client that sends all before it reads would wait for ever.
#[tokio::test(start_paused = true)]
async fn commands_are_sent_while_their_replies_are_read() {
    const LEASES: usize = 3_000;
    let (near, far) = duplex(512);
    let server = async move {
        let (mut reading, mut writing) = tokio::io::split(far);
        let mut commands = Vec::new();
        let mut replies = transaction(LEASES).into_bytes();
        let executed = replies.split_off("+OK\r\n".len() + "+QUEUED\r\n".len() * (2 + 2 * LEASES));
        let mut queued = replies.split_inclusive(|byte| *byte == b'\n');
        loop {
            let mut piece = [0; 512];
            let count = reading.read(&mut piece).await.unwrap();
            let before = commands.iter().filter(|byte| **byte == b'*').count();
            commands.extend_from_slice(&piece[..count]);
            let commands = commands.iter().filter(|byte| **byte == b'*').count();
            for _ in before..commands {
                match queued.next() {
                    Some(reply) => writing.write_all(reply).await.unwrap(),
                    None => return writing.write_all(&executed).await.unwrap(),
                }
            }
        }
    };
    let mut connection = Connection::new(Box::new(near));
    let leases = leases(LEASES);
    let both = async { tokio::join!(read(&mut connection, &leases), server).0 };
    assert_eq!(timeout(Duration::from_secs(5), both).await.unwrap().unwrap(), LEASES);
}

/// All of the answers are there already, and still others have their turn.
#[tokio::test]
async fn decoding_gives_way_to_other_tasks() {
    let leases = leases(20_000);
    let mut connection = Connection::new(Box::new(CannedServer::new(transaction(20_000))));
    let mut turns = 0;
    tokio::select! {
        biased;
        read = read(&mut connection, &leases) => assert_eq!(read.unwrap(), 20_000),
        () = async { loop { turns += 1; yield_now().await; } } => {}
    }
    assert!(turns > 100, "{turns}");
    consume_budget().await;
}

/// A server that sends nothing but messages, for ever and at once, is left at the deadline.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_wait_for_a_reply() {
    let (near, mut far) = duplex(64);
    let mut connection = Connection::new(Box::new(near));
    connection.commands().add("TIME", []);
    let dribbling = async {
        loop {
            far.write_all(b"|1\r\n+a\r\n:1\r\n").await.unwrap();
            sleep(Duration::from_millis(10)).await;
        }
    };
    let reply = timeout(Duration::from_secs(2), connection.reply());
    tokio::select! {
        reply = reply => assert!(reply.is_err(), "{}", reply.is_ok()),
        () = dribbling => {}
    }
}

/// A text of some megabytes is dropped as it comes, and no buffer stays large.
#[test]
fn the_memory_of_a_connection_is_bounded() {
    let long = format!("${}\r\n{}\r\n", 8 << 20, "x".repeat(8 << 20));
    let mut connection = Connection::new(Box::new(CannedServer::new(long + ":1\r\n")));
    connection.commands().add("GET", []);
    connection.commands().add("GET", []);
    assert!(matches!(at_once(connection.reply()), Ok(Reply::LongText)));
    assert!(connection.received.capacity() <= LONGEST_KEPT, "{}", connection.received.capacity());
    assert!(matches!(at_once(connection.reply()), Ok(Reply::Integer(1))));
    let mut connection = Connection::new(Box::new(CannedServer::new("$1073741824\r\n")));
    connection.commands().add("GET", []);
    let error = at_once(connection.reply()).err().unwrap();
    assert_eq!(error.failure(), ReadFailure::Refused, "{error}");
    assert!(connection.received.capacity() <= 2 * CHUNK, "{}", connection.received.capacity());
}

#[test]
fn of_a_request_no_more_is_held_than_is_about_to_be_sent() {
    let (layout, schedules, leases) = (layout(HASHES), DueScheduleTracker::new(1), leases(50_000));
    let request = Request::new(&layout, &leases, Expiry::Time, None, &schedules);
    let mut connection = Connection::new(Box::new(CannedServer::new(transaction(50_000))));
    at_once(request.send(&mut connection)).map_err(Failure::into_read_error).unwrap();
    let unsent = connection.commands().unsent().capacity();
    assert!(unsent <= LONGEST_KEPT, "{unsent}");
}
