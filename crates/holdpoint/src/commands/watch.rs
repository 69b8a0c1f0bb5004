//! See asks and answers as they come.

use holdpoint_protocol::api::{InboxUpsert, Interaction};
use holdpoint_protocol::{AskState, Event, EventBody, SessionId};
use serde::Deserialize;

use super::list::{now, row};
use crate::cli::Common;
use crate::client::{Client, Frame};
use crate::failure::Failure;
use crate::text::{safe_block, safe_line, shortened};
use crate::words;

pub(super) async fn run(common: &Common, session: Option<&str>) -> Result<(), Failure> {
    let client = Client::connect(common)?;
    match session {
        None => inbox(common, &client).await,
        Some(given) => {
            let session = find(&client, given).await?;
            let json = common.json;
            let path = format!("/v1/sessions/{session}/events?after=0");
            client.follow(&path, None, async |frame| print_event(&frame, json)).await
        }
    }
}

async fn find(client: &Client, given: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let sessions = client.sessions().await?.sessions;
    let found = sessions.iter().find(|session| session.session_id.to_string().ends_with(given));
    found
        .map(|session| session.session_id)
        .ok_or_else(|| Failure::Usage(format!("No session ends in `{given}`. See: holdpoint sessions")))
}

#[derive(Deserialize)]
struct Snapshot {
    interactions: Vec<Interaction>,
}

async fn inbox(common: &Common, client: &Client) -> Result<(), Failure> {
    if !common.json {
        println!("{:<5} {:<4} {:<8} {:<12} ASK", "ID", "AGE", "STATE", "SESSION");
    }
    client
        .follow("/v1/interactions/events", None, async |frame| {
            if common.json {
                println!("{}", frame.data);
                return Ok(false);
            }
            match frame.name.as_str() {
                "snapshot" => {
                    let snapshot: Snapshot = parse(&frame)?;
                    snapshot.interactions.iter().for_each(|ask| println!("{}", row(ask, now())));
                }
                "upsert" => {
                    let upsert: InboxUpsert = parse(&frame)?;
                    let ask = client.interaction(upsert.interaction_id).await?;
                    match &ask.response {
                        Some(response) if ask.state != AskState::Open => {
                            println!("{}   {}", row(&ask, now()), words::decider(&response.decider));
                        }
                        _ => println!("{}", row(&ask, now())),
                    }
                }
                _ => {}
            }
            Ok(false)
        })
        .await
}

fn parse<T: serde::de::DeserializeOwned>(frame: &Frame) -> Result<T, Failure> {
    serde_json::from_str(&frame.data).map_err(|error| Failure::Strange(error.to_string()))
}

fn print_event(frame: &Frame, json: bool) -> Result<bool, Failure> {
    if frame.name == "resume" {
        return Ok(false);
    }
    if json {
        println!("{}", frame.data);
        return Ok(false);
    }
    let event: Event = parse(frame)?;
    println!("{:>5}  {:<20} {}", event.seq, event.body.event_type().as_str(), gist(&event.body)?);
    Ok(false)
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
        EventBody::SessionOpened(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolCallEnd(_)
        | EventBody::ToolResult(_)
        | EventBody::InteractionUpdate(_)
        | EventBody::InteractionClosed(_)
        | EventBody::LateAnswer(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
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
