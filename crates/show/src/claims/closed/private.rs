//! What is the gateway's own, and what an agent's command line says.

use holdstead_scripted_model::{Script, call, say};
use serde_json::json;

use super::control;
use super::parts::{Person, answer_all};
use crate::claude::Stage;
use crate::{Result, ensure};

/// An agent that works in a folder above the gateway's own reads its token, in every way that needs nobody.
pub(super) async fn token_is_read(stage: &Stage) -> Result<String> {
    let token = stage.gateway.folder().join("token");
    let secret = std::fs::read_to_string(&token)?;
    let above = stage.gateway.folder().parent().ok_or("the gateway's folder has nothing above it")?;
    let link = stage.home().join("link");
    std::os::unix::fs::symlink(stage.gateway.folder(), &link)?;
    let around =
        above.join("x/..").join(stage.gateway.folder().file_name().unwrap_or_default()).join("token");
    let read = |path: &std::path::Path| vec![call("Read", json!({ "file_path": path }))];
    let script = || {
        [token.as_path(), &around, &link.join("token")]
            .map(read)
            .into_iter()
            .fold(Script::new(), Script::reply)
    };
    control::run(stage, "token-control", script(), above, Person::Denies).await?;
    let told = |name: &str| stage.told(name).iter().any(|told| told.words().contains(secret.trim()));
    ensure!(told("token-control"), "the program alone did not read it either, so this shows nothing");
    let scene = stage.play_in("token", "auto", script(), above).await?;
    let asked = answer_all(&stage.person, &scene, Person::Denies, 1).await?;
    stage.end(&scene).await?;
    ensure!(asked == 0, "a person was asked {asked} times for what is never read");
    ensure!(!told("token"), "the model was told the person's token");
    Ok("refused in words; without our flags it was read".to_owned())
}

/// Credentials of servers and the system prompt are for the agent's own account alone.
pub(super) async fn command_line(stage: &Stage) -> Result<String> {
    let folder = stage.folder("command-line")?;
    let servers = json!({"build": {"type": "http", "url": "http://127.0.0.1:9/", "headers": {"Authorization": "Bearer s3cr3t-b"}}});
    let open = json!({"agent": "claude", "cwd": folder, "systemPrompt": "The vault is s3cr3t-p.", "mcpServers": servers});
    let gate = vec![say("Working."), holdstead_scripted_model::Part::Hold("command-line".to_owned())];
    let scene = stage.open("command-line", &open, Script::new().reply(gate)).await?;
    stage.person.said(&scene.session, "Working.").await?;
    let lines = crate::processes::command_lines()?;
    let hosted: Vec<_> =
        lines.iter().filter(|line| line.contains("stream-json") && line.contains("launches")).collect();
    let leaked = lines.iter().filter(|line| line.contains("s3cr3t")).count();
    let launches = stage.gateway.folder().join("launches");
    let kept = std::fs::read_dir(&launches)?.count();
    stage.model.release("command-line");
    stage.finish(&scene).await?;
    ensure!(!hosted.is_empty() && kept > 0, "its process was not found");
    ensure!(leaked == 0, "{leaked} command lines have a secret in them");
    for _ in 0..200 {
        if std::fs::read_dir(&launches)?.count() == 0 {
            return Ok("neither credentials nor system prompt; the files went with the process".to_owned());
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    Err("what it was started with is still there".into())
}
