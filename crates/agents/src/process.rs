//! The process behind an agent: JSON lines over stdin and stdout, in a process group of its own.
//!
//! Three tasks per process carry stdin, stdout and stderr; a fourth owns the process and speaks last.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdstead_protocol::json::{self, Flaw};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use crate::driver::{Agent, AgentSide, Sent, StartError, WriteError};
use crate::host::{self, Hosted};
use crate::lines::{Line, Lines};
use crate::marks;
use crate::{AgentEvent, AgentExit, Outgoing};

/// The longest line that we read.
const LINE_LIMIT: usize = 8 * 1024 * 1024;
/// How much of its stderr we keep.
const STDERR_LIMIT: usize = 4096;
/// How long we go on reading after the process ended, if something outside its group keeps its pipes open.
const DRAIN: Duration = Duration::from_secs(1);
/// All that an agent inherits: our tokens and settings are none of its business.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "TERM", "USER", "TMPDIR"];

/// What to start.
#[derive(Debug)]
pub(crate) struct Spawn {
    pub(crate) hosted: Hosted,
    pub(crate) cwd: PathBuf,
    /// In addition to the few variables that every agent gets.
    pub(crate) env: Vec<(String, String)>,
    /// How to get the program if it is not there.
    pub(crate) hint: &'static str,
    pub(crate) wire: Box<dyn Wire>,
    /// What it was started with: goes when it goes.
    pub(crate) files: Option<Folder>,
}

/// A folder that is deleted when nobody needs it any more.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind goes when the gateway starts again.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// One agent's language. It may remember what was said before.
pub(crate) trait Wire: Send + std::fmt::Debug {
    /// What is said before anything else.
    fn open(&mut self) -> Vec<Effect> {
        Vec::new()
    }

    /// What a line of the agent means. All agents' lines are read here, by the same limits.
    fn hear(&mut self, line: &str) -> Vec<Effect> {
        if line.trim().is_empty() {
            return Vec::new();
        }
        match json::read_flawed(line.as_bytes()) {
            Ok((value, flaw)) => {
                let dropped = flaw.as_ref().filter(|flaw| flaw.drops());
                let told = dropped
                    .map(|flaw| error(format!("A part of what the agent wrote is not shown here: {flaw}.")));
                told.into_iter().chain(self.heard(value, flaw.as_ref())).collect()
            }
            Err(bad) => vec![not_understood(line, &bad)],
        }
    }

    /// Whether hearing this line may look at files: then nothing else waits meanwhile.
    fn looks_at_files(&self, _line: &str) -> bool {
        false
    }

    /// What a line means that is JSON. With a flaw it is not what the agent wrote: nothing in it is decided on, and
    /// whatever waits for an answer is told why.
    fn heard(&mut self, line: Value, flaw: Option<&Flaw>) -> Vec<Effect>;

    /// What a line means of which only the beginning was kept.
    fn hear_too_long(&mut self, _beginning: &str, limit: usize) -> Vec<Effect> {
        vec![error(format!("the agent wrote a line of more than {limit} bytes; it was skipped"))]
    }

    /// How this is said to the agent.
    fn say(&mut self, outgoing: &Outgoing) -> Vec<Effect>;

    /// The process has ended. Reads and writes files; what it says comes before the end is told.
    fn ended(&mut self) -> Vec<AgentEvent> {
        Vec::new()
    }
}

/// How much of a line that we do not understand is quoted.
const QUOTED: usize = 200;

pub(crate) fn not_understood(line: &str, why: &dyn std::fmt::Display) -> Effect {
    let quoted: String = line.chars().take(QUOTED).collect();
    error(format!("The agent wrote a line that is not understood ({why}): {quoted}"))
}

/// For an agent that asked what no person can be shown.
pub(crate) fn cannot_be_shown(flaw: &Flaw) -> String {
    format!(
        "This call cannot be shown to a person as it is: {flaw}. Nobody was asked, nothing was decided and nothing ran. \
         Write it without that and call again."
    )
}

fn error(message: String) -> Effect {
    Effect::Event(AgentEvent::Error { message })
}

/// What follows from what was said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Event(AgentEvent),
    /// A line for the agent.
    Write(String),
    /// It goes now, because it was told to park.
    Parked,
    /// It has nothing more to do, and goes when its input ends.
    End,
}

pub(crate) fn spawn(what: Spawn) -> Result<Agent, StartError> {
    let mut words = what.hosted.command.iter();
    let program = words.next().cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).current_dir(&what.cwd).env_clear();
    command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)))).envs(what.env);
    command.envs(what.hosted.marks.variables());
    if let Some(account) = &what.hosted.account {
        // Our folder for temporary files may be closed to it.
        account.of(command.env_remove("TMPDIR"));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = CommandWrap::from(command);
    // Of its own, also without the terminal that the gateway was started in: it could write and type there.
    command.wrap(ProcessSession).wrap(KillOnDrop);

    let mut child = command.spawn().map_err(|source| {
        if !what.cwd.is_dir() {
            StartError::NoFolder { cwd: what.cwd }
        } else if source.kind() == std::io::ErrorKind::NotFound {
            StartError::NotFound { program: program.clone(), hint: what.hint }
        } else {
            StartError::Io { program: program.clone(), source }
        }
    })?;
    let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
    let life = what.hosted.marks.life;
    let group = Group { child, life, ended: false, _files: what.files };
    let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) = (pipes.0, pipes.1, pipes.2, group.child.id())
    else {
        let source = std::io::Error::other("its pipes are missing");
        return Err(StartError::Io { program, source });
    };

    let (agent, side) = Agent::in_process();
    let AgentSide { events, input, kill } = side;
    let (gone, watch_gone) = watch::channel(false);
    let (replies, replied) = mpsc::unbounded_channel();
    let wire = Arc::new(tokio::sync::Mutex::new(what.wire));
    let talk = Talk { wire: Arc::clone(&wire), events: events.clone(), replies };
    let tail = Arc::new(Mutex::new(Vec::new()));
    let tasks = Tasks {
        stdin: tokio::spawn(write_lines(stdin, input, replied, talk.clone())),
        stdout: tokio::spawn(read_lines(stdout, talk, watch_gone)),
        stderr: tokio::spawn(keep_tail(stderr, Arc::clone(&tail))),
    };
    tokio::spawn(supervise(group, tasks, wire, gone, kill, events, tail));
    Ok(Agent { pid, boxed: what.hosted.boxed, ..agent })
}

/// A process group. It never outlives its owner, also when the whole runtime is dropped.
#[derive(Debug)]
struct Group {
    child: Box<dyn ChildWrapper>,
    life: String,
    ended: bool,
    _files: Option<Folder>,
}

impl Group {
    fn kill(&mut self) {
        // An error means that nobody is left in the group.
        drop(self.child.start_kill());
    }

    /// Waits for the agent itself, then ends whatever it left behind in its group.
    async fn wait(&mut self) -> Option<i32> {
        let status = self.child.inner_mut().wait().await;
        self.kill();
        self.ended = true;
        drop(self.child.wait().await);
        status.ok().and_then(|status| status.code())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once it ended, its number may belong to somebody else.
        if !self.ended {
            self.kill();
        }
    }
}

#[derive(Debug)]
struct Tasks {
    stdin: JoinHandle<()>,
    /// Ends with whether it said that it parks.
    stdout: JoinHandle<bool>,
    stderr: JoinHandle<()>,
}

async fn supervise(
    mut group: Group,
    tasks: Tasks,
    wire: SharedWire,
    gone: watch::Sender<bool>,
    kill: Arc<Notify>,
    events: mpsc::Sender<AgentEvent>,
    tail: Arc<Mutex<Vec<u8>>>,
) {
    let code = tokio::select! {
        code = group.wait() => code,
        () = told_to_end(&kill, &events) => {
            group.kill();
            group.wait().await
        }
    };
    // A host that ended by itself left nothing. One that was killed could not see to that.
    let left = match code {
        Some(_) => None,
        None => {
            let life = group.life.clone();
            tokio::task::spawn_blocking(move || marks::end(&life)).await.ok().flatten()
        }
    };
    gone.send_replace(true);
    // Whoever still waits for a line to be written learns that it was not.
    tasks.stdin.abort();
    let parked = tasks.stdout.await.unwrap_or(false);
    let mut wire = wire.lock_owned().await;
    for event in tokio::task::spawn_blocking(move || wire.ended()).await.unwrap_or_default() {
        // If nothing listens any more, the end of this is on its way.
        drop(events.send(event).await);
    }
    if let Some(pid) = left {
        let message = format!("Process {pid}, which the agent left running, would not end. End it yourself.");
        drop(events.send(AgentEvent::Error { message }).await);
    }
    // Its last words are a courtesy; nothing waits for them longer than this.
    drop(tokio::time::timeout(DRAIN, tasks.stderr).await);
    let stderr = {
        let tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).trim().to_owned()
    };
    let exit = AgentExit { parked: parked && code == Some(0), code, stderr };
    // Nobody may be listening any more; then nobody needs to know.
    drop(events.send(AgentEvent::Exited(exit)).await);
}

async fn told_to_end(kill: &Notify, events: &mpsc::Sender<AgentEvent>) {
    tokio::select! {
        () = kill.notified() => (),
        () = events.closed() => (),
    }
}

type SharedWire = Arc<tokio::sync::Mutex<Box<dyn Wire>>>;

/// What the two directions of a conversation share.
#[derive(Debug, Clone)]
struct Talk {
    wire: SharedWire,
    events: mpsc::Sender<AgentEvent>,
    /// Lines for the agent that follow from what it said. Nobody waits here: an agent may stop reading until it was
    /// heard, and it asks no more than it has calls open.
    replies: mpsc::UnboundedSender<Reply>,
}

#[derive(Debug)]
enum Reply {
    Line(String),
    Goodbye,
}

impl Talk {
    /// Nothing, if it could not be heard: then nothing more is.
    async fn hear(&self, line: Line) -> Option<Vec<Effect>> {
        let mut wire = Arc::clone(&self.wire).lock_owned().await;
        match line {
            Line::Text(line) if wire.looks_at_files(&line) => {
                tokio::task::spawn_blocking(move || wire.hear(&line)).await.ok()
            }
            Line::Text(line) => Some(wire.hear(&line)),
            Line::TooLong { beginning } => Some(wire.hear_too_long(&beginning, LINE_LIMIT)),
        }
    }
}

async fn write_lines(
    mut stdin: ChildStdin,
    mut input: mpsc::Receiver<Sent>,
    mut replied: mpsc::UnboundedReceiver<Reply>,
    talk: Talk,
) {
    let opening = talk.wire.lock().await.open();
    if say(&mut stdin, &talk, opening).await.is_err() {
        return;
    }
    loop {
        let written = tokio::select! {
            biased;
            Some(reply) = replied.recv() => match reply {
                Reply::Line(line) => write_line(&mut stdin, line).await,
                Reply::Goodbye => {
                    // If it cannot be said, the agent is gone already.
                    drop(stdin.write_all(&[host::GOODBYE]).await);
                    return;
                }
            },
            sent = input.recv() => {
                let Some(Sent { outgoing, result }) = sent else { return };
                let said = talk.wire.lock().await.say(&outgoing);
                let written = say(&mut stdin, &talk, said).await;
                // The sender may have stopped waiting; what was written stays written.
                drop(result.send(written.clone()));
                written
            }
        };
        if written.is_err() {
            return;
        }
    }
}

async fn say(stdin: &mut ChildStdin, talk: &Talk, said: Vec<Effect>) -> Result<(), WriteError> {
    for said in said {
        match said {
            Effect::Write(line) => write_line(stdin, line).await?,
            Effect::Event(event) => talk.events.send(event).await.map_err(|_| WriteError)?,
            // Only the agent itself can say that it goes.
            Effect::Parked | Effect::End => {}
        }
    }
    Ok(())
}

async fn write_line(stdin: &mut ChildStdin, mut line: String) -> Result<(), WriteError> {
    line.push('\n');
    stdin.write_all(line.as_bytes()).await.map_err(|_| WriteError)?;
    stdin.flush().await.map_err(|_| WriteError)
}

async fn read_lines(stdout: ChildStdout, talk: Talk, mut gone: watch::Receiver<bool>) -> bool {
    let mut lines = Lines::new(BufReader::with_capacity(64 * 1024, stdout), LINE_LIMIT);
    let mut parked = false;
    let mut drained = std::pin::pin!(async move {
        drop(gone.wait_for(|gone| *gone).await);
        tokio::time::sleep(DRAIN).await;
    });
    loop {
        let line = tokio::select! {
            // What is there is read first: a slow listener loses nothing.
            biased;
            line = lines.next() => line,
            () = &mut drained => return parked,
        };
        let Ok(Some(line)) = line else { return parked };
        let Some(said) = talk.hear(line).await else { return parked };
        for said in said {
            match said {
                Effect::Parked => parked = true,
                // If nobody writes any more, its end is on its way.
                Effect::End => drop(talk.replies.send(Reply::Goodbye)),
                Effect::Write(line) => drop(talk.replies.send(Reply::Line(line))),
                Effect::Event(event) => {
                    if talk.events.send(event).await.is_err() {
                        return parked;
                    }
                }
            }
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&chunk[..read]);
        let excess = tail.len().saturating_sub(STDERR_LIMIT);
        tail.drain(..excess);
    }
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
