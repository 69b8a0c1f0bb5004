//! What a program in a person's terminal runs at each step: it tells the runner of this machine, and waits only where a
//! person may answer. Whatever goes wrong, the program goes on as if we were not there, and nothing is printed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use holdstead_agents::claude_code::HOSTED;
use holdstead_gateway::{Envelope, ReplyLine, secret_file};
use holdstead_protocol::json::read_flawed;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde_json::Value;

use crate::cli::{Common, HookFlags};
use crate::places::Places;

/// The longest that a program says at one step.
const LONGEST: u64 = 15 * 1024 * 1024;
/// How long the runner may take to take it.
const TAKING: Duration = Duration::from_millis(200);
/// How often one that waits comes again when its runner went away.
const AGAIN: Duration = Duration::from_secs(1);
/// And for how long.
const NO_LONGER: Duration = Duration::from_secs(10 * 60);
/// In a subagent the program shows no dialog while we wait.
const UNSEEN: Duration = Duration::from_secs(22);
/// What the runner says of a call without a person, before it and after it. The program waits for it at each call.
const BRIEF: Duration = Duration::from_secs(1);
/// The program sets it to `1` for a session with a person at it, and to `0` for `claude -p`.
const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
/// Versions without the former say `cli` here for a session in a terminal.
const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";

pub(crate) fn run(common: &Common, flags: &HookFlags) -> ExitCode {
    // An agent that is hosted has its own way to ask.
    if std::env::var_os(HOSTED).is_some() {
        return ExitCode::SUCCESS;
    }
    match Presence::of(|name| std::env::var(name).ok()) {
        Presence::Attended => {}
        Presence::Unattended => return ExitCode::SUCCESS,
    }
    let Ok(places) = Places::new(common.dir.as_deref()) else { return ExitCode::SUCCESS };
    let mut said = String::new();
    if std::io::stdin().take(LONGEST).read_to_string(&mut said).is_err() {
        return ExitCode::SUCCESS;
    }
    if let Some(answer) = tell(&places.hooks_socket(), flags, said) {
        println!("{answer}");
    }
    ExitCode::SUCCESS
}

/// Whether a person sits at the program. `claude -p` waits for all its hooks and shows no dialog meanwhile, so a hook that
/// waits would hang the script or the cron job that started it. It works as if it were not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Attended,
    Unattended,
}

impl Presence {
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let said = variable(ATTENDED).map(|set| set == "1");
        let attended = said.or_else(|| Some(variable(ENTRYPOINT)? == "cli"));
        if attended == Some(true) { Self::Attended } else { Self::Unattended }
    }
}

/// Tells the runner, and returns what the program reads from our output.
fn tell(socket: &Path, flags: &HookFlags, said: String) -> Option<Value> {
    // A flaw in an input, such as half a character, must not hide the call from the rules that deny.
    let (mut body, _) = read_flawed(said.as_bytes()).ok()?;
    let asks = body["hook_event_name"] == "PermissionRequest";
    let brief = matches!(body["hook_event_name"].as_str(), Some("PreToolUse" | "PostToolUse"));
    let mut said = said;
    if flags.wait {
        body["hook_event_name"] = "Waiter".into();
        said = body.to_string();
    }
    let unseen = (body.get("agent_id").is_some() && asks).then_some(UNSEEN);
    let until = unseen.or(brief.then_some(BRIEF)).map(|patience| Instant::now() + patience);
    let waits = flags.wait || asks || brief;
    let pid = std::env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
    let mut line =
        serde_json::to_vec(&Envelope { agent: flags.agent.clone(), pid, waits, brief, said }).ok()?;
    line.push(b'\n');
    let mut gone_since = None;
    loop {
        // A gateway that was started meanwhile has another one.
        if let Some(stream) = secret(socket).and_then(|secret| reach(socket, &secret, &line)) {
            if !waits {
                return None;
            }
            gone_since = None;
            match reply(stream, until) {
                Some(ReplyLine::Answer(answer)) => return answer,
                // This program takes no words from elsewhere.
                Some(ReplyLine::Say(_)) => return None,
                None => {}
            }
        } else if !flags.wait && gone_since.is_none() {
            // Nobody is there: it is asked in the terminal alone.
            return None;
        }
        let gone = *gone_since.get_or_insert_with(Instant::now);
        let enough = !flags.wait && gone.elapsed() > NO_LONGER;
        if !waits || brief || enough || until.is_some_and(|until| Instant::now() >= until) || !is_alive(pid) {
            return None;
        }
        std::thread::sleep(AGAIN);
    }
}

/// What the runner wants to see first. Without it the runner reads nothing.
fn secret(socket: &Path) -> Option<Vec<u8>> {
    std::fs::read(secret_file(socket)).ok()
}

/// Not kept by a runner that does not take it.
fn reach(socket: &Path, secret: &[u8], line: &[u8]) -> Option<UnixStream> {
    let address = SocketAddrUnix::new(socket).ok()?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&fd, &address).ok()?;
    let mut stream = UnixStream::from(fd);
    stream.set_nonblocking(false).ok()?;
    stream.set_write_timeout(Some(TAKING)).ok()?;
    stream.write_all(secret).ok()?;
    stream.write_all(line).ok()?;
    Some(stream)
}

fn reply(stream: UnixStream, until: Option<Instant>) -> Option<ReplyLine> {
    if let Some(until) = until {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left)).ok()?;
    }
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Without its program nobody waits.
fn is_alive(pid: Option<u32>) -> bool {
    let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
    pid.is_none_or(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_session_with_a_person_at_it_is_attended() {
        let cases = [
            (vec![(ATTENDED, "1"), (ENTRYPOINT, "cli")], Presence::Attended),
            (vec![(ATTENDED, "0"), (ENTRYPOINT, "sdk-cli")], Presence::Unattended),
            (vec![(ATTENDED, "0"), (ENTRYPOINT, "cli")], Presence::Unattended),
            (vec![(ATTENDED, "1"), (ENTRYPOINT, "claude-vscode")], Presence::Attended),
            (vec![(ENTRYPOINT, "cli")], Presence::Attended),
            (vec![(ENTRYPOINT, "sdk-cli")], Presence::Unattended),
            (vec![], Presence::Unattended),
        ];
        for (set, expected) in cases {
            let found =
                |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Presence::of(found), expected, "{set:?}");
        }
    }
}
