//! See asks and answers as they come.

use holdstead_client::{Frame, Http};
use holdstead_protocol::api::{InboxUpsert, Interaction};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{Event, EventBody, Seq, SessionStatus};

use super::find_session;
use super::list::{now, remember, row};
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::{safe_block, safe_line, shortened};
use crate::words;

pub(super) async fn run(common: &Common, session: Option<&str>) -> Result<(), Failure> {
    let client = connect(common)?;
    match session {
        None => inbox(common, &client).await,
        Some(given) => {
            let session = find_session(&client, given).await?;
            let mut frames = client.session_stream(session, Seq::START).await?;
            while let Some(frame) = frames.next_frame().await? {
                print_event(&frame, common.json)?;
            }
            Ok(())
        }
    }
}

async fn inbox(common: &Common, client: &Http) -> Result<(), Failure> {
    if !common.json {
        println!("{:<5} {:<4} {:<8} {:<17} ASK", "ID", "AGE", "STATE", "SESSION");
    }
    let places = Places::new(common.dir.as_deref())?;
    let mut frames = client.inbox_stream().await?;
    // Each step of an answer on its way is an upsert of its own, and says the same here.
    let mut last = None;
    while let Some(frame) = frames.next_frame().await? {
        if common.json {
            println!("{}", frame.data);
            continue;
        }
        match frame.name.as_str() {
            "snapshot" => {
                let inbox = client.whole_inbox().await?;
                let listed = remember(&places, &inbox.asks);
                inbox.asks.iter().for_each(|ask| println!("{}", row(ask, &listed, now())));
                if inbox.unknown > 0 {
                    println!("! {}", words::unknown(inbox.unknown));
                }
            }
            "upsert" => {
                let upsert: InboxUpsert = parse(&frame)?;
                let ask = client.interaction(upsert.interaction_id).await?;
                let listed = remember(&places, std::slice::from_ref(&ask));
                let said = (upsert.interaction_id, words::state(&ask), stands(&ask));
                if last.as_ref() != Some(&said) {
                    println!("{}{}", row(&ask, &listed, now()), said.2);
                    last = Some(said);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What became of an ask and by whom, behind its row.
fn stands(ask: &Interaction) -> String {
    ask.ending().map(|ending| format!("   {}", words::ending(&ending))).unwrap_or_default()
}

fn parse<T: serde::de::DeserializeOwned>(frame: &Frame) -> Result<T, Failure> {
    serde_json::from_str(&frame.data).map_err(|error| Failure::Strange(error.to_string()))
}

fn print_event(frame: &Frame, json: bool) -> Result<(), Failure> {
    if frame.name == "resume" {
        return Ok(());
    }
    if json {
        println!("{}", frame.data);
        return Ok(());
    }
    let event: Event = parse(frame)?;
    println!("{:>5}  {:<20} {}", event.seq, event.body.event_type().as_str(), gist(&event.body)?);
    Ok(())
}

/// What an event says, in one line.
fn gist(body: &EventBody) -> Result<String, Failure> {
    Ok(match body {
        EventBody::UserMessage(message) => safe_line(&message.text),
        EventBody::TextDelta(delta) => safe_block(&delta.text).replace('\n', " "),
        EventBody::ThinkingDelta(delta) => safe_line(&delta.text),
        EventBody::ToolCallStart(start) => safe_line(&start.tool_name),
        EventBody::InteractionRequest(request) => words::headline(request),
        EventBody::InteractionResponse(response) => {
            format!(
                "{} – {}",
                words::decider(&response.decider),
                shortened(&short_json(&response.response)?, 120)
            )
        }
        EventBody::Error(error) => safe_line(&error.message),
        EventBody::SessionStatus(SessionStatus { boxed: Some(boxed), left_out, .. }) => {
            let left_out = left_out.as_ref().map(|left_out| format!(" {}", left_out.message));
            safe_line(&format!("Started. Box: {boxed}.{}", left_out.unwrap_or_default()))
        }
        EventBody::TurnEndBlocked(blocked) => {
            safe_line(&format!("The turn goes on, by `{}`: {}", blocked.rule.text, blocked.words))
        }
        EventBody::SessionOpened(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolCallEnd(_)
        | EventBody::ToolResult(_)
        | EventBody::InteractionUpdate(_)
        | EventBody::InteractionClosed(_)
        | EventBody::LateAnswer(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
        | EventBody::TrustAdded(_)
        | EventBody::TrustRevoked(_)
        | EventBody::RulesFileChanged(_)
        | EventBody::VariablesSet(_)
        | EventBody::SessionArchived(_)
        | EventBody::SessionUnarchived(_)
        | EventBody::InteractionSnoozed(_)
        | EventBody::InteractionUnsnoozed(_)
        | EventBody::SessionInitialised(_)
        | EventBody::SessionStatus(_)
        | EventBody::Done(_) => {
            let data = body.data_bytes().map_err(|error| Failure::Strange(error.to_string()))?;
            shortened(&safe_line(&String::from_utf8_lossy(&data)), 160)
        }
    })
}

fn short_json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Strange(error.to_string()))?;
    Ok(safe_line(&text))
}
