//! What a runner and the gateway that speaks for its sessions say to each other about one agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AskBody, Capabilities, Hold, InTerminal, MayAllow, MessageId, NotRun, Response, Settlement, StopReason,
    ToolCallId, TurnId, Usage,
};

/// What we say to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Outgoing {
    Message {
        text: String,
    },
    /// A person's words, and before them words of Holdstead's own, which the agent must not take for the person's.
    MessageWithContext {
        context: String,
        text: String,
    },
    /// Whether its turn may end, after [`AgentEvent::TurnEnding`].
    TurnEnd(TurnEnd),
    Resolve {
        tool_call_id: ToolCallId,
        resolution: Resolution,
    },
    Park {
        tool_call_id: ToolCallId,
    },
    Interrupt,
}

/// Whether an agent may end its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum TurnEnd {
    Ends,
    /// It goes on, with these words.
    Blocked {
        words: String,
    },
}

/// What became of an ask, for the agent's wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Resolution {
    /// A settlement, with the response that brought it about and the input that was asked about.
    Settled { settlement: Settlement, response: Response, input: Value },
    /// The ask closed and nobody decided: these words, and nothing runs.
    Closed { message: String },
    /// The answer comes later.
    Queued { message: String },
    /// Nobody decided, and nobody has to: the agent's own rules hold.
    LeftToAgent { input: Value },
}

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// It is up, and this is its own name for the conversation.
    Ready {
        agent_ref: String,
    },
    /// A person wrote this where the agent runs, and a turn begins with it.
    TurnBegun {
        turn_id: TurnId,
        message_id: MessageId,
        text: String,
    },
    Text {
        text: String,
        parents: Vec<String>,
    },
    Thinking {
        text: String,
        parents: Vec<String>,
    },
    /// The message ended: what follows belongs to another one.
    MessageEnd,
    ToolCallStart {
        tool_call_id: ToolCallId,
        tool_name: String,
        parents: Vec<String>,
    },
    ToolCallDelta {
        tool_call_id: ToolCallId,
        text: String,
    },
    ToolCallEnd {
        tool_call_id: ToolCallId,
        input: Value,
    },
    ToolResult {
        tool_call_id: ToolCallId,
        output: Value,
        is_error: bool,
    },
    Ask(Box<Ask>),
    /// It withdrew an ask.
    AskWithdrawn {
        tool_call_id: ToolCallId,
    },
    /// What it asked was answered where it runs, before what was decided here could count.
    AnsweredInTerminal {
        tool_call_id: ToolCallId,
        how: InTerminal,
    },
    /// It showed that a resolution reached it.
    Acknowledged {
        tool_call_id: ToolCallId,
    },
    /// What was approved reached it, and did not run.
    NotRun {
        tool_call_id: ToolCallId,
        because: NotRun,
    },
    /// A call that was asked about ran with this input, which is not the one that was approved.
    RanOther {
        tool_call_id: ToolCallId,
        input: Value,
    },
    /// It was told to park and stays: it goes on waiting.
    CannotPark {
        tool_call_id: ToolCallId,
        why: String,
    },
    /// The conversation that it should go on with is not there: it died before it had written it down.
    Forgotten,
    /// It wants to end its turn, and waits for [`Outgoing::TurnEnd`].
    TurnEnding,
    TurnDone {
        reason: StopReason,
        usage: Option<Usage>,
    },
    /// It said something we do not understand, or something about itself worth keeping.
    Error {
        message: String,
    },
    Exited(AgentExit),
}

/// An agent makes a call that rules or a person decide about, or asks a person something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub tool_call_id: ToolCallId,
    pub tool_name: String,
    pub input: Value,
    pub body: AskBody,
    pub agent_says: Option<String>,
    /// The folder in which it would run, if that is not the session's.
    pub cwd: Option<String>,
    pub decision_reason: Option<String>,
    pub parents: Vec<String>,
    /// It can be parked at this ask.
    pub can_park: bool,
    pub may_allow: MayAllow,
    /// What its wire can carry for this ask, if that is not what it usually can.
    pub capabilities: Option<Capabilities>,
    /// A hold of its own, instead of the configured one.
    pub hold: Option<Hold>,
    /// When the ask closes by itself.
    pub timeout_ms: Option<u64>,
    /// How long the agent itself can be kept waiting. Before that it is parked or told that nobody answered.
    pub host_limit_ms: Option<u64>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentExit {
    /// It went because it was told to park.
    pub parked: bool,
    /// Its exit code, if it was not killed.
    pub code: Option<i32>,
    /// The last lines of its stderr.
    pub stderr: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_reads_back() {
        let call = || ToolCallId::new("call").unwrap();
        for event in [
            AgentEvent::Text { text: "a".to_owned(), parents: vec!["b".to_owned()] },
            AgentEvent::MessageEnd,
            AgentEvent::Ask(Box::new(Ask {
                tool_call_id: call(),
                tool_name: "Bash".to_owned(),
                input: serde_json::json!({ "type": "exited" }),
                body: AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: false },
                agent_says: None,
                cwd: None,
                decision_reason: None,
                parents: Vec::new(),
                can_park: true,
                may_allow: MayAllow::RulesOfPeople,
                capabilities: None,
                hold: None,
                timeout_ms: Some(1),
                host_limit_ms: None,
            })),
            AgentEvent::TurnDone { reason: StopReason::Failed, usage: None },
            AgentEvent::Exited(AgentExit { parked: true, code: Some(0), stderr: String::new() }),
        ] {
            let written = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<AgentEvent>(&written).unwrap(), event, "{written}");
        }
        let response = Response::Deny { reason: Some("no".to_owned()) };
        let settled = Resolution::Settled { settlement: Settlement::Denied, response, input: Value::Null };
        for told in [
            Outgoing::Interrupt,
            Outgoing::TurnEnd(TurnEnd::Blocked { words: "go on".to_owned() }),
            Outgoing::Resolve { tool_call_id: call(), resolution: settled },
        ] {
            let written = serde_json::to_string(&told).unwrap();
            assert_eq!(serde_json::from_str::<Outgoing>(&written).unwrap(), told, "{written}");
        }
    }
}
