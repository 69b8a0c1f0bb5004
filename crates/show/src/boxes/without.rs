//! Where there is no box, it is said; where one is wanted, no agent is started without it.

use holdstead_protocol::{AgentBox, EventBody};
use holdstead_scripted_model::{Script, call};
use serde_json::json;

use super::attempts::APPROVE;
use super::{HOLD, Played, doctor, said_box};
use crate::claude::{Boxed, Scene, Stage};
use crate::{Result, ensure};

fn script() -> Script {
    Script::new().reply([call("Bash", json!({"command": "echo done"}))])
}

/// An agent works, and its session and doctor say that it has no box, and why.
pub(super) async fn says_none(stage: &Stage, because: &str) -> Result<String> {
    let scene = stage.play("none", "default", script()).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    stage.person.win(&ask, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    let said = said_box(stage, &scene).await?;
    let Some(AgentBox::None { why }) = said else { return Err(format!("the session says {said:?}").into()) };
    ensure!(why.contains(because), "the session says {why}");
    let (health, words) = doctor(stage).await?;
    ensure!(health == "note" && words.contains(&why), "doctor says {health}: {words}");
    Ok(why)
}

/// The turn ends with words, and nothing was started.
async fn refuses(stage: &Stage, because: &str) -> Result<String> {
    let scene = stage.play("refused", "default", script()).await?;
    let words = complaint(stage, &scene).await?;
    stage.end(&scene).await?;
    ensure!(words.contains("no agent is started") && words.contains(because), "the session says {words}");
    ensure!(stage.told("refused").is_empty(), "an agent spoke to its model");
    let (health, found) = doctor(stage).await?;
    ensure!(health == "bad" && found.contains(because), "doctor says {health}: {found}");
    Ok(words)
}

/// What the session says when something is wrong.
async fn complaint(stage: &Stage, scene: &Scene) -> Result<String> {
    for _ in 0..1_200 {
        let events = stage.person.journal(&scene.session).await?;
        let said = events.into_iter().find_map(|event| {
            let EventBody::Error(error) = event.body else { return None };
            Some(error.message)
        });
        if let Some(words) = said {
            return Ok(words);
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    Err("the session says nothing".into())
}

/// On a machine that has neither.
pub(super) async fn bare(played: &mut Played) -> Result<()> {
    let machine = |setting| Stage::boxed(HOLD, Boxed { setting, bare: true });
    let stage = machine("best").await?;
    played.add("neither", "the session and doctor", says_none(&stage, "bubblewrap is not installed").await);
    stage.stop().await?;
    for (setting, because) in [("bubblewrap", "bubblewrap is not installed"), ("landlock", "no Landlock")] {
        let stage = machine(setting).await?;
        played.add("neither", &format!("{setting} is wanted all the same"), refuses(&stage, because).await);
        stage.stop().await?;
    }
    Ok(())
}
