//! Asks to test with.

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{
    AskBody, AskState, CallMark, Capabilities, Digest, Field, Form, Hold, HoldThen, InteractionId,
    InteractionRequest, OfferedScope, Origin, OwnerId, Presentation, PromptId, Question, Risk, Rule, Scope,
    Seq, SessionId, Timestamp,
};
use serde_json::{Map, Value, json};

fn interaction(key: &str, input: Value, body: AskBody) -> Interaction {
    let session_id = SessionId::derive(&OwnerId::new("local").unwrap(), "session");
    let request = InteractionRequest {
        interaction_id: InteractionId::derive(session_id, key),
        prompt_id: PromptId::generate(),
        attempt: 1,
        origin: Origin::Agent,
        asked_by: None,
        turn_id: None,
        response_id: None,
        tool_call_id: None,
        parents: Vec::new(),
        tool_name: "Bash".to_owned(),
        input,
        input_digest: Digest::from_bytes(&[0]),
        body,
        agent_says: None,
        cwd: None,
        verdict: None,
        marks: Vec::new(),
        decision_reason: None,
        error: None,
        field_errors: Map::new(),
        initial_values: Map::new(),
        presentation: Presentation::Tool,
        completed_view: None,
        hold: Hold { after_ms: 600_000, then: HoldThen::Park },
        deadline: None,
        can_park: true,
        capabilities: Capabilities { reason: true, edit_input: true, scopes: true },
        may_have_run: false,
        has_handler: false,
        handler_state: None,
    };
    Interaction {
        session_id,
        session_title: None,
        agent: "claude".to_owned(),
        seq: Seq(1),
        opened_at: Timestamp::from_micros(1_000_000),
        state: AskState::Open,
        closed_by: None,
        in_terminal: None,
        delivery: None,
        ran_other_than_approved: false,
        parked: false,
        request,
        response: None,
        responded_at: None,
        late: None,
        failure: None,
        cut: None,
        snoozed_until: None,
        snoozed_by: None,
    }
}

pub(crate) fn approval(input: Value) -> Interaction {
    let key = input.to_string();
    let rule = Rule::Lines { lines: vec!["allow Bash(ls:*)".to_owned()] };
    let offered_scopes = vec![OfferedScope { scope: Scope::Session, rule }];
    interaction(&key, input, AskBody::Approval { preview: None, offered_scopes, is_plan: false })
}

pub(crate) fn command(command: &str) -> Interaction {
    approval(json!({ "command": command }))
}

pub(crate) fn marked(words: &str) -> Interaction {
    let mut ask = command(words);
    let mark = CallMark { risk: Risk::Deletes, field: "/command".to_owned(), text: words.to_owned() };
    ask.request.marks = vec![mark];
    ask
}

pub(crate) fn questions(questions: Value) -> Interaction {
    let questions: Vec<Question> = serde_json::from_value(questions).unwrap();
    interaction("questions", Value::Null, AskBody::Question { questions })
}

pub(crate) fn form(fields: Value) -> Interaction {
    let fields: Vec<Field> = serde_json::from_value(fields).unwrap();
    interaction("form", Value::Null, AskBody::Form { form: Form { title: None, fields } })
}
