//! The desk at a terminal, with the gateway behind it.

use std::time::{Duration, Instant};

use holdstead_client::{Frame, FrameStream, Http};
use holdstead_protocol::api::{InboxUpsert, Interaction, SnoozeAsk};
use holdstead_protocol::transport::{Transport as _, TransportError};
use holdstead_protocol::{Code, SessionId};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::{Act, Desk, draw};
use crate::commands::{new_key, now, respond};
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::edit::{Edited, Editing};
use crate::terminal::keys::{Keys, Whole};
use crate::terminal::once::{self, terminal};
use crate::terminal::row::{Ink, Row};
use crate::terminal::screen::{self, Colours};
use crate::terminal::{card, editor};
use crate::words;

/// How often a gateway that went away is looked for; ages grow meanwhile, too.
const LOOK: Duration = Duration::from_secs(1);

/// How long an ask that is not for now is out of sight.
const SNOOZE: Duration = Duration::from_secs(60 * 60);

/// Why the desk was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Done,
    /// For this session.
    Opened(SessionId),
}

/// Until the person leaves.
pub(crate) async fn watch(client: &Http, places: &Places) -> Result<Left, Failure> {
    let mut desk = Desk::new(Instant::now());
    loop {
        let act = sit(client, &mut desk).await?;
        match act {
            Act::Leave => return Ok(Left::Done),
            Act::Open(session) => return Ok(Left::Opened(session)),
            Act::Edit(ask) => edit(places, &mut desk, &ask),
            Act::Answer(ask) => answer(client, places, &mut desk, *ask).await?,
            // They are done on the screen.
            Act::Respond { .. } | Act::Snooze(_) => {}
        }
    }
}

/// On the screen, until something has to be done off it.
async fn sit(client: &Http, desk: &mut Desk) -> Result<Act, Failure> {
    let mut keys = Keys::open(Whole::Screen).map_err(terminal)?;
    let mut screen = Terminal::new(CrosstermBackend::new(std::io::stdout())).map_err(terminal)?;
    screen.clear().map_err(terminal)?;
    let colours = Colours::here();
    let mut frames: Option<FrameStream> = None;
    let mut away = false;
    loop {
        if let Some(id) = desk.wanted() {
            match client.interaction(id).await {
                Ok(ask) => {
                    let session = client.session(ask.session_id).await.ok();
                    desk.fetched(ask, session.and_then(|session| session.boxed), Instant::now());
                }
                Err(TransportError::Unreachable(_)) => (frames, away) = (None, true),
                Err(refused @ TransportError::Refused(_)) => return Err(refused.into()),
            }
        }
        screen.draw(|frame| draw::draw(frame, desk, now(), colours)).map_err(terminal)?;
        tokio::select! {
            pressed = keys.next() => {
                let Some(pressed) = pressed else { return Ok(Act::Leave) };
                match desk.press(&pressed) {
                    Some(Act::Respond { ask, draft }) => send(client, desk, &ask, draft).await,
                    Some(Act::Snooze(ask)) => snooze(client, desk, &ask).await,
                    Some(act) => return Ok(act),
                    None => {}
                }
            }
            frame = next(&mut frames), if frames.is_some() => match frame {
                Ok(Some(frame)) => take(client, desk, &frame).await?,
                Ok(None) | Err(_) => {
                    desk.say(Row::new(Ink::Danger, "The gateway is away. It is looked for; what was asked is still asked."));
                    (frames, away) = (None, true);
                }
            },
            found = stream(client, away), if frames.is_none() => match found {
                Ok(found) => (frames, away) = (Some(found), false),
                Err(refused @ TransportError::Refused(_)) => return Err(refused.into()),
                Err(TransportError::Unreachable(_)) => away = true,
            },
            () = tokio::time::sleep(LOOK), if !away => {}
        }
    }
}

/// Whoever lost it looks only every now and then.
async fn stream(client: &Http, away: bool) -> Result<FrameStream, TransportError> {
    if away {
        tokio::time::sleep(LOOK).await;
    }
    client.inbox_stream().await
}

async fn next(frames: &mut Option<FrameStream>) -> Result<Option<Frame>, TransportError> {
    match frames {
        Some(frames) => frames.next_frame().await,
        None => std::future::pending().await,
    }
}

async fn take(client: &Http, desk: &mut Desk, frame: &Frame) -> Result<(), Failure> {
    match frame.name.as_str() {
        // More may be open than a snapshot holds.
        "snapshot" => {
            let inbox = client.whole_inbox().await?;
            desk.replace(inbox.asks, Instant::now());
            desk.unknown = inbox.unknown;
        }
        "upsert" => {
            let upsert: InboxUpsert =
                serde_json::from_str(&frame.data).map_err(|error| Failure::Strange(error.to_string()))?;
            match client.interaction(upsert.interaction_id).await {
                Ok(ask) => desk.upsert(ask, Instant::now()),
                // The stream tells it when it is back.
                Err(TransportError::Unreachable(_)) => {}
                Err(refused @ TransportError::Refused(_)) => return Err(refused.into()),
            }
        }
        _ => {}
    }
    Ok(())
}

async fn send(client: &Http, desk: &mut Desk, ask: &Interaction, draft: holdstead_protocol::ResponseDraft) {
    let id = ask.request.interaction_id;
    match respond(client, ask, draft, new_key()).await {
        Ok(receipt) => {
            desk.answered(id, Instant::now());
            let what = format!(
                "{}: {}",
                words::receipt(&receipt, ask.request.origin),
                words::headline(&ask.request)
            );
            desk.say(Row::new(Ink::Good, "✓ ").and(Ink::Plain, &what));
        }
        Err(failure) => {
            if let Failure::Refused(refusal) = &failure
                && matches!(refusal.code, Code::AlreadyAnswered | Code::Closed)
            {
                desk.answered(id, Instant::now());
            }
            desk.say(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string()));
        }
    }
}

async fn snooze(client: &Http, desk: &mut Desk, ask: &Interaction) {
    let body = SnoozeAsk { prompt_id: ask.request.prompt_id, until: now().after(SNOOZE) };
    match client.snooze(ask.request.interaction_id, &body).await {
        Ok(()) => {
            desk.answered(ask.request.interaction_id, Instant::now());
            desk.say(Row::plain("Not now: it stays open, and is out of sight for an hour on every screen."));
        }
        Err(error) => {
            desk.say(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &Failure::from(error).to_string()))
        }
    }
}

fn edit(places: &Places, desk: &mut Desk, ask: &Interaction) {
    let mut editing = Editing::of(&ask.request);
    let (input, note) = loop {
        match editor::open(places, &editing) {
            Err(failure) => break (None, Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string())),
            Ok(text) => match editing.take(text) {
                Ok(Edited::Same) => break (None, Row::plain("Nothing was changed.")),
                Ok(Edited::Changed(input)) => {
                    break (
                        Some(input),
                        Row::plain("Edited: it stands below. A, then Enter approves it so."),
                    );
                }
                Err(words) => {
                    screen::print(&[Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &words)]);
                    println!(
                        "Enter opens the editor again, with what you wrote; any word and Enter gives it up."
                    );
                    let mut line = String::new();
                    if std::io::stdin().read_line(&mut line).is_err()
                        || !line.trim().is_empty()
                        || line.is_empty()
                    {
                        break (None, Row::plain("The edit was given up."));
                    }
                }
            },
        }
    };
    desk.edited(input, Instant::now());
    desk.say(note);
}

/// Questions and forms are answered line by line, below what the terminal showed before.
async fn answer(client: &Http, places: &Places, desk: &mut Desk, ask: Interaction) -> Result<(), Failure> {
    let id = ask.request.interaction_id;
    let origin = ask.request.origin;
    println!();
    screen::print(&card::rows(&ask, None));
    println!("Esc goes back.");
    match once::ask(client, places, ask).await {
        Ok(Some(receipt)) => {
            desk.answered(id, Instant::now());
            desk.say(Row::new(Ink::Good, "✓ ").and(Ink::Plain, &words::receipt(&receipt, origin)));
        }
        Ok(None) => desk.say(Row::plain("It stays open.")),
        Err(failure @ Failure::Refused(_)) => {
            desk.say(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string()));
        }
        Err(failure) => return Err(failure),
    }
    Ok(())
}
