//! Rendering, which takes a while where there are many leases: away from the threads that answer, so that it holds up
//! neither scrapes nor `/-/healthy`, and only so much at once as there are cores for it.

use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Where things are rendered.
#[derive(Clone, Debug)]
pub(super) struct Rendering(Arc<Semaphore>);

impl Default for Rendering {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(available_parallelism().map_or(2, usize::from))))
    }
}

impl Rendering {
    /// What comes of rendering something; nothing, if that panicked. More at once would take as long and need more memory.
    pub(super) async fn of<T: Send + 'static>(&self, render: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let turn = Arc::clone(&self.0).acquire_owned().await.ok()?;
        let rendering = tokio::task::spawn_blocking(move || {
            // It goes on where nobody waits any more, and so it keeps its turn.
            let _turn = turn;
            render()
        });
        rendering.await.ok()
    }

    /// Whatever is to be rendered waits for as long as this is there.
    #[cfg(test)]
    pub(super) async fn all_turns(&self) -> tokio::sync::OwnedSemaphorePermit {
        let all = u32::try_from(self.0.available_permits()).unwrap();
        Arc::clone(&self.0).acquire_many_owned(all).await.unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn only_so_much_is_rendered_at_once_and_a_panic_keeps_no_turn() {
        let rendering = Rendering(Arc::new(Semaphore::new(2)));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let renderings: Vec<_> = (0..20)
            .map(|number| {
                let (rendering, now, most) = (rendering.clone(), Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    let render = move || {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                        assert_ne!(number % 5, 0, "as asked for");
                        number
                    };
                    rendering.of(render).await
                })
            })
            .collect();
        for (number, rendering) in renderings.into_iter().enumerate() {
            assert_eq!(rendering.await.unwrap(), (number % 5 != 0).then_some(number));
        }
        assert!(most.load(Ordering::SeqCst) <= 2);
    }
}
