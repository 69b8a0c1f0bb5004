//! A history that is good, and one broken history for each thing that must never be.

use holdstead_core::asking;
use holdstead_protocol::{
    AskBody, AskChange, Capabilities, Decider, Delivery, Done, Event, EventBody, EventId, Incarnation,
    InteractionId, InteractionRequest, InteractionResponse, InteractionUpdate, MessageId, Origin, PromptId,
    Response, ResponseDraft, Scope, Seq, SessionId, Settlement, StopReason, Surface, Timestamp, ToolCallId,
    ToolResult, TurnId, UserMessage,
};
use serde_json::{Value, json};

use super::*;

/// A history in the making.
struct World {
    history: History,
    turn: TurnId,
}

const DEATH: Timestamp = Timestamp::from_micros(7_500);

fn session() -> SessionId {
    "ses_00000000000000000000000000000001".parse().unwrap()
}

pub(in crate::fault_tests::kill) fn ask_id(name: &str) -> InteractionId {
    InteractionId::derive(session(), name)
}

fn call(name: &str) -> ToolCallId {
    ToolCallId::new(name).unwrap()
}

fn input(tag: &str) -> Value {
    json!({ "file_path": "a.txt", "old_string": "END", "new_string": format!("{tag}\nEND") })
}

impl World {
    fn new() -> Self {
        let turn = TurnId::generate();
        let mut world = Self { history: History::default(), turn };
        let message = UserMessage {
            turn_id: turn,
            message_id: MessageId::generate(),
            text: "x".into(),
            from: "Ada".into(),
            actor: None,
        };
        world.push(EventBody::UserMessage(message));
        world
    }

    fn push(&mut self, body: EventBody) {
        let seq = self.history.journal.len() as u64 + 1;
        let at = Timestamp::from_micros(i64::try_from(seq * 1_000).unwrap());
        self.history.journal.push(Event { id: EventId::generate(), seq: Seq(seq), at, heard: None, body });
    }

    fn request(&mut self, name: &str, of_call: &str, question: bool, may_have_run: bool) -> PromptId {
        let prompt_id = PromptId::generate();
        let body = if question {
            AskBody::Question { questions: Vec::new() }
        } else {
            AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false }
        };
        let can = Capabilities { reason: true, edit_input: true, scopes: false };
        self.push(EventBody::InteractionRequest(Box::new(InteractionRequest {
            turn_id: Some(self.turn),
            tool_call_id: Some(call(of_call)),
            may_have_run,
            ..asking(ask_id(name), prompt_id, Origin::Agent, "Edit", input(of_call), body, can)
        })));
        prompt_id
    }

    /// Ada answers, and is told that she won.
    fn respond(&mut self, name: &str, prompt: PromptId, response: Response) {
        let (draft, settlement) = match &response {
            Response::Approve { edited_input, .. } => {
                let edited_input = edited_input.clone();
                (
                    ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input },
                    Settlement::Approved,
                )
            }
            Response::Deny { .. } => (ResponseDraft::Deny { reason: None }, Settlement::Denied),
            Response::Answer { .. } | Response::Submit { .. } => {
                (ResponseDraft::Submit { answers: None, input: None }, Settlement::Answered)
            }
            Response::Cancel { .. } => (ResponseDraft::Cancel { reason: None }, Settlement::Declined),
        };
        let key = format!("key of {name}");
        self.push(EventBody::InteractionResponse(Box::new(InteractionResponse {
            response_id: None,
            interaction_id: ask_id(name),
            prompt_id: prompt,
            tool_call_id: None,
            turn_id: None,
            decider: Decider::Person { name: "Ada".into(), surface: Surface::Api, actor: None },
            response,
            idempotency_key: Some(key.clone()),
            body_digest: None,
            settlement: Some(settlement),
            gives: None,
        })));
        let told = Told::Won { seq: Seq(self.history.journal.len() as u64) };
        self.history.sent.push(Sent { by: "Ada", interaction: ask_id(name), prompt, key, draft, told });
    }

    fn delivery(&mut self, name: &str, delivery: Delivery) {
        let update = InteractionUpdate {
            interaction_id: ask_id(name),
            prompt_id: PromptId::generate(),
            tool_call_id: None,
            turn_id: None,
            change: AskChange::Delivery { delivery },
        };
        self.push(EventBody::InteractionUpdate(update));
    }

    fn delivered(&mut self, name: &str, incarnation: u32) {
        let incarnation = Incarnation(incarnation);
        self.delivery(name, Delivery::Delivering { incarnation });
        self.delivery(name, Delivery::Delivered { incarnation });
        self.delivery(name, Delivery::Acknowledged);
    }

    fn result(&mut self, of_call: &str, received: Value, effect: Option<&str>) {
        let mut output = json!({ "received": received });
        if let Some(effect) = effect {
            output["effect"] = json!(effect);
        }
        let result = ToolResult { turn_id: self.turn, tool_call_id: call(of_call), output, is_error: false };
        self.push(EventBody::ToolResult(result));
    }

    /// What the agent repeats of this answer.
    fn settled(of_call: &str, settlement: &str, response: &Response) -> Value {
        json!({ "outcome": "settled", "settlement": settlement, "response": response, "input": input(of_call) })
    }

    fn done(mut self) -> History {
        self.push(EventBody::Done(Done {
            turn_id: self.turn,
            reason: StopReason::Completed,
            by: None,
            usage: None,
        }));
        let seen = |event: &Event| Seen { seq: event.seq, id: event.id, life: 0 };
        self.history.seen.push(self.history.journal.iter().map(seen).collect());
        self.history
    }
}

const APPROVE: Response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };

fn answer() -> Response {
    Response::Answer { answers: Vec::new() }
}

/// An approval in doubt that is asked again and then runs; a question in doubt that is told again.
pub(in crate::fault_tests::kill) fn good() -> History {
    let mut world = World::new();
    let first = world.request("write", "write", false, false);
    world.respond("write", first, APPROVE);
    world.delivery("write", Delivery::Delivering { incarnation: Incarnation(1) });
    let question = world.request("way", "way", true, false);
    world.respond("way", question, answer());
    world.delivery("way", Delivery::Delivering { incarnation: Incarnation(1) });
    world.delivery("write", Delivery::Unknown { incarnation: Incarnation(1) });
    world.delivery("way", Delivery::Unknown { incarnation: Incarnation(1) });
    let again = world.request("write again", "write", false, true);
    let edited = Response::Approve {
        scope: Scope::Once,
        lines: Vec::new(),
        edited_input: Some(input("write, time 2")),
    };
    world.respond("write again", again, edited.clone());
    world.delivered("write again", 2);
    world.delivered("way", 2);
    world.result("write", World::settled("write", "approved", &edited), Some("edited: a.txt"));
    world.result("way", World::settled("way", "answered", &answer()), None);
    world.history.effects = vec!["write".into(), "write, time 2".into()];
    world.history.taken = vec![(call("write"), DEATH)];
    // Ben was second.
    let lost = Told::Lost { winner: Some("Ada".into()), action: "approve".into() };
    let draft = ResponseDraft::Deny { reason: None };
    let ben =
        Sent { by: "Ben", interaction: ask_id("write"), prompt: first, key: "b".into(), draft, told: lost };
    world.history.sent.push(ben);
    world.done()
}

/// The findings, each once, in order.
fn findings(history: &History) -> Vec<Finding> {
    let mut findings: Vec<_> = check(history).into_iter().map(|found| found.finding).collect();
    findings.sort_unstable();
    findings.dedup();
    findings
}

/// The place of the first event of this kind, from `from` on.
fn place(history: &History, from: usize, wanted: fn(&EventBody) -> bool) -> usize {
    from + history.journal[from..].iter().position(|event| wanted(&event.body)).unwrap()
}

fn is_response(body: &EventBody) -> bool {
    matches!(body, EventBody::InteractionResponse(_))
}

fn is_result(body: &EventBody) -> bool {
    matches!(body, EventBody::ToolResult(_))
}

fn output(history: &mut History, at: usize) -> &mut Value {
    let EventBody::ToolResult(result) = &mut history.journal[at].body else { panic!("a result") };
    &mut result.output
}

fn response(history: &mut History, at: usize) -> &mut InteractionResponse {
    let EventBody::InteractionResponse(response) = &mut history.journal[at].body else {
        panic!("a response")
    };
    response
}

#[test]
fn a_good_history_is_accepted() {
    assert_eq!(check(&good()), []);
}

#[test]
fn events_that_a_client_saw_are_still_there() {
    let mut gone = good();
    gone.journal.pop();
    assert!(findings(&gone).contains(&Finding::LostEvent));
    let mut other = good();
    other.journal[4].id = EventId::generate();
    assert_eq!(findings(&other), [Finding::LostEvent]);
    let mut skipped = good();
    skipped.seen[0].remove(5);
    assert_eq!(findings(&skipped), [Finding::LostEvent]);
}

#[test]
fn nothing_is_there_twice() {
    let mut same_id = good();
    same_id.journal[4].id = same_id.journal[3].id;
    same_id.seen.clear();
    assert_eq!(findings(&same_id), [Finding::DoubledEvent]);
    let mut same_seq = good();
    same_seq.journal[4].seq = same_seq.journal[3].seq;
    same_seq.seen.clear();
    assert!(findings(&same_seq).contains(&Finding::DoubledEvent));
    let mut seen_twice = good();
    let again = seen_twice.seen[0][6];
    seen_twice.seen[0].insert(7, again);
    assert_eq!(findings(&seen_twice), [Finding::DoubledEvent]);
}

#[test]
fn a_journal_has_no_gap() {
    let mut history = good();
    history.seen.clear();
    let last = history.journal.last_mut().unwrap();
    last.seq = Seq(last.seq.0 + 1);
    assert_eq!(findings(&history), [Finding::Gap]);
}

#[test]
fn one_answer_wins() {
    // In the journal.
    let mut history = good();
    let at = place(&history, 0, is_response);
    let mut second = history.journal[at].clone();
    second.id = EventId::generate();
    second.seq = Seq(history.journal.len() as u64 + 1);
    history.journal.push(second);
    assert_eq!(findings(&history), [Finding::TwoWinners]);
    // By what two clients were told.
    let mut history = good();
    let told = history.sent[0].told.clone();
    let ben = history.sent.last_mut().unwrap();
    ben.told = told;
    assert!(findings(&history).contains(&Finding::TwoWinners));
}

#[test]
fn an_answer_that_was_accepted_is_in_the_journal() {
    let mut lost = good();
    lost.sent[0].told = Told::Won { seq: Seq(99) };
    assert_eq!(findings(&lost), [Finding::LostAnswer]);
    let mut nobody = good();
    nobody.sent.last_mut().unwrap().told = Told::Lost { winner: Some("Cleo".into()), action: "deny".into() };
    assert_eq!(findings(&nobody), [Finding::LostAnswer]);
}

#[test]
fn nobody_is_left_without_an_outcome() {
    for told in [Told::Nothing, Told::Refused { why: "not found".into() }] {
        let mut history = good();
        history.sent.last_mut().unwrap().told = told;
        assert_eq!(findings(&history), [Finding::Unanswerable]);
    }
}

#[test]
fn an_allow_was_given_by_somebody() {
    // An approval in the journal that no client sent.
    let mut unsent = good();
    let at = place(&unsent, 0, is_response);
    response(&mut unsent, at).idempotency_key = Some("invented".into());
    assert!(findings(&unsent).contains(&Finding::AllowNobodyGave));
    let mut by_rule = good();
    response(&mut by_rule, at).decider = Decider::Rule { name: "a rule".into() };
    assert!(findings(&by_rule).contains(&Finding::AllowNobodyGave));
    // A refusal that became an approval on its way to the agent.
    let mut turned = good();
    let at = place(&turned, 8, is_response);
    response(&mut turned, at).response = Response::Deny { reason: None };
    assert!(findings(&turned).contains(&Finding::AllowNobodyGave));
    // Something that happened on disk only.
    let mut acted = good();
    acted.effects.push("rm".into());
    assert_eq!(findings(&acted), [Finding::AllowNobodyGave]);
    // Something that happened before its approval left for the agent.
    let mut early = good();
    early.journal.retain(|event| {
        let EventBody::InteractionUpdate(update) = &event.body else { return true };
        update.interaction_id != ask_id("write again")
    });
    assert!(findings(&early).contains(&Finding::AllowNobodyGave));
}

#[test]
fn an_approval_is_written_once() {
    let mut ran_twice = good();
    ran_twice.effects.push("write".into());
    assert_eq!(findings(&ran_twice), [Finding::WrittenTwice]);
    let mut told_twice = good();
    let at = place(&told_twice, 0, is_result);
    let mut again = told_twice.journal[at].clone();
    (again.id, again.seq) = (EventId::generate(), Seq(told_twice.journal.len() as u64 + 1));
    told_twice.journal.push(again);
    assert_eq!(findings(&told_twice), [Finding::WrittenTwice]);
    // The approval in doubt is handed to the next life as well.
    let mut world = World::new();
    let prompt = world.request("write", "write", false, false);
    world.respond("write", prompt, APPROVE);
    world.delivery("write", Delivery::Delivering { incarnation: Incarnation(1) });
    world.delivery("write", Delivery::Unknown { incarnation: Incarnation(1) });
    world.delivered("write", 2);
    assert_eq!(findings(&world.done()), [Finding::WrittenTwice]);
}

#[test]
fn a_refusal_was_given_by_somebody() {
    // The agent was told that nobody will answer.
    let mut closed = good();
    let at = place(&closed, 0, is_result);
    *output(&mut closed, at) = json!({ "received": { "outcome": "closed", "message": "nobody is there" } });
    assert_eq!(findings(&closed), [Finding::RefusalNobodyGave]);
    // It was told that a person refused, who approved.
    let mut denied = good();
    let deny = Response::Deny { reason: None };
    *output(&mut denied, at) = json!({ "received": World::settled("write", "denied", &deny) });
    assert_eq!(findings(&denied), [Finding::RefusalNobodyGave]);
    // Its own file knows of an answer before any was sent.
    let mut taken = good();
    taken.taken.push((call("way"), Timestamp::from_micros(2_000)));
    assert_eq!(findings(&taken), [Finding::RefusalNobodyGave]);
    // A refusal in the journal that nobody sent.
    let mut world = World::new();
    let prompt = world.request("write", "write", false, false);
    world.respond("write", prompt, deny);
    world.delivered("write", 1);
    world.history.sent[0].draft =
        ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: None };
    assert_eq!(findings(&world.done()), [Finding::RefusalNobodyGave]);
}

#[test]
fn the_agent_is_told_what_was_answered() {
    let mut history = good();
    let first = place(&history, 0, is_result);
    let at = place(&history, first + 1, is_result);
    output(&mut history, at)["received"]["response"]["answers"] = json!(["something else"]);
    assert_eq!(findings(&history), [Finding::WrongAnswer]);
    let mut unsent = good();
    unsent.sent.retain(|sent| sent.interaction != ask_id("way"));
    assert_eq!(findings(&unsent), [Finding::WrongAnswer]);
}

#[test]
fn everything_comes_to_an_end() {
    let mut world = World::new();
    let prompt = world.request("way", "way", true, false);
    world.respond("way", prompt, answer());
    world.delivery("way", Delivery::Delivering { incarnation: Incarnation(1) });
    assert_eq!(findings(&world.done()), [Finding::Unfinished]);
    let mut endless = good();
    endless.journal.pop();
    endless.seen.clear();
    assert_eq!(findings(&endless), [Finding::Unfinished]);
}

#[test]
fn who_is_asked_again_is_told_that_it_may_have_run() {
    let mut history = good();
    for event in &mut history.journal {
        if let EventBody::InteractionRequest(request) = &mut event.body {
            request.may_have_run = false;
        }
    }
    assert_eq!(findings(&history), [Finding::Unmarked]);
}
