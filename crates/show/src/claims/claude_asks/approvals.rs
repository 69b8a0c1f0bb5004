//! Commands, and who decides about them.

use holdstead_protocol::{CallDecision, DecidedBy, ResponseDraft};
use holdstead_scripted_model::{Script, Told, call, say};
use serde_json::json;

use super::{Outcome, refused, result};
use crate::claims::rules::decisions;
use crate::claude::{Stage, asks, mark, question};
use crate::responses::{APPROVE, DENY, approve_edited, deny, submit};
use crate::{Result, ensure};

/// One command, one decision.
async fn decided(
    stage: &Stage,
    name: &str,
    decision: ResponseDraft,
    expected: Told,
    marks: &str,
) -> Result<Outcome> {
    let script = Script::new().reply([say("I leave a mark."), call("Bash", mark("one"))]);
    let scene = stage.play(name, "default", script).await?;
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    ensure!(ask.request.input == mark("one"), "the ask shows {}", ask.request.input);
    ensure!(scene.marks().is_empty(), "the command ran before a person allowed it");
    stage.person.win(&ask, decision).await?;
    stage.finish(&scene).await?;
    ensure!(scene.marks() == marks, "these commands ran: {}", scene.marks());
    Ok(Outcome { told: stage.told(name), expected: vec![expected] })
}

pub(super) async fn allowed(stage: &Stage) -> Result<Outcome> {
    decided(stage, "allowed", APPROVE, result("one is done"), "one\n").await
}

pub(super) async fn denied_with_words(stage: &Stage) -> Result<Outcome> {
    let reason = "Not in this folder: \"marks\" belong to ../elsewhere.";
    decided(stage, "denied-with-words", deny(reason), refused("Bash", reason), "").await
}

pub(super) async fn denied(stage: &Stage) -> Result<Outcome> {
    decided(stage, "denied", DENY, refused("Bash", "User denied tool execution"), "").await
}

pub(super) async fn edited(stage: &Stage) -> Result<Outcome> {
    let edit = approve_edited(mark("other"));
    let outcome = decided(stage, "edited", edit, result("other is done"), "other\n").await?;
    let told = stage.model.told("edited");
    let words = format!("What you wrote did not run. This ran: {}", mark("other"));
    ensure!(
        told.iter().any(|told| told.words().contains(&words)),
        "of the edit, the model was told {told:?}"
    );
    Ok(outcome)
}

/// The mode decides about the command, a person about the question.
pub(super) async fn auto(stage: &Stage) -> Result<Outcome> {
    let script = Script::new().reply([call("Bash", mark("one"))]).reply([question("Again?", ["Yes", "No"])]);
    let scene = stage.play("auto", "auto", script).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    ensure!(scene.marks() == "one\n", "these commands ran: {}", scene.marks());
    stage.person.win(&ask, submit(&json!({"q1": "No"}))).await?;
    let events = stage.finish(&scene).await?;
    ensure!(asks(&events) == 1, "{} asks", asks(&events));
    let [CallDecision { by: DecidedBy::Mode { .. }, .. }] = decisions(&events)[..] else {
        return Err(format!("decided without asking: {:?}", decisions(&events)).into());
    };
    let answered = "Your questions have been answered: \"Again?\"=\"No\". You can now continue with these answers \
                    in mind.";
    Ok(Outcome { told: stage.told("auto"), expected: vec![result("one is done"), result(answered)] })
}

pub(super) async fn subagent(stage: &Stage) -> Result<Outcome> {
    let task = "Look around and leave a mark.\nscript: subagent-inner";
    stage.model.script("subagent-inner", Script::new().reply([call("Bash", mark("one"))]));
    let input = json!({"description": "Leave a mark", "prompt": task, "subagent_type": "general-purpose",
        "run_in_background": false});
    let scene = stage.play("subagent", "default", Script::new().reply([call("Agent", input)])).await?;
    let ask = stage.decide(&scene, APPROVE).await?;
    ensure!(ask.request.parents == ["Leave a mark"], "the ask comes from {:?}", ask.request.parents);
    stage.finish(&scene).await?;
    ensure!(scene.marks() == "one\n", "these commands ran: {}", scene.marks());
    Ok(Outcome { told: stage.told("subagent-inner"), expected: vec![result("one is done")] })
}
