//! A session, the folder that its agent edits, and what a person does in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use holdstead_protocol::api::{EventPage, SavedRule};
use holdstead_protocol::{Event, EventBody, ResponseDraft, Scope, Seq, Told};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::Result;
use crate::client::Client;
use crate::waiting::until;

const BEFORE: &str = "before\n";
const AFTER: &str = "after\n";
/// Where a rule of the owner's allows edits, all the time.
pub(super) const ALWAYS: &str = "always";
/// Where a grant for the session allows them, until it is revoked.
pub(super) const GRANTED: &str = "granted";
/// Where a rule of the owner's allows them, until it is revoked.
pub(super) const RULED: &str = "ruled";

#[derive(Debug)]
pub(super) struct Work {
    pub(super) session: String,
    pub(super) folder: PathBuf,
    /// Up to here its journal was read.
    pub(super) read: Seq,
}

pub(super) fn is_edited(file: &Path) -> bool {
    !std::fs::read_to_string(file).is_ok_and(|text| text == BEFORE)
}

impl Work {
    pub(super) async fn open(person: &Client, folder: PathBuf, runner: &str) -> Result<Self> {
        for place in [ALWAYS, GRANTED, RULED] {
            std::fs::create_dir_all(folder.join(place))?;
        }
        let open = json!({ "agent": "scripted", "cwd": folder, "runner": runner });
        let opened: Value = person.post("/v1/sessions", &open).await?;
        let session = opened["sessionId"].as_str().ok_or("the session has no id")?.to_owned();
        person.say(&session, "say ready").await?;
        let read = person.done(&session).await?.last().map_or(Seq::START, |event| event.seq);
        Ok(Self { session, folder, read })
    }

    /// Has the agent edit these files, one after the other.
    pub(super) async fn edit(&self, person: &Client, files: &[String]) -> Result<()> {
        let mut script = String::new();
        for file in files {
            std::fs::write(self.folder.join(file), BEFORE)?;
            script.push_str(&format!("edit {file}\n-{BEFORE}+{AFTER}end\n"));
        }
        person.say(&self.session, &script).await
    }

    /// Approves the first call, and with it all that are like it in this session.
    pub(super) async fn grant(&self, person: &Client, place: &str) -> Result<SavedRule> {
        let ask = person.open_ask(&self.session, "approval").await?;
        let lines = vec![format!("allow Edit({place}/**)")];
        let approve = ResponseDraft::Approve { scope: Some(Scope::Session), lines, edited_input: None };
        person.win(&ask, approve).await?;
        let events = self.events(person).await?.events;
        let granted = |event: &Event| {
            if let EventBody::GrantAdded(added) = &event.body { Some(added.grant.grant_id) } else { None }
        };
        Ok(SavedRule { grant_id: events.iter().find_map(granted).ok_or("no grant was saved")? })
    }

    pub(super) async fn stop(&self, person: &Client) -> Result<()> {
        let _stopped: Value =
            person.post(&format!("/v1/sessions/{}/interrupt", self.session), &json!({})).await?;
        Ok(())
    }

    /// Looks more often than others do: the act must come while the next calls are made.
    pub(super) async fn until_edited(&self, file: &str) -> Result<()> {
        for _ in 0..30_000 {
            if is_edited(&self.folder.join(file)) {
                return Ok(());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Err(format!("{file} was not edited, although a rule allows it").into())
    }

    pub(super) async fn events(&self, person: &Client) -> Result<EventPage> {
        person.get(&format!("/v1/sessions/{}/events?after={}&limit=1000", self.session, self.read)).await
    }

    /// The events up to the end of the turn. A person who is asked meanwhile, but for the asks that were answered, stops it.
    pub(super) async fn end(&self, person: &Client, answered: usize) -> Result<Vec<Event>> {
        let mut stopped = false;
        until("the turn ends", async || {
            let events = self.events(person).await?.events;
            let of = |is: fn(&EventBody) -> bool| events.iter().filter(|event| is(&event.body)).count();
            if of(|body| matches!(body, EventBody::InteractionRequest(_))) > answered && !stopped {
                stopped = true;
                self.stop(person).await?;
            }
            Ok((of(|body| matches!(body, EventBody::Done(_))) > 0).then_some(events))
        })
        .await
    }
}

/// Whether this event makes durable that the edit of this file is allowed.
pub(super) fn allows(event: &Event, file: &str) -> bool {
    let EventBody::ToolCallEnd(call) = &event.body else { return false };
    call.input["file_path"] == file
        && call.decision.as_ref().is_some_and(|decision| decision.told == Told::Allowed)
}
