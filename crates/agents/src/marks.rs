//! The marks of a hosted agent's processes: variables that the agent inherits from its host, and passes on to all that it
//! starts. They say which processes belong to a life. The words of a command line never do: anybody may write an id there.
//!
//! A process can drop its marks (`env -i`), so marks are the last way to find it and not the only one: see
//! [`crate::descendants`] and [`crate::guard`]. One that takes another life's marks ends with that life, and hides nothing.

#[cfg(not(target_os = "linux"))]
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How long processes that were killed may take to be gone.
pub(crate) const GONE: Duration = Duration::from_secs(5);
/// How long guards may take to end by themselves.
const GUARDS: Duration = Duration::from_secs(1);
pub(crate) const PAUSE: Duration = Duration::from_millis(5);
const LIFE: &str = "HOLDSTEAD_LIFE";
const HOSTED_BY: &str = "HOLDSTEAD_HOSTED_BY";

/// What a life's processes inherit.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    pub(crate) life: String,
    /// The gateway or runner that started it.
    pub(crate) hosted_by: Option<String>,
}

impl Marks {
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let hosted_by = self.hosted_by.as_deref().map(|hosted_by| (HOSTED_BY, hosted_by));
        std::iter::once((LIFE, self.life.as_str())).chain(hosted_by)
    }
}

/// Whether this process belongs to this life.
pub fn is_alive(pid: u32, life: &str) -> bool {
    let mark = format!("{LIFE}={life}");
    has(&environment(pid), &mark)
}

/// A process of this life, if one runs.
pub fn find(life: &str) -> Option<u32> {
    marked(&format!("{LIFE}={life}")).first().map(|(pid, _)| *pid)
}

/// Ends all processes of this life. Returns one that would not go.
pub fn end(life: &str) -> Option<u32> {
    end_marked(&format!("{LIFE}={life}"))
}

/// Ends all that an earlier gateway or runner of this name left. Returns one that would not go.
pub fn end_all(hosted_by: &str) -> Option<u32> {
    end_marked(&format!("{HOSTED_BY}={hosted_by}"))
}

fn end_marked(mark: &str) -> Option<u32> {
    let begin = Instant::now();
    loop {
        let left = marked(mark);
        let (last, _) = left.first()?;
        if begin.elapsed() > GONE {
            return Some(*last);
        }
        // A guard whose host is gone ends what has dropped its marks, and then itself.
        let guards_too = begin.elapsed() > GUARDS;
        let due = left.iter().filter(|(_, environment)| guards_too || !is_guard(environment));
        for pid in due.filter_map(|(pid, _)| Pid::from_raw((*pid).try_into().ok()?)) {
            // An agent has its signal together with its host, or it could see its input close. It may go by itself meanwhile.
            let _may_be_gone = match rustix::process::getpgid(Some(pid)) {
                Ok(group) if group == pid => rustix::process::kill_process_group(pid, Signal::KILL),
                Ok(_) | Err(_) => rustix::process::kill_process(pid, Signal::KILL),
            };
        }
        std::thread::sleep(PAUSE);
    }
}

/// All others with this mark. Never this process, which an agent may have started, and never the machine's first: a
/// signal to its group would reach everything.
fn marked(mark: &str) -> Vec<(u32, Vec<u8>)> {
    let own = std::process::id();
    let others = processes().into_iter().filter(|(pid, _)| *pid != own && *pid > 1);
    others.filter(|(_, environment)| has(environment, mark)).collect()
}

#[cfg(target_os = "linux")]
fn is_guard(environment: &[u8]) -> bool {
    let names = environment
        .split(|byte| *byte == 0)
        .filter_map(|variable| variable.split(|byte| *byte == b'=').next());
    names.into_iter().any(|name| name == crate::guard::HOST.as_bytes())
}

#[cfg(not(target_os = "linux"))]
const fn is_guard(_words: &[u8]) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn processes() -> Vec<(u32, Vec<u8>)> {
    crate::descendants::all_pids().map(|pid| (pid, environment(pid))).collect()
}

/// Nothing, if it is gone or belongs to another account.
#[cfg(target_os = "linux")]
fn environment(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn has(environment: &[u8], mark: &str) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
}

#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<(u32, Vec<u8>)> {
    let listed = ps(&["-axEww", "-o", "pid=,command="]);
    let read = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (pid, words) = line.trim_start().split_once(' ')?;
        Some((pid.parse().ok()?, words.as_bytes().to_vec()))
    };
    listed.split(|byte| *byte == b'\n').filter_map(read).collect()
}

#[cfg(not(target_os = "linux"))]
fn environment(pid: u32) -> Vec<u8> {
    ps(&["-Eww", "-o", "command=", "-p", &pid.to_string()])
}

/// `ps` writes the variables behind the words, with spaces between all of them.
#[cfg(not(target_os = "linux"))]
fn has(words: &[u8], mark: &str) -> bool {
    words.split(u8::is_ascii_whitespace).any(|word| word == mark.as_bytes())
}

#[cfg(not(target_os = "linux"))]
fn ps(args: &[&str]) -> Vec<u8> {
    Command::new("ps").args(args).output().map(|output| output.stdout).unwrap_or_default()
}
