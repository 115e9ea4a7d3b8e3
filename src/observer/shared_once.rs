//! A value that is made once, on a blocking thread, for the first task that needs it.

use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;

/// A value that is made once, however many tasks need it at the same time.
#[derive(Debug)]
pub(super) struct SharedOnce<T> {
    value: OnceLock<T>,
    /// Locked while the value is made. Tasks that wait for the lock block no thread.
    maker: Arc<Mutex<()>>,
}

impl<T> Default for SharedOnce<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), maker: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> SharedOnce<T> {
    /// The value, made by `make` if there is none yet. Returns `None` if `make` panicked.
    ///
    /// If the task is dropped, `make` continues, and other tasks get the value.
    pub(super) async fn get_or_make(self: &Arc<Self>, make: impl FnOnce() -> T + Send + 'static) -> Option<&T> {
        if self.value.get().is_none() {
            let guard = Arc::clone(&self.maker).lock_owned().await;
            if self.value.get().is_none() {
                let once = Arc::clone(self);
                let task = tokio::task::spawn_blocking(move || {
                    let _guard = guard;
                    once.value.get_or_init(make);
                });
                task.await.ok()?;
            }
        }
        self.value.get()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    impl<T> SharedOnce<T> {
        pub(in crate::observer) fn is_made(&self) -> bool {
            self.value.get().is_some()
        }
    }

    #[tokio::test]
    async fn simultaneous_tasks_share_one_value_that_is_made_once() {
        let (once, count) = (Arc::new(SharedOnce::default()), Arc::new(AtomicUsize::new(0)));
        let (go, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let tasks: Vec<_> = (0..16)
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
        // All tasks wait before the value is made.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        for _ in 0..16 {
            go.send(()).unwrap();
        }
        for task in tasks {
            assert_eq!(task.await.unwrap(), Some(1));
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_dropped_task_does_not_stop_the_value_from_being_made() {
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
    async fn after_a_panic_the_next_task_makes_the_value() {
        let once = Arc::new(SharedOnce::default());
        assert_eq!(once.get_or_make(|| panic!("on purpose")).await, None);
        assert_eq!(once.get_or_make(|| 7).await, Some(&7));
    }
}
