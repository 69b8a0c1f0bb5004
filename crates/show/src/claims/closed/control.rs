//! The real program as anybody would start it: without a gateway, and without our flags.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use holdstead_scripted_model::Script;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;

use super::parts::Person;
use crate::Result;
use crate::claude::{Stage, variables};

const PATIENCE: Duration = Duration::from_secs(30);

/// One turn. Where the person denies, nobody answers at all: what happens then, the repository brought about.
pub(super) async fn run(stage: &Stage, name: &str, script: Script, cwd: &Path, person: Person) -> Result<()> {
    stage.model.script(name, script);
    let home = stage.home().join("control-home");
    std::fs::create_dir_all(&home)?;
    let mut command = Command::new(stage.program());
    command
        .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--permission-prompt-tool", "stdio"])
        .current_dir(cwd)
        .env_clear()
        .envs(variables(&home, &stage.model, stage.program(), "10m")?)
        .env("TMPDIR", &home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let mut input = child.stdin.take().ok_or("it has no input")?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("it has no output")?).lines();
    let open = json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}});
    write(&mut input, &open).await?;
    let content = format!("Please go on.\nscript: {name}");
    let prompt = json!({"type": "user", "session_id": "", "message": {"role": "user", "content": content},
        "parent_tool_use_id": null});
    write(&mut input, &prompt).await?;
    let turn = async {
        while let Some(line) = lines.next_line().await? {
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            let asks = line["request"]["subtype"] == "can_use_tool";
            if asks && person == Person::Approves {
                let allow = json!({"behavior": "allow", "updatedInput": line["request"]["input"]});
                let answer =
                    json!({"subtype": "success", "request_id": line["request_id"], "response": allow});
                write(&mut input, &json!({"type": "control_response", "response": answer})).await?;
            }
            if line["type"] == "result" {
                break;
            }
        }
        drop(input);
        while lines.next_line().await?.is_some() {}
        Ok::<_, crate::Error>(())
    };
    timeout(PATIENCE, turn).await.map_err(|_| "the program alone did not end its turn")??;
    child.wait().await?;
    Ok(())
}

async fn write(input: &mut ChildStdin, line: &Value) -> Result<()> {
    Ok(input.write_all(format!("{line}\n").as_bytes()).await?)
}
