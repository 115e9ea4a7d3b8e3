//! Reporting of panics. A panic is a bug that ends one request or one reading.
//!
//! The message of a panic is never shown, because it may contain data of a store.

use std::panic::{self, PanicHookInfo};

use prometheus::IntCounter;

/// Reports the location of each panic of the process.
pub fn report() {
    panic::set_hook(Box::new(report_location));
}

/// Reports the location of each panic of the process, and counts them.
pub fn report_and_count(counter: IntCounter) {
    panic::set_hook(Box::new(move |panic| {
        counter.inc();
        report_location(panic);
    }));
}

#[expect(clippy::print_stderr, reason = "a command without a log reports on standard error")]
fn report_location(panic: &PanicHookInfo<'_>) {
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
    fn a_panic_is_counted_and_logged_with_its_location_and_without_its_message() {
        let (log, counter) = (Log::default(), IntCounter::new("panics", "Panics.").unwrap());
        let subscriber = log::to(log.clone(), Level::Error, Format::Logfmt);
        let before = panic::take_hook();
        report_and_count(counter.clone());
        let unwound = tracing::subscriber::with_default(subscriber, || {
            panic::catch_unwind(|| panic!("planted: what a row held"))
        });
        panic::set_hook(before);
        assert!(unwound.is_err());
        assert!(counter.get() >= 1, "other tests may panic at the same time");
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(log.contains("place=src/panics.rs:") && !log.contains("planted"), "{log}");
    }
}
