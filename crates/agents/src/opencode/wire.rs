//! What our plugin in opencode says: the program's own events, and a few words of the plugin's.

use holdstead_protocol::json::{self, Flaw};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest name of a session.
const LONGEST_NAME: usize = 100;

/// Something that the plugin said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) around: Around,
    pub(super) what: What,
    /// It is not quite what was sent.
    pub(super) flaw: Option<Flaw>,
}

/// Who speaks.
#[derive(Debug, Deserialize)]
pub(super) struct Around {
    /// Where the program works.
    pub(super) directory: String,
    /// The session that the person sees. Those of subagents are a part of it.
    pub(super) conversation: String,
    /// The session in which this happened.
    pub(super) session: String,
    /// What the subagent is called whose session that is.
    #[serde(default)]
    pub(super) subagent: Option<String>,
    /// The call that an ask is about.
    #[serde(default)]
    pub(super) call: Option<Called>,
    /// The asks that were open until this event.
    #[serde(default)]
    pub(super) over: Vec<Closed>,
}

impl Around {
    pub(super) fn is_subagent(&self) -> bool {
        self.session != self.conversation
    }

    /// Who made a call or says something, for people.
    pub(super) fn parents(&self) -> Vec<String> {
        let name = || self.subagent.clone().unwrap_or_else(|| "subagent".to_owned());
        self.is_subagent().then(name).into_iter().collect()
    }
}

#[derive(Debug)]
pub(super) enum What {
    Event(Event),
    Words(Words),
    Waiter(Waiter),
    Answered(Answered),
    Posted(Posted),
}

/// More of what the model says.
#[derive(Debug, Deserialize)]
pub(super) struct Words {
    #[serde(rename = "messageID")]
    pub(super) message: String,
    pub(super) kind: WordsKind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WordsKind {
    Text,
    Reasoning,
}

/// It waits for a message of a person's.
#[derive(Debug, Deserialize)]
pub(super) struct Waiter {
    /// The program does nothing now.
    pub(super) idle: bool,
}

/// The program was given an answer of ours.
#[derive(Debug, Deserialize)]
pub(super) struct Answered {
    pub(super) id: String,
    /// What HTTP says; 0 if it was not given, because its ask was over.
    pub(super) status: u16,
}

/// The program was given a message of ours.
#[derive(Debug, Deserialize)]
pub(super) struct Posted {
    pub(super) status: u16,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Called {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Value,
}

/// An ask that is over.
#[derive(Debug, Deserialize)]
pub(super) struct Closed {
    pub(super) id: String,
    #[serde(default)]
    pub(super) permission: Option<String>,
    #[serde(default, rename = "callID")]
    pub(super) call: Option<String>,
    /// The program took an answer of ours.
    #[serde(default)]
    pub(super) ours: bool,
}

/// An event of the program's.
#[derive(Debug)]
pub(super) enum Event {
    Message(Message),
    Part(Part),
    PermissionAsked(Permission),
    PermissionReplied {
        id: String,
        reply: Reply,
    },
    QuestionAsked(Questions),
    QuestionReplied {
        id: String,
        answers: Vec<Vec<String>>,
    },
    QuestionRejected {
        id: String,
    },
    Idle,
    Error(Failure),
    /// Only that it is there.
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) role: Role,
    /// What a message of the model's is the reply to.
    #[serde(default, rename = "parentID")]
    pub(super) parent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part {
    /// Of a person's message. What the model says comes as [`Words`].
    Text {
        #[serde(rename = "messageID")]
        message: String,
        text: String,
    },
    Tool {
        #[serde(rename = "messageID")]
        message: String,
        #[serde(rename = "callID")]
        call: String,
        tool: String,
        state: CallState,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(super) enum CallState {
    /// Its input is being written.
    Pending,
    Running {
        #[serde(default)]
        input: Value,
    },
    Completed {
        #[serde(default)]
        input: Value,
        #[serde(default)]
        output: Value,
    },
    Error {
        #[serde(default)]
        input: Value,
        #[serde(default)]
        error: String,
    },
}

#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) id: String,
    /// The kind of what is asked about: `bash`, `edit`, or the tool's own name.
    pub(super) permission: String,
    #[serde(default)]
    pub(super) patterns: Vec<String>,
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
    #[serde(default)]
    pub(super) tool: Option<OfCall>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OfCall {
    #[serde(rename = "callID")]
    pub(super) call: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Once,
    Always,
    Reject,
}

#[derive(Debug, Deserialize)]
pub(super) struct Questions {
    pub(super) id: String,
    pub(super) questions: Vec<OneQuestion>,
    #[serde(default)]
    pub(super) tool: Option<OfCall>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OneQuestion {
    pub(super) question: String,
    #[serde(default)]
    pub(super) header: String,
    #[serde(default)]
    pub(super) options: Vec<Choice>,
    #[serde(default)]
    pub(super) multiple: bool,
    /// Whether own words are an answer.
    #[serde(default = "yes")]
    pub(super) custom: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    pub(super) label: String,
    #[serde(default)]
    pub(super) description: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Failure {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    data: FailureData,
}

#[derive(Debug, Default, Deserialize)]
struct FailureData {
    #[serde(default)]
    message: Option<String>,
}

impl Failure {
    /// A person stopped it.
    pub(super) fn is_abort(&self) -> bool {
        self.name == "MessageAbortedError"
    }

    pub(super) fn words(&self) -> &str {
        self.data.message.as_deref().filter(|words| !words.is_empty()).unwrap_or(&self.name)
    }
}

impl Said {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (said, flaw) = json::read_flawed(text.as_bytes()).ok()?;
        let around = Around::deserialize(&said).ok()?;
        let is_name = |id: &str| !id.is_empty() && id.len() <= LONGEST_NAME;
        if !is_name(&around.conversation) || !is_name(&around.session) {
            return None;
        }
        Some(Self { around, what: What::read(&said)?, flaw })
    }
}

impl What {
    fn read(said: &Value) -> Option<Self> {
        if let Some(event) = said.get("event") {
            return Event::read(event).map(Self::Event);
        }
        if let Some(words) = said.get("words") {
            return Words::deserialize(words).map(Self::Words).ok();
        }
        if let Some(waiter) = said.get("waiter") {
            return Waiter::deserialize(waiter).map(Self::Waiter).ok();
        }
        if let Some(answered) = said.get("answered") {
            return Answered::deserialize(answered).map(Self::Answered).ok();
        }
        Posted::deserialize(said.get("posted")?).map(Self::Posted).ok()
    }
}

impl Event {
    /// Nothing, if one that we know is not as it should be.
    fn read(event: &Value) -> Option<Self> {
        let properties = event.get("properties").unwrap_or(&Value::Null);
        let inner = |key: &str| properties.get(key).unwrap_or(&Value::Null);
        let id = || properties.get("requestID").and_then(Value::as_str).map(str::to_owned);
        Some(match event.get("type").and_then(Value::as_str)? {
            "message.updated" => Self::Message(Message::deserialize(inner("info")).ok()?),
            "message.part.updated" => Self::Part(Part::deserialize(inner("part")).ok()?),
            "permission.asked" => Self::PermissionAsked(Permission::deserialize(properties).ok()?),
            "permission.replied" => {
                Self::PermissionReplied { id: id()?, reply: Reply::deserialize(inner("reply")).ok()? }
            }
            "question.asked" => Self::QuestionAsked(Questions::deserialize(properties).ok()?),
            "question.replied" => {
                let answers = Vec::deserialize(inner("answers")).ok()?;
                Self::QuestionReplied { id: id()?, answers }
            }
            "question.rejected" => Self::QuestionRejected { id: id()? },
            "session.idle" => Self::Idle,
            // It says so twice: first in this way.
            "session.status" if inner("status")["type"] == "idle" => Self::Idle,
            "session.error" => Self::Error(Failure::deserialize(inner("error")).unwrap_or_default()),
            _ => Self::Other,
        })
    }
}
