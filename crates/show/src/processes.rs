//! The processes that one gateway started, found by their home, which no other process has.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::{Result, ensure};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
}

/// Whether the show runs as root.
pub(crate) fn as_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").expect("this process is there")) == 0
}

fn all() -> Result<Vec<u32>> {
    let names = fs::read_dir("/proc")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<Result<Vec<_>>>()?;
    Ok(names.iter().filter_map(|name| name.to_string_lossy().parse().ok()).collect())
}

/// All with this home, the gateway too.
pub(crate) fn with_home(home: &Path) -> Result<Vec<Process>> {
    let wanted = format!("HOME={}", home.display());
    let mut found = Vec::new();
    for pid in all()? {
        // It may end while we look, or belong to another user.
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
            && let Some(parent) = parent(pid)
        {
            found.push(Process { pid, parent });
        }
    }
    Ok(found)
}

/// The account that a process runs as. Nothing, if it is gone.
pub(crate) fn account(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok()
}

/// All that run as this account.
pub(crate) fn of_account(uid: u32) -> Result<Vec<u32>> {
    Ok(all()?.into_iter().filter(|pid| is_alive(*pid) && account(*pid) == Some(uid)).collect())
}

/// Those that this one started and that run.
pub(crate) fn children(of: u32) -> Result<Vec<u32>> {
    Ok(all()?.into_iter().filter(|pid| parent(*pid) == Some(of)).collect())
}

/// All command lines, as every user of the machine sees them.
pub(crate) fn command_lines() -> Result<Vec<String>> {
    let lines = all()?.into_iter().filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    Ok(lines.map(|words| String::from_utf8_lossy(&words).replace('\0', " ")).collect())
}

/// Those whose command line has all of these words.
pub(crate) fn with_words(words: &[&str]) -> Result<Vec<u32>> {
    let line = |pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let has = |line: &[u8], word: &str| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
    Ok(all()?.into_iter().filter(|pid| words.iter().all(|word| has(&line(*pid), word))).collect())
}

/// What the kernel says about a process, from its state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}

/// A process that ended and was not waited for yet is not alive.
pub(crate) fn is_alive(pid: u32) -> bool {
    parent(pid).is_some()
}

fn parent(pid: u32) -> Option<u32> {
    let fields = stat(pid)?;
    fields.first().filter(|state| *state != "Z")?;
    fields.get(1)?.parse().ok()
}

/// A field of the kernel's that is counted in kilobytes, in bytes.
fn kilobytes(file: &str, field: &str) -> Result<u64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).ok_or_else(|| format!("no {field}"))?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<u64>()? * 1024)
}

/// What it has in memory, in bytes; what is shared counts in proportion.
pub(crate) fn memory(pid: u32) -> Result<u64> {
    kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// The processors' time that it spent, for itself and in the kernel for it.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    /// The kernel counts in hundredths of a second on every machine.
    const TICK: Duration = Duration::from_millis(10);
    let fields = stat(pid).ok_or("there is no such process")?;
    let ticks = |at: usize| -> Result<u32> { Ok(fields.get(at).ok_or("no times")?.parse()?) };
    Ok(TICK * (ticks(11)? + ticks(12)?))
}

/// Sends a signal to all of them at once.
pub(crate) fn signal(name: &str, pids: &[u32]) -> Result<()> {
    let pids = pids.iter().map(u32::to_string);
    let status = std::process::Command::new("kill").arg(name).args(pids).status()?;
    ensure!(status.success(), "kill {name} failed");
    Ok(())
}
