//! Many sessions whose agents are parked: how soon a gateway that starts serves, what it weighs, and what they take on disk.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use holdstead_core::{Command, Exit, Listener, Message, Quota, Request, Resume, Start, asking};
use holdstead_protocol::{
    AgentBox, AgentState, AskBody, Capabilities, Hold, HoldThen, Incarnation, InteractionId,
    InteractionRequest, MessageId, Origin, OwnerId, PromptId, RunnerId, SessionId, SessionOpened, ToolCallId,
    TurnId, UserMessage,
};
use holdstead_store::Journal;
use serde_json::json;

use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::processes::memory;
use crate::{Result, ensure};

const SESSIONS: usize = 100_000;
/// How many are loaded at once.
const AT_ONCE: usize = 64;
const LIMIT: Duration = Duration::from_secs(5);
const LIFE: Incarnation = Incarnation(1);
const OWNERS: usize = 1_000;

pub(crate) async fn show() -> Result<String> {
    let mut figures = Vec::new();
    let mut late = Vec::new();
    for kind in Kind::ALL {
        let (ready, figure) = one_kind(kind, SESSIONS).await?;
        println!("{figure}");
        if ready > LIMIT {
            late.push(kind.to_string());
        }
        figures.push(figure);
    }
    let figure = format!("{SESSIONS} parked sessions; {}; limit {} s", figures.join("; "), LIMIT.as_secs());
    ensure!(late.is_empty(), "too long until {} is ready: {figure}", late.join(" and "));
    Ok(figure)
}

async fn one_kind(kind: Kind, sessions: usize) -> Result<(Duration, String)> {
    let database = Database::new(kind).await?;
    let empty = database.bytes().await?;
    let begin = Instant::now();
    load(&database.url(), sessions).await?;
    println!("{kind}: loaded in {:.0} s", begin.elapsed().as_secs_f64());
    let each = (database.bytes().await?.saturating_sub(empty)) / u64::try_from(sessions)?;
    let begin = Instant::now();
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    gateway.person()?.ready().await?;
    let ready = begin.elapsed();
    let pid = gateway.pid().ok_or("the gateway is gone")?;
    let weighs = memory(pid)?;
    gateway.stop().await?;
    database.remove().await?;
    let figure = format!(
        "{kind}: {:.2} s from start to ready, {:.0} MB of memory, {each} bytes on disk a session",
        ready.as_secs_f64(),
        f64::from(u32::try_from(weighs / 1024)?) / 1024.0,
    );
    Ok((ready, figure))
}

async fn load(url: &str, sessions: usize) -> Result<()> {
    let journal = holdstead_store::open(url).await?;
    stream::iter(0..sessions)
        .map(|number| parked(journal.as_ref(), number))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    journal.close().await;
    Ok(())
}

/// An agent on a machine that is not there asked something, and was told to go away until somebody answers. All is queued in order and
/// then waited for.
async fn parked(journal: &dyn Journal, number: usize) -> Result<()> {
    let owner = OwnerId::new(format!("owner-{}", number % OWNERS))?;
    let session = SessionId::generate(&owner);
    let (turn_id, message_id) = (TurnId::generate(), MessageId::generate());
    let opened = SessionOpened {
        title: Some(format!("release {number}")),
        runner: Some(RunnerId::from_uuid(uuid::Uuid::from_u128(1))),
        ..SessionOpened::new(owner, "scripted")
    };
    let text = "Roll out the release that was tagged this morning".to_owned();
    let message = UserMessage { turn_id, message_id, text, from: "Ada".to_owned(), actor: None };
    let request = request(session, turn_id)?;
    let park =
        Command::Park { interaction_id: request.interaction_id, incarnation: LIFE, awaited: [].into() };
    let request = Request { request, owner_grants: Vec::new(), allowed_by: None, quota: Quota::default() };
    let resume = Resume { incarnation: LIFE, pid: 100, left_out: None, boxed: AgentBox::Landlock };
    let commands = [
        Command::Open(Box::new(opened)),
        Command::Message(Box::new(Message { said: message, listener: Listener::Here })),
        Command::Start { incarnation: LIFE, turn: None },
        Command::Resume(resume),
        Command::Begin { turn_id, start: Start::default() },
        Command::Request(Box::new(request)),
        park,
        Command::Exit(Exit { incarnation: LIFE, parked: true, message: None, turn_end: None }),
    ];
    let appends: Vec<_> = commands.into_iter().map(|command| journal.append(session, command)).collect();
    let mut last = None;
    for append in appends {
        last = Some(append.await?);
    }
    let agent = last.map(|last| last.session.head.agent);
    ensure!(agent == Some(AgentState::Parked), "the agent is {agent:?}");
    Ok(())
}

fn request(session: SessionId, turn: TurnId) -> Result<InteractionRequest> {
    let input = json!({ "command": "kubectl --context production rollout restart deployment/shop-api" });
    let body = AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false };
    let can = Capabilities { reason: true, edit_input: false, scopes: false };
    let (id, prompt) = (InteractionId::generate(session), PromptId::generate());
    Ok(InteractionRequest {
        turn_id: Some(turn),
        tool_call_id: Some(ToolCallId::new("call_1")?),
        hold: Hold { after_ms: 600_000, then: HoldThen::Park },
        can_park: true,
        ..asking(id, prompt, Origin::Agent, "Bash", input, body, can)
    })
}
