//! Options and location of `deploy/local/up`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use rustix::process::{Signal, kill_process};

use super::local::{Choice, Local};
use crate::harness::eventually;
use crate::harness::process::{Process, program};
use crate::harness::store::folder;

#[test]
fn invalid_value_is_refused_before_anything_starts() {
    for (options, said) in [
        (&["--ports-from", "banana"][..], "--ports-from banana: that is no port"),
        (&["--ports-from=65536"], "--ports-from 65536: that is no port"),
        (&["--store"], "--store needs a value"),
        (&["--hurry=yes"], "there is no option yes"),
        (&["--stroe=x"], "there is no option --stroe"),
    ] {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/local/up"));
        command.args(options);
        let finished = Process::start(command).finish();
        assert_eq!(finished.code, Some(2), "{options:?}: {}", finished.all());
        assert!(finished.stderr.contains(said), "{options:?}: {}", finished.stderr);
    }
}

/// With all special characters of the shell, `sed` and YAML in the name of the folder.
#[test]
fn local_stack_in_any_folder_opts_in_both_exporters_with_one_token_key() {
    let folder = folder();
    let odd = folder.path().join("a b'c&d|e\\f;g # h: $i PORT");
    std::fs::create_dir(&odd).unwrap();
    let local = Local::up_in(&odd, &["--ttl=1h"]);
    assert!(local.folder().starts_with(&odd), "{:?}", local.folder());
    local.opt(Choice::In);
    let api = local.prometheus();
    let enabled = "lease_alert_enabled{alert=\"LeaseWorkStalled\"}";
    eventually("both exporters to have read it", || (api.query(enabled).len() == 2).then_some(()));
    assert_eq!(api.query("lease_holder_info").len(), 2);
    assert_eq!(api.query("count by (holder) (lease_holder_info)").len(), 1);
    assert_eq!(local.end_by(Signal::TERM), Some(143));
    assert_eq!(std::fs::read_dir(&odd).unwrap().count(), 0);
}

/// An exporter that loses its port is restarted on another port without an error.
#[test]
fn process_without_its_port_is_not_reported_as_ended() {
    let folder = folder();
    let (stand_in, lost) = (folder.path().join("stand-in"), folder.path().join("lost"));
    let script = format!(
        "#!/bin/sh\ncase $1 in --config.file=*) [ -e {lost} ] || {{ >{lost}; echo 'address in use'; exit 4; }} ;; esac\nexec {program} \"$@\"\n",
        lost = lost.display(),
        program = program().display(),
    );
    std::fs::write(&stand_in, script).unwrap();
    std::fs::set_permissions(&stand_in, std::fs::Permissions::from_mode(0o755)).unwrap();
    let local = Local::up(&["--program", stand_in.to_str().unwrap()]);
    assert!(lost.exists());
    kill_process(local.leader(), Signal::TERM).unwrap();
    let said = local.says("scheduler-a has ended");
    assert_eq!(said.matches("has ended").count(), 1, "{said}");
}
