//! How it ends: everything is cleared away within seconds, whatever the store does; and what is left is said.

use std::io::{self, Write};
use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use super::super::Failure;
use super::stage::Stage;
use super::voice::Voice;

/// How long those who work on the stage may take to leave it. Each does as soon as the store has answered.
const PATIENCE: Duration = Duration::from_secs(2);
/// After how long it is said what is waited for.
const QUIET: Duration = Duration::from_secs(1);

/// What came of the ending, and whether it could be told.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) cleared: Result<(), Failure>,
    pub(super) told: io::Result<()>,
}

/// Clears the stage once those who work on it have left it, or do not; and says what is left. To drop this is to leave
/// everything as it is: whoever asks twice does not want to wait.
pub(super) async fn end(
    stage: Stage,
    others_left: impl Future<Output = Result<(), Failure>>,
    voice: &mut Voice<impl Write>,
) -> Ending {
    let removal = stage.removal_by_hand();
    let mut clearing = pin!(stage.clear(async { timeout(PATIENCE, others_left).await.ok() }));
    let mut told = Ok(());
    let (cleared, farewell) = match timeout(QUIET, &mut clearing).await {
        Ok(done) => done,
        Err(_) => {
            if !removal.is_empty() {
                let waits =
                    "The store takes its time. Another Ctrl-C ends at once, and leaves what the demo made there; \
                             that is then removed with"
                        .to_owned();
                told = voice.farewell(&[&[waits], &*removal].concat());
            }
            clearing.await
        }
    };
    Ending { cleared, told: told.and_then(|()| voice.farewell(&farewell)) }
}
