//! A value that is made when it is first asked for, once, on a blocking thread, and shared.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

/// A value that is made once, however many tasks ask for it at once.
#[derive(Debug)]
pub(super) struct SharedOnce<T> {
    made: OnceLock<T>,
    /// Held by the task that makes the value. The others wait for it, and block no thread.
    turn: Arc<Mutex<()>>,
}

impl<T> Default for SharedOnce<T> {
    fn default() -> Self {
        Self { made: OnceLock::new(), turn: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> SharedOnce<T> {
    /// The value, made by `make` if it is not there yet. `None`, if making it panicked.
    ///
    /// A task that stops waiting does not stop the making: the others get the value.
    pub(super) async fn get_or_make(self: &Arc<Self>, make: impl FnOnce() -> T + Send + 'static) -> Option<&T> {
        if self.made.get().is_none() {
            let turn = Arc::clone(&self.turn).lock_owned().await;
            if self.made.get().is_none() {
                let once = Arc::clone(self);
                let making = tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    once.made.get_or_init(make);
                });
                making.await.ok()?;
            }
        }
        self.made.get()
    }

    /// Whether it is there.
    #[cfg(test)]
    pub(super) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn sixteen_who_ask_at_once_share_what_one_of_them_makes() {
        let (once, count) = (Arc::new(SharedOnce::default()), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let asking: Vec<_> = (0..16)
            .map(|_| {
                let (once, count, wait) = (Arc::clone(&once), Arc::clone(&count), Arc::clone(&wait));
                tokio::spawn(async move {
                    let make = move || {
                        wait.lock().unwrap().recv().unwrap();
                        count.fetch_add(1, Ordering::SeqCst) + 1
                    };
                    once.get_or_make(make).await.copied()
                })
            })
            .collect();
        // Every one of them has asked and waits before the first is done.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        for _ in 0..16 {
            go.send(()).unwrap();
        }
        for asked in asking {
            assert_eq!(asked.await.unwrap(), Some(1));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn who_goes_away_does_not_keep_it_from_being_made_once() {
        let (once, count) = (Arc::new(SharedOnce::default()), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let of_first = Arc::clone(&count);
        let first = once.get_or_make(move || {
            wait.recv().unwrap();
            of_first.fetch_add(1, Ordering::SeqCst) + 1
        });
        assert!(tokio::time::timeout(Duration::from_millis(1), first).await.is_err());
        go.send(()).unwrap();
        let of_second = Arc::clone(&count);
        assert_eq!(once.get_or_make(move || of_second.fetch_add(1, Ordering::SeqCst) + 1).await, Some(&1));
    }

    #[tokio::test]
    async fn after_a_panic_the_next_who_asks_makes_it() {
        let once = Arc::new(SharedOnce::default());
        assert_eq!(once.get_or_make(|| panic!("as asked for")).await, None);
        assert_eq!(once.get_or_make(|| 7).await, Some(&7));
    }
}
