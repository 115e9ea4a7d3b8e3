//! Encodes commands.

use std::collections::VecDeque;

use bytes::{BufMut as _, BytesMut};

/// Unsent commands, and the names of commands without a reply.
#[derive(Default)]
pub(super) struct Commands {
    unsent: BytesMut,
    unanswered: VecDeque<&'static str>,
}

impl Commands {
    pub(super) fn add<'a, A>(&mut self, name: &'static str, arguments: A)
    where
        A: IntoIterator<Item = &'a [u8], IntoIter: Clone>,
    {
        let arguments = arguments.into_iter();
        self.header(b'*', 1 + arguments.clone().count());
        self.word(name.as_bytes());
        arguments.for_each(|argument| self.word(argument));
        self.unanswered.push_back(name);
    }

    /// The name of the first command without a reply.
    pub(super) fn next(&self) -> Option<&'static str> {
        self.unanswered.front().copied()
    }

    pub(super) fn answered(&mut self) -> Option<&'static str> {
        self.unanswered.pop_front()
    }

    pub(super) const fn unsent(&mut self) -> &mut BytesMut {
        &mut self.unsent
    }

    fn word(&mut self, word: &[u8]) {
        self.header(b'$', word.len());
        self.unsent.put_slice(word);
        self.unsent.put_slice(b"\r\n");
    }

    fn header(&mut self, kind: u8, count: usize) {
        self.unsent.put_u8(kind);
        self.unsent.put_slice(itoa::Buffer::new().format(count).as_bytes());
        self.unsent.put_slice(b"\r\n");
    }
}
