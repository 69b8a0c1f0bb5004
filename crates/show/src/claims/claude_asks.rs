//! Claude Code asks, a person decides, and its model is told exactly that.

mod approvals;
mod plans;
mod questions;
mod turns;

use std::pin::Pin;

use holdstead_scripted_model::Told;

use crate::claude::Stage;
use crate::scenes::Scenes;
use crate::{Result, ensure};

/// What a scene came to: what the model was told, and what it must have been told.
#[derive(Debug)]
struct Outcome {
    told: Vec<Told>,
    expected: Vec<Told>,
}

type Played<'a> = Pin<Box<dyn Future<Output = Result<Outcome>> + 'a>>;

pub(crate) async fn show() -> Result<String> {
    let stage = Stage::new("10m").await?;
    let played: Vec<(&str, Played<'_>)> = vec![
        ("a question, answered by its id", Box::pin(questions::one(&stage))),
        ("several choices, answered by the question's index", Box::pin(questions::several_choices(&stage))),
        ("a question, answered in other words by its text", Box::pin(questions::other_words(&stage))),
        ("two questions in one call", Box::pin(questions::two_in_one_call(&stage))),
        ("two calls with a question each, the second answered first", Box::pin(questions::two_calls(&stage))),
        ("a question is declined", Box::pin(questions::declined(&stage))),
        ("a command is allowed", Box::pin(approvals::allowed(&stage))),
        ("a command is denied with words", Box::pin(approvals::denied_with_words(&stage))),
        ("a command is denied without words", Box::pin(approvals::denied(&stage))),
        ("a command is edited", Box::pin(approvals::edited(&stage))),
        ("mode auto", Box::pin(approvals::auto(&stage))),
        ("a subagent asks", Box::pin(approvals::subagent(&stage))),
        ("a plan is approved", Box::pin(plans::approved(&stage))),
        ("a plan that was never written", Box::pin(plans::never_written(&stage))),
        ("the turn is stopped with an ask open", Box::pin(turns::interrupted(&stage))),
    ];
    let mut scenes = Scenes::new();
    for (name, scene) in played {
        scenes.add(name, scene.await.and_then(told_exactly));
    }
    let bodies = stage.model.bodies();
    let invented = bodies.iter().filter(|body| body.to_string().contains("did not answer")).count();
    ensure!(invented == 0, "the model was told {invented} times that the person did not answer");
    stage.stop().await?;
    let count = scenes.end()?;
    Ok(format!("{count} of {count} scenes: the model was told exactly what was decided"))
}

fn told_exactly(Outcome { told, expected }: Outcome) -> Result<String> {
    let told: Vec<_> = told.into_iter().map(without_id).collect();
    ensure!(told == expected, "the model was told\n  {told:#?}\nand not\n  {expected:#?}");
    Ok(told.iter().map(Told::words).collect::<Vec<_>>().join(" | "))
}

/// The ids of calls are new each time.
fn without_id(told: Told) -> Told {
    match told {
        Told::ToolResult { content, is_error, .. } => tool_result(&content, is_error),
        Told::Text { .. } | Told::Reminder { .. } => told,
    }
}

fn tool_result(content: &str, is_error: bool) -> Told {
    Told::ToolResult { tool_use_id: String::new(), content: content.to_owned(), is_error }
}

fn result(content: &str) -> Told {
    tool_result(content, false)
}

fn error(content: &str) -> Told {
    tool_result(content, true)
}

/// What Claude Code makes of a refusal in its hook.
fn refused(tool: &str, words: &str) -> Told {
    error(&format!("PreToolUse:{tool} hook error: {words}"))
}

fn text(text: &str) -> Told {
    Told::Text { text: text.to_owned() }
}
