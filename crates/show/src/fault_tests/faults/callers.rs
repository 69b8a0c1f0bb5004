//! Programs that ask: each ask is answered by one or two people at once, some race with their own end, and the program
//! fetches what was decided. All by way of the load balancer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::api::{AskCall, Interaction};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{
    AskState, Code, EventBody, InteractionId, InteractionResponse, ResponseDraft, SessionId,
};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use crate::client::approve;
use crate::fault_tests::kill::arena::{Arena, Person};
use crate::fault_tests::kill::history::{History, Sent, Told};
use crate::fault_tests::kill::plan::choices;
use crate::fault_tests::kill::play::{call, told, try_to_answer};
use crate::{Result, ensure};

/// How often something is tried.
const TRIES: u32 = 600;
/// How long a long poll waits.
const WAITS: u32 = 5;

/// What one program saw.
#[derive(Debug, Default)]
pub(super) struct Called {
    pub(super) session: Option<SessionId>,
    pub(super) history: History,
    /// What it fetched: nothing, where the ask was closed.
    pub(super) fetched: BTreeMap<InteractionId, Option<InteractionResponse>>,
    /// Whoever answered these was told that they are over.
    too_late: Vec<InteractionId>,
}

/// Asks one thing after the other until it is over.
pub(super) async fn program(arena: Arc<Arena>, client: Http, number: u64) -> Result<Called> {
    let mut called = Called::default();
    let mut rng = choices(arena.seed, &[2_000_000, number]);
    let mut asked = 0;
    while !arena.is_over() {
        asked += 1;
        let key = format!("{number}-{asked}");
        let ask = ask(&arena, &client, &key, &mut rng).await?;
        let id = ask.request.interaction_id;
        called.session = Some(ask.session_id);
        let people = if rng.random_bool(0.3) { &arena.people[..] } else { &arena.people[..1] };
        let answers = people.iter().enumerate().map(|(at, person)| {
            let draft = match at {
                0 => approve(),
                _ => ResponseDraft::Deny { reason: Some("not today".to_owned()) },
            };
            tokio::spawn(answer(Arc::clone(&arena), person.clone(), ask.clone(), draft))
        });
        let answers: Vec<_> = answers.collect();
        let fetched = fetch(&arena, &client, id).await?;
        for answer in answers {
            match answer.await? {
                Some(sent) => called.history.sent.push(sent),
                None => called.too_late.push(id),
            }
        }
        called.fetched.insert(id, fetched);
    }
    // A program that was not heard to have fetched an answer gets the same one whenever it comes back.
    for (id, before) in &called.fetched {
        let again = fetch(&arena, &client, *id).await?;
        ensure!(again == *before, "{id} was {before:?}, and later {again:?}");
    }
    Ok(called)
}

async fn ask(arena: &Arena, client: &Http, key: &str, rng: &mut StdRng) -> Result<Interaction> {
    // About as long as an answer takes: either may be first.
    let timeout = rng.random_bool(0.1).then(|| rng.random_range(5..60));
    let call_of = json!({ "key": key, "toolName": "deploy", "kind": "approval", "input": { "n": key }, "timeoutMs": timeout });
    let asking: AskCall = serde_json::from_value(call_of)?;
    let mut last = None;
    for _ in 0..TRIES {
        match call(client.ask(asking.clone())).await {
            Ok(ask) => return Ok(ask),
            Err(why) => last = Some(why),
        }
        sleep(arena.pace.pause).await;
    }
    Err(format!("the ask {key} was never taken: {last:?}").into())
}

/// Nothing, if whoever answered was told that the ask is over: the journal must say so.
async fn answer(arena: Arc<Arena>, person: Person, ask: Interaction, draft: ResponseDraft) -> Option<Sent> {
    let (interaction, prompt) = (ask.request.interaction_id, ask.request.prompt_id);
    let key = Uuid::new_v4().to_string();
    let mut sent = Sent { by: person.name, interaction, prompt, key, draft, told: Told::Nothing };
    for _ in 0..TRIES {
        match try_to_answer(&person, &sent).await {
            Some(Ok(seq)) => sent.told = Told::Won { seq },
            Some(Err(refusal)) if refusal.code == Code::Closed => return None,
            Some(Err(refusal)) => sent.told = told(*refusal),
            None => {
                sleep(arena.pace.pause).await;
                continue;
            }
        }
        break;
    }
    Some(sent)
}

/// Waits for what was decided, as often as it takes.
async fn fetch(arena: &Arena, client: &Http, id: InteractionId) -> Result<Option<InteractionResponse>> {
    let mut last = None;
    for _ in 0..TRIES {
        match call(client.wait(id, WAITS)).await {
            Ok(ask) => match ask.state {
                AskState::Settled { .. } => return Ok(ask.response),
                AskState::Closed { .. } => return Ok(None),
                AskState::Open | AskState::Queued | AskState::Submitted { .. } => continue,
            },
            Err(why) => last = Some(why),
        }
        sleep(arena.pace.pause).await;
    }
    Err(format!("what became of {id} was never told: {last:?}").into())
}

/// What the program or who answered it was told, and the journal does not have.
pub(super) fn invented(called: &Called) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, fetched) in &called.fetched {
        let mut responses = called.history.journal.iter().filter_map(|event| {
            let EventBody::InteractionResponse(response) = &event.body else { return None };
            (response.interaction_id == *id).then_some(&**response)
        });
        let decided = responses.next_back();
        if decided != fetched.as_ref() {
            wrong.push(format!("{id}: the program was told {fetched:?}, the journal has {decided:?}"));
        }
    }
    for id in &called.too_late {
        let closed = called.history.journal.iter().any(
            |event| matches!(&event.body, EventBody::InteractionClosed(closed) if closed.interaction_id == *id),
        );
        if !closed {
            wrong.push(format!(
                "{id}: an answer was refused as too late, and the journal does not say that it is over"
            ));
        }
    }
    wrong
}

/// How long programs may take to end what they began.
pub(super) const LAST: Duration = Duration::from_secs(300);
