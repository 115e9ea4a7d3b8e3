//! Panics: each is a bug that ends one request or one reading, and shows as a number and as a place.
//!
//! What a panic says is never shown: it may repeat what a store holds.

use std::panic::{self, PanicHookInfo};

use prometheus::IntCounter;

/// Tells of each panic of the process from now on, by its place alone.
pub fn tell() {
    panic::set_hook(Box::new(told));
}

/// Counts each panic of the process from now on too.
pub fn count(counter: IntCounter) {
    panic::set_hook(Box::new(move |panic| {
        counter.inc();
        told(panic);
    }));
}

#[expect(clippy::print_stderr, reason = "a command that has no log says it where the person looks")]
fn told(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    if tracing::enabled!(tracing::Level::ERROR) {
        tracing::error!(place, "a bug: a part of the exporter panicked, and the rest goes on");
    } else {
        eprintln!("lease-exporter: a bug: a part of it panicked at {place}");
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::log::{self, Format, Level};

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_counted_and_logged_by_its_place_without_what_it_says() {
        let (log, counter) = (Log::default(), IntCounter::new("panics", "Panics.").unwrap());
        let subscriber = log::to(log.clone(), Level::Error, Format::Logfmt);
        let before = panic::take_hook();
        count(counter.clone());
        let unwound = tracing::subscriber::with_default(subscriber, || {
            panic::catch_unwind(|| panic!("planted: what a row held"))
        });
        panic::set_hook(before);
        assert!(unwound.is_err());
        assert!(counter.get() >= 1, "others may panic meanwhile");
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(log.contains("place=src/panics.rs:") && !log.contains("planted"), "{log}");
    }
}
