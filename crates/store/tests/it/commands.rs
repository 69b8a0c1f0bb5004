//! Commands that the tests append.

use std::time::Duration;

use holdstead_core::{
    Command, Confirmed, Listener, Message, Output, Quota, Request, Respond, Together, asking,
};
use holdstead_protocol::{
    AskBody, Capabilities, Event, InteractionId, InteractionRequest, MessageId, Origin, OwnerId, PromptId,
    Question, ResponseDraft, Seq, SessionId, SessionOpened, Surface, TextDelta, Timestamp, TurnId,
    UserMessage,
};
use holdstead_store::Journal;
use serde_json::{Value, json};

pub(crate) fn owner() -> OwnerId {
    OwnerId::new("ada").expect("an owner")
}

pub(crate) fn opened(agent: &str, title: &str) -> SessionOpened {
    SessionOpened {
        cwd: Some("/work".to_owned()),
        title: Some(title.to_owned()),
        ..SessionOpened::new(owner(), agent)
    }
}

/// A new session.
pub(crate) async fn open(journal: &dyn Journal, title: &str) -> SessionId {
    let session = SessionId::generate(&owner());
    journal.append(session, Command::Open(Box::new(opened("scripted", title)))).await.expect("a new session");
    session
}

pub(crate) fn say(text: &str) -> Command {
    Command::Record(vec![text_delta(text)])
}

pub(crate) fn text_delta(text: &str) -> Output {
    Output::Text(TextDelta {
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
        text: text.to_owned(),
        parents: Vec::new(),
    })
}

pub(crate) fn message(text: &str) -> Command {
    let said = UserMessage {
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
        text: text.to_owned(),
        from: "ada".to_owned(),
        actor: None,
    };
    Command::Message(Box::new(Message { said, listener: Listener::Here }))
}

/// A question of a program, under a key of its own.
pub(crate) fn question(session: SessionId, key: &str) -> InteractionRequest {
    let body = AskBody::Question {
        questions: vec![Question {
            id: "q".to_owned(),
            header: "Where".to_owned(),
            question: format!("Where to, {key}?"),
            options: Vec::new(),
            multi_select: false,
            allow_other: true,
            secret: false,
            multiline: false,
        }],
    };
    let can = Capabilities { reason: true, edit_input: false, scopes: false };
    let id = InteractionId::derive(session, key);
    asking(id, PromptId::generate(), Origin::Caller, "deploy", Value::Null, body, can)
}

pub(crate) fn ask(request: &InteractionRequest) -> Command {
    Command::Request(Box::new(Request {
        request: request.clone(),
        owner_grants: Vec::new(),
        allowed_by: None,
        quota: Quota::default(),
    }))
}

pub(crate) fn closing_at(mut request: InteractionRequest, deadline: Timestamp) -> InteractionRequest {
    request.deadline = Some(deadline);
    request
}

pub(crate) fn answer(request: &InteractionRequest, name: &str, key: &str, text: &str) -> Command {
    let Value::Object(answers) = json!({ "q": text }) else { panic!("an object") };
    Command::Respond(Box::new(Respond {
        interaction_id: request.interaction_id,
        prompt_id: request.prompt_id,
        idempotency_key: key.to_owned(),
        response: ResponseDraft::Submit { answers: Some(answers), input: None },
        secrets_mac: None,
        name: name.to_owned(),
        surface: Surface::Web,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::generate(),
        message_id: MessageId::generate(),
    }))
}

/// The whole journal, read in small pages.
pub(crate) async fn read_all(journal: &dyn Journal, session: SessionId) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(Seq::START, |event| event.seq);
        let page = journal.read(session, after, 7).await.expect("a page");
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// Gapless from 1, and everything that is stored beside the events agrees with them.
pub(crate) async fn check_sound(journal: &dyn Journal, session: SessionId) -> Vec<Event> {
    let events = read_all(journal, session).await;
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event.seq, Seq(index as u64 + 1));
    }
    let report = journal.verify(session).await.expect("a report");
    assert_eq!(report.fault, None);
    assert_eq!(report.events, events.len() as u64);
    let record = journal.session(session).await.expect("a session").expect("this session");
    assert_eq!(record.head, Seq(events.len() as u64));
    events
}

pub(crate) async fn from_now(journal: &dyn Journal, milliseconds: u64) -> Timestamp {
    journal.now().await.expect("the time").after(Duration::from_millis(milliseconds))
}
