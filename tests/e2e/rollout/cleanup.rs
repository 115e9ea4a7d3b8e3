//! `deploy/local/up` leaves nothing behind, however it ends.

use rustix::process::{Pid, Signal};

use super::local::Local;
use crate::harness::eventually;

/// Whether a process exists and is no zombie.
fn is_alive(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn no_process_and_no_folder_is_left_when_it_is_ended_or_killed() {
    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::KILL, None)] {
        let local = Local::up(&[]);
        let (folder, processes) = (local.folder(), local.processes());
        assert!(folder.is_dir() && processes.len() == 6 && processes.iter().all(|&process| is_alive(process)));
        assert_eq!(local.end_by(signal), code);
        eventually("its folder to go", || (!folder.exists()).then_some(()));
        assert!(!processes.into_iter().any(is_alive), "a process lives on after {signal:?}");
    }
}
