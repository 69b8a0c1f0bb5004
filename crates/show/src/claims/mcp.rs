//! Tools that reach a person, over MCP: for agents that we host, and for agents that we do not.

mod bridge;
mod gemini;
mod hosted;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{Event, EventBody, InteractionRequest};

use crate::claude::Stage;
use crate::client::Client;
use crate::scenes::Scenes;
use crate::{Result, ensure};

pub(crate) async fn show() -> Result<String> {
    let gemini = std::env::args().nth(3).ok_or("say where Gemini CLI is: `scripts/agents gemini` knows")?;
    let mut stage = Stage::new("10m").await?;
    let mut scenes = Scenes::new();
    scenes.add("Claude Code, hosted, asks a question", hosted::question(&stage).await);
    let seen = hosted::killed(&mut stage).await;
    scenes.add("Claude Code, hosted, asks; kill -9 of the gateway", seen);
    let seen = gemini::pending(&mut stage, &gemini).await;
    scenes.add("Gemini CLI, not hosted: pending, kill -9 of the gateway, await_answer", seen);
    let seen = bridge::killed(&mut stage).await;
    scenes.add("any client over `holdstead mcp`: kill -9 of the gateway in the middle of a call", seen);
    scenes.add("`echo … | holdstead mcp`: the input ends before the answer", bridge::ended(&stage).await);
    stage.stop().await?;
    let count = scenes.end()?;
    Ok(format!("{count} of {count} scenes: asked once, answered once, the model told exactly that"))
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
