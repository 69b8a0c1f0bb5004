//! Commands, and who decides about them.

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{
    CallDecision, DecidedBy, Decider, Event, EventBody, InteractionResponse, ResponseDraft, Rule, Scope,
};
use holdstead_scripted_model::{Part, Script, call, say};
use serde_json::{Value, json};

use super::{Outcome, error, result};
use crate::claude::{Scene, Stage};
use crate::grants::decisions;
use crate::{Result, ensure};

/// Each run leaves a line.
const MARKS: &str = "marks.txt";

fn command(mark: &str) -> Value {
    json!({ "command": format!("echo {mark} >> {MARKS} && echo {mark} is done"), "description": "Leaves a mark" })
}

fn bash(mark: &str) -> Part {
    call("Bash", command(mark))
}

fn marks(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.folder.join(MARKS)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const APPROVE: ResponseDraft = ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };

/// One command, one decision.
async fn decided(
    stage: &Stage,
    name: &str,
    decision: ResponseDraft,
    expected: holdstead_scripted_model::Told,
    marks_after: &[&str],
) -> Result<Outcome> {
    let script = Script::new().reply([say("I leave a mark."), bash("one")]);
    let scene = stage.play(name, "default", script).await?;
    let ask = approval(stage, &scene, "one").await?;
    ensure!(marks(&scene).is_empty(), "the command ran before anybody allowed it");
    stage.person.win(&ask, decision).await?;
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    ensure!(marks(&scene) == marks_after, "these commands ran: {:?}", marks(&scene));
    let seen = vec![format!("ran: {marks_after:?}")];
    Ok(Outcome { told: stage.told(name), expected: vec![expected], seen })
}

/// The open approval, which shows the whole command.
async fn approval(stage: &Stage, scene: &Scene, mark: &str) -> Result<Interaction> {
    let ask = stage.person.open_ask(&scene.session, "approval").await?;
    ensure!(ask.request.input == command(mark), "the ask shows {}", ask.request.input);
    Ok(ask)
}

pub(super) async fn allowed(stage: &Stage) -> Result<Outcome> {
    decided(stage, "allowed", APPROVE, result("one is done"), &["one"]).await
}

pub(super) async fn denied_with_words(stage: &Stage) -> Result<Outcome> {
    let reason = "Not in this folder: \"marks\" belong to ../elsewhere.";
    let deny = ResponseDraft::Deny { reason: Some(reason.to_owned()) };
    decided(stage, "denied-with-words", deny, error(reason), &[]).await
}

pub(super) async fn denied(stage: &Stage) -> Result<Outcome> {
    let deny = ResponseDraft::Deny { reason: None };
    decided(stage, "denied", deny, error("User denied tool execution"), &[]).await
}

pub(super) async fn edited(stage: &Stage) -> Result<Outcome> {
    let edit =
        ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: Some(command("other")) };
    decided(stage, "edited", edit, result("other is done"), &["other"]).await
}

pub(super) async fn for_the_session(stage: &Stage) -> Result<Outcome> {
    let name = "for-the-session";
    let script = ["one", "one", "two"].iter().fold(Script::new(), |script, mark| script.reply([bash(mark)]));
    let scene = stage.play(name, "default", script).await?;
    let first = approval(stage, &scene, "one").await?;
    stage
        .person
        .win(
            &first,
            ResponseDraft::Approve { scope: Some(Scope::Session), lines: Vec::new(), edited_input: None },
        )
        .await?;
    // The second call of `one` goes by without a person; the next that waits is `two`.
    let other = loop {
        let asks = stage.person.open_asks(&scene.session, 1).await?;
        match asks.into_iter().next() {
            Some(ask) if ask.request.interaction_id != first.request.interaction_id => break ask,
            Some(_) | None => {}
        }
    };
    ensure!(other.request.input == command("two"), "asked again: {}", other.request.input);
    stage.person.win(&other, ResponseDraft::Deny { reason: Some("One kind is enough.".to_owned()) }).await?;
    let events = stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    ensure!(marks(&scene) == ["one", "one"], "these commands ran: {:?}", marks(&scene));
    let granted = events.iter().find_map(|event| {
        if let EventBody::GrantAdded(added) = &event.body { Some(added.grant.rule.clone()) } else { None }
    });
    let granted = granted.ok_or("the journal has no grant")?;
    let by: Vec<_> = responses(&events).map(|response| response.decider.clone()).collect();
    let [Decider::Person { .. }, Decider::Person { .. }] = by.as_slice() else {
        return Err(format!("these decided: {by:?}").into());
    };
    let [CallDecision { by: DecidedBy::Rules, verdict, .. }] = decisions(&events)[..] else {
        return Err(format!("decided without asking: {:?}", decisions(&events)).into());
    };
    let used: Vec<_> =
        verdict.parts.iter().filter_map(|part| part.rule.as_ref()).map(|rule| &rule.text).collect();
    let saved =
        |rule: &Rule| matches!(rule, Rule::Lines { lines } if lines.iter().collect::<Vec<_>>() == used);
    ensure!(saved(&granted), "saved was {granted:?}, and {used:?} decided");
    Ok(Outcome {
        told: stage.told(name),
        expected: vec![result("one is done"), result("one is done"), error("One kind is enough.")],
        seen: vec![format!("the second call was decided by {used:?}, the third by a person")],
    })
}

fn responses(events: &[Event]) -> impl Iterator<Item = &InteractionResponse> {
    events.iter().filter_map(|event| {
        if let EventBody::InteractionResponse(response) = &event.body { Some(&**response) } else { None }
    })
}

pub(super) async fn auto(stage: &Stage) -> Result<Outcome> {
    let question = json!({"questions": [{"question": "Again?", "header": "Again", "multiSelect": false,
        "options": [{"label": "Yes", "description": ""}, {"label": "No", "description": ""}]}]});
    let script = Script::new().reply([bash("one")]).reply([call("AskUserQuestion", question)]);
    let scene = stage.play("auto", "auto", script).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    ensure!(marks(&scene) == ["one"], "these commands ran: {:?}", marks(&scene));
    let answers = json!({"q1": "No"});
    stage
        .person
        .win(&ask, ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None })
        .await?;
    let events = stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    let by: Vec<_> = responses(&events).map(|response| response.decider.clone()).collect();
    let [Decider::Person { .. }] = by.as_slice() else {
        return Err(format!("these decided: {by:?}").into());
    };
    let [CallDecision { by: DecidedBy::Mode { mode }, .. }] = decisions(&events)[..] else {
        return Err(format!("decided without asking: {:?}", decisions(&events)).into());
    };
    let answered = "Your questions have been answered: \"Again?\"=\"No\". You can now continue with these answers \
                    in mind.";
    Ok(Outcome {
        told: stage.told("auto"),
        expected: vec![result("one is done"), result(answered)],
        seen: vec![format!("the command was decided by the mode {mode:?}, the question by a person")],
    })
}

pub(super) async fn subagent(stage: &Stage) -> Result<Outcome> {
    let task = "Look around and leave a mark.\nscript: subagent-inner";
    stage.model.script("subagent-inner", Script::new().reply([bash("one")]));
    let input = json!({"description": "Leave a mark", "prompt": task, "subagent_type": "general-purpose",
        "run_in_background": false});
    let scene = stage.play("subagent", "default", Script::new().reply([call("Agent", input)])).await?;
    let ask = approval(stage, &scene, "one").await?;
    ensure!(ask.request.parents == ["Leave a mark"], "the ask comes from {:?}", ask.request.parents);
    ensure!(ask.request.body.is_approval(), "the ask is no approval");
    stage.person.win(&ask, APPROVE).await?;
    stage.person.done(&scene.session).await?;
    stage.end(&scene).await?;
    ensure!(marks(&scene) == ["one"], "these commands ran: {:?}", marks(&scene));
    Ok(Outcome {
        told: stage.told("subagent-inner"),
        expected: vec![result("one is done")],
        seen: vec![format!("the ask named the subagent: {:?}", ask.request.parents)],
    })
}
