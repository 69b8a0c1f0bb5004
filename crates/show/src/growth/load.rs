//! A journal with many asks in it.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_core::{Command, Quota, Request, Respond, asking};
use holdstead_protocol::{
    AskBody, Capabilities, InteractionId, InteractionRequest, MessageId, Origin, OwnerId, Presentation,
    PromptId, ResponseDraft, SessionId, SessionOpened, Surface, Timestamp, TurnId,
};
use holdstead_store::{AskFilter, AskQuery, Journal};
use serde_json::json;

use crate::{Result, ensure};

/// Asks of one session, as many at every size: what is measured is the number of asks, not of asks per session.
const ASKS_PER_SESSION: usize = 50;
/// One in so many stays open.
const OPEN_ONE_IN: usize = 10;
/// One session in so many belongs to one of the other owners.
const OTHERS_ONE_IN: usize = 10;
const OTHER_OWNERS: usize = 20;
/// How many sessions are loaded at once.
const AT_ONCE: usize = 64;
/// How many asks of the inbox lie behind the place where the deep page begins: that page, and no other.
const DEEP_PAGE: usize = 50;

/// The owner who has most of it, and whose inbox is read.
pub(crate) fn owner() -> Result<OwnerId> {
    Ok(OwnerId::new("everybody")?)
}

/// An ask that can be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenAsk {
    pub(crate) session: SessionId,
    pub(crate) id: InteractionId,
    pub(crate) prompt: PromptId,
}

/// A journal after loading, with what the calls need to know of it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) sessions: Vec<SessionId>,
    /// Of the owner who has most of it.
    pub(crate) open: Vec<OpenAsk>,
    /// The last ask before the deep page.
    pub(crate) deep: (Timestamp, InteractionId),
}

impl Loaded {
    pub(crate) async fn new(url: &str, asks: usize) -> Result<Self> {
        let journal = holdstead_store::open(url).await?;
        let loaded: Vec<_> = stream::iter(0..asks / ASKS_PER_SESSION)
            .map(|number| one_session(journal.as_ref(), number))
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let sessions = loaded.iter().map(|(session, _)| *session).collect();
        let owners = owner()?;
        let mut open: Vec<OpenAsk> = Vec::new();
        for (_, (whose, asks)) in loaded {
            if whose == owners {
                open.extend(asks);
            }
        }
        let counted = journal.live_count(&owners).await?;
        ensure!(counted == open.len() as u64, "{counted} asks are open after loading, not {}", open.len());
        let deep = deep_place(journal.as_ref(), open.len() - DEEP_PAGE).await?;
        Ok(Self { journal, sessions, open, deep })
    }
}

/// Fills a journal with asks of one owner that are all decided. One of them, in the middle, runs `rare`.
pub(crate) async fn decided(url: &str, asks: usize, rare: &str) -> Result<()> {
    let journal = holdstead_store::open(url).await?;
    let sessions = asks / ASKS_PER_SESSION;
    stream::iter(0..sessions)
        .map(|number| decided_session(journal.as_ref(), number, (number == sessions / 2).then_some(rare)))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    journal.close().await;
    Ok(())
}

async fn decided_session(journal: &dyn Journal, number: usize, rare: Option<&str>) -> Result<()> {
    let owner = owner()?;
    let session = SessionId::generate(&owner);
    let mut appends = vec![journal.append(session, Command::Open(Box::new(opening(&owner, number))))];
    for ask in 0..ASKS_PER_SESSION {
        let command = rare.filter(|_| ask == ASKS_PER_SESSION / 2).map_or_else(|| usual(ask), str::to_owned);
        let (asked, request) = request_to_run(session, &command, Origin::Caller);
        appends.push(journal.append(session, request));
        appends.push(journal.append(session, approval(asked)));
        appends.push(journal.append(session, Command::Acknowledge { interaction_id: asked.id }));
    }
    for append in appends {
        append.await?;
    }
    Ok(())
}

/// The place behind so many open asks.
async fn deep_place(journal: &dyn Journal, behind: usize) -> Result<(Timestamp, InteractionId)> {
    let mut place = None;
    let mut passed = 0;
    while passed < behind {
        let limit = u32::try_from((behind - passed).min(200))?;
        let page = AskQuery { owner: owner()?, session: None, only: AskFilter::Live, after: place, limit };
        let asks = journal.asks(page).await?;
        passed += asks.len();
        let last = asks.last().ok_or("the inbox is shorter than what was opened")?;
        place = Some((last.ask.opened_at, last.id));
    }
    Ok(place.ok_or("there is nothing in the inbox")?)
}

/// Opens a session, asks, answers and acknowledges. All is queued in order and then waited for.
async fn one_session(journal: &dyn Journal, number: usize) -> Result<(SessionId, (OwnerId, Vec<OpenAsk>))> {
    let owner = if number % OTHERS_ONE_IN == OTHERS_ONE_IN - 1 {
        OwnerId::new(format!("other-{}", number / OTHERS_ONE_IN % OTHER_OWNERS))?
    } else {
        owner()?
    };
    let session = SessionId::generate(&owner);
    let mut appends = vec![journal.append(session, Command::Open(Box::new(opening(&owner, number))))];
    let mut open = Vec::new();
    for ask in 0..ASKS_PER_SESSION {
        let (asked, command) = request(session, ask, Origin::Caller);
        appends.push(journal.append(session, command));
        if ask % OPEN_ONE_IN == OPEN_ONE_IN - 1 {
            open.push(asked);
        } else {
            appends.push(journal.append(session, approval(asked)));
            appends.push(journal.append(session, Command::Acknowledge { interaction_id: asked.id }));
        }
    }
    for append in appends {
        append.await?;
    }
    Ok((session, (owner, open)))
}

pub(crate) fn opening(owner: &OwnerId, number: usize) -> SessionOpened {
    SessionOpened { title: Some(format!("release {number}")), ..SessionOpened::new(owner.clone(), "caller") }
}

/// A program that asks before it runs a command.
pub(crate) fn request(session: SessionId, number: usize, origin: Origin) -> (OpenAsk, Command) {
    request_to_run(session, &usual(number), origin)
}

fn usual(number: usize) -> String {
    format!("kubectl --context production rollout restart deployment/shop-api-{number}")
}

fn request_to_run(session: SessionId, command: &str, origin: Origin) -> (OpenAsk, Command) {
    let input = json!({
        "command": command,
        "description": "Restarts the deployment so that it reads its new settings",
        "timeout": 120,
    });
    let body = AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false };
    let can = Capabilities { reason: true, edit_input: false, scopes: false };
    let id = InteractionId::generate(session);
    let request = InteractionRequest {
        agent_says: Some("The settings changed an hour ago".to_owned()),
        presentation: Presentation::Questionnaire,
        ..asking(id, PromptId::generate(), origin, "Bash", input, body, can)
    };
    let open = OpenAsk { session, id: request.interaction_id, prompt: request.prompt_id };
    let command = Request { request, owner_grants: Vec::new(), allowed_by: None, quota: Quota::default() };
    (open, Command::Request(Box::new(command)))
}

pub(crate) fn approval(ask: OpenAsk) -> Command {
    Command::Respond(Box::new(Respond {
        interaction_id: ask.id,
        prompt_id: ask.prompt,
        idempotency_key: ask.prompt.to_string(),
        response: ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None },
        secrets_mac: None,
        name: "Ada".to_owned(),
        surface: Surface::Api,
        actor: None,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    }))
}
