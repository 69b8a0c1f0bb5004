//! Where there is no box, it is said; where one is wanted, no agent is started without it.

use holdstead_protocol::{AgentBox, EventBody};
use holdstead_scripted_model::{Script, call};
use serde_json::json;

use super::{HOLD, doctor, said_box};
use crate::claude::{Boxed, Scene, Stage};
use crate::responses::APPROVE;
use crate::scenes::Scenes;
use crate::{Result, ensure};

fn script() -> Script {
    Script::new().reply([call("Bash", json!({"command": "echo done"}))])
}

/// An agent works, and its session and doctor say that it has no box, and why.
pub(super) async fn says_none(stage: &Stage, because: &str) -> Result<String> {
    let scene = stage.play("none", "default", script()).await?;
    stage.decide(&scene, APPROVE).await?;
    stage.finish(&scene).await?;
    let said = said_box(stage, &scene).await?;
    let Some(AgentBox::None { why }) = said else { return Err(format!("the session says {said:?}").into()) };
    ensure!(why.contains(because), "the session says {why}");
    let (health, words) = doctor(stage).await?;
    ensure!(health == "note" && words.contains(&why), "doctor says {health}: {words}");
    Ok(why)
}

/// The session says why, and nothing was started.
pub(super) async fn refuses(stage: &Stage, because: &str) -> Result<String> {
    let scene = stage.play("refused", "default", script()).await?;
    let words = complaint(stage, &scene).await?;
    stage.end(&scene).await?;
    ensure!(words.contains("no agent is started") && words.contains(because), "the session says {words}");
    ensure!(stage.told("refused").is_empty(), "an agent spoke to its model");
    let (health, found) = doctor(stage).await?;
    ensure!(health == "bad" && found.contains(because), "doctor says {health}: {found}");
    Ok(words)
}

/// Waits until the session says what is wrong. Its turn does not end.
async fn complaint(stage: &Stage, scene: &Scene) -> Result<String> {
    for _ in 0..1_200 {
        let events = stage.person.journal(&scene.session).await?;
        let said = events.into_iter().find_map(|event| {
            if let EventBody::Error(error) = event.body { Some(error.message) } else { None }
        });
        if let Some(words) = said {
            return Ok(words);
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    Err("the session says nothing".into())
}

/// On a machine that has neither.
pub(super) async fn bare(scenes: &mut Scenes) -> Result<()> {
    let machine = |setting| Stage::boxed(HOLD, Boxed { setting, bare: true });
    let stage = machine("best").await?;
    let seen = says_none(&stage, "bubblewrap is not installed").await;
    scenes.add("a machine that offers no box: the session and doctor say so", seen);
    stage.stop().await?;
    for (setting, because) in [("bubblewrap", "bubblewrap is not installed"), ("landlock", "no Landlock")] {
        let stage = machine(setting).await?;
        let seen = refuses(&stage, because).await;
        scenes.add(&format!("a machine that offers no box, with {setting} in its settings"), seen);
        stage.stop().await?;
    }
    Ok(())
}
