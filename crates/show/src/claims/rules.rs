//! Rules for the real Claude Code: a call that they allow never asks, a call that they deny never runs, a call that leaves
//! their bounds asks, and they decide over variables of the session.

mod calls;
mod lifecycle;

use std::pin::Pin;

use holdstead_protocol::{CallDecision, Event, EventBody};

use crate::Result;
use crate::claude::Stage;
use crate::scenes::Scenes;
use calls::Calls;

type Played<'a> = Pin<Box<dyn Future<Output = Result<String>> + 'a>>;

/// What was decided about calls without asking.
pub(crate) fn decisions(events: &[Event]) -> Vec<&CallDecision> {
    let mut decided = Vec::new();
    for event in events {
        if let EventBody::ToolCallEnd(end) = &event.body {
            decided.extend(end.decision.as_deref());
        }
    }
    decided
}

pub(crate) async fn show() -> Result<String> {
    let mut stage = Stage::new("10m").await?;
    // The gateway reads the organisation's file when it starts.
    std::fs::write(stage.gateway.folder().join("rules"), lifecycle::RULES)?;
    stage.restart().await?;
    let mut scenes = Scenes::new();
    let started = lifecycle::starts_once(&mut stage).await;
    scenes.add("a session starts once, also after kill -9 before its first message", started);
    let calls = Calls::new(&stage)?;
    let played: Vec<(&str, Played<'_>)> = vec![
        ("an allowed call never asks, also as one of several", Box::pin(calls.allowed())),
        ("a denied call never runs, and the model reads why", Box::pin(calls.denied())),
        ("a command beside an allowed command asks", Box::pin(calls.joined())),
        ("a revoked rule asks at the next call", Box::pin(calls.revoked())),
        ("the saved rule is the one that was shown", Box::pin(calls.saved())),
        ("an input that leaves the bounds of the saved rule asks", Box::pin(calls.leaves())),
        ("a project's file can narrow and cannot widen", Box::pin(calls.project())),
        ("reads pass inside the folder and ask outside", Box::pin(calls.reads())),
        ("an input that a hook edits out of the bounds asks", Box::pin(calls.edited_by_hook())),
        ("what an agent is told at its start", Box::pin(lifecycle::context(&stage))),
        ("a rule over a variable, before a tool runs", Box::pin(lifecycle::before_a_tool(&stage))),
        ("a rule keeps a turn from ending and the agent from asking", Box::pin(lifecycle::end(&stage))),
    ];
    for (name, scene) in played {
        scenes.add(name, scene.await);
    }
    stage.stop().await?;
    let count = scenes.end()?;
    Ok(format!("{count} of {count} scenes hold with the real Claude Code"))
}
