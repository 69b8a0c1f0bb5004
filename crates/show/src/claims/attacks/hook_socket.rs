//! Attacks on the socket where hooks of terminals report (N2, N2b).

mod boxed;
mod crowd;

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holdstead_protocol::api::InteractionPage;
use serde_json::json;

use super::Attempts;
use crate::claude::Stage;
use crate::gateway_process::program;
use crate::{Result, ensure};

const TOPIC: &str = "hook-socket";
/// So long a card is waited for: longer than any of the attacks held one up.
const PATIENCE: Duration = Duration::from_secs(45);

pub(super) async fn play(attempts: &mut Attempts) -> Result<()> {
    for setting in ["landlock", "bubblewrap"] {
        boxed::play(setting, attempts).await?;
    }
    crowd::play(attempts).await
}

/// A real hook that waits for an answer. It is ended when this is dropped.
#[derive(Debug)]
struct Hook(Child);

impl Drop for Hook {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Plays a program in a terminal that asks whether it may run `echo NUMBER`, and says how long its card took.
async fn card(stage: &Stage, number: usize) -> Result<Duration> {
    let begin = Instant::now();
    let command = format!("echo card {number}");
    let mut said = json!({
        "session_id": format!("00000000-0000-4000-8000-{number:012}"),
        "cwd": stage.home(),
        "tool_name": "Bash",
        "tool_input": { "command": command },
        "tool_use_id": format!("toolu_{number}"),
    });
    said["hook_event_name"] = "PreToolUse".into();
    let before = hook(stage, &said.to_string())?.0.wait()?;
    ensure!(before.success(), "a hook failed");
    said["hook_event_name"] = "PermissionRequest".into();
    let _waits = hook(stage, &said.to_string())?;
    while begin.elapsed() < PATIENCE {
        if shows(stage, &command).await? {
            return Ok(begin.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(PATIENCE)
}

fn hook(stage: &Stage, said: &str) -> Result<Hook> {
    let mut command = Command::new(program()?);
    command.args(["hook", "claude", "--dir"]).arg(stage.gateway.folder());
    command.env("CLAUDE_CODE_SESSION_ATTENDED", "1");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    child.stdin.take().ok_or("a hook without an input")?.write_all(said.as_bytes())?;
    Ok(Hook(child))
}

/// Whether a card with this command is open.
async fn shows(stage: &Stage, command: &str) -> Result<bool> {
    let page: InteractionPage = stage.person.get("/v1/interactions?state=open").await?;
    Ok(page.interactions.iter().any(|ask| ask.request.input["command"] == command))
}
