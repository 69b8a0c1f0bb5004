//! Tools written in Rust that put a person in the middle.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdstead_core::{MAX_ATTEMPTS, Rejection};
use holdstead_gateway::{
    Answering, GatewayError, Interaction, InteractionError, Reprompt, ResponseHandler, ToolContext,
    ToolFailure, ToolOutcome, ToolResponse, Watch, WhenNobody,
};
use holdstead_protocol::api::Respond;
use holdstead_protocol::{
    AskState, Closing, CompletedView, Decider, Delivery, EventBody, Field, FieldErrors, FieldKind, Form,
    Presentation, Response, ResponseDraft, Scope, Settlement, ToolCallId,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::world::{PATIENCE, Talk, World, ada, approve, map, owner, respond, submit};

type Wanted = Result<ToolOutcome, ToolFailure>;

/// A tool that says what it was told to say, and remembers what it was called for.
struct Script {
    responses: Mutex<VecDeque<Wanted>>,
    timeout: Wanted,
    seen: Mutex<Vec<ToolResponse>>,
    cancelled: AtomicU32,
}

impl Script {
    fn new(responses: impl IntoIterator<Item = Wanted>) -> Arc<Self> {
        Self::with_timeout(responses, complete(json!("nobody")))
    }

    fn with_timeout(responses: impl IntoIterator<Item = Wanted>, timeout: Wanted) -> Arc<Self> {
        Arc::new(Self {
            responses: Mutex::new(responses.into_iter().collect()),
            timeout,
            seen: Mutex::default(),
            cancelled: AtomicU32::new(0),
        })
    }
}

#[async_trait]
impl ResponseHandler for Script {
    async fn on_response(&self, response: ToolResponse) -> Wanted {
        self.seen.lock().unwrap().push(response);
        self.responses.lock().unwrap().pop_front().expect("it is not called again")
    }

    async fn on_timeout(&self) -> Wanted {
        self.timeout.clone()
    }

    async fn on_cancel(&self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
    }
}

fn complete(value: Value) -> Wanted {
    Ok(ToolOutcome::Complete(value))
}

fn again(error: &str, values: Value) -> Wanted {
    Ok(ToolOutcome::Reprompt(Reprompt {
        interaction: None,
        error: Some(error.to_owned()),
        field_errors: FieldErrors::from([("name".to_owned(), error.to_owned())]),
        initial_values: map(values),
    }))
}

fn name_form() -> Interaction {
    let kind = FieldKind::Text { min_length: None, max_length: None, format: None };
    let field = Field {
        id: "name".to_owned(),
        label: "Name".to_owned(),
        description: None,
        required: true,
        default: None,
        kind,
    };
    Interaction::form(Form { title: None, fields: vec![field] })
}

fn deploy(scopes: &[Scope]) -> Interaction {
    Interaction::approval_reaching(json!({ "to": "production" }), scopes)
}

fn context(talk: &Talk, call: &str) -> ToolContext {
    ToolContext {
        gateway: talk.gateway.clone(),
        owner: owner("ada"),
        session: talk.session,
        turn: None,
        tool_call_id: ToolCallId::new(call).unwrap(),
        tool_name: "deploy".to_owned(),
        when_nobody: WhenNobody::Wait,
    }
}

#[tokio::test]
async fn a_tool_that_asks_while_nobody_can_answer_is_told_so_at_once() {
    let world = World::new().await;
    let talk = world.talk().await;
    let context = ToolContext { when_nobody: WhenNobody::Refuse, ..context(&talk, "call_1") };
    let handler = Script::new([]);
    let asked = context.request_interaction(name_form(), handler.as_ref()).await;
    assert!(matches!(asked, Err(InteractionError::Unavailable)), "{asked:?}");

    let off = talk.gateway.watching(&ada(), "tv", Answering::Off, Watch::Session(talk.session));
    let context = ToolContext { tool_call_id: ToolCallId::new("call_2").unwrap(), ..context };
    let asked = context.request_interaction(name_form(), handler.as_ref()).await;
    assert!(
        matches!(asked, Err(InteractionError::Unavailable)),
        "one that only shows is not enough: {asked:?}"
    );

    talk.gateway.set_answering(&ada(), "tv", Answering::On);
    assert!(talk.gateway.interaction_available(&owner("ada"), talk.session));
    drop(off);
    assert!(!talk.gateway.interaction_available(&owner("ada"), talk.session));
}

type Call = JoinHandle<Result<Value, InteractionError>>;

fn call(talk: &Talk, interaction: Interaction, handler: &Arc<Script>) -> Call {
    call_for(talk, interaction, handler, Duration::from_secs(300))
}

fn call_for(talk: &Talk, interaction: Interaction, handler: &Arc<Script>, timeout: Duration) -> Call {
    let (context, handler) = (context(talk, "call_1"), Arc::clone(handler));
    tokio::spawn(async move { context.request_with_timeout(interaction, timeout, &*handler).await })
}

async fn result(call: Call) -> Result<Value, InteractionError> {
    tokio::time::timeout(PATIENCE, call).await.expect("the call ends").unwrap()
}

async fn state(talk: &Talk, ask: &holdstead_protocol::InteractionRequest) -> AskState {
    talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap().state
}

#[tokio::test]
async fn a_tool_completes_with_what_it_makes_of_the_answer() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([complete(json!({ "ok": true }))]);
    let call = call(&talk, name_form(), &handler);
    let ask = talk.ask().await;
    let receipt = talk.respond(&ask, submit(json!({ "name": "v1" }))).await;
    assert_eq!(receipt.state, AskState::Submitted { prompt_id: ask.prompt_id });
    assert_eq!(result(call).await.unwrap(), json!({ "ok": true }));
    let response = Response::Submit { input: map(json!({ "name": "v1" })) };
    assert_eq!(
        *handler.seen.lock().unwrap(),
        [ToolResponse {
            interaction_id: ask.interaction_id,
            decider: Decider::Person { name: ada().name, surface: ada().surface, actor: None },
            prompt_id: ask.prompt_id,
            attempt: 1,
            response
        }]
    );
    assert_eq!(state(&talk, &ask).await, AskState::Settled { settlement: Settlement::Answered });
    assert_eq!(talk.delivery(&ask).await, Some(Delivery::Acknowledged));
}

#[tokio::test]
async fn what_the_journal_could_not_read_again_is_told_to_the_tool() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let asked = result(call(&talk, Interaction::approval(deep.clone()), &Script::new([]))).await;
    assert!(asked.is_err_and(|error| error.to_string().contains("64 deep")));

    let handler = Script::new([complete(deep)]);
    let call = call(&talk, name_form(), &handler);
    let ask = talk.ask().await;
    talk.respond(&ask, submit(json!({ "name": "v1" }))).await;
    assert!(result(call).await.is_err_and(|error| error.to_string().contains("its result cannot be kept")));
    assert_eq!(state(&talk, &ask).await, AskState::Settled { settlement: Settlement::Failed });
}

#[tokio::test]
async fn a_tool_says_how_its_ask_is_shown_and_what_is_left_of_it() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([again("taken", map(json!({})).into()), complete(json!("it is"))]);
    let view = CompletedView { show_inputs: true, summary_template: Some("Called it {{name}}".to_owned()) };
    let shown = name_form().as_questionnaire().completed_as(view.clone());
    let call = call(&talk, shown, &handler);
    for name in ["a", "b"] {
        let ask = talk.ask().await;
        assert_eq!(ask.presentation, Presentation::Questionnaire);
        assert_eq!(ask.completed_view, Some(view.clone()));
        talk.respond(&ask, submit(json!({ "name": name }))).await;
    }
    assert_eq!(result(call).await.unwrap(), json!("it is"));
}

#[tokio::test]
async fn asked_again_three_times_it_is_one_ask_with_one_outcome() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([
        again("too short", json!({ "name": "a" })),
        again("taken", json!({ "name": "b" })),
        again("reserved", json!({ "name": "c" })),
        complete(json!("d it is")),
    ]);
    let call = call(&talk, name_form(), &handler);
    let mut prompts = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "name": name }))).await;
        prompts.push(ask);
    }
    assert_eq!(result(call).await.unwrap(), json!("d it is"));
    assert_eq!(prompts.iter().map(|ask| ask.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(prompts.iter().all(|ask| ask.interaction_id == prompts[0].interaction_id));
    let errors: Vec<_> = prompts.iter().map(|ask| ask.error.as_deref()).collect();
    assert_eq!(errors, [None, Some("too short"), Some("taken"), Some("reserved")]);
    let typed: Vec<_> = prompts.iter().map(|ask| ask.initial_values.get("name")).collect();
    assert_eq!(typed, [None, Some(&json!("a")), Some(&json!("b")), Some(&json!("c"))]);
    assert_eq!(prompts[1].field_errors, map(json!({ "name": "too short" })));
    let settled = talk.journal().await.into_iter().filter(|event| {
        matches!(&event.body, EventBody::InteractionUpdate(update)
            if matches!(update.change, holdstead_protocol::AskChange::Settled { .. }))
    });
    assert_eq!(settled.count(), 1);

    let stale = respond(&talk.gateway, &prompts[0], submit(json!({ "name": "z" }))).await;
    assert!(matches!(stale, Err(GatewayError::Rejected(Rejection::Lost { .. }))), "{stale:?}");
}

#[tokio::test]
async fn an_answer_to_an_old_prompt_is_stale() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([again("too short", json!({})), complete(json!(1))]);
    let call = call(&talk, name_form(), &handler);
    let first = talk.ask().await;
    talk.respond(&first, submit(json!({ "name": "a" }))).await;
    let second = talk.ask().await;
    let stale = respond(&talk.gateway, &first, submit(json!({ "name": "b" }))).await;
    let Err(GatewayError::Rejected(Rejection::StalePrompt { current })) = stale else { panic!("{stale:?}") };
    assert_eq!(current, second.prompt_id);
    talk.respond(&second, submit(json!({ "name": "c" }))).await;
    result(call).await.unwrap();
}

#[tokio::test]
async fn a_tool_may_ask_so_often_and_no_more() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new((0..MAX_ATTEMPTS).map(|_| again("no", json!({}))));
    let call = call(&talk, name_form(), &handler);
    let mut last = None;
    for _ in 0..MAX_ATTEMPTS {
        let ask = talk.ask().await;
        talk.respond(&ask, submit(json!({ "name": "a" }))).await;
        last = Some(ask);
    }
    assert!(matches!(result(call).await, Err(InteractionError::TooManyAttempts)));
    // Nobody is left to decide about it: it does not stay in the inbox.
    assert_eq!(state(&talk, &last.unwrap()).await, AskState::Closed { closing: Closing::Cancelled });
}

#[tokio::test]
async fn left_for_later_the_answer_arrives_as_a_message() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::with_timeout([], Ok(ToolOutcome::Pending { message: "Ask Bob.".to_owned() }));
    let call = call_for(&talk, name_form(), &handler, Duration::from_millis(20));
    let ask = talk.ask().await;
    let told = result(call).await.unwrap();
    assert_eq!(told, json!({ "pending": true, "queued": true, "message": "Ask Bob." }));
    assert_eq!(state(&talk, &ask).await, AskState::Queued);
    let receipt = talk.respond(&ask, submit(json!({ "name": "v2" }))).await;
    assert!(receipt.late);
    let done = talk.done().await;
    let late = talk.seen.iter().find_map(|event| match &event.body {
        EventBody::LateAnswer(late) => Some(late.clone()),
        _ => None,
    });
    let late = late.expect("a late answer");
    assert_eq!(late.text, "Late answer to the form of deploy: {\"name\":\"v2\"}");
    assert_eq!(done.turn_id, late.turn_id);
}

#[tokio::test]
async fn when_nobody_answers_the_tool_says_what_that_means() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([]);
    let call = call_for(&talk, deploy(&[]), &handler, Duration::from_millis(20));
    let ask = talk.ask().await;
    assert_eq!(result(call).await.unwrap(), json!("nobody"));
    assert_eq!(state(&talk, &ask).await, AskState::Closed { closing: Closing::Expired });
    let late = respond(&talk.gateway, &ask, approve()).await;
    assert!(matches!(late, Err(GatewayError::Rejected(Rejection::Dead { .. }))), "{late:?}");
}

#[tokio::test]
async fn a_stopped_turn_or_an_ended_session_is_told_to_the_tool() {
    let world = World::new().await;
    for end in [false, true] {
        let mut talk = world.talk().await;
        let handler = Script::new([]);
        let call = call(&talk, name_form(), &handler);
        let ask = talk.ask().await;
        if end {
            talk.gateway.end(&ada(), talk.session).await.unwrap();
        } else {
            talk.gateway.interrupt(&ada(), talk.session).await.unwrap();
        }
        assert!(matches!(result(call).await, Err(InteractionError::Cancelled)));
        assert_eq!(handler.cancelled.load(Ordering::SeqCst), 1);
        assert_eq!(state(&talk, &ask).await, AskState::Closed { closing: Closing::Cancelled });
    }
}

#[tokio::test]
async fn a_tool_that_fails_is_an_error_and_its_ask_is_over_for_everybody() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([Err(ToolFailure("the disk is full".to_owned()))]);
    let call = call(&talk, name_form(), &handler);
    let ask = talk.ask().await;
    talk.respond(&ask, submit(json!({ "name": "a" }))).await;
    let failed = result(call).await;
    assert!(
        matches!(&failed, Err(InteractionError::Failed(why)) if why.0 == "the disk is full"),
        "{failed:?}"
    );
    let shown = talk.gateway.interaction(&owner("ada"), ask.interaction_id).await.unwrap();
    assert_eq!(shown.state, AskState::Settled { settlement: Settlement::Failed });
    assert_eq!(shown.failure.as_deref(), Some("the disk is full"), "the person may know");
    assert_eq!(shown.delivery, Some(Delivery::Acknowledged));
    let lost = respond(&talk.gateway, &ask, submit(json!({ "name": "b" }))).await;
    assert!(matches!(lost, Err(GatewayError::Rejected(Rejection::Lost { .. }))), "{lost:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_fifty_people_one_wins_and_the_others_learn_who() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([complete(json!("done"))]);
    let call = call(&talk, name_form(), &handler);
    let ask = talk.ask().await;
    let people = (0..50).map(|n| {
        let (gateway, ask) = (talk.gateway.clone(), ask.clone());
        tokio::spawn(async move {
            let person = holdstead_gateway::Person { name: format!("person {n}"), ..ada() };
            let body = Respond {
                prompt_id: ask.prompt_id,
                idempotency_key: format!("key {n}"),
                response: submit(json!({ "name": format!("name {n}") })),
            };
            (n, gateway.respond(&person, ask.interaction_id, body).await)
        })
    });
    let (mut won, mut winners) = (Vec::new(), Vec::new());
    for person in people.collect::<Vec<_>>() {
        match person.await.unwrap() {
            (n, Ok(_)) => won.push(n),
            (_, Err(GatewayError::Rejected(Rejection::Lost { winner }))) => winners.push(winner.decider),
            (_, Err(other)) => panic!("{other:?}"),
        }
    }
    assert_eq!((won.len(), winners.len()), (1, 49));
    let name = format!("person {}", won[0]);
    assert!(winners.iter().all(|winner| matches!(winner, Decider::Person { name: by, .. } if *by == name)));
    result(call).await.unwrap();
    let response = Response::Submit { input: map(json!({ "name": format!("name {}", won[0]) })) };
    assert_eq!(handler.seen.lock().unwrap()[0].response, response);
}

#[tokio::test]
async fn one_call_may_ask_two_things_and_the_same_thing_twice_is_one_ask() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new([complete(json!(1)), complete(json!(2)), complete(json!(3))]);
    let first = call(&talk, name_form(), &handler);
    let ask = talk.ask().await;
    talk.respond(&ask, submit(json!({ "name": "a" }))).await;
    assert_eq!(result(first).await.unwrap(), json!(1));
    let second = call(&talk, deploy(&[]), &handler);
    let other = talk.ask().await;
    assert_ne!(other.interaction_id, ask.interaction_id);
    talk.respond(&other, approve()).await;
    assert_eq!(result(second).await.unwrap(), json!(2));
    // A replay of the call finds the answer that was given.
    assert_eq!(result(call(&talk, name_form(), &handler)).await.unwrap(), json!(3));
    let seen = handler.seen.lock().unwrap();
    assert_eq!(seen[0], seen[2]);
}

#[tokio::test]
async fn an_approval_for_always_holds_in_every_session_even_if_its_reply_was_lost() {
    let world = World::new().await;
    let mut talk = world.talk().await;
    let handler = Script::new((0..2).map(|n| complete(json!(n))));
    let first = call(&talk, deploy(&[Scope::Once, Scope::Always]), &handler);
    let ask = talk.ask().await;
    let body = || Respond {
        prompt_id: ask.prompt_id,
        idempotency_key: "the key".to_owned(),
        response: ResponseDraft::Approve {
            scope: Some(Scope::Always),
            lines: Vec::new(),
            edited_input: None,
        },
    };
    // The connection breaks as soon as the answer is kept: the client only knows to send it again.
    let gateway = talk.gateway.clone();
    let (ada, id) = (ada(), ask.interaction_id);
    let kept = talk.until(|body| matches!(body, EventBody::InteractionResponse(_)).then_some(()));
    tokio::select! {
        biased;
        () = kept => {}
        answered = gateway.respond(&ada, id, body()) => drop(answered),
    }
    result(first).await.unwrap();
    let one = talk.gateway.respond(&ada, id, body()).await.unwrap();
    let two = talk.gateway.respond(&ada, id, body()).await.unwrap();
    assert_eq!((one.seq, one.at, one.prompt_id), (two.seq, two.at, two.prompt_id));
    let grants = talk.gateway.rules(&owner("ada")).await.unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!(grants[0].interaction_id, Some(ask.interaction_id));
    let grant_id = grants[0].grant_id.unwrap();

    let mut elsewhere = world.talk().await;
    assert_eq!(result(call(&elsewhere, deploy(&[Scope::Once]), &handler)).await.unwrap(), json!(1));
    let granted = elsewhere.until(|body| match body {
        EventBody::InteractionResponse(response) => Some(response.decider.clone()),
        _ => None,
    });
    assert_eq!(granted.await, Decider::Grant { grant_id });

    talk.gateway.revoke(&ada, grant_id, None).await.unwrap();
    let mut third = world.talk().await;
    let handler = Script::new([complete(json!("asked"))]);
    let asked = call(&third, deploy(&[Scope::Once]), &handler);
    let ask = third.ask().await;
    third.respond(&ask, approve()).await;
    assert_eq!(result(asked).await.unwrap(), json!("asked"));
}
