//! What a process has started, and what that has started, however it left its parent.
//!
//! A process whose parent ends goes to the nearest one above it that adopts orphans. So no double fork and no `setsid`
//! takes a process away from the one that waits for its agent here.

use std::io;

use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

/// Waits for this child. Takes note of the ends of all others meanwhile, so that none of them stays as a zombie.
pub(crate) fn wait_for(child: Pid) -> io::Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == child => return Ok(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use here::{adopt_orphans, all_pids, end};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{adopt_orphans, end};

#[cfg(target_os = "linux")]
mod here {
    use std::time::Instant;

    use rustix::process::{Pid, Signal, getpid, kill_process, set_child_subreaper};

    use crate::host::fail;
    use crate::marks::{GONE, PAUSE};

    pub(crate) fn adopt_orphans() {
        // Known since Linux 3.4.
        let _cannot_fail = set_child_subreaper(Some(getpid()));
    }

    /// Kills all that this process has started, until nothing is left. What would not go is named on stderr.
    pub(crate) fn end() {
        let deadline = Instant::now() + GONE;
        loop {
            let left = descendants(getpid());
            let Some(first) = left.first() else { return };
            if Instant::now() > deadline {
                let _words = fail(&format!("process {first}, which the agent left running, would not end"));
                return;
            }
            // Parents first: none of them runs on to see that its child is gone.
            for pid in left {
                // It may go by itself meanwhile.
                let _may_be_gone = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// All below this process that run, parents first.
    fn descendants(of: Pid) -> Vec<Pid> {
        let parents: Vec<_> = all_pids().filter_map(|pid| Some((pid, parent(pid)?))).collect();
        let mut found = vec![of.as_raw_pid().cast_unsigned()];
        let mut at = 0;
        while let Some(parent) = found.get(at).copied() {
            found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            at += 1;
        }
        found.into_iter().skip(1).filter_map(|pid| Pid::from_raw(pid.try_into().ok()?)).collect()
    }

    pub(crate) fn all_pids() -> impl Iterator<Item = u32> {
        let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// Nothing, if it has ended. One that its parent has not waited for yet has no children any more.
    fn parent(pid: u32) -> Option<u32> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // Its name may have spaces and brackets in it.
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
        fields.next()?.parse().ok()
    }
}

/// Where no process adopts orphans, only the agent's group is found.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub(crate) fn adopt_orphans() {}

    pub(crate) fn end() {}
}
