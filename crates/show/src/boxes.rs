//! The real Claude Code in each box: what a person approves cannot reach the gateway's own, and all else works.

mod attempts;
mod without;
mod work;

use std::time::Instant;

use holdstead_protocol::AgentBox;
use holdstead_protocol::api::Session;
use serde_json::Value;

use crate::claude::{Boxed, Scene, Stage};
use crate::{Result, ensure};

/// How many scenes there are at least.
const SCENES: usize = 24;
/// How long an agent waits with its process.
const HOLD: &str = "2s";

/// The scenes so far: their names, and what went wrong.
#[derive(Debug, Default)]
struct Played {
    count: usize,
    failures: Vec<String>,
}

impl Played {
    fn add(&mut self, on: &str, name: &str, seen: Result<String>) {
        self.count += 1;
        match seen {
            Ok(seen) => println!("{on:<11} {name:<44} {seen}"),
            Err(error) => {
                println!("{on:<11} {name:<44} FAILED: {error}");
                self.failures.push(format!("{on}: {name}: {error}"));
            }
        }
    }
}

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    let mut played = Played::default();
    println!("{:<11} {:<44} came to", "box", "what happens");
    // Without one, the same commands have their way: the scenes could fail.
    let open = Stage::boxed(HOLD, Boxed { setting: "none", bare: false }).await?;
    attempts::without_a_box(&open, &mut played).await?;
    played.add("none", "the session and doctor", without::says_none(&open, "settings").await);
    open.stop().await?;
    for (setting, expected) in [("bubblewrap", AgentBox::Bubblewrap), ("landlock", AgentBox::Landlock)] {
        let mut stage = Stage::boxed(HOLD, Boxed { setting, bare: false }).await?;
        attempts::in_a_box(&stage, setting, &mut played).await?;
        work::all(&mut stage, setting, &expected, &mut played).await;
        stage.stop().await?;
    }
    without::bare(&mut played).await?;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    let Played { count, failures } = played;
    ensure!(failures.is_empty(), "{} of {count} scenes failed:\n{}", failures.len(), failures.join("\n"));
    ensure!(count >= SCENES, "{count} scenes are too few");
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
