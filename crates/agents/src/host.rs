//! The host: a small process that owns an agent's input, so that the agent dies with its gateway.
//!
//! An agent that sees its input close takes that for an answer: real ones tell their model that the person refused.
//! So the agent's input never closes by itself. The host copies the gateway's lines to it; when the gateway is gone,
//! the host's own input ends, and it kills the whole group, itself included, before the agent can notice anything.
//!
//! A gateway that wants the agent to end by itself says goodbye first: then its input is closed, and it may still
//! write down what it has to remember.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use holdstead_protocol::AgentBox;
use rustix::process::{Pid, Signal};

use crate::StartError;
use crate::boxes::{Boxes, LANDLOCK, Needs, run_in_landlock};
use crate::private::{is_in, real};

/// How long a group that was killed may take to be gone.
const GONE: Duration = Duration::from_secs(5);
/// How long an agent may take to end after a goodbye.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// No line of JSON has this byte in it.
pub(crate) const GOODBYE: u8 = 0;

/// The way every agent is started: under this process, in its box.
#[derive(Debug, Clone)]
pub struct Host {
    /// The command that leads to [`run`].
    command: Vec<String>,
    boxes: Boxes,
}

/// A command that is ready to be run.
#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) command: Vec<String>,
    pub(crate) boxed: AgentBox,
}

impl Host {
    pub fn new(command: Vec<String>, boxes: Boxes) -> Self {
        Self { command, boxes }
    }

    /// Whether no agent may read or change what is here.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        is_in(self.boxes.private(), &real(path))
    }

    /// What no agent may read or change.
    pub(crate) fn private(&self) -> &[PathBuf] {
        self.boxes.private()
    }

    /// The command that runs `agent` under this host. `life` names the incarnation, so that its process can be told
    /// from a stranger's that got the same number later.
    pub(crate) fn command(
        &self,
        life: &str,
        agent: Vec<String>,
        cwd: &Path,
        needs: &Needs,
    ) -> Result<Hosted, StartError> {
        let (agent, boxed) = self.boxes.enclose(&self.command, agent, cwd, needs)?;
        let mut command = self.command.clone();
        command.extend(["--life".to_owned(), life.to_owned(), "--".to_owned()]);
        command.extend(agent);
        Ok(Hosted { command, boxed })
    }
}

/// Runs an agent until it ends or the gateway is gone. `args` are `--life NAME -- PROGRAM ARGS…`.
///
/// Or becomes the agent, in a box: `--landlock … -- PROGRAM ARGS…`.
pub fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    if args.next_if(|word| word == LANDLOCK).is_some() {
        return run_in_landlock(args);
    }
    let mut words = args.skip_while(|word| word != "--").skip(1);
    let Some(program) = words.next() else { return fail("no program was given") };
    // The agent's output goes straight to the gateway; only its input is ours.
    let started = Command::new(&program).args(words).stdin(Stdio::piped()).spawn();
    let mut agent = match started {
        Ok(agent) => agent,
        Err(error) => return fail(&format!("`{program}` could not be started: {error}")),
    };
    if let Some(mut input) = agent.stdin.take() {
        std::thread::spawn(move || {
            let mut gateway = std::io::stdin().lock();
            let mut chunk = [0; 64 * 1024];
            while let Ok(read @ 1..) = gateway.read(&mut chunk) {
                let (words, goodbye) = match chunk[..read].strip_suffix(&[GOODBYE]) {
                    Some(words) => (words, true),
                    None => (&chunk[..read], false),
                };
                // An agent that does not read any more is about to end; its end is what counts.
                if input.write_all(words).and_then(|()| input.flush()).is_err() {
                    break;
                }
                if goodbye {
                    drop(input);
                    std::thread::sleep(LAST_WORDS);
                    return end_group();
                }
            }
            end_group();
            // Not reached where groups exist: the input stays open until the end.
            std::mem::forget(input);
        });
    }
    match agent.wait() {
        Ok(status) => {
            end_alike(status);
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
        }
        Err(error) => fail(&format!("the agent was lost: {error}")),
    }
}

pub(crate) fn fail(words: &str) -> ExitCode {
    // The gateway keeps what stands on stderr; if that is gone, so is the reader.
    drop(writeln!(std::io::stderr(), "{words}"));
    ExitCode::FAILURE
}

/// The host leads its group, and the agent is in it. Every member has its signal before any of them runs on.
fn end_group() {
    let _cannot_fail = rustix::process::kill_process_group(rustix::process::getpgrp(), Signal::KILL);
}

/// An agent that was killed shall look killed to the gateway, too.
fn end_alike(status: ExitStatus) {
    if status.code().is_none() {
        let _cannot_fail = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
    }
}

/// Whether the process of this life still runs.
pub fn is_alive(pid: u32, life: &str) -> bool {
    let words = match std::fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(words) => words,
        // It is gone. A `ps` for each would cost more than all the rest of taking over a machine's sessions.
        Err(_) if Path::new("/proc/self").exists() => return false,
        Err(_) => ask_ps(pid),
    };
    // The words are separated by NUL there, by spaces in what `ps` says.
    words.split(|byte| *byte == 0 || byte.is_ascii_whitespace()).any(|word| word == life.as_bytes())
}

/// The process that leads this life, if one runs: for lives whose number nobody wrote down.
pub fn find(life: &str) -> Option<u32> {
    let listed = match std::fs::read_dir("/proc") {
        Ok(entries) => {
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        }
        Err(_) => all_by_ps(),
    };
    // The agent itself carries no name: only its host does.
    listed.into_iter().find(|pid| is_alive(*pid, life))
}

fn all_by_ps() -> Vec<u32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid="]).output();
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&listed).split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Where there is no `/proc`.
fn ask_ps(pid: u32) -> Vec<u8> {
    let listed = Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).output();
    listed.map(|output| output.stdout).unwrap_or_default()
}

/// Makes sure that the process of an earlier life and its group are gone. `false` if they would not go.
pub fn end(pid: u32, life: &str) -> bool {
    let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return true };
    let deadline = Instant::now() + GONE;
    while is_alive(pid, life) {
        // It may go by itself meanwhile.
        let _may_be_gone = rustix::process::kill_process_group(group, Signal::KILL);
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
