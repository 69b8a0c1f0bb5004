//! Rules over a session's variables, its start and the ends of its turns, with the real Claude Code and the scripted agent.

mod frame;
mod scenes;

use std::time::Instant;

use crate::claude::Stage;
use crate::{Result, ensure};

/// Words that the agent is told once.
const CONTEXT: &str = "Commits here need the number of a ticket";
const END_RULE: &str = "deny Stop when $keep_going true and $stop_attempts <= 0 # Run the tests first";
const RULES: &str = "default $keep_going false
context # Commits here need the number of a ticket
deny Stop when $keep_going true and $stop_attempts <= 0 # Run the tests first
deny AskUserQuestion when $stop_attempts >= 1 and $task_claimed true # Do not ask: act
deny Bash(touch:*) when $phase release # Nothing is written in a release
";

pub(crate) async fn show() -> Result<String> {
    let begin = Instant::now();
    let mut stage = Stage::new("10m").await?;
    // The organisation's file is read when the gateway starts.
    let file = stage.gateway.folder().join("rules");
    std::fs::write(file, RULES)?;
    stage.gateway.kill_now().await?;
    stage.gateway.serve_again().await?;
    stage.person.ready().await?;
    let mut checked = 0;
    let mut tell = |name: &str, seen: String| {
        println!("{name}\n    {seen}");
        checked += 1;
    };
    tell(
        "a session starts once, also after kill -9 before its first message",
        scenes::starts_once(&mut stage).await?,
    );
    tell("what an agent is told at its start", scenes::context(&stage).await?);
    tell(
        "variables: by default, at the opening, by a person; never by an agent",
        scenes::variables(&stage).await?,
    );
    tell("a rule over a variable, before a tool runs", scenes::before_a_tool(&stage).await?);
    let (end, question) = scenes::end_and_question(&stage).await?;
    tell("a rule keeps a turn from ending", end);
    tell("a rule keeps an agent from asking", question);
    tell("the same for another agent", scenes::other_agent(&stage).await?);
    tell("the frame `ask_user_response`", frame::answers(&stage).await?);
    tell("a project's own hook blocks", scenes::own_hook(&stage).await?);
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    stage.stop().await?;
    ensure!(checked == 9, "only {checked} things were checked");
    Ok(format!("{checked} of {checked} hold"))
}
