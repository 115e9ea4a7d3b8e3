//! A scheduler loop on any store, until Enter is pressed. Start it twice, and stop the leader, to see a takeover.
//!
//!     cargo run -p lease-protocol --example scheduler -- sqlite:///tmp/scheduler.db
//!     cargo run -p lease-protocol --example scheduler -- postgres://me@localhost/jobs PASSWORD_FILE
#![expect(clippy::print_stdout, reason = "an example")]

use std::env;
use std::error::Error;
use std::io::stdin;
use std::time::Duration;

use lease_protocol::{HolderId, Scheduler, StoreAddress, Timing, spawn};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let url = arguments.next().ok_or("name a store, for example sqlite:///tmp/scheduler.db")?;
    let store = StoreAddress::parse(&url, arguments.next().map(Into::into))?;
    // Creates the tables, and reports an unusable store before the scheduler starts.
    drop(store.create()?);

    // The lease lives for 5 s and is renewed every second, so that it survives a few failed renewals.
    let timing = Timing::new(Duration::from_secs(5), Duration::from_secs(1))?
        .work_takes(Duration::from_millis(200))
        .enqueue_every(Duration::from_secs(1))?;
    let scheduler = Scheduler::new(HolderId::random()?, "retention", timing);
    let handle = spawn(scheduler, move || store.open(), |event| println!("{event}"))?;

    println!("press Enter to release the lease and end");
    stdin().read_line(&mut String::new())?;
    handle.stop()?;
    Ok(())
}
