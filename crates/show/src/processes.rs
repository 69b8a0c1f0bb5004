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

/// All with this home, the gateway too.
pub(crate) fn with_home(home: &Path) -> Result<Vec<Process>> {
    let wanted = format!("HOME={}", home.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        // It may go while we look, or be somebody else's.
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
            && let Some(parent) = parent(pid)
        {
            found.push(Process { pid, parent });
        }
    }
    Ok(found)
}

/// Those that this one started and that run.
pub(crate) fn children(of: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        if parent(pid) == Some(of) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// All command lines, as every user of the machine sees them.
pub(crate) fn command_lines() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(words) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
        lines.push(String::from_utf8_lossy(&words).replace('\0', " "));
    }
    Ok(lines)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    // One that ended and was not waited for is no process any more.
    fields.next().filter(|state| *state != "Z")?;
    fields.next()?.parse().ok()
}

/// What it has in memory, in bytes; what is shared counts in proportion.
pub(crate) fn memory(pid: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line =
        text.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("the kernel does not say Pss")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

/// What it has spent of the processors' time, for itself and in the kernel for it.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    /// The kernel counts in hundredths of a second, whatever it runs on.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, rest) = stat.rsplit_once(") ").ok_or("the kernel tells nothing of a process")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |at: usize| -> Result<u32> { Ok(fields.get(at).ok_or("no times")?.parse()?) };
    Ok(TICK * (ticks(11)? + ticks(12)?))
}

/// What can still be had without swapping, in bytes.
pub(crate) fn available_memory() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).ok_or("no MemAvailable")?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes * 1024)
}

/// Sends a signal to all of them at once.
pub(crate) fn signal(name: &str, pids: &[u32]) -> Result<()> {
    let pids = pids.iter().map(u32::to_string);
    let status = std::process::Command::new("kill").arg(name).args(pids).status()?;
    ensure!(status.success(), "kill {name} failed");
    Ok(())
}
