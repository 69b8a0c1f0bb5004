//! The guard: a process between the host and the agent that ends what the agent left, also when the host was killed.
//!
//! It is in a group of its own, so that a signal to the host's group leaves it. In Landlock it is in the sandbox, and the
//! agent in another one within it: no signal of the agent reaches the guard, and those of the guard reach exactly what is
//! in its sandbox. In bubblewrap the namespace does all that by itself.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, getppid, pidfd_open};

use crate::boxes::Scoped;
use crate::descendants;
use crate::host::{agent_words, end_like, fail};

/// The variable in which a host names itself to its guard.
pub(crate) const HOST: &str = "HOLDSTEAD_HOST_PID";

/// The host of this guard. It was there when this was made.
#[derive(Debug)]
pub(crate) struct HostOfGuard {
    pub(crate) pid: Pid,
    process: OwnedFd,
}

impl HostOfGuard {
    pub(crate) fn find() -> Result<Self, String> {
        let pid = std::env::var(HOST).ok().and_then(|pid| Pid::from_raw(pid.parse().ok()?));
        let pid = pid.ok_or("no host named itself")?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| error.to_string())?;
        // Otherwise its number may be another's by now.
        if getppid() != Some(pid) {
            return Err("its host is gone".to_owned());
        }
        Ok(Self { pid, process })
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.ends_within(Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(0)
    }

    fn wait_until_gone(&self) {
        while matches!(self.ends_within(None), Ok(0) | Err(rustix::io::Errno::INTR)) {}
    }

    fn ends_within(&self, time: Option<&Timespec>) -> rustix::io::Result<usize> {
        poll(&mut [PollFd::new(&self.process, PollFlags::IN)], time)
    }
}

/// Runs an agent that has no sandbox. `args` are `-- PROGRAM ARGS…`.
pub(crate) fn run(args: impl IntoIterator<Item = String>) -> ExitCode {
    match HostOfGuard::find() {
        Ok(host) => guard(host, None, args.into_iter()),
        Err(why) => fail(&format!("the agent was not started: {why}")),
    }
}

/// Runs the agent of `-- PROGRAM ARGS…`, and ends when nothing of it is left.
pub(crate) fn guard(
    host: HostOfGuard,
    scoped: Option<Scoped>,
    args: impl Iterator<Item = String>,
) -> ExitCode {
    let Some((program, words)) = agent_words(args) else { return fail("no program was given") };
    descendants::adopt_orphans();
    let mut command = Command::new(&program);
    // With its host, so that both have a signal to the group before either runs on.
    command.args(words).env_remove(HOST).process_group(host.pid.as_raw_pid());
    let agent = match start(command, scoped.as_ref()) {
        Ok(agent) => agent,
        Err(why) => return fail(&format!("`{program}` could not be started: {why}")),
    };
    let agent = Pid::from_child(&agent);
    let end = move || {
        if let Some(scoped) = &scoped {
            scoped.kill_all();
        }
        descendants::end();
    };
    let at_the_end = end.clone();
    std::thread::spawn(move || {
        host.wait_until_gone();
        end();
    });
    let status = descendants::wait_for(agent);
    at_the_end();
    end_like(status)
}

/// A sandbox counts for one thread and what it starts: that of the agent is made on a thread that does nothing else.
fn start(mut command: Command, scoped: Option<&Scoped>) -> Result<Child, String> {
    let Some(scoped) = scoped else { return command.spawn().map_err(|error| error.to_string()) };
    std::thread::scope(|scope| {
        let start = scope.spawn(|| {
            scoped.enter_inner()?;
            command.spawn().map_err(|error| error.to_string())
        });
        start.join().unwrap_or_else(|_| Err("its sandbox could not be made".to_owned()))
    })
}
