//! Standard output.

use std::io::{self, ErrorKind, Write as _};

use super::Failure;

/// Whether the reader of standard output is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipe {
    Open,
    /// The reader has closed the pipe, as `head` does. This is not a failure.
    Closed,
}

/// Prints a text or bytes and flushes them.
pub(super) fn print(content: impl AsRef<[u8]>) -> Result<Pipe, Failure> {
    let mut out = io::stdout().lock();
    write_result(out.write_all(content.as_ref()).and_then(|()| out.flush()))
}

/// Converts the result of writing to standard output.
pub(super) fn write_result(result: io::Result<()>) -> Result<Pipe, Failure> {
    match result {
        Ok(()) => Ok(Pipe::Open),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Pipe::Closed),
        Err(error) => Err(Failure::System(format!("cannot write to standard output: {error}"))),
    }
}
