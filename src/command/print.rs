//! Standard output.

use std::io::{self, ErrorKind, Write as _};

use super::Failure;

/// Whether anybody reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    There,
    /// Whoever read it has seen enough, as `head` has: not a failure of anybody's.
    Gone,
}

/// Prints a text, at once.
pub(super) fn print(text: &str) -> Result<Reader, Failure> {
    print_bytes(text.as_bytes())
}

/// The same for what need not be text.
pub(super) fn print_bytes(bytes: &[u8]) -> Result<Reader, Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// What came of writing to standard output.
pub(super) fn written(result: io::Result<()>) -> Result<Reader, Failure> {
    match result {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::System(format!("cannot write to standard output: {error}"))),
    }
}
