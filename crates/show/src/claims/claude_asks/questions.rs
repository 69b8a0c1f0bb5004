//! Questions and their answers.

use holdstead_protocol::ResponseDraft;
use holdstead_scripted_model::{Script, call, say};
use serde_json::{Value, json};

use super::{Outcome, refused, result};
use crate::Result;
use crate::claude::Stage;
use crate::responses::submit;

const COLOUR: &str = "Which colour shall the button have?";
const CHECKS: &str = "Which checks shall run?";

fn colour() -> Value {
    json!({"question": COLOUR, "header": "Colour", "multiSelect": false, "options": [
        {"label": "Teal", "description": "As the logo"}, {"label": "Amber", "description": "As the old one"}]})
}

fn checks() -> Value {
    json!({"question": CHECKS, "header": "Checks", "multiSelect": true, "options": [
        {"label": "Lint", "description": "Seconds"}, {"label": "Tests", "description": "Minutes"},
        {"label": "Load", "description": "An hour"}]})
}

fn asks(questions: &[Value]) -> Script {
    Script::new().reply([say("I need to know."), call("AskUserQuestion", json!({ "questions": questions }))])
}

fn chosen(what: &str) -> String {
    format!("Your questions have been answered: {what}. You can now continue with these answers in mind.")
}

/// Asks one thing, answers it like this, and expects the model to be told so.
async fn answered(
    stage: &Stage,
    name: &str,
    questions: &[Value],
    answers: &Value,
    told: &str,
) -> Result<Outcome> {
    let scene = stage.play(name, "default", asks(questions)).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    stage.person.win(&ask, submit(answers)).await?;
    stage.finish(&scene).await?;
    Ok(Outcome { told: stage.told(name), expected: vec![result(told)] })
}

pub(super) async fn one(stage: &Stage) -> Result<Outcome> {
    let told = chosen(&format!("\"{COLOUR}\"=\"Teal\""));
    answered(stage, "one", &[colour()], &json!({"q1": "Teal"}), &told).await
}

pub(super) async fn several_choices(stage: &Stage) -> Result<Outcome> {
    let told = chosen(&format!("\"{CHECKS}\"=\"Lint, Tests\""));
    answered(stage, "several", &[checks()], &json!({"0": ["Lint", "Tests"]}), &told).await
}

pub(super) async fn other_words(stage: &Stage) -> Result<Outcome> {
    let told = format!(
        "The user answered: \"{COLOUR}\"=\"the colour of the sea at noon\". Read the answers carefully — they may \
         request clarification, changes, or that you not proceed — and follow what they actually say."
    );
    answered(stage, "other", &[colour()], &json!({COLOUR: "the colour of the sea at noon"}), &told).await
}

pub(super) async fn two_in_one_call(stage: &Stage) -> Result<Outcome> {
    let told = chosen(&format!("\"{COLOUR}\"=\"Amber\", \"{CHECKS}\"=\"Load\""));
    answered(stage, "two", &[colour(), checks()], &json!({"q1": "Amber", CHECKS: ["Load"]}), &told).await
}

pub(super) async fn two_calls(stage: &Stage) -> Result<Outcome> {
    let ask = |question: Value| call("AskUserQuestion", json!({ "questions": [question] }));
    let script = Script::new().reply([ask(colour()), ask(checks())]);
    let scene = stage.play("two-calls", "default", script).await?;
    let mut asks = stage.person.open_asks(&scene.session, 2).await?;
    asks.sort_by_key(|ask| ask.request.input.to_string().contains(COLOUR));
    for (ask, answer) in asks.iter().zip(["Tests", "Teal"]) {
        stage.person.win(ask, submit(&json!({"q1": answer}))).await?;
    }
    stage.finish(&scene).await?;
    let expected = [format!("\"{CHECKS}\"=\"Tests\""), format!("\"{COLOUR}\"=\"Teal\"")];
    let expected = expected.iter().map(|what| result(&chosen(what))).collect();
    // Which of two results comes first is the program's own affair.
    let mut told = stage.told("two-calls");
    told.sort_by_key(|told| told.words().contains(COLOUR));
    Ok(Outcome { told, expected })
}

pub(super) async fn declined(stage: &Stage) -> Result<Outcome> {
    let scene = stage.play("declined", "default", asks(&[colour()])).await?;
    let ask = stage.person.open_ask(&scene.session, "question").await?;
    stage.person.win(&ask, ResponseDraft::Cancel { reason: None }).await?;
    stage.finish(&scene).await?;
    let told = "The user declined to answer. Go on without an answer, or ask something else.";
    Ok(Outcome { told: stage.told("declined"), expected: vec![refused("AskUserQuestion", told)] })
}
