//! One life of the program: what its lines mean, given those before.

use std::collections::HashMap;

use holdstead_protocol::ToolCallId;
use holdstead_protocol::json::Flaw;
use serde::Deserialize as _;
use serde_json::Value;

use super::asks::refusal;
use super::convert::{self, Decision, TurnEnd};
use super::ends::from_holdstead;
use super::keeper::Keeper;
use super::terms::Terms;
use super::wire::{self, Block, ControlRequest, Delta, FromClaude, Requested, StreamEvent, TurnResult};
use crate::process::{Effect, Wire, cannot_be_shown, not_understood};
use crate::{AgentEvent, Outgoing};

/// How long the program itself lets a hook wait, in seconds. After that it drops the call.
pub(super) const HOOK_TIMEOUT: u64 = 24 * 60 * 60;
const TURN_ENDED: &str =
    "The turn ended before anybody answered, so nothing was decided. Ask again in the next turn.";

#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) terms: Terms,
    /// The program's own name for the conversation, once it said it.
    pub(super) session: Option<String>,
    /// The message that is being streamed, by the call whose subagent says it.
    pub(super) streams: HashMap<Option<String>, Stream>,
    pub(super) calls: HashMap<String, Call>,
    /// The call that started a subagent.
    pub(super) subagents: HashMap<String, String>,
    pub(super) requests: u64,
    pub(super) interrupted: bool,
    /// It was given a message.
    pub(super) prompted: bool,
    /// A call of an earlier life comes first, and has a result of its own before that of the message.
    pub(super) leftover: bool,
    /// The request that waits to hear whether the turn may end.
    pub(super) ending: Option<String>,
    /// Copies it when its process has ended.
    keeper: Option<Keeper>,
    /// Whether the program writes it down, once that is known.
    pub(super) written: Option<Written>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Down,
    Nowhere,
}

/// A message of the model's.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) id: String,
    /// Its calls, by the index of their block.
    pub(super) calls: Vec<(u64, String)>,
    pub(super) finished: bool,
}

/// A tool call.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) parent: Option<String>,
    /// What a subagent is called after, if it starts one.
    pub(super) label: String,
    pub(super) ended: bool,
    /// The model was told what it led to.
    pub(super) over: bool,
    pub(super) held: Option<Held>,
    /// What was asked about, once it was.
    pub(super) asked: Option<Value>,
    /// Where it would run, as the hook was told.
    pub(super) cwd: Option<String>,
    pub(super) decided: Option<Decision>,
    /// The person who approved it changed its input.
    pub(super) edited: bool,
    /// The program's own request, which was answered by what was decided.
    pub(super) confirmed: Option<String>,
    /// It has run.
    pub(super) ran: bool,
}

/// A request of the program's that waits for our answer.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) request_id: String,
    pub(super) via: Via,
    /// It shall be parked as soon as its message is complete.
    pub(super) park: bool,
    /// It calls one of our own tools, which need no approval.
    pub(super) own_tool: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    Hook,
    Permission,
}

impl Wire for Conversation {
    fn open(&mut self) -> Vec<Effect> {
        let id = self.next_request();
        let changed = self.keeper.as_ref().and_then(Keeper::changed);
        changed.iter().map(|words| error(words)).chain([line(&wire::initialize(&id, HOOK_TIMEOUT))]).collect()
    }

    fn ended(&mut self) -> Vec<AgentEvent> {
        let kept = self.keeper.as_ref().map_or(Ok(()), |keeper| keeper.end(self.session.as_deref()));
        kept.err().map(|message| AgentEvent::Error { message }).into_iter().collect()
    }

    /// Whether a call comes near the gateway's folders, and what an edit would change.
    fn looks_at_files(&self, line: &str) -> bool {
        line.contains("control_request")
    }

    fn heard(&mut self, said: Value, flaw: Option<&Flaw>) -> Vec<Effect> {
        match FromClaude::deserialize(&said) {
            // It shows nobody anything, so that no flaw of its words keeps a rule from being asked.
            Ok(FromClaude::ControlRequest(ControlRequest { request_id, request })) if request.is_end() => {
                self.wants_to_end(request_id)
            }
            Ok(FromClaude::ControlRequest(ControlRequest { request_id, request }))
                if flaw.is_some() && !request.is_after() =>
            {
                flaw.map_or_else(Vec::new, |flaw| unfit(&request_id, &request, flaw))
            }
            Ok(FromClaude::System(system)) if system.subtype == "init" => self.identified(system.session_id),
            Ok(FromClaude::System(system)) if system.subtype == "task_started" => {
                self.subagents.extend(system.task_id.zip(system.tool_use_id));
                Vec::new()
            }
            Ok(FromClaude::System(_) | FromClaude::Other) => Vec::new(),
            Ok(FromClaude::StreamEvent(streamed)) => {
                self.streamed(streamed.parent_tool_use_id, streamed.event)
            }
            Ok(FromClaude::Assistant(said)) => {
                let streamed = self
                    .streams
                    .get(&said.parent_tool_use_id)
                    .is_some_and(|stream| stream.id == said.message.id);
                let parent = said.parent_tool_use_id;
                let blocks = said.message.blocks().into_iter();
                blocks.flat_map(|block| self.finished_block(parent.as_deref(), block, streamed)).collect()
            }
            Ok(FromClaude::User(said)) => {
                said.message.blocks().into_iter().flat_map(|block| self.told(block)).collect()
            }
            Ok(FromClaude::Result(result)) => self.turn_over(result),
            Ok(FromClaude::ControlRequest(ControlRequest { request_id, request })) => match request {
                Requested::HookCallback { input } => self.hook(request_id, *input),
                Requested::CanUseTool(request) => self.permission(request_id, request),
                Requested::Other => {
                    let words = "Holdstead does not know this request, so nothing was done.";
                    vec![
                        line(&wire::error_response(&request_id, words)),
                        error(
                            "Claude Code asked for something that Holdstead does not know; it was refused.",
                        ),
                    ]
                }
            },
            Ok(FromClaude::ControlCancelRequest { request_id }) => {
                self.ending.take_if(|ending| *ending == request_id);
                self.withdrawn(&request_id)
            }
            Err(problem) => {
                // Whatever waits for an answer gets one: a request that nobody answers hangs for a day.
                let waits = said["request_id"].as_str().filter(|_| said["type"] == "control_request");
                let words = format!("this request is not understood here: {problem}");
                let refused = waits.map(|id| line(&wire::error_response(id, &words)));
                refused.into_iter().chain([not_understood(&said.to_string(), &problem)]).collect()
            }
        }
    }

    fn hear_too_long(&mut self, beginning: &str, limit: usize) -> Vec<Effect> {
        if let Some((request_id, wire::Asks::End)) = wire::outline(beginning) {
            return self.wants_to_end(request_id);
        }
        let words = format!("Claude Code wrote a line of more than {limit} bytes; it was skipped.");
        too_long(beginning).into_iter().chain([error(&words)]).collect()
    }

    fn say(&mut self, outgoing: &Outgoing) -> Vec<Effect> {
        match outgoing {
            Outgoing::Message { text } => {
                self.interrupted = false;
                self.prompted = true;
                vec![line(&wire::user_message(text))]
            }
            Outgoing::MessageWithContext { context, text } => {
                self.interrupted = false;
                self.prompted = true;
                vec![line(&wire::user_message_after(&from_holdstead(context), text))]
            }
            Outgoing::TurnEnd(end) => self.end(end),
            Outgoing::Interrupt => {
                self.interrupted = true;
                let id = self.next_request();
                vec![line(&wire::interrupt(&id))]
            }
            Outgoing::Resolve { tool_call_id, resolution } => match convert::decision(resolution) {
                Some(decision) => {
                    let told = self.decide(tool_call_id.as_str(), decision);
                    if let Some(call) = self.calls.get_mut(tool_call_id.as_str()) {
                        call.edited = convert::is_edited(resolution);
                    }
                    told
                }
                None => self.leave(tool_call_id.as_str()),
            },
            Outgoing::Park { tool_call_id } => self.park(tool_call_id),
        }
    }
}

impl Conversation {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            session: None,
            streams: HashMap::new(),
            calls: HashMap::new(),
            subagents: HashMap::new(),
            requests: 0,
            interrupted: false,
            prompted: false,
            leftover: false,
            ending: None,
            keeper: None,
            written: None,
        }
    }

    pub(super) fn kept_by(self, keeper: Keeper) -> Self {
        Self { keeper: Some(keeper), ..self }
    }

    fn next_request(&mut self) -> String {
        self.requests += 1;
        format!("holdstead-{}", self.requests)
    }

    fn identified(&mut self, session: Option<String>) -> Vec<Effect> {
        match session {
            Some(session) if self.session.as_ref() != Some(&session) => {
                self.session = Some(session.clone());
                vec![Effect::Event(AgentEvent::Ready { agent_ref: session })]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn streamed(&mut self, parent: Option<String>, event: StreamEvent) -> Vec<Effect> {
        match event {
            StreamEvent::MessageStart { message } => {
                self.streams.insert(parent, Stream { id: message.id, ..Stream::default() });
                Vec::new()
            }
            StreamEvent::ContentBlockStart { index, content_block: Block::ToolUse { id, name, .. } } => {
                if let Some(stream) = self.streams.get_mut(&parent) {
                    stream.calls.push((index, id.clone()));
                }
                self.begin_call(parent.as_deref(), &id, &name).into_iter().collect()
            }
            StreamEvent::ContentBlockDelta { index, delta } => {
                let parents = self.chain(parent.as_deref());
                match delta {
                    Delta::Text { text } => vec![Effect::Event(AgentEvent::Text { text, parents })],
                    Delta::Thinking { thinking } => {
                        vec![Effect::Event(AgentEvent::Thinking { text: thinking, parents })]
                    }
                    Delta::InputJson { partial_json } => {
                        let calls = self.streams.get(&parent).map(|stream| stream.calls.as_slice());
                        let call = calls.unwrap_or_default().iter().find(|(at, _)| *at == index);
                        let id = call.and_then(|(_, id)| ToolCallId::new(id.as_str()).ok());
                        id.map(|tool_call_id| AgentEvent::ToolCallDelta { tool_call_id, text: partial_json })
                            .map(Effect::Event)
                            .into_iter()
                            .collect()
                    }
                    Delta::Other => Vec::new(),
                }
            }
            StreamEvent::MessageStop => {
                if let Some(stream) = self.streams.get_mut(&parent) {
                    stream.finished = true;
                }
                let mut said = self.park_now();
                if parent.is_none() {
                    said.push(Effect::Event(AgentEvent::MessageEnd));
                }
                said
            }
            StreamEvent::ContentBlockStart { .. } | StreamEvent::Other => Vec::new(),
        }
    }

    /// A piece of a message is complete. Its words are new only if they were not streamed.
    fn finished_block(&mut self, parent: Option<&str>, block: Block, streamed: bool) -> Vec<Effect> {
        let parents = self.chain(parent);
        match block {
            Block::Text { text } if !streamed => vec![Effect::Event(AgentEvent::Text { text, parents })],
            Block::Thinking { thinking } if !streamed => {
                vec![Effect::Event(AgentEvent::Thinking { text: thinking, parents })]
            }
            Block::ToolUse { id, name, input } => {
                let mut said: Vec<_> = self.begin_call(parent, &id, &name).into_iter().collect();
                let Some(call) = self.calls.get_mut(&id) else { return said };
                let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
                call.label = text("description").or_else(|| text("subagent_type")).unwrap_or(name);
                if !std::mem::replace(&mut call.ended, true)
                    && let Ok(tool_call_id) = ToolCallId::new(id)
                {
                    said.push(Effect::Event(AgentEvent::ToolCallEnd { tool_call_id, input }));
                }
                said
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolResult { .. } | Block::Other => {
                Vec::new()
            }
        }
    }

    pub(super) fn begin_call(&mut self, parent: Option<&str>, id: &str, name: &str) -> Option<Effect> {
        if self.calls.contains_key(id) {
            return None;
        }
        let parents = self.chain(parent);
        let call = Call { parent: parent.map(str::to_owned), label: name.to_owned(), ..Call::default() };
        self.calls.insert(id.to_owned(), call);
        let tool_call_id = ToolCallId::new(id).ok()?;
        Some(Effect::Event(AgentEvent::ToolCallStart { tool_call_id, tool_name: name.to_owned(), parents }))
    }

    /// The subagents that lead here, outermost first.
    pub(super) fn chain(&self, parent: Option<&str>) -> Vec<String> {
        let mut chain = Vec::new();
        let mut next = parent;
        while let Some(id) = next {
            let call = self.calls.get(id);
            chain.push(call.map_or_else(|| "subagent".to_owned(), |call| call.label.clone()));
            // A chain has no rings, but the program's lines are not ours to trust.
            next = call.and_then(|call| call.parent.as_deref()).filter(|_| chain.len() < 16);
        }
        chain.reverse();
        chain
    }

    /// The model is told something: what a call led to.
    fn told(&mut self, block: Block) -> Vec<Effect> {
        let Block::ToolResult { tool_use_id, content, is_error } = block else { return Vec::new() };
        let is_error = is_error.unwrap_or(false);
        let Ok(tool_call_id) = ToolCallId::new(tool_use_id.as_str()) else { return Vec::new() };
        // The call went on or came to an end: this is the line that acknowledges.
        let became = self.came_to(&tool_use_id, &tool_call_id, is_error);
        let result = AgentEvent::ToolResult { tool_call_id, output: content, is_error };
        became.into_iter().chain([result]).map(Effect::Event).collect()
    }

    fn turn_over(&mut self, result: TurnResult) -> Vec<Effect> {
        if convert::is_forgotten(&result) {
            return vec![Effect::Event(AgentEvent::Forgotten)];
        }
        if std::mem::take(&mut self.leftover) && result.stop_reason.as_deref() != Some("tool_deferred") {
            return Vec::new();
        }
        let TurnEnd::Done { reason, words, usage } = convert::turn_end(result, self.interrupted) else {
            // It would wait for another message. If it is killed now, the call may be lost: it writes it down at its end.
            return vec![Effect::Parked, Effect::End];
        };
        // What a subagent in the background still asks would wait for nobody.
        let held = self.calls.drain().filter_map(|(_, call)| call.held);
        let refused: Vec<_> = held.map(|held| refusal(&held, TURN_ENDED)).collect();
        self.streams.clear();
        self.ending = None;
        let words = words.map(|message| Effect::Event(AgentEvent::Error { message }));
        let done = Effect::Event(AgentEvent::TurnDone { reason, usage });
        refused.into_iter().chain(words).chain([done]).collect()
    }
}

/// Refuses a request whose input is not what a person would be shown.
fn unfit(request_id: &str, request: &Requested, flaw: &Flaw) -> Vec<Effect> {
    let words = cannot_be_shown(flaw);
    let (tool, answer) = match request {
        Requested::HookCallback { input } => (input.tool_name.as_str(), convert::hook_refusal(&words)),
        Requested::CanUseTool(asked) => {
            let deny = Decision::Deny { words: words.clone() };
            (asked.tool_name.as_str(), convert::permission_answer(&deny))
        }
        Requested::Other => return vec![line(&wire::error_response(request_id, &words))],
    };
    vec![line(&wire::response(request_id, &answer)), error(&format!("{tool}: {words}"))]
}

/// The answer to a request that is too long to be read, and so to be shown to anybody: it must not wait for ever.
fn too_long(text: &str) -> Option<Effect> {
    let words = "This call is too large to be shown to a person. Nobody was asked, nothing was decided and nothing ran. Make \
                 it smaller and call again.";
    let (request_id, asks) = wire::outline(text)?;
    let answer = match asks {
        wire::Asks::Before => wire::response(&request_id, &convert::hook_refusal(words)),
        wire::Asks::After => wire::response(&request_id, &convert::hook_pass()),
        wire::Asks::Permission => {
            let deny = Decision::Deny { words: words.to_owned() };
            wire::response(&request_id, &convert::permission_answer(&deny))
        }
        wire::Asks::End | wire::Asks::Other => wire::error_response(&request_id, words),
    };
    Some(line(&answer))
}

pub(super) fn error(message: &str) -> Effect {
    Effect::Event(AgentEvent::Error { message: message.to_owned() })
}

pub(super) fn line(line: &Value) -> Effect {
    Effect::Write(line.to_string())
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
