//! What is said and done in a session, as rows: prose as it comes, a tool call in one line with what came of it.

use std::collections::HashMap;

use holdstead_protocol::{
    AgentState, AskChange, Closing, Delivery, EventBody, InteractionRequest, InteractionResponse, MessageId,
    Response, SessionStatus, StopReason, ToolCallId, ToolResult,
};
use serde_json::Value;

use super::row::{Ink, Row};
use crate::text::{safe_line, shortened};
use crate::words;

/// How much of a call and of what came of it stands in its line.
const CALL: usize = 100;
const RESULT: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct Speech {
    speaking: Option<MessageId>,
    /// Calls under way, by what they do.
    calls: HashMap<ToolCallId, String>,
    last_call: Option<ToolCallId>,
    working: bool,
    /// The keys of what this terminal answered: it has said so already.
    own: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    /// The agent's words, as they come.
    Words(String),
    /// What was said so far is complete.
    Pause,
    Row(Row),
    Asked(Box<InteractionRequest>),
    /// This ask waits no longer.
    Settled(holdstead_protocol::InteractionId),
    /// The session is over.
    Ended,
}

impl Speech {
    pub(crate) fn answered_here(&mut self, key: String) {
        self.own.push(key);
    }

    /// What a session does whose beginning is not heard.
    pub(crate) fn joins(&mut self, state: AgentState) {
        self.working = is_working(state);
    }

    pub(crate) fn is_working(&self) -> bool {
        self.working
    }

    /// What the agent does now.
    pub(crate) fn doing(&self) -> Option<Row> {
        let call = self.last_call.as_ref().and_then(|call| self.calls.get(call));
        match (call, self.working) {
            (Some(call), true) => Some(Row::new(Ink::Dim, &format!("… {}", shortened(call, CALL)))),
            (None, true) => Some(Row::new(Ink::Dim, "… working")),
            (_, false) => None,
        }
    }

    pub(crate) fn hear(&mut self, event: &EventBody) -> Vec<Heard> {
        let mut heard = Vec::new();
        let said = |words: &str| Heard::Row(Row::plain(words));
        match event {
            EventBody::UserMessage(message) => {
                self.pause(&mut heard);
                let mut lines = Row::block("  ", Ink::Strong, &message.text).into_iter();
                let first = message.text.lines().next().unwrap_or_default();
                heard.push(Heard::Row(Row::new(Ink::Waiting, "› ").and(Ink::Strong, first)));
                heard.extend(lines.by_ref().skip(1).map(Heard::Row));
            }
            EventBody::TextDelta(delta) => {
                if self.speaking != Some(delta.message_id) {
                    self.pause(&mut heard);
                    self.speaking = Some(delta.message_id);
                }
                heard.push(Heard::Words(delta.text.clone()));
            }
            EventBody::ToolCallStart(start) => {
                self.pause(&mut heard);
                self.calls.insert(start.tool_call_id.clone(), safe_line(&start.tool_name));
                self.last_call = Some(start.tool_call_id.clone());
            }
            EventBody::ToolCallEnd(end) => {
                if let Some(call) = self.calls.get_mut(&end.tool_call_id) {
                    let tool = end.tool_name.as_ref().unwrap_or(call);
                    *call = words::doing(tool, &end.input);
                }
            }
            EventBody::ToolResult(result) => {
                self.pause(&mut heard);
                let call = self.calls.remove(&result.tool_call_id).unwrap_or_else(|| "A tool".to_owned());
                heard.push(Heard::Row(outcome(&call, result)));
            }
            EventBody::InteractionRequest(request) => {
                self.pause(&mut heard);
                // Of a call that only asks, what it asks says more than its input.
                if let Some(call) = request.tool_call_id.as_ref().and_then(|call| self.calls.get_mut(call))
                    && !request.body.is_approval()
                {
                    *call = words::headline(request);
                }
                heard.push(Heard::Asked(request.clone()));
            }
            EventBody::InteractionResponse(response) => {
                self.pause(&mut heard);
                let own = response.idempotency_key.as_ref().is_some_and(|key| self.own.contains(key));
                if !own {
                    heard.push(Heard::Row(Row::new(Ink::Good, "✓ ").and(Ink::Plain, &answered(response))));
                }
                heard.push(Heard::Settled(response.interaction_id));
            }
            EventBody::InteractionClosed(closed) => {
                self.pause(&mut heard);
                let how = match (closed.closing, closed.in_terminal) {
                    (Closing::Cancelled, Some(how)) => words::in_terminal(how.answer),
                    (Closing::Expired, _) => "Its time ran out: it was not answered, and nothing runs.",
                    (Closing::Cancelled, None) => "It is not asked any more.",
                    (Closing::AnsweredLate, _) => "It was answered late.",
                    (Closing::Withdrawn, _) => "It was withdrawn by the program.",
                };
                heard.push(said(how));
                heard.push(Heard::Settled(closed.interaction_id));
            }
            EventBody::InteractionUpdate(update) => {
                if let Some(row) = changed(&update.change) {
                    self.pause(&mut heard);
                    heard.push(Heard::Row(row));
                }
            }
            EventBody::LateAnswer(_) => {
                heard.push(said("The answer came too late to settle it: it goes to the agent as a message."));
            }
            EventBody::TurnEndBlocked(blocked) => {
                heard.push(said(&format!("The turn goes on, by `{}`: {}", blocked.rule.text, blocked.words)));
            }
            EventBody::SessionStatus(status) => self.status(status, &mut heard),
            EventBody::Error(error) => {
                self.pause(&mut heard);
                heard.push(Heard::Row(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &error.message)));
            }
            EventBody::Done(done) => {
                self.pause(&mut heard);
                self.calls.clear();
                self.working = false;
                match (done.reason, &done.by) {
                    (StopReason::Completed, _) => {}
                    (StopReason::Interrupted, Some(by)) => heard.push(said(&format!("Stopped by {by}."))),
                    (StopReason::Interrupted, None) => heard.push(said("Stopped.")),
                    (StopReason::Failed, _) => {
                        heard.push(Heard::Row(Row::new(Ink::Danger, "✕ The turn ended with an error.")));
                    }
                }
            }
            EventBody::SessionOpened(_)
            | EventBody::ThinkingDelta(_)
            | EventBody::ToolCallDelta(_)
            | EventBody::GrantAdded(_)
            | EventBody::GrantRevoked(_)
            | EventBody::TrustAdded(_)
            | EventBody::TrustRevoked(_)
            | EventBody::RulesFileChanged(_)
            | EventBody::VariablesSet(_)
            | EventBody::SessionArchived(_)
            | EventBody::SessionUnarchived(_)
            | EventBody::InteractionSnoozed(_)
            | EventBody::InteractionUnsnoozed(_)
            | EventBody::SessionInitialised(_) => {}
        }
        heard
    }

    fn status(&mut self, status: &SessionStatus, heard: &mut Vec<Heard>) {
        self.working = is_working(status.agent);
        if let Some(message) = &status.message {
            heard.push(Heard::Row(Row::new(Ink::Dim, &format!("The agent stopped: {message}"))));
        }
        if status.agent == AgentState::Ended {
            heard.push(Heard::Ended);
        }
    }

    fn pause(&mut self, heard: &mut Vec<Heard>) {
        self.speaking = None;
        heard.push(Heard::Pause);
    }
}

fn is_working(state: AgentState) -> bool {
    match state {
        AgentState::Running => true,
        AgentState::Idle
        | AgentState::Waiting
        | AgentState::Parking
        | AgentState::Parked
        | AgentState::Detached
        | AgentState::Ended => false,
    }
}

fn outcome(call: &str, result: &ToolResult) -> Row {
    let call = shortened(call, CALL);
    if !result.is_error {
        return Row::new(Ink::Good, "✓ ").and(Ink::Dim, &call);
    }
    let why = shortened(&safe_line(first_line(&result.output)), RESULT);
    Row::new(Ink::Danger, "✕").and(Ink::Dim, &format!(" {call}")).and(Ink::Plain, &format!(": {why}"))
}

/// The beginning of what a tool said: a text, or pieces with texts.
fn first_line(output: &Value) -> &str {
    let text = match output {
        Value::String(text) => text,
        Value::Array(pieces) => {
            pieces.iter().find_map(|piece| piece.get("text").and_then(Value::as_str)).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "",
    };
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed")
}

fn answered(response: &InteractionResponse) -> String {
    let did = match &response.response {
        Response::Approve { edited_input: Some(_), .. } => "Edited and approved",
        Response::Approve { .. } => "Approved",
        Response::Deny { reason: Some(reason) } if !reason.is_empty() => {
            return format!("Denied by {}: {}", words::by(&response.decider), safe_line(reason));
        }
        Response::Deny { .. } => "Denied",
        Response::Answer { .. } | Response::Submit { .. } => "Answered",
        Response::Cancel { .. } => "Declined",
    };
    format!("{did} by {}", words::by(&response.decider))
}

/// Only what a person has to know.
fn changed(change: &AskChange) -> Option<Row> {
    match change {
        AskChange::Settled { failure: Some(failure), .. } => {
            Some(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &format!("The tool failed: {failure}")))
        }
        AskChange::Queued { .. } => {
            Some(Row::new(Ink::Dim, "The agent was told that the answer comes later. You can still give it."))
        }
        AskChange::Delivery { delivery: delivery @ Delivery::Undeliverable { moved_to: Some(_), .. } } => {
            Some(Row::new(Ink::Dim, &words::capital(words::delivery(Some(delivery)))))
        }
        AskChange::Delivery {
            delivery:
                delivery @ (Delivery::Unknown { .. } | Delivery::Undeliverable { .. } | Delivery::NotRun { .. }),
        } => {
            Some(Row::new(Ink::Danger, "!").and(Ink::Plain, &format!(" {}", words::delivery(Some(delivery)))))
        }
        AskChange::RanOtherThanApproved { .. } => {
            Some(Row::new(Ink::Danger, "! What ran is not what was approved. See: holdstead audit export"))
        }
        AskChange::Settled { failure: None, .. }
        | AskChange::Delivery {
            delivery:
                Delivery::Accepted
                | Delivery::Delivering { .. }
                | Delivery::Delivered { .. }
                | Delivery::Acknowledged,
        }
        | AskChange::RuleSaved { .. } => None,
        AskChange::InTerminal { how } => Some(Row::new(Ink::Dim, words::in_terminal(how.answer))),
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{EventType, TurnId};
    use serde_json::json;

    use super::*;

    fn event(kind: EventType, mut data: Value) -> EventBody {
        data["turnId"] = json!(TurnId::generate());
        EventBody::from_data(kind, data.to_string().as_bytes()).unwrap()
    }

    fn rows(heard: &[Heard]) -> Vec<String> {
        let row = |heard: &Heard| match heard {
            Heard::Row(row) => Some(row.text()),
            Heard::Words(_) | Heard::Pause | Heard::Asked(_) | Heard::Settled(_) | Heard::Ended => None,
        };
        heard.iter().filter_map(row).collect()
    }

    #[test]
    fn a_call_is_one_line_with_what_came_of_it() {
        let mut speech = Speech::default();
        let call =
            |id: &str| json!({"messageId": MessageId::generate(), "toolCallId": id, "toolName": "Bash"});
        let input = |id: &str| json!({"toolCallId": id, "input": {"command": "npm test\u{1b}[2J"}});
        for id in ["one", "two"] {
            speech.hear(&event(EventType::ToolCallStart, call(id)));
            speech.hear(&event(EventType::ToolCallEnd, input(id)));
        }
        let well = speech.hear(&event(EventType::ToolResult, json!({"toolCallId": "one", "output": "ok"})));
        assert_eq!(rows(&well), ["✓ Run npm test⟨U+001B⟩[2J"]);
        let output = json!([{"type": "text", "text": "\nexit 1\u{1b}[1A\nmore"}]);
        let ill = json!({"toolCallId": "two", "output": output, "isError": true});
        let ill = speech.hear(&event(EventType::ToolResult, ill));
        assert_eq!(rows(&ill), ["✕ Run npm test⟨U+001B⟩[2J: exit 1⟨U+001B⟩[1A"]);
    }

    #[test]
    fn what_was_asked_and_answered_is_told_in_words() {
        let mut speech = Speech::default();
        let call = json!({"messageId": MessageId::generate(), "toolCallId": "one", "toolName": "ask_user"});
        speech.hear(&event(EventType::ToolCallStart, call));
        speech.hear(&event(EventType::ToolCallEnd, json!({"toolCallId": "one", "input": {"questions": []}})));
        let mut ask = super::super::sample::questions(
            json!([{"id": "store", "header": "Store", "question": "Where do orders go?", "options": []}]),
        )
        .request;
        ask.tool_call_id = Some(ToolCallId::new("one").unwrap());
        speech.hear(&EventBody::InteractionRequest(Box::new(ask)));
        let well = speech.hear(&event(EventType::ToolResult, json!({"toolCallId": "one", "output": "ok"})));
        assert_eq!(rows(&well), ["✓ Where do orders go?"]);
    }

    #[test]
    fn words_of_one_message_go_on_and_another_begins_anew() {
        let mut speech = Speech::default();
        let (one, two) = (MessageId::generate(), MessageId::generate());
        let mut say = |message: MessageId, text: &str| {
            speech.hear(&event(EventType::TextDelta, json!({"messageId": message, "text": text})))
        };
        assert_eq!(say(one, "a"), [Heard::Pause, Heard::Words("a".to_owned())]);
        assert_eq!(say(one, "b"), [Heard::Words("b".to_owned())]);
        assert_eq!(say(two, "c"), [Heard::Pause, Heard::Words("c".to_owned())]);
    }

    #[test]
    fn a_message_of_many_lines_is_shown_whole() {
        let message = json!({"messageId": MessageId::generate(), "text": "one\ntwo\nthree", "from": "ana"});
        let heard = Speech::default().hear(&event(EventType::UserMessage, message));
        assert_eq!(rows(&heard), ["› one", "  two", "  three"]);
    }
}
