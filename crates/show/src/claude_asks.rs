//! Claude Code asks, a person decides, and its model is told exactly that.

mod approvals;
mod plans;
mod questions;
mod turns;

use std::pin::Pin;
use std::time::Instant;

use holdstead_scripted_model::Told;

use crate::claude::Stage;
use crate::{Result, ensure};

/// What a scene came to.
#[derive(Debug, Default)]
struct Outcome {
    /// What the model was told, and what it must have been told.
    told: Vec<Told>,
    expected: Vec<Told>,
    /// What else was checked, in words.
    seen: Vec<String>,
}

type Played<'a> = Pin<Box<dyn Future<Output = Result<Outcome>> + 'a>>;

pub(crate) async fn show() -> Result<String> {
    let stage = Stage::new("10m").await?;
    let scenes: Vec<(&str, Played<'_>)> = vec![
        ("a question, answered by its id", Box::pin(questions::one(&stage))),
        (
            "a question with several choices, answered by its index",
            Box::pin(questions::several_choices(&stage)),
        ),
        ("a question, answered in other words by its text", Box::pin(questions::other_words(&stage))),
        ("two questions in one call", Box::pin(questions::two_in_one_call(&stage))),
        ("two calls with a question each, the second answered first", Box::pin(questions::two_calls(&stage))),
        ("blank answers are refused", Box::pin(questions::blank(&stage))),
        ("a question is declined", Box::pin(questions::declined(&stage))),
        ("a command is allowed", Box::pin(approvals::allowed(&stage))),
        ("a command is denied with words", Box::pin(approvals::denied_with_words(&stage))),
        ("a command is denied without words", Box::pin(approvals::denied(&stage))),
        ("a command is edited", Box::pin(approvals::edited(&stage))),
        ("a command is allowed for the session", Box::pin(approvals::for_the_session(&stage))),
        ("mode auto", Box::pin(approvals::auto(&stage))),
        ("a subagent asks", Box::pin(approvals::subagent(&stage))),
        ("a plan is approved", Box::pin(plans::approved(&stage))),
        ("a plan that was never written", Box::pin(plans::never_written(&stage))),
        ("the turn is stopped with an ask open", Box::pin(turns::interrupted(&stage))),
    ];
    let count = scenes.len();
    let begin = Instant::now();
    let mut failures = Vec::new();
    for (name, scene) in scenes {
        println!("{name}");
        let outcome = match scene.await {
            Ok(outcome) => outcome,
            Err(error) => {
                failures.push(format!("{name}: {error}"));
                continue;
            }
        };
        for told in &outcome.told {
            println!("    told: {}", told.words().replace('\n', "\n          "));
        }
        for seen in &outcome.seen {
            println!("    seen: {seen}");
        }
        let (told, expected) = (without_ids(&outcome.told), without_ids(&outcome.expected));
        if told != expected {
            failures.push(format!("{name}: the model was told\n  {told:#?}\nand not\n  {expected:#?}"));
        }
    }
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    let bodies = stage.model.bodies();
    let invented = bodies.iter().filter(|body| body.to_string().contains("did not answer")).count();
    ensure!(invented == 0, "the model was told that somebody did not answer, {invented} times");
    stage.stop().await?;
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(format!("{count} of {count} scenes: the model was told exactly what was decided"))
}

/// Call ids are new each time.
fn without_ids(told: &[Told]) -> Vec<Told> {
    let without = |told: &Told| match told {
        Told::ToolResult { content, is_error, .. } => tool_result(content, *is_error),
        Told::Text { .. } | Told::Reminder { .. } => told.clone(),
    };
    told.iter().map(without).collect()
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

fn text(text: &str) -> Told {
    Told::Text { text: text.to_owned() }
}
