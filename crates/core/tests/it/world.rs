//! A session driven by commands, as the store drives it, without a store.

use holdstead_core::{
    Ask, Basis, Command, Confirmed, Listener, Message, Quota, Rejection, Request, Respond, Resume, Retell,
    Session, Start, State, Together, asking, decide, digest, fold, offered_scopes,
};
use holdstead_protocol::{
    AgentBox, AskBody, CallSource, Capabilities, Event, EventBody, EventId, Field, FieldKind, Form, Hold,
    HoldThen, Incarnation, InteractionId, InteractionRequest, MessageId, Origin, OwnerId, PromptId, Question,
    QuestionOption, Response, ResponseDraft, Scope, Seq, SessionId, SessionOpened, Surface, Timestamp,
    ToolCallId, TurnId, UserMessage,
};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) journal: Vec<Event>,
    /// The revision of the rules in the owner's journal.
    pub(crate) owner: Seq,
    pub(crate) now: Timestamp,
}

impl World {
    pub(crate) fn new() -> Self {
        let now = Timestamp::from_micros(1_000_000);
        Self { state: State::Unopened, journal: Vec::new(), owner: Seq(1), now }
    }

    /// Opened, with a live process and a turn under way.
    pub(crate) fn running() -> Self {
        let mut world = Self::new();
        world.ok(open());
        world.ok(message(1));
        world.begins(1);
        world.ok(Command::Begin { turn_id: turn(1), start: Start::default() });
        world
    }

    pub(crate) fn apply(&mut self, command: &Command) -> Result<Vec<EventBody>, Rejection> {
        let bodies = decide(&self.state, command, Some(self.owner), self.now)?;
        for (index, body) in bodies.iter().enumerate() {
            let event = Event {
                id: EventId::from_uuid(Uuid::from_u128(self.journal.len() as u128)),
                seq: Seq(self.journal.len() as u64 + 1),
                at: self.now,
                heard: command.heard().filter(|_| index + 1 == bodies.len()),
                body: body.clone(),
            };
            assert_eq!(written_and_read(&event.body), event.body, "what is kept is what was decided");
            fold(&mut self.state, &event);
            self.journal.push(event);
        }
        Ok(bodies)
    }

    /// What a call is judged on now.
    pub(crate) fn basis(&self) -> Basis {
        let session = self.state.session().map(|session| session.head.rules_seq);
        Basis { session, owner: (SessionId::from_uuid(Uuid::nil()), self.owner), until: None }
    }

    /// A process of this life is started, and is up.
    pub(crate) fn begins(&mut self, n: u32) {
        self.ok(start(n, self.session().head.turn));
        self.ok(resume(n));
    }

    pub(crate) fn ok(&mut self, command: Command) -> Vec<EventBody> {
        self.apply(&command).unwrap_or_else(|why| panic!("{command:?} was rejected: {why}"))
    }

    pub(crate) fn rejected(&mut self, command: Command) -> Rejection {
        match self.apply(&command) {
            Ok(events) => panic!("{command:?} was accepted: {events:?}"),
            Err(why) => why,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        self.state.session().expect("the session is open")
    }

    pub(crate) fn ask(&self, n: u8) -> &Ask {
        &self.session().asks[&ask_id(n)]
    }
}

fn id(kind: u128, n: impl Into<u128>) -> Uuid {
    Uuid::from_u128((kind << 64) | n.into())
}

pub(crate) fn turn(n: u8) -> TurnId {
    TurnId::from_uuid(id(1, n))
}

pub(crate) fn ask_id(n: u8) -> InteractionId {
    InteractionId::from_uuid(id(2, n))
}

pub(crate) fn prompt(ask: u8, attempt: u32) -> PromptId {
    PromptId::from_uuid(id(3, u128::from(ask) * 100 + u128::from(attempt)))
}

pub(crate) fn owner() -> OwnerId {
    OwnerId::new("local").expect("a good name")
}

pub(crate) fn open() -> Command {
    Command::Open(Box::new(SessionOpened::new(owner(), "scripted")))
}

pub(crate) fn message(n: u8) -> Command {
    let said = UserMessage {
        turn_id: turn(n),
        message_id: MessageId::from_uuid(id(4, n)),
        text: "hello".to_owned(),
        from: "ana".to_owned(),
        actor: None,
    };
    Command::Message(Box::new(Message { said, listener: Listener::Here }))
}

pub(crate) fn start(n: u32, turn: Option<TurnId>) -> Command {
    Command::Start { incarnation: Incarnation(n), turn }
}

pub(crate) fn resume(n: u32) -> Command {
    Command::Resume(Resume {
        incarnation: Incarnation(n),
        pid: 100 + n,
        left_out: None,
        boxed: AgentBox::Landlock,
    })
}

/// The source of the calls that the tests ask about.
pub(crate) fn agents_source() -> CallSource {
    CallSource::Agent { agent: "scripted".to_owned(), folder: None, runner: None }
}

/// What the tests ask about. Two asks with the same number of `what` have the same input.
pub(crate) fn approval_input(what: u8) -> Value {
    json!({ "command": format!("make {what}") })
}

pub(crate) fn request(n: u8, body: AskBody, input: Value) -> InteractionRequest {
    let can = Capabilities { reason: true, edit_input: true, scopes: true };
    InteractionRequest {
        turn_id: Some(turn(1)),
        tool_call_id: Some(ToolCallId::new(format!("call_{n}")).expect("a good id")),
        hold: Hold { after_ms: 600_000, then: HoldThen::Park },
        can_park: true,
        ..asking(ask_id(n), prompt(n, 1), Origin::Agent, "Bash", input, body, can)
    }
}

pub(crate) fn approval(n: u8, what: u8) -> InteractionRequest {
    let input = approval_input(what);
    let offered_scopes = offered_scopes("Bash", &digest(&input), &[Scope::Once, Scope::Session]);
    request(n, AskBody::Approval { preview: None, offered_scopes, is_plan: false }, input)
}

pub(crate) fn question(n: u8) -> InteractionRequest {
    let questions = vec![Question {
        id: "store".to_owned(),
        header: "Store".to_owned(),
        question: "Which store?".to_owned(),
        options: ["SQLite", "PostgreSQL"]
            .map(|label| QuestionOption { label: label.to_owned(), description: None, preview: None })
            .to_vec(),
        multi_select: false,
        allow_other: true,
        secret: false,
        multiline: false,
    }];
    request(n, AskBody::Question { questions }, json!({}))
}

pub(crate) fn form(n: u8) -> InteractionRequest {
    let field = Field {
        id: "email".to_owned(),
        label: "Email".to_owned(),
        description: None,
        required: true,
        default: None,
        kind: FieldKind::Text { min_length: None, max_length: None, format: None },
    };
    let form = Form { title: None, fields: vec![field] };
    InteractionRequest {
        origin: Origin::Tool,
        has_handler: true,
        ..request(n, AskBody::Form { form }, json!({}))
    }
}

pub(crate) fn ask(request: InteractionRequest) -> Command {
    Command::Request(Box::new(Request {
        request,
        owner_grants: Vec::new(),
        allowed_by: None,
        quota: Quota::default(),
    }))
}

/// An ask that this rule allows without a person.
pub(crate) fn ask_by_rule(request: InteractionRequest, rule: &str) -> Command {
    let allowed_by = Some(rule.to_owned());
    let quota = Quota::default();
    Command::Request(Box::new(Request { request, owner_grants: Vec::new(), allowed_by, quota }))
}

pub(crate) fn respond(n: u8, attempt: u32, key: &str, response: ResponseDraft) -> Command {
    Command::Respond(Box::new(Respond {
        interaction_id: ask_id(n),
        prompt_id: prompt(n, attempt),
        idempotency_key: key.to_owned(),
        response,
        secrets_mac: None,
        name: "ana".to_owned(),
        surface: Surface::Web,
        actor: None,
        together: Together::Alone,
        confirmed: Confirmed::NotRequired,
        turn_id: TurnId::from_uuid(id(5, n)),
        message_id: MessageId::from_uuid(id(6, n)),
    }))
}

/// The person's word is the form's, whatever was asked.
pub(crate) fn retell(n: u8) -> Command {
    let input = Map::from_iter([("email".to_owned(), json!("ada@example.org"))]);
    Command::Retell(Box::new(Retell {
        interaction_id: ask_id(n),
        response: Response::Submit { input },
        result: Some(json!({ "ok": true })),
        turn_id: TurnId::from_uuid(id(7, n)),
        message_id: MessageId::from_uuid(id(8, n)),
    }))
}

pub(crate) fn approve() -> ResponseDraft {
    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None }
}

pub(crate) fn approve_for(scope: Scope) -> ResponseDraft {
    ResponseDraft::Approve { scope: Some(scope), lines: Vec::new(), edited_input: None }
}

pub(crate) fn deny() -> ResponseDraft {
    ResponseDraft::Deny { reason: Some("use pnpm".to_owned()) }
}

pub(crate) fn answer(text: &str) -> ResponseDraft {
    let Value::Object(answers) = json!({ "store": text }) else { unreachable!("an object") };
    ResponseDraft::Submit { answers: Some(answers), input: None }
}

pub(crate) fn submit(email: &str) -> ResponseDraft {
    let Value::Object(input) = json!({ "email": email }) else { unreachable!("an object") };
    ResponseDraft::Submit { answers: None, input: Some(input) }
}

/// As a journal keeps it.
pub(crate) fn written_and_read(body: &EventBody) -> EventBody {
    let bytes = body.data_bytes().expect("an event can be written");
    EventBody::from_data(body.event_type(), &bytes).unwrap_or_else(|error| panic!("{error}: {body:?}"))
}
