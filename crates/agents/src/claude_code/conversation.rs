//! One life of the program: what its lines mean, given those before.

use std::collections::HashMap;

use holdpoint_protocol::{AskBody, Capabilities, PermissionMode, ToolCallId};
use serde_json::Value;

use super::convert::{self, Decision, TurnEnd};
use super::policy::{Verdict, verdict};
use super::preview::{ReadFile, preview};
use super::questions;
use super::wire::{
    self, Block, ControlRequest, Delta, FromClaude, HookInput, PermissionRequest, Requested, StreamEvent,
    TurnResult,
};
use crate::process::{Said, Wire};
use crate::{AgentEvent, Ask, Leeway, Outgoing};

/// How long the program itself lets a hook wait, in seconds. After that it drops the call.
pub(super) const HOOK_TIMEOUT: u64 = 24 * 60 * 60;
/// How long before that we decide, in seconds.
const HOOK_MARGIN: u64 = 5 * 60;
/// How much of a line that we do not understand is quoted.
const QUOTED: usize = 200;
const OTHERS: &str = "its message has more than one call, and the others would be lost";
const NO_PLAN: &str = "No plan was written, so there is nothing to approve. Write the plan to its file, then call \
                       ExitPlanMode again.";
const TURN_ENDED: &str =
    "The turn ended before anybody answered, so nothing was decided. Ask again in the next turn.";
const NO_ID: &str = "This call came without an id, so nobody could be asked, and nothing was decided.";
const NO_QUESTION: &str =
    "There is no question in this call, so nobody was asked. Ask again with the question's text.";

#[derive(Debug)]
pub(super) struct Conversation {
    mode: PermissionMode,
    allowed: Vec<String>,
    read: ReadFile,
    /// The program's own name for the conversation, once it said it.
    session: Option<String>,
    /// The message that is being streamed, by the call whose subagent says it.
    streams: HashMap<Option<String>, Stream>,
    calls: HashMap<String, Call>,
    /// The call that started a subagent.
    subagents: HashMap<String, String>,
    requests: u64,
    interrupted: bool,
}

/// A message of the model's.
#[derive(Debug, Default)]
struct Stream {
    id: String,
    /// Its calls, by the index of their block.
    calls: Vec<(u64, String)>,
    finished: bool,
}

/// A tool call.
#[derive(Debug, Default)]
struct Call {
    parent: Option<String>,
    /// What a subagent is called after, if it starts one.
    label: String,
    ended: bool,
    /// The model was told what it led to.
    over: bool,
    held: Option<Held>,
    decided: Option<Decision>,
}

/// A request of the program's that waits for our answer.
#[derive(Debug)]
struct Held {
    request_id: String,
    via: Via,
    input: Value,
    /// It shall be parked as soon as its message is complete.
    park: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    Hook,
    Permission,
}

impl Wire for Conversation {
    fn open(&mut self) -> Vec<Said> {
        let id = self.next_request();
        vec![line(&wire::initialize(&id, HOOK_TIMEOUT))]
    }

    fn hear(&mut self, text: &str) -> Vec<Said> {
        if text.trim().is_empty() {
            return Vec::new();
        }
        match serde_json::from_str(text) {
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
                Requested::HookCallback { input } => self.hook(request_id, input),
                Requested::CanUseTool(request) => self.permission(request_id, request),
                Requested::Other => {
                    let words = "this request is not known here";
                    vec![
                        line(&wire::error_response(&request_id, words)),
                        error("Claude Code asked for something that is not known here; it was refused."),
                    ]
                }
            },
            Ok(FromClaude::ControlCancelRequest { request_id }) => self.withdrawn(&request_id),
            Err(problem) => {
                let quoted: String = text.chars().take(QUOTED).collect();
                vec![error(&format!("Claude Code wrote a line that is not understood ({problem}): {quoted}"))]
            }
        }
    }

    fn say(&mut self, outgoing: &Outgoing) -> Vec<Said> {
        match outgoing {
            Outgoing::Message { text } => {
                self.interrupted = false;
                vec![line(&wire::user_message(text))]
            }
            Outgoing::Interrupt => {
                self.interrupted = true;
                let id = self.next_request();
                vec![line(&wire::interrupt(&id))]
            }
            Outgoing::Resolve { tool_call_id, resolution } => {
                self.decide(tool_call_id.as_str(), convert::decision(resolution))
            }
            Outgoing::Park { tool_call_id } => self.park(tool_call_id),
        }
    }
}

impl Conversation {
    pub(super) fn new(mode: PermissionMode, allowed: Vec<String>, read: ReadFile) -> Self {
        Self {
            mode,
            allowed,
            read,
            session: None,
            streams: HashMap::new(),
            calls: HashMap::new(),
            subagents: HashMap::new(),
            requests: 0,
            interrupted: false,
        }
    }

    fn next_request(&mut self) -> String {
        self.requests += 1;
        format!("holdpoint-{}", self.requests)
    }

    fn identified(&mut self, session: Option<String>) -> Vec<Said> {
        match session {
            Some(session) if self.session.as_ref() != Some(&session) => {
                self.session = Some(session.clone());
                vec![Said::Event(AgentEvent::Ready { agent_ref: session })]
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn streamed(&mut self, parent: Option<String>, event: StreamEvent) -> Vec<Said> {
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
                    Delta::Text { text } => vec![Said::Event(AgentEvent::Text { text, parents })],
                    Delta::Thinking { thinking } => {
                        vec![Said::Event(AgentEvent::Thinking { text: thinking, parents })]
                    }
                    Delta::InputJson { partial_json } => {
                        let calls = self.streams.get(&parent).map(|stream| stream.calls.as_slice());
                        let call = calls.unwrap_or_default().iter().find(|(at, _)| *at == index);
                        let id = call.and_then(|(_, id)| ToolCallId::new(id.as_str()).ok());
                        id.map(|tool_call_id| AgentEvent::ToolCallDelta { tool_call_id, text: partial_json })
                            .map(Said::Event)
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
                    said.push(Said::Event(AgentEvent::MessageEnd));
                }
                said
            }
            StreamEvent::ContentBlockStart { .. } | StreamEvent::Other => Vec::new(),
        }
    }

    /// A piece of a message is complete. Its words are new only if they were not streamed.
    fn finished_block(&mut self, parent: Option<&str>, block: Block, streamed: bool) -> Vec<Said> {
        let parents = self.chain(parent);
        match block {
            Block::Text { text } if !streamed => vec![Said::Event(AgentEvent::Text { text, parents })],
            Block::Thinking { thinking } if !streamed => {
                vec![Said::Event(AgentEvent::Thinking { text: thinking, parents })]
            }
            Block::ToolUse { id, name, input } => {
                let mut said: Vec<_> = self.begin_call(parent, &id, &name).into_iter().collect();
                let Some(call) = self.calls.get_mut(&id) else { return said };
                let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
                call.label = text("description").or_else(|| text("subagent_type")).unwrap_or(name);
                if !std::mem::replace(&mut call.ended, true)
                    && let Ok(tool_call_id) = ToolCallId::new(id)
                {
                    said.push(Said::Event(AgentEvent::ToolCallEnd { tool_call_id, input }));
                }
                said
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::ToolResult { .. } | Block::Other => {
                Vec::new()
            }
        }
    }

    fn begin_call(&mut self, parent: Option<&str>, id: &str, name: &str) -> Option<Said> {
        if self.calls.contains_key(id) {
            return None;
        }
        let parents = self.chain(parent);
        let call = Call { parent: parent.map(str::to_owned), label: name.to_owned(), ..Call::default() };
        self.calls.insert(id.to_owned(), call);
        let tool_call_id = ToolCallId::new(id).ok()?;
        Some(Said::Event(AgentEvent::ToolCallStart { tool_call_id, tool_name: name.to_owned(), parents }))
    }

    /// The subagents that lead here, outermost first.
    fn chain(&self, parent: Option<&str>) -> Vec<String> {
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
    fn told(&mut self, block: Block) -> Vec<Said> {
        let Block::ToolResult { tool_use_id, content, is_error } = block else { return Vec::new() };
        let call = self.calls.get_mut(&tool_use_id);
        let decided = call.is_some_and(|call| {
            call.over = true;
            call.decided.is_some()
        });
        let Ok(tool_call_id) = ToolCallId::new(tool_use_id) else { return Vec::new() };
        // The call went on or came to an end: this is the line that acknowledges.
        let acknowledged = decided.then(|| AgentEvent::Acknowledged { tool_call_id: tool_call_id.clone() });
        let result =
            AgentEvent::ToolResult { tool_call_id, output: content, is_error: is_error.unwrap_or(false) };
        acknowledged.into_iter().chain([result]).map(Said::Event).collect()
    }

    fn turn_over(&mut self, result: TurnResult) -> Vec<Said> {
        let TurnEnd::Done { reason, words, usage } = convert::turn_end(result, self.interrupted) else {
            // It would wait for another message. If it is killed now, the call may be lost: it writes it down at its end.
            return vec![Said::Parked, Said::End];
        };
        // What a subagent in the background still asks would wait for nobody.
        let held = self.calls.drain().filter_map(|(_, call)| call.held);
        let refused: Vec<_> = held.map(|held| refusal(&held, TURN_ENDED)).collect();
        self.streams.clear();
        let words = words.map(|message| Said::Event(AgentEvent::Error { message }));
        let done = Said::Event(AgentEvent::TurnDone { reason, usage });
        refused.into_iter().chain(words).chain([done]).collect()
    }

    /// The hook: every call comes through here first.
    fn hook(&mut self, request_id: String, hook: HookInput) -> Vec<Said> {
        let pass = |request_id: &str| vec![line(&wire::response(request_id, &convert::hook_pass()))];
        if hook.hook_event_name != "PreToolUse" {
            return pass(&request_id);
        }
        let found =
            verdict(&hook.tool_name, &hook.tool_input, self.mode, &hook.permission_mode, &self.allowed);
        if found == Verdict::Pass {
            return pass(&request_id);
        }
        let refuse = |words: &str| {
            let answer = convert::hook_refusal(words);
            vec![line(&wire::response(&request_id, &answer)), error(&format!("{}: {words}", hook.tool_name))]
        };
        let id = hook.tool_use_id.unwrap_or_default();
        let Ok(tool_call_id) = ToolCallId::new(id.as_str()) else { return refuse(NO_ID) };
        let (body, leeway) = match found {
            Verdict::Question => {
                let questions = questions::questions(&hook.tool_input);
                if questions.is_empty() {
                    return refuse(NO_QUESTION);
                }
                (AskBody::Question { questions }, Leeway::PersonOnly)
            }
            Verdict::Plan => {
                let plan = hook.tool_input.get("plan").and_then(Value::as_str).unwrap_or_default();
                if plan.trim().is_empty() {
                    return refuse(NO_PLAN);
                }
                (approval(None), Leeway::PersonOnly)
            }
            Verdict::Approval => {
                (approval(preview(&hook.tool_name, &hook.tool_input, self.read)), Leeway::Usual)
            }
            Verdict::Allowed => (approval(None), Leeway::Rule(format!("allowed tool {}", hook.tool_name))),
            Verdict::Pass => return pass(&request_id),
        };
        // A call of a subagent that is deferred is lost: its agent only reports that it ended.
        let can_park = hook.agent_id.is_none() && self.may_park(&id);
        let held = Held { request_id, via: Via::Hook, input: hook.tool_input.clone(), park: false };
        let (begun, parents) = self.hold(&id, &hook.tool_name, hook.agent_id.as_deref(), held);
        let asked = ask(Ask {
            tool_call_id,
            agent_says: words(&hook.tool_input, &hook.tool_name),
            capabilities: (leeway == Leeway::PersonOnly).then_some(ONCE_AS_IT_IS),
            tool_name: hook.tool_name,
            input: hook.tool_input,
            body,
            decision_reason: None,
            parents,
            can_park,
            leeway,
            hold: None,
            timeout_ms: None,
            host_limit_ms: Some((HOOK_TIMEOUT - HOOK_MARGIN) * 1000),
        });
        begun.into_iter().chain([asked]).collect()
    }

    /// Remembers a request until it is answered. In a subagent, it may come before the line with the call.
    fn hold(&mut self, id: &str, name: &str, agent: Option<&str>, held: Held) -> (Option<Said>, Vec<String>) {
        let parent = agent.and_then(|agent| self.subagents.get(agent).cloned());
        // Otherwise it is known, or it was parked in an earlier life and is known there.
        let begun = agent.and_then(|_| self.begin_call(parent.as_deref(), id, name));
        let call = self.calls.entry(id.to_owned()).or_default();
        call.held = Some(held);
        let parent = call.parent.clone();
        (begun, self.chain(parent.as_deref()))
    }

    /// The program's own request: for what passed the hook, or to make sure of what was decided there.
    fn permission(&mut self, request_id: String, request: PermissionRequest) -> Vec<Said> {
        let refuse = |words: &str| {
            let answer =
                convert::permission_answer(&Decision::Deny { words: words.to_owned() }, &Value::Null);
            vec![
                line(&wire::response(&request_id, &answer)),
                error(&format!("{}: {words}", request.tool_name)),
            ]
        };
        let id = request.tool_use_id.clone().unwrap_or_default();
        let Ok(tool_call_id) = ToolCallId::new(id.as_str()) else { return refuse(NO_ID) };
        if let Some(decided) = self.calls.get(&id).and_then(|call| call.decided.as_ref()) {
            let answer = convert::permission_answer(decided, &request.input);
            return vec![line(&wire::response(&request_id, &answer))];
        }
        let body = match verdict(&request.tool_name, &request.input, self.mode, "", &[]) {
            Verdict::Question => {
                let questions = questions::questions(&request.input);
                if questions.is_empty() {
                    return refuse(NO_QUESTION);
                }
                AskBody::Question { questions }
            }
            Verdict::Plan | Verdict::Approval | Verdict::Allowed | Verdict::Pass => {
                approval(preview(&request.tool_name, &request.input, self.read))
            }
        };
        let held = Held { request_id, via: Via::Permission, input: request.input.clone(), park: false };
        let (begun, parents) = self.hold(&id, &request.tool_name, request.agent_id.as_deref(), held);
        let asked = ask(Ask {
            tool_call_id,
            agent_says: words(&request.input, &request.tool_name),
            tool_name: request.tool_name,
            input: request.input,
            body,
            decision_reason: request.decision_reason.filter(|reason| !reason.is_empty()),
            parents,
            can_park: false,
            leeway: Leeway::Usual,
            capabilities: None,
            hold: None,
            timeout_ms: None,
            host_limit_ms: None,
        });
        begun.into_iter().chain([asked]).collect()
    }

    fn withdrawn(&mut self, request_id: &str) -> Vec<Said> {
        let held = |call: &Call| call.held.as_ref().is_some_and(|held| held.request_id == request_id);
        let Some((id, call)) = self.calls.iter_mut().find(|(_, call)| held(call)) else { return Vec::new() };
        call.held = None;
        let id = ToolCallId::new(id.as_str()).ok();
        id.map(|tool_call_id| Said::Event(AgentEvent::AskWithdrawn { tool_call_id })).into_iter().collect()
    }

    fn decide(&mut self, id: &str, decision: Decision) -> Vec<Said> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        // Without a request that waits there is nobody to tell.
        let Some(held) = call.held.take() else { return Vec::new() };
        let answer = match held.via {
            Via::Hook => convert::hook_answer(&decision),
            Via::Permission => convert::permission_answer(&decision, &held.input),
        };
        call.decided = Some(decision);
        vec![line(&wire::response(&held.request_id, &answer))]
    }

    fn park(&mut self, tool_call_id: &ToolCallId) -> Vec<Said> {
        let id = tool_call_id.as_str();
        let stays = |why: &str| {
            let tool_call_id = tool_call_id.clone();
            vec![Said::Event(AgentEvent::CannotPark { tool_call_id, why: why.to_owned() })]
        };
        if !self.may_park(id) {
            return stays(OTHERS);
        }
        let held = self.calls.get_mut(id).and_then(|call| call.held.as_mut());
        match held {
            Some(held) if held.via == Via::Hook => {
                held.park = true;
                self.park_now()
            }
            Some(_) | None => stays("it does not wait in its hook"),
        }
    }

    /// Parks what shall be parked and can be now. Whether it can is known when its message is complete.
    fn park_now(&mut self) -> Vec<Said> {
        let wanted = self.calls.iter().find(|(_, call)| call.held.as_ref().is_some_and(|held| held.park));
        let Some(id) = wanted.map(|(id, _)| id.clone()) else { return Vec::new() };
        let may = self.may_park(&id);
        if may && self.stream_of(&id).is_some_and(|stream| !stream.finished) {
            return Vec::new();
        }
        let Some(call) = self.calls.get_mut(&id) else { return Vec::new() };
        if may {
            let held = call.held.take();
            let request = held.map(|held| wire::response(&held.request_id, &convert::hook_defer()));
            return request.as_ref().map(line).into_iter().collect();
        }
        if let Some(held) = call.held.as_mut() {
            held.park = false;
        }
        let why = OTHERS.to_owned();
        let id = ToolCallId::new(id).ok();
        id.map(|tool_call_id| Said::Event(AgentEvent::CannotPark { tool_call_id, why })).into_iter().collect()
    }

    /// Only the last call of a message that has no result yet can be parked: others would be lost. A call of an
    /// earlier life was parked then, so it is the last one.
    fn may_park(&self, id: &str) -> bool {
        let over = |call: &str| self.calls.get(call).is_some_and(|call| call.over);
        self.stream_of(id).is_none_or(|stream| stream.calls.iter().all(|(_, call)| call == id || over(call)))
    }

    fn stream_of(&self, id: &str) -> Option<&Stream> {
        self.streams.values().find(|stream| stream.calls.iter().any(|(_, call)| call == id))
    }
}

/// What a person alone decides, they decide once, and as it is.
const ONCE_AS_IT_IS: Capabilities = Capabilities { reason: true, edit_input: false, scopes: false };

const fn approval(preview: Option<String>) -> AskBody {
    AskBody::Approval { preview, offered_scopes: Vec::new() }
}

/// The model's own words about a call.
fn words(input: &Value, tool: &str) -> Option<String> {
    let described = tool == "Bash";
    input.get("description").and_then(Value::as_str).filter(|_| described).map(str::to_owned)
}

/// Nobody decided, and nobody will.
fn refusal(held: &Held, words: &str) -> Said {
    let answer = match held.via {
        Via::Hook => convert::hook_refusal(words),
        Via::Permission => {
            convert::permission_answer(&Decision::Deny { words: words.to_owned() }, &held.input)
        }
    };
    line(&wire::response(&held.request_id, &answer))
}

fn ask(ask: Ask) -> Said {
    Said::Event(AgentEvent::Ask(Box::new(ask)))
}

fn error(message: &str) -> Said {
    Said::Event(AgentEvent::Error { message: message.to_owned() })
}

fn line(line: &Value) -> Said {
    Said::Line(line.to_string())
}
