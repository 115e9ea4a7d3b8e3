//! Renders responses on the blocking thread pool, so that rendering many leases delays neither scrapes nor `/-/healthy`.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Runs as many renderings at once as there are cores. More would take as long in total and need more memory.
#[derive(Clone, Debug)]
pub(super) struct RenderPool(Arc<Semaphore>);

impl Default for RenderPool {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(available_parallelism().map_or(2, usize::from))))
    }
}

impl RenderPool {
    /// Renders. Returns `None` if that panicked.
    pub(super) async fn run<T: Send + 'static>(&self, render: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let permit = Arc::clone(&self.0).acquire_owned().await.ok()?;
        let task = tokio::task::spawn_blocking(move || {
            // The task keeps its permit even if the request is gone, because it goes on.
            let _permit = permit;
            render()
        });
        task.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    impl RenderPool {
        /// Blocks all renderings while the permit exists.
        pub(in crate::web) async fn all_permits(&self) -> tokio::sync::OwnedSemaphorePermit {
            let all = u32::try_from(self.0.available_permits()).unwrap();
            Arc::clone(&self.0).acquire_many_owned(all).await.unwrap()
        }
    }

    #[tokio::test]
    async fn renderings_run_up_to_the_limit_at_once_and_a_panic_returns_its_permit() {
        let pool = RenderPool(Arc::new(Semaphore::new(2)));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let renderings: Vec<_> = (0..20)
            .map(|number| {
                let (pool, running, most) = (pool.clone(), Arc::clone(&running), Arc::clone(&most));
                tokio::spawn(async move {
                    let render = move || {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, Ordering::SeqCst);
                        assert_ne!(number % 5, 0, "as asked for");
                        number
                    };
                    pool.run(render).await
                })
            })
            .collect();
        for (number, rendering) in renderings.into_iter().enumerate() {
            assert_eq!(rendering.await.unwrap(), (number % 5 != 0).then_some(number));
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
    }
}
