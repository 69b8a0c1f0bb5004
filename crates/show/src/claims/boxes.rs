//! The real Claude Code in each box: what a person approves cannot reach the gateway's own, and all else works.

mod account;
mod attempts;
mod without;
mod work;

use holdstead_protocol::AgentBox;
use holdstead_protocol::api::Session;
use serde_json::Value;

use crate::Result;
use crate::claude::{Boxed, Scene, Stage};
use crate::scenes::Scenes;

/// How long an agent waits with its process.
const HOLD: &str = "2s";

pub(crate) async fn show() -> Result<String> {
    let mut scenes = Scenes::new();
    // Without a box the same commands succeed, so the scenes can fail.
    let open = Stage::boxed(HOLD, Boxed { setting: "none", bare: false }).await?;
    attempts::without_a_box(&open, &mut scenes).await?;
    scenes.add("no box: the session and doctor say so", without::says_none(&open, "settings").await);
    open.stop().await?;
    for (setting, expected) in [("bubblewrap", AgentBox::Bubblewrap), ("landlock", AgentBox::Landlock)] {
        let mut stage = Stage::boxed(HOLD, Boxed { setting, bare: false }).await?;
        attempts::in_a_box(&stage, setting, &mut scenes).await?;
        work::all(&mut stage, setting, &expected, &mut scenes).await;
        stage.stop().await?;
    }
    without::bare(&mut scenes).await?;
    account::all(&mut scenes).await?;
    let count = scenes.end()?;
    Ok(format!(
        "{count} of {count} scenes: in bubblewrap and in Landlock no approved command read the gateway's token, journal \
         or memory; Claude Code worked, parked and resumed; without a box the session said so"
    ))
}

/// The box that a session says it has.
async fn said_box(stage: &Stage, scene: &Scene) -> Result<Option<AgentBox>> {
    let session: Session = stage.person.get(&format!("/v1/sessions/{}", scene.session)).await?;
    Ok(session.boxed)
}

/// What doctor says about boxes: its health, and its words.
async fn doctor(stage: &Stage) -> Result<(String, String)> {
    let checks = stage.gateway.doctor().await?;
    let word = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let check =
        checks.iter().find(|check| check["what"] == "box").ok_or("doctor says nothing about boxes")?;
    Ok((word(check, "health"), word(check, "words")))
}
