use proptest::prelude::*;
use redis::Value;

use super::*;

/// A parsed reply, as a tree.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Nil,
    Integer(i64),
    Double(String),
    Status,
    Text(Vec<u8>),
    LongText,
    Error(String, String),
    Array(Vec<Self>),
    Map(Vec<Self>),
    Other,
}

impl From<Reply<'_>> for Tree {
    fn from(reply: Reply<'_>) -> Self {
        match reply {
            Reply::Nil => Self::Nil,
            Reply::Integer(number) => Self::Integer(number),
            Reply::Double(number) => Self::Double(number.to_string()),
            Reply::Status => Self::Status,
            Reply::Text(text) => Self::Text(text.into()),
            Reply::LongText => Self::LongText,
            Reply::Error(error) => Self::Error(error.code.into(), error.details.into()),
            Reply::Array(elements) => Self::Array(elements.map(Self::from).collect()),
            Reply::Map(elements) => Self::Map(elements.map(Self::from).collect()),
            Reply::Other => Self::Other,
        }
    }
}

/// A reply as a second implementation reads it, without its attributes.
impl From<Value> for Tree {
    fn from(value: Value) -> Self {
        match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Integer(number),
            Value::Double(number) => Self::Double(number.to_string()),
            Value::Okay | Value::SimpleString(_) => Self::Status,
            Value::BulkString(text) => Self::Text(text),
            Value::ServerError(error) => Self::Error(error.code().into(), error.details().unwrap_or_default().into()),
            Value::Array(elements) => Self::Array(elements.into_iter().map(Self::from).collect()),
            Value::Map(pairs) => {
                Self::Map(pairs.into_iter().flat_map(|(key, value)| [key.into(), value.into()]).collect())
            }
            Value::Attribute { data, .. } => (*data).into(),
            _ => Self::Other,
        }
    }
}

/// Replies as they arrive.
#[derive(Default)]
struct Arrived {
    buffer: BytesMut,
    parser: Parser,
}

impl Arrived {
    /// Takes in bytes, and gives the replies that are whole by then.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Tree>, Malformed> {
        self.buffer.extend_from_slice(bytes);
        let mut replies = Vec::new();
        while self.parser.parse(&mut self.buffer, false)? {
            replies.extend(Replies::new(1, self.parser.parts(), &self.buffer).map(Tree::from));
            self.parser.finish(&mut self.buffer);
        }
        Ok(replies)
    }

    /// So much memory it holds at the most.
    fn holds(&self) -> usize {
        self.buffer.capacity()
            + self.parser.parts.capacity() * size_of::<Part>()
            + self.parser.open.capacity() * size_of::<OpenArray>()
    }
}

fn parsed(bytes: &[u8]) -> Result<Vec<Tree>, Malformed> {
    Arrived::default().take(bytes)
}

/// By one byte at a time.
fn dribbled(bytes: &[u8]) -> Result<Vec<Tree>, Malformed> {
    let mut arrived = Arrived::default();
    let mut replies = Vec::new();
    for byte in bytes {
        replies.extend(arrived.take(&[*byte])?);
    }
    Ok(replies)
}

fn text(text: &str) -> Tree {
    Tree::Text(text.into())
}

#[test]
fn every_type_of_the_protocol_is_read_or_passed_over() {
    let error = |code: &str, details: &str| Tree::Error(code.into(), details.into());
    for (bytes, expected) in [
        ("+OK\r\n", Tree::Status),
        (":-7\r\n", Tree::Integer(-7)),
        ("$3\r\na\r\n\r\n", text("a\r\n")),
        ("$0\r\n\r\n", text("")),
        ("_\r\n", Tree::Nil),
        ("$-1\r\n", Tree::Nil),
        ("*-1\r\n", Tree::Nil),
        (",1.5\r\n", Tree::Double("1.5".into())),
        (",-inf\r\n", Tree::Double("-inf".into())),
        (",nan\r\n", Tree::Double("NaN".into())),
        ("#t\r\n", Tree::Other),
        ("(-3492890328409238509324850943850943825024385\r\n", Tree::Other),
        ("=7\r\ntxt:abc\r\n", Tree::Other),
        ("~1\r\n:1\r\n", Tree::Other),
        ("-ERR a b\r\n", error("ERR", "a b")),
        ("-LOADING\r\n", error("LOADING", "")),
        ("!8\r\nERR a\r\nb\r\n", error("ERR", "a\r\nb")),
        ("*0\r\n", Tree::Array(vec![])),
        ("*2\r\n*1\r\n:1\r\n-WRONGTYPE x\r\n", {
            Tree::Array(vec![Tree::Array(vec![Tree::Integer(1)]), error("WRONGTYPE", "x")])
        }),
        ("%1\r\n+a\r\n*1\r\n_\r\n", Tree::Map(vec![Tree::Status, Tree::Array(vec![Tree::Nil])])),
        ("%0\r\n", Tree::Map(vec![])),
        // Attributes of the reply and of an element, and messages between replies.
        ("|1\r\n+a\r\n*1\r\n:1\r\n:2\r\n", Tree::Integer(2)),
        ("*2\r\n:1\r\n|1\r\n+a\r\n%1\r\n:3\r\n:4\r\n:2\r\n", Tree::Array(vec![Tree::Integer(1), Tree::Integer(2)])),
        ("|0\r\n:2\r\n", Tree::Integer(2)),
        (">2\r\n+invalidate\r\n*1\r\n$1\r\na\r\n:2\r\n", Tree::Integer(2)),
        (">0\r\n>1\r\n+a\r\n:2\r\n", Tree::Integer(2)),
    ] {
        for bytes in [bytes.to_owned(), [bytes, ":9\r\n"].concat()] {
            let mut expected = vec![expected.clone()];
            expected.extend(bytes.ends_with(":9\r\n").then_some(Tree::Integer(9)));
            assert_eq!(parsed(bytes.as_bytes()), Ok(expected.clone()), "{bytes:?}");
            assert_eq!(dribbled(bytes.as_bytes()), Ok(expected), "{bytes:?}");
        }
    }
}

#[test]
fn no_part_of_a_reply_is_taken_for_it() {
    let whole = b"*3\r\n$5\r\nabcde\r\n%1\r\n+a\r\n|1\r\n+b\r\n:1\r\n,2.5\r\n-ERR x\r\n";
    assert_eq!(parsed(whole).map(|replies| replies.len()), Ok(1));
    for end in 0..whole.len() {
        assert_eq!(parsed(&whole[..end]), Ok(vec![]), "the first {end} bytes");
    }
}

#[test]
fn garbage_is_refused() {
    for bytes in [
        "HTTP/1.1 400 Bad Request\r\n",
        "R\u{0}\u{0}\u{0}",
        "\r\n",
        ":\r\n",
        ":1 2\r\n",
        ":99999999999999999999\r\n",
        ",x\r\n",
        "_x\r\n",
        "#y\r\n",
        "(1x\r\n",
        "(\r\n",
        "$-7\r\n",
        "$-2\r\n",
        "$x\r\n",
        "$\r\n",
        "*-2\r\n",
        "%-1\r\n",
        "~-1\r\n",
        ">-1\r\n",
        "|-1\r\n",
        "!-1\r\n",
        "=-1\r\n",
        "$?\r\n",
        "*?\r\n",
        ";4\r\n",
        ".\r\n",
        "$1\r\nabc\r\n",
        "+a\rb\r\n",
        // A message within a reply, and one within an attribute.
        "*2\r\n>1\r\n+a\r\n",
        "|1\r\n>1\r\n",
    ] {
        assert_eq!(parsed(bytes.as_bytes()), Err(Malformed::Protocol), "{bytes:?}");
        assert_eq!(dribbled(bytes.as_bytes()), Err(Malformed::Protocol), "{bytes:?}");
    }
}

#[test]
fn a_length_beyond_reason_is_refused_at_its_header_and_takes_no_memory() {
    let nested = |depth: usize| "*1\r\n".repeat(depth);
    for (bytes, refused) in [
        ("$1073741824\r\n".to_owned(), Malformed::TooLong),
        ("$67108865\r\n".to_owned(), Malformed::TooLong),
        ("=1073741824\r\n".to_owned(), Malformed::TooLong),
        ("!1073741824\r\n".to_owned(), Malformed::TooLong),
        ("$9223372036854775807\r\n".to_owned(), Malformed::TooLong),
        ("$99999999999999999999\r\n".to_owned(), Malformed::Protocol),
        ("*1\r\n$1073741824\r\n".to_owned(), Malformed::TooLong),
        ("*1152921504606846976\r\n".to_owned(), Malformed::Protocol),
        ("*1000000000\r\n".to_owned(), Malformed::Protocol),
        ("*16385\r\n".to_owned(), Malformed::Protocol),
        ("%2147483648\r\n".to_owned(), Malformed::Protocol),
        ("~4294967295\r\n".to_owned(), Malformed::Protocol),
        (">1000000000\r\n".to_owned(), Malformed::Protocol),
        ("|1000000000\r\n".to_owned(), Malformed::Protocol),
        (nested(17), Malformed::Protocol),
        (nested(1_000_000), Malformed::Protocol),
    ] {
        let mut arrived = Arrived::default();
        let shown = &bytes[..bytes.len().min(40)];
        assert_eq!(arrived.take(&bytes.as_bytes()[..bytes.len().min(200)]), Err(refused), "{shown:?}");
        assert!(arrived.holds() < 4_096, "{shown:?}: {}", arrived.holds());
    }
    assert_eq!(parsed(nested(16).as_bytes()), Ok(vec![]), "so deep it may be");
    let line = [b"+".as_slice(), &[b'a'; 64 * 1024]].concat();
    assert_eq!(parsed(&line), Err(Malformed::Protocol), "a line without an end");
}

/// Of an array whose elements are read one by one no more is believed than fits the longest reply.
#[test]
fn the_header_of_an_array_is_read_alone_and_bounded() {
    let head = |bytes: &str| {
        let (mut buffer, mut parser) = (BytesMut::from(bytes), Parser::default());
        parser.parse(&mut buffer, true).map(|whole| whole.then(|| parser.parts().to_vec()))
    };
    assert_eq!(head("*100000\r\n"), Ok(Some(vec![Part::Array(100_000)])));
    assert_eq!(head("*10000"), Ok(None));
    assert_eq!(head(">1\r\n+a\r\n|1\r\n+a\r\n+b\r\n*2\r\n"), Ok(Some(vec![Part::Array(2)])));
    assert_eq!(head("*1\r\n*2\r\n"), Ok(Some(vec![Part::Array(1)])));
    assert_eq!(head("*-1\r\n"), Ok(Some(vec![Part::Nil])));
    assert_eq!(head("*22369622\r\n"), Err(Malformed::TooLong));
    assert_eq!(head("*1152921504606846976\r\n"), Err(Malformed::TooLong));
    assert_eq!(head("*99999999999999999999\r\n"), Err(Malformed::Protocol));
    assert!(matches!(head("-NOPERM x\r\n").unwrap().unwrap()[..], [Part::Error(_)]));
}

#[test]
fn of_a_long_text_nothing_is_kept() {
    const LENGTH: usize = 20 * 1024 * 1024;
    let mut arrived = Arrived::default();
    let mut replies = arrived.take(format!("*3\r\n+a\r\n${LENGTH}\r\n").as_bytes()).unwrap();
    for _ in 0..LENGTH / 4_096 {
        replies.extend(arrived.take(&[b'x'; 4_096]).unwrap());
        assert!(arrived.holds() < 64 * 1024, "{}", arrived.holds());
    }
    assert_eq!(replies, []);
    let expected = vec![Tree::Status, Tree::LongText, text("b")];
    assert_eq!(arrived.take(b"\r\n$1\r\nb\r\n"), Ok(vec![Tree::Array(expected)]));
    // With all around it in one piece.
    let whole = |length: usize| [b"*2\r\n$65537\r\n", &vec![b'x'; length][..], b"\r\n:7\r\n"].concat();
    assert_eq!(parsed(&whole(65_537)), Ok(vec![Tree::Array(vec![Tree::LongText, Tree::Integer(7)])]));
    assert_eq!(parsed(&whole(65_538)), Err(Malformed::Protocol));
    let kept = [b"$65536\r\n", &vec![b'x'; 65_536][..], b"\r\n"].concat();
    assert_eq!(parsed(&kept), Ok(vec![Tree::Text(vec![b'x'; 65_536])]));
}

#[test]
fn many_long_texts_in_one_reply_are_too_much() {
    let mut arrived = Arrived::default();
    let long = vec![b'x'; 16 * 1024 * 1024];
    arrived.take(b"*9\r\n").unwrap();
    for _ in 0..3 {
        arrived.take(format!("${}\r\n", long.len()).as_bytes()).unwrap();
        arrived.take(&long).unwrap();
        arrived.take(b"\r\n").unwrap();
    }
    assert_eq!(arrived.take(format!("${}\r\n", long.len()).as_bytes()), Err(Malformed::TooLong));
    // Each reply by itself may be as long.
    let mut arrived = Arrived::default();
    for _ in 0..5 {
        arrived.take(format!("${}\r\n", long.len()).as_bytes()).unwrap();
        arrived.take(&long).unwrap();
        assert_eq!(arrived.take(b"\r\n"), Ok(vec![Tree::LongText]));
    }
}

#[test]
fn messages_without_end_are_not_gathered() {
    let mut arrived = Arrived::default();
    let message = format!(">1\r\n$60000\r\n{}\r\n", "x".repeat(60_000));
    let refused = (0..2_000).find_map(|_| arrived.take(message.as_bytes()).err());
    assert_eq!(refused, Some(Malformed::TooLong));
}

/// However it arrives, no byte is read more than a few times: an array that is parsed anew for each byte would take
/// a million times as long.
#[test]
fn a_long_reply_by_single_bytes_takes_as_many_steps_as_it_has_bytes() {
    let element = "$10\r\n0123456789\r\n";
    let bytes = ["*16000\r\n", &element.repeat(16_000)].concat();
    let replies = dribbled(bytes.as_bytes()).unwrap();
    assert!(matches!(&replies[..], [Tree::Array(elements)] if elements.len() == 16_000));
    let long = [b"$65000\r\n", &vec![b'x'; 65_000][..], b"\r\n"].concat();
    assert_eq!(dribbled(&long), Ok(vec![Tree::Text(vec![b'x'; 65_000])]));
}

/// Any reply as a server writes it.
fn any_reply() -> impl Strategy<Value = Vec<u8>> {
    let line = |kind: &'static str| move |line: String| format!("{kind}{line}\r\n").into_bytes();
    let texts = |kind: &'static str| {
        move |text: Vec<u8>| [format!("{kind}{}\r\n", text.len()).as_bytes(), &text, b"\r\n"].concat()
    };
    let bytes = || prop::collection::vec(any::<u8>(), 0..20);
    let leaf = prop_oneof![
        "[ -~]{0,12}".prop_map(line("+")),
        "[A-Z]{1,8}( [ -~]{1,12})?".prop_map(line("-")),
        any::<i64>().prop_map(|number| number.to_string()).prop_map(line(":")),
        any::<f64>().prop_map(|number| number.to_string()).prop_map(line(",")),
        "-?[1-9][0-9]{0,40}".prop_map(line("(")),
        "[tf]".prop_map(line("#")),
        prop_oneof![Just("_"), Just("$-1"), Just("*-1")].prop_map(|nil| format!("{nil}\r\n").into_bytes()),
        bytes().prop_map(texts("$")),
        "[A-Z]{1,8} [ -~]{1,12}".prop_map(String::into_bytes).prop_map(texts("!")),
        "(txt|mkd):[ -~]{0,12}".prop_map(String::into_bytes).prop_map(texts("=")),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let many = |kind: &'static str, each: usize| {
            move |elements: Vec<Vec<u8>>| {
                let whole = elements.len() / each * each;
                [format!("{kind}{}\r\n", whole / each).into_bytes(), elements[..whole].concat()].concat()
            }
        };
        let elements = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            elements().prop_map(many("*", 1)),
            elements().prop_map(many("~", 1)),
            elements().prop_map(many("%", 2)),
            (elements(), inner.clone()).prop_map(move |(elements, data)| [many("|", 2)(elements), data].concat()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn a_second_implementation_reads_the_same(reply in any_reply()) {
        let expected = redis::parse_redis_value(&reply).map(Tree::from);
        let expected = expected.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(parsed(&reply), Ok(vec![expected]));
    }

    #[test]
    fn replies_are_the_same_in_whatever_pieces_they_arrive(
        replies in prop::collection::vec(any_reply(), 1..5),
        pieces in prop::collection::vec(1_usize..30, 1..40),
    ) {
        let whole = replies.concat();
        let mut arrived = Arrived::default();
        let (mut rest, mut found) = (&whole[..], Vec::new());
        for piece in pieces.iter().cycle() {
            let (next, behind) = rest.split_at((*piece).min(rest.len()));
            found.extend(arrived.take(next).map_err(|error| TestCaseError::fail(format!("{error:?}")))?);
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(Ok(found), parsed(&whole));
    }

    /// Neither a panic nor more memory than was sent, a few times over.
    #[test]
    fn any_bytes_are_read_or_refused(
        replies in prop::collection::vec(any_reply(), 1..4),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = replies.concat();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        let mut arrived = Arrived::default();
        let whole = arrived.take(&bytes);
        prop_assert!(arrived.holds() < 16 * bytes.len() + 1_024, "{} of {}", arrived.holds(), bytes.len());
        prop_assert_eq!(whole.is_err(), dribbled(&bytes).is_err());
    }
}
