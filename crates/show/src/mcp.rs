//! Tools that reach a person, over MCP: for agents that we host, and for agents that we do not.

mod bridge;
mod gemini;
mod hosted;
mod registered;

use std::pin::Pin;
use std::time::Instant;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{Event, EventBody, InteractionRequest};

use crate::claude::Stage;
use crate::client::Client;
use crate::{Result, ensure};

/// What was seen in a scene, in words.
type Seen = Vec<String>;
type Played<'a> = Pin<Box<dyn Future<Output = Result<Seen>> + 'a>>;

pub(crate) async fn show() -> Result<String> {
    let gemini = std::env::args().nth(3).ok_or("say where Gemini CLI is: `scripts/agents gemini` knows")?;
    let mut stage = Stage::new("10m").await?;
    let begin = Instant::now();
    let calm: Vec<(&str, Played<'_>)> = vec![
        ("Claude Code, hosted, asks a question", Box::pin(hosted::question(&stage))),
        ("Claude Code, hosted, asks for an approval, which is edited", Box::pin(hosted::approval(&stage))),
        ("Claude Code, hosted, calls a registered tool", Box::pin(registered::called(&stage))),
    ];
    let mut failures = Vec::new();
    let mut scenes = 0;
    for (name, scene) in calm {
        scenes += 1;
        report(name, scene.await, &mut failures);
    }
    // Those that kill the gateway.
    let seen = hosted::killed(&mut stage).await;
    report("Claude Code, hosted, asks; kill -9 of the gateway", seen, &mut failures);
    let seen = gemini::pending(&mut stage, &gemini).await;
    report("Gemini CLI, not hosted: pending, kill -9 of the gateway, await_answer", seen, &mut failures);
    let seen = bridge::killed(&mut stage).await;
    report(
        "any client over `holdstead mcp`: kill -9 of the gateway in the middle of a call",
        seen,
        &mut failures,
    );
    scenes += 3;
    println!("took {:.0} s", begin.elapsed().as_secs_f64());
    stage.stop().await?;
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(format!("{scenes} of {scenes} scenes: asked once, answered once, the model told exactly that"))
}

fn report(name: &str, played: Result<Seen>, failures: &mut Vec<String>) {
    println!("{name}");
    match played {
        Ok(seen) => seen.iter().for_each(|seen| println!("    {seen}")),
        Err(error) => failures.push(format!("{name}: {error}")),
    }
}

/// The one ask that was made in a journal.
fn asked_once(events: &[Event]) -> Result<&InteractionRequest> {
    let mut asks = events.iter().filter_map(|event| {
        if let EventBody::InteractionRequest(request) = &event.body { Some(&**request) } else { None }
    });
    let ask = asks.next().ok_or("nobody was asked")?;
    ensure!(asks.next().is_none(), "somebody was asked twice");
    Ok(ask)
}

/// Waits for the one ask of an inbox that has this tool.
async fn open_ask(person: &Client, tool: &str) -> Result<Interaction> {
    for _ in 0..2_400 {
        let page: holdstead_protocol::api::InteractionPage =
            person.get("/v1/interactions?state=open").await?;
        let found = page.interactions.into_iter().find(|ask| ask.request.tool_name == tool);
        if let Some(ask) = found {
            return Ok(ask);
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    Err(format!("{tool} did not ask within a minute").into())
}
