//! The host: a small process that owns an agent's input, so that the agent dies with its gateway.
//!
//! An agent that sees its input close takes that for an answer: real ones tell their model that the person refused.
//! So the agent's input never closes by itself. The host copies the gateway's lines to it; when the gateway is gone,
//! the host's own input ends, and it kills the whole group, itself included, before the agent can notice anything. What
//! left the group is ended by the agent's guard, or with its namespace.
//!
//! A gateway that wants the agent to end by itself says goodbye first: then its input is closed, and it may still
//! write down what it has to remember.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use holdstead_protocol::AgentBox;
use rustix::process::{Pid, Signal, WaitStatus};

use crate::StartError;
use crate::account::Account;
use crate::boxes::{Boxes, LANDLOCK, Needs, run_in_landlock};
use crate::descendants;
#[cfg(target_os = "linux")]
use crate::guard;
use crate::marks::Marks;
pub use crate::marks::{end, end_all, find, is_alive};
use crate::private::{is_in, real};

/// How long an agent may take to end after a goodbye.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// No line of JSON has this byte in it.
pub(crate) const GOODBYE: u8 = 0;
/// The word before the agent's own, where a guard runs it without a sandbox.
#[cfg(target_os = "linux")]
pub(crate) const GUARD: &str = "--guard";
/// What a host is told about its agent. It is never left out, and nothing is looked for behind it: a word that a parser
/// swallowed must not take the sandbox with it.
const GUARDED: &str = "--guarded";
const UNGUARDED: &str = "--unguarded";

/// The way every agent is started: under this process, in its box.
#[derive(Debug, Clone)]
pub struct Host {
    /// The command that leads to [`run`].
    command: Vec<String>,
    boxes: Boxes,
    hosted_by: Option<String>,
}

/// A command that is ready to be run.
#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) command: Vec<String>,
    pub(crate) boxed: AgentBox,
    pub(crate) marks: Marks,
    /// Whom it runs as, if not as this process.
    pub(crate) account: Option<Account>,
}

impl Host {
    pub fn new(command: Vec<String>, boxes: Boxes) -> Self {
        Self { command, boxes, hosted_by: None }
    }

    /// The same, for a gateway or runner with this name: all that it starts can be found by it. See [`end_all`].
    #[must_use]
    pub fn hosted_by(self, name: String) -> Self {
        Self { hosted_by: Some(name), ..self }
    }

    /// Whether no agent may read or change what is here.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        is_in(self.boxes.private(), &real(path))
    }

    /// Whom agents run as, if not as this process.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.boxes.account()
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
        let guarded = if is_guarded(&boxed) { GUARDED } else { UNGUARDED };
        command.extend([guarded.to_owned(), "--".to_owned()]);
        command.extend(agent);
        let marks = Marks { life: life.to_owned(), hosted_by: self.hosted_by.clone() };
        Ok(Hosted { command, boxed, marks, account: self.account().cloned() })
    }
}

/// In bubblewrap the namespace ends with its first process.
const fn is_guarded(boxed: &AgentBox) -> bool {
    match boxed {
        AgentBox::Bubblewrap => false,
        AgentBox::Landlock | AgentBox::None { .. } => cfg!(target_os = "linux"),
    }
}

/// Runs an agent until it ends or the gateway is gone. `args` are `--guarded -- PROGRAM ARGS…` or
/// `--unguarded -- PROGRAM ARGS…`.
///
/// Or is the guard of an agent: `--landlock … -- PROGRAM ARGS…` in a sandbox, `--guard -- PROGRAM ARGS…` in none.
pub fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    let mut args = args.into_iter().peekable();
    if args.next_if(|word| word == LANDLOCK).is_some() {
        return run_in_landlock(args);
    }
    #[cfg(target_os = "linux")]
    if args.next_if(|word| word == GUARD).is_some() {
        return guard::run(args);
    }
    let guarded = args.next();
    let guarded = match guarded.as_deref() {
        Some(GUARDED) => true,
        Some(UNGUARDED) => false,
        Some(_) | None => return fail("whether the agent has a guard was not said"),
    };
    let Some((program, words)) = agent_words(args) else { return fail("no program was given") };
    descendants::adopt_orphans();
    let mut command = Command::new(&program);
    // The agent's output goes straight to the gateway; only its input is ours.
    command.args(words).stdin(Stdio::piped());
    #[cfg(target_os = "linux")]
    if guarded {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0).env(guard::HOST, std::process::id().to_string());
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return fail(&format!("`{program}` could not be started: {error}")),
    };
    let pid = Pid::from_child(&child);
    copy_input(&mut child);
    let status = descendants::wait_for(pid);
    descendants::end();
    end_like(status)
}

/// `-- PROGRAM ARGS…`.
pub(crate) fn agent_words(
    mut args: impl Iterator<Item = String>,
) -> Option<(String, impl Iterator<Item = String>)> {
    args.next().filter(|word| word == "--")?;
    Some((args.next()?, args))
}

/// Copies what the gateway says to the agent, on a thread of its own.
fn copy_input(child: &mut Child) {
    let Some(mut input) = child.stdin.take() else { return };
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

pub(crate) fn fail(words: &str) -> ExitCode {
    // The gateway keeps what stands on stderr; if that is gone, so is the reader.
    drop(writeln!(std::io::stderr(), "{words}"));
    ExitCode::FAILURE
}

/// The host leads its group, and the agent is in it. Every member has its signal before any of them runs on. What has left
/// the group ends with the namespace or by the guard.
fn end_group() {
    let _cannot_fail = rustix::process::kill_process_group(rustix::process::getpgrp(), Signal::KILL);
}

/// The gateway sees this process end as the agent did: also as one that was killed.
pub(crate) fn end_like(agent: std::io::Result<WaitStatus>) -> ExitCode {
    match agent.map(WaitStatus::exit_status) {
        Ok(Some(code)) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Ok(None) => {
            let _cannot_fail = rustix::process::kill_process(rustix::process::getpid(), Signal::KILL);
            ExitCode::FAILURE
        }
        Err(error) => fail(&format!("the agent was lost: {error}")),
    }
}
