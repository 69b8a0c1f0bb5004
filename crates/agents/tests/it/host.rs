//! The host: an agent dies with its gateway, and never sees its input close.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use holdstead_agents::host;

/// An agent that does what real ones do when their input closes: it goes on, and says what nobody said.
const TELLTALE: &str = "echo ready; cat > /dev/null; echo refused > told; sleep 60";

fn hosted(folder: &Path, life: &str, script: &str) -> Child {
    use std::os::unix::process::CommandExt as _;
    Command::new(env!("CARGO_BIN_EXE_holdstead-scripted-agent"))
        .args(["agent-host", "--unguarded", "--", "sh", "-c", script])
        .env("HOLDSTEAD_LIFE", life)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("it starts")
}

fn wait_until_ready(child: &mut Child) {
    use std::io::BufRead as _;
    let stdout = child.stdout.as_mut().expect("its output");
    let mut line = String::new();
    std::io::BufReader::new(stdout).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
}

#[test]
fn the_agent_is_killed_before_it_can_see_its_input_close() {
    for round in 0..30 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut child = hosted(folder.path(), "ses/1", TELLTALE);
        wait_until_ready(&mut child);
        // The gateway is gone: nobody holds the other end any more.
        drop(child.stdin.take());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), None, "the host dies with its group");
        assert!(!folder.path().join("told").exists(), "round {round}: the agent took the end for an answer");
    }
}

#[test]
fn the_agents_own_end_is_passed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for (script, code) in [("exit 7", Some(7)), ("exit 0", Some(0)), ("kill -9 $$", None)] {
        let mut child = hosted(folder.path(), "ses/1", script);
        // Waiting would close it, and that is the gateway's end.
        let _input = child.stdin.take();
        assert_eq!(child.wait().expect("it ends").code(), code, "{script}");
    }
}

#[test]
fn a_life_is_told_from_a_stranger_and_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = hosted(folder.path(), "ses_a/1", "echo ready; sleep 60 & sleep 60");
    wait_until_ready(&mut child);
    let pid = child.id();
    assert!(host::is_alive(pid, "ses_a/1"));
    assert!(!host::is_alive(pid, "ses_a/2"), "the same number, another life");
    assert_eq!(host::end("ses_a/2"), None, "a stranger is left alone");
    assert!(host::is_alive(pid, "ses_a/1"));
    // Somebody must take note of its end, as its parent would.
    let reaper = std::thread::spawn(move || child.wait());
    assert_eq!(host::end("ses_a/1"), None);
    assert!(!host::is_alive(pid, "ses_a/1"));
    assert_eq!(host::find("ses_a/1"), None);
    reaper.join().expect("it ends").expect("with a status");
}

/// A person looks for a session by its id.
#[test]
fn a_process_that_names_a_life_in_its_arguments_is_left_alone() {
    let words = "read line # HOLDSTEAD_LIFE=ses_b/1";
    let mut named =
        Command::new("sh").args(["-c", words, "ses_b/1"]).stdin(Stdio::piped()).spawn().expect("it starts");
    assert!(!host::is_alive(named.id(), "ses_b/1"));
    assert_eq!(host::find("ses_b/1"), None);
    assert_eq!(host::end("ses_b/1"), None);
    let ended = named.try_wait().expect("it can be looked at");
    named.kill().expect("it is there");
    named.wait().expect("it ends");
    assert_eq!(ended, None);
}

/// Without a word it would run what comes behind the sandbox's own words.
#[test]
fn nothing_is_started_when_a_word_is_missing() {
    let program = env!("CARGO_BIN_EXE_holdstead-scripted-agent");
    for words in [
        &["bwrap", "--", "echo", "ran"][..],
        &["--", "echo", "ran"],
        &["--unguarded", "bwrap", "--", "echo", "ran"],
    ] {
        let output = Command::new(program).arg("agent-host").args(words).output().expect("it runs");
        assert_eq!((output.status.success(), output.stdout.as_slice()), (false, &b""[..]), "{words:?}");
    }
}
