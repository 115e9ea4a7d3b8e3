//! Panics: each is a bug that ends one request or one reading, and shows as a number and as a place.

use std::panic::{self, PanicHookInfo};

use prometheus::IntCounter;

/// Counts each panic of the process from now on, and logs where it was. What it says is not logged: it may repeat what a
/// store holds.
pub fn count(counter: IntCounter) {
    panic::set_hook(Box::new(move |panic| note(panic, &counter)));
}

fn note(panic: &PanicHookInfo<'_>, counter: &IntCounter) {
    counter.inc();
    let place = panic.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
    tracing::error!(place, "a bug: a part of the exporter panicked, and the rest goes on");
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

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
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let before = panic::take_hook();
        count(counter.clone());
        let unwound = tracing::subscriber::with_default(subscriber, || {
            panic::catch_unwind(|| panic!("planted: what a row held"))
        });
        panic::set_hook(before);
        assert!(unwound.is_err());
        assert!(counter.get() >= 1, "others may panic meanwhile");
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(log.contains("src/panics.rs:") && !log.contains("planted"), "{log}");
    }
}
