//! What an agent leaves running ends with it, however it left its parent, and whichever process was killed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// What is left has this long.
const BOUND: Duration = Duration::from_secs(3);
const PROGRAM: &str = env!("CARGO_BIN_EXE_holdstead-scripted-agent");

const SANDBOXES: [(&str, &[&str]); 3] = [
    ("none", &["--guarded", "--", PROGRAM, "agent-host", "--guard", "--"]),
    ("Landlock", &["--guarded", "--", PROGRAM, "agent-host", "--landlock", "--"]),
    (
        "bubblewrap",
        &[
            "--unguarded",
            "--",
            "bwrap",
            "--die-with-parent",
            "--unshare-pid",
            "--dev-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--",
        ],
    ),
];

/// How a command leaves something running. Each says `up` when that runs, and leaves it our pipe.
const WAYS: [(&str, &str); 5] = [
    ("in the background", "sh -c 'echo up; exec sleep 60' &"),
    ("by a double fork", "(sh -c 'echo up; exec sleep 60' &)"),
    ("by setsid", "(setsid sh -c 'echo up; exec sleep 60' &)"),
    ("by setsid, without its environment", "(setsid env -i /bin/sh -c 'echo up; exec sleep 60' &)"),
    ("by setsid, under another name", "(setsid bash -c 'echo up; exec -a innocent sleep 60' &)"),
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Agent,
    Gateway,
    Host,
    GatewayAndHost,
}

struct Hosted {
    host: Child,
    output: Receiver<String>,
}

impl Hosted {
    /// An agent that runs this script, and then says what a real one says when its input closes.
    fn start(sandbox: &[&str], script: &str) -> Self {
        let script = format!("{script}\nread line && exit 0\necho refused\nsleep 60");
        let mut command = Command::new(PROGRAM);
        command.arg("agent-host").args(sandbox).args(["sh", "-c", &script]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut host = piped.spawn().expect("it starts");
        let mut stdout = BufReader::new(host.stdout.take().expect("its output"));
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut up = String::new();
            stdout.read_line(&mut up).expect("a line");
            sender.send(up).expect("it is waited for");
            let mut rest = String::new();
            // It ends when no process has it open any more.
            stdout.read_to_string(&mut rest).expect("the rest");
            // A test that failed does not wait for it.
            drop(sender.send(rest));
        });
        let hosted = Self { host, output };
        assert_eq!(hosted.output.recv_timeout(Duration::from_secs(20)).expect("it comes up"), "up\n");
        hosted
    }

    fn end(&mut self, end: End) {
        let pid = Pid::from_child(&self.host);
        if let End::Host | End::GatewayAndHost = end {
            kill_process(pid, Signal::KILL).expect("it is there");
        }
        match end {
            End::Agent => self.host.stdin.as_mut().expect("its input").write_all(b"\n").expect("it reads"),
            End::Gateway | End::GatewayAndHost => drop(self.host.stdin.take()),
            End::Host => {}
        }
    }

    /// What was said until nothing was left. Nothing, if something is left.
    fn last_words(mut self) -> Option<String> {
        let words = self.output.recv_timeout(BOUND);
        drop(self.host.kill());
        self.host.wait().expect("it ends");
        match words {
            Ok(words) => Some(words),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("its output was not read"),
        }
    }
}

#[test]
fn nothing_is_left() {
    let mut left = Vec::new();
    for (sandbox, words) in SANDBOXES {
        for (way, script) in WAYS {
            for end in [End::Agent, End::Gateway, End::Host, End::GatewayAndHost] {
                let mut hosted = Hosted::start(words, script);
                hosted.end(end);
                match hosted.last_words() {
                    None => left.push(format!("{sandbox}, left {way}, {end:?} ended")),
                    // Where the host is killed alone, the kernel closes its end of the agent's input.
                    Some(said) if end == End::Gateway => assert_eq!(said, "", "{sandbox}, {way}"),
                    Some(_) => {}
                }
            }
        }
    }
    assert!(left.is_empty(), "{} were left: {left:#?}", left.len());
}

/// The agent's processes kill all that they can before they go on.
#[test]
fn an_agent_that_kills_its_guard_leaves_nothing() {
    let kill_parents = "(setsid sh -c 'echo up; exec sleep 60' &) ; sleep 0.1; kill -9 $PPID";
    for (sandbox, words) in SANDBOXES {
        let mut hosted = Hosted::start(words, kill_parents);
        hosted.end(End::Agent);
        assert!(hosted.last_words().is_some(), "{sandbox}");
    }
}

#[test]
fn in_landlock_no_signal_reaches_the_guard_or_the_host() {
    let (_, landlock) = SANDBOXES[1];
    let host = "$(cut -d' ' -f4 /proc/$PPID/stat)";
    for target in ["$PPID", host] {
        let try_it = format!("kill -9 {target} 2> /dev/null && echo killed || echo up; sleep 60 &");
        let mut hosted = Hosted::start(landlock, &try_it);
        hosted.end(End::Agent);
        assert!(hosted.last_words().is_some());
    }
}
