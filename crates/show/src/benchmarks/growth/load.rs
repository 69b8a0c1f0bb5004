//! Journals with many asks in them.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_core::{Command, Confirmed, Quota, Request, Respond, Together, asking};
use holdstead_protocol::{
    AskBody, Capabilities, InteractionId, InteractionRequest, MessageId, Origin, OwnerId, Presentation,
    PromptId, SessionId, SessionOpened, Surface, TurnId,
};
use holdstead_store::Journal;
use serde_json::json;

use crate::client::approve;
use crate::{Result, ensure};

const OWNERS: usize = 1_000;
/// So many asks are open in a session of the largest owner: a gateway allows a thousand.
const OPEN_IN_SESSION: usize = 900;
/// How many sessions are loaded at once.
const AT_ONCE: usize = 64;
/// In one decided ask of the largest owner, and in no other.
pub(super) const RARE: &str = "quicksilver";

/// A tenth of all is theirs, and their inbox is read. A gateway on this machine belongs to them.
pub(super) fn largest_owner() -> Result<OwnerId> {
    Ok(OwnerId::new("local")?)
}

/// An ask that can be answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenAsk {
    pub(super) id: InteractionId,
    pub(super) prompt: PromptId,
}

/// What the calls need to know of a database: all of it belongs to the largest owner.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) sessions: Vec<SessionId>,
    pub(super) open: Vec<OpenAsk>,
}

impl Loaded {
    /// So many open asks, and as many decided ones.
    pub(super) async fn new(journal: &dyn Journal, asks: usize) -> Result<Self> {
        let mut filled = fill(journal, sessions(asks)?).await?;
        filled.retain(|(owner, ..)| owner.as_str() == "local");
        let sessions = filled.iter().map(|(_, session, _)| *session).collect();
        let open: Vec<OpenAsk> = filled.into_iter().flat_map(|(.., open)| open).collect();
        let counted = journal.live_count(&largest_owner()?).await?;
        ensure!(counted == open.len() as u64, "{counted} asks are open after loading, not {}", open.len());
        Ok(Self { sessions, open })
    }
}

/// Fills a database with so many decided asks of one owner. One of them runs `rare`.
pub(super) async fn decided(url: &str, asks: usize, rare: &str) -> Result<()> {
    const IN_SESSION: usize = 50;
    let journal = holdstead_store::open(url).await?;
    let count = asks / IN_SESSION;
    let mut sessions = Vec::new();
    for number in 0..count {
        let rare = (number == count / 2).then(|| rare.to_owned());
        sessions.push(Filling { owner: OwnerId::new("everybody")?, decided: IN_SESSION, open: 0, rare });
    }
    fill(journal.as_ref(), sessions).await?;
    journal.close().await;
    Ok(())
}

/// A session to be filled.
struct Filling {
    owner: OwnerId,
    decided: usize,
    open: usize,
    /// What its first decided ask runs, if not the usual command.
    rare: Option<String>,
}

/// A tenth of all asks belongs to one owner, the others have a session each.
fn sessions(asks: usize) -> Result<Vec<Filling>> {
    let mut sessions = Vec::new();
    let mut rare = Some(RARE.to_owned());
    let mut left = asks / 10;
    while left > 0 {
        let some = left.min(OPEN_IN_SESSION);
        sessions.push(Filling { owner: largest_owner()?, decided: some, open: some, rare: rare.take() });
        left -= some;
    }
    let (others, rest) = (OWNERS - 1, asks - asks / 10);
    for other in 0..others {
        let some = rest * (other + 1) / others - rest * other / others;
        let owner = OwnerId::new(format!("owner-{other}"))?;
        sessions.push(Filling { owner, decided: some, open: some, rare: None });
    }
    Ok(sessions)
}

async fn fill(
    journal: &dyn Journal,
    sessions: Vec<Filling>,
) -> Result<Vec<(OwnerId, SessionId, Vec<OpenAsk>)>> {
    let filled = stream::iter(sessions.into_iter().enumerate())
        .map(|(number, filling)| fill_one(journal, number, filling))
        .buffer_unordered(AT_ONCE);
    filled.try_collect().await
}

/// All appends are queued in order, and then awaited.
async fn fill_one(
    journal: &dyn Journal,
    number: usize,
    Filling { owner, decided, open, rare }: Filling,
) -> Result<(OwnerId, SessionId, Vec<OpenAsk>)> {
    let session = SessionId::generate(&owner);
    let mut appends = vec![journal.append(session, Command::Open(Box::new(opening(&owner, number))))];
    let mut rare = rare;
    for ask in 0..decided {
        let command = rare.take().unwrap_or_else(|| usual(ask));
        let (asked, command) = request_to_run(session, &command);
        appends.push(journal.append(session, command));
        appends.push(journal.append(session, approval(asked)));
        appends.push(journal.append(session, Command::Acknowledge { interaction_id: asked.id }));
    }
    let mut opened = Vec::with_capacity(open);
    for ask in 0..open {
        let (asked, command) = request(session, ask);
        appends.push(journal.append(session, command));
        opened.push(asked);
    }
    for append in appends {
        append.await?;
    }
    Ok((owner, session, opened))
}

pub(super) fn opening(owner: &OwnerId, number: usize) -> SessionOpened {
    SessionOpened { title: Some(format!("release {number}")), ..SessionOpened::new(owner.clone(), "caller") }
}

/// A program asks before it runs a command.
pub(super) fn request(session: SessionId, number: usize) -> (OpenAsk, Command) {
    request_to_run(session, &usual(number))
}

fn usual(number: usize) -> String {
    format!("kubectl --context production rollout restart deployment/shop-api-{number}")
}

fn request_to_run(session: SessionId, command: &str) -> (OpenAsk, Command) {
    let input = json!({
        "command": command,
        "description": "Restarts the deployment so that it reads its new settings",
        "timeout": 120,
    });
    let body = AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false };
    let can = Capabilities { reason: true, edit_input: false, scopes: false };
    let (id, prompt) = (InteractionId::generate(session), PromptId::generate());
    let request = InteractionRequest {
        agent_says: Some("The settings changed an hour ago".to_owned()),
        presentation: Presentation::Questionnaire,
        ..asking(id, prompt, Origin::Caller, "Bash", input, body, can)
    };
    let command = Request { request, owner_grants: Vec::new(), allowed_by: None, quota: Quota::default() };
    (OpenAsk { id, prompt }, Command::Request(Box::new(command)))
}

pub(super) fn approval(ask: OpenAsk) -> Command {
    Command::Respond(Box::new(Respond {
        interaction_id: ask.id,
        prompt_id: ask.prompt,
        idempotency_key: ask.prompt.to_string(),
        response: approve(),
        secrets_mac: None,
        name: "Ada".to_owned(),
        surface: Surface::Api,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    }))
}
