//! What keeps the gateway's own from others of the same account.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SECRET: &str = "in-its-environment";
/// Root reads everything, so where the tests run as root, all of it is somebody else's.
const SOMEBODY: u32 = 65534;

/// A process that goes with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn as_somebody(program: &std::path::Path) -> Command {
    let mut command = Command::new(program);
    command.env("A_SECRET", SECRET).env_remove("HOLDSTEAD_AGENTS_USER").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(SOMEBODY).gid(SOMEBODY);
    }
    command
}

fn can_be_read(pid: u32) -> bool {
    let environment = format!("/proc/{pid}/environ");
    let read = as_somebody("cat".as_ref()).arg(environment).output().expect("it runs");
    String::from_utf8_lossy(&read.stdout).contains(SECRET)
}

#[test]
fn another_program_of_the_account_cannot_read_the_gateways_memory() {
    let root = TempDir::new().expect("a folder");
    let everybody = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(root.path(), everybody.clone()).expect("it can be set");
    let program = root.path().join("holdstead");
    std::fs::copy(env!("CARGO_BIN_EXE_holdstead"), &program).expect("a copy");
    std::fs::set_permissions(&program, everybody).expect("it can be set");
    let folder = root.path().join("gateway");
    std::fs::create_dir(&folder).expect("a folder");
    if rustix::process::geteuid().is_root() {
        chown(&folder, Some(SOMEBODY), Some(SOMEBODY)).expect("it is theirs");
    }
    let mut serve = as_somebody(&program);
    serve.arg("serve").arg("--dir").arg(&folder).args(["--listen", "127.0.0.1:0", "--json"]);
    let mut gateway = Running(serve.stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut line = String::new();
    let stdout = gateway.0.stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut line).expect("its first line");
    let started: Value = serde_json::from_str(&line).expect("it listens");
    assert_eq!(started["pid"], gateway.0.id());

    assert!(!can_be_read(gateway.0.id()));
    let other = Running(as_somebody("sleep".as_ref()).arg("60").spawn().expect("it starts"));
    assert!(can_be_read(other.0.id()), "not even that of a program that does nothing about it");
}

#[test]
fn that_there_is_no_box_is_said_and_a_box_of_another_name_is_refused() {
    let dir = TempDir::new().expect("a folder");
    let holdstead = |args: &[&str], setting: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdstead"));
        command.args(args).arg("--dir").arg(dir.path()).env("HOLDSTEAD_AGENTS_BOX", setting);
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    let doctor = |setting: &str| holdstead(&["doctor"], setting);
    let serve = holdstead(&["serve", "--listen", "127.0.0.1:0", "--json", "--until-stdin-ends"], "none");
    let said = String::from_utf8(serve.stderr).expect("text");
    assert!(said.contains("agents run without a box"), "{said}");
    let words = String::from_utf8(doctor("none").stdout).expect("text");
    let line = words.lines().find(|line| line.contains(" box ")).expect("a line about boxes");
    assert!(line.starts_with('!') && line.contains("can read your token"), "{line}");
    let refused = String::from_utf8(doctor("cardboard").stderr).expect("text");
    assert!(refused.contains("cardboard") && refused.contains("agents.box"), "{refused}");
}
