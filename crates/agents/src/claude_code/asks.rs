//! The calls of Claude Code that need a person: asked, parked, decided.

use holdstead_protocol::MayAllow;
use holdstead_protocol::{AskBody, Capabilities, NotRun, ToolCallId};
use serde_json::Value;

use super::conversation::{Call, Conversation, HOOK_TIMEOUT, Held, Stream, Via, Written, error, line};
use super::convert::{self, Decision};
use super::other_hooks::OtherHooks;
use super::policy::{Verdict, verdict};
use super::preview::preview;
use super::questions;
use super::ran::Confirmed;
use super::terms::Terms;
use super::wire::{self, HookInput, PermissionRequest};
use crate::process::Effect;
use crate::{AgentEvent, Ask};

/// How long before the hook gives up we decide, in seconds.
const HOOK_MARGIN: u64 = 5 * 60;
pub(super) const OTHERS: &str = "its message has more than one call, and the others would be lost";
pub(super) const NO_PLAN: &str = "No plan was written, so there is nothing to approve. Write the plan to its file, then call \
                       ExitPlanMode again.";
const NOT_WRITTEN: &str = "Claude Code writes no transcript of this conversation, so it would be lost with its process. It is \
                           not parked while it waits for you. Unset CLAUDE_CODE_SKIP_PROMPT_HISTORY to change that.";
const NO_ID: &str = "This call came without an id, so nobody could be asked, and nothing was decided.";
const FORBIDDEN: &str = "This is a file of Holdstead's own, where it keeps its tokens, keys and journal. Agents do not read or \
                         change it, and nobody was asked. If you need something from it, ask the person for it in words.";
/// Why a call that was approved is asked again.
const CHANGED: &str =
    "A hook of the agent's changed this call after it was approved. This is what would run now.";
const UNDECIDED: &str = "Nobody decided about this call, so it did not run.";
const NO_QUESTION: &str =
    "There is no question in this call, so nobody was asked. Ask again with the question's text.";

impl Conversation {
    /// The hook: every call comes through here first.
    pub(super) fn hook(&mut self, request_id: String, hook: HookInput) -> Vec<Effect> {
        if hook.hook_event_name != "PreToolUse" {
            let answer = self.after(&hook);
            let ran = self.ran(&hook);
            return [line(&wire::response(&request_id, &answer))].into_iter().chain(ran).collect();
        }
        let found = verdict(&hook.tool_name, &hook.tool_input, &hook.permission_mode, &self.terms);
        let refuse = |words: &str| {
            let answer = convert::hook_refusal(words);
            vec![line(&wire::response(&request_id, &answer)), error(&format!("{}: {words}", hook.tool_name))]
        };
        // Only a call that was parked comes before the program has named the conversation.
        if self.prompted && self.session.is_none() {
            self.leftover = true;
        }
        let id = hook.tool_use_id.unwrap_or_default();
        let Ok(tool_call_id) = ToolCallId::new(id.as_str()) else { return refuse(NO_ID) };
        let (body, may_allow) = match ask_body(&self.terms, &found, &hook.tool_name, &hook.tool_input) {
            Ok(shown) => shown,
            Err(words) => return refuse(words),
        };
        // Another hook may refuse a question after a person answered it. So the program asks by itself, when all hooks have
        // run, and waits there: it cannot be parked.
        if found == Verdict::Question && self.terms.other_hooks == OtherHooks::MayRun {
            self.calls.entry(id).or_default().cwd = hook.cwd;
            return vec![line(&wire::response(&request_id, &convert::hook_ask()))];
        }
        // A call of a subagent that is deferred is lost: its agent only reports that it ended.
        let (written, told) = self.is_written(hook.transcript_path.as_deref());
        let can_park = hook.agent_id.is_none() && self.may_park(&id) && written == Written::Down;
        let own_tool = self.terms.own_tools.contains(&hook.tool_name);
        let held = Held { request_id, via: Via::Hook, park: false, own_tool };
        let (begun, parents) =
            self.hold(&id, &hook.tool_name, hook.agent_id.as_deref(), held, &hook.tool_input);
        if let Some(call) = self.calls.get_mut(&id) {
            call.cwd.clone_from(&hook.cwd);
        }
        let asked = ask(Ask {
            tool_call_id,
            agent_says: words(&hook.tool_input, &hook.tool_name),
            capabilities: (may_allow == MayAllow::PersonOnly).then_some(ONCE_AS_IT_IS),
            tool_name: hook.tool_name,
            input: hook.tool_input,
            body,
            cwd: hook.cwd,
            decision_reason: None,
            parents,
            can_park,
            may_allow,
            hold: None,
            timeout_ms: None,
            host_limit_ms: Some((HOOK_TIMEOUT - HOOK_MARGIN) * 1000),
        });
        told.into_iter().chain(begun).chain([asked]).collect()
    }

    /// Whether the program writes the conversation down: otherwise it would come back without it. People are told once.
    fn is_written(&mut self, transcript: Option<&str>) -> (Written, Option<Effect>) {
        let before = self.written;
        let written = match transcript {
            Some(_) if before == Some(Written::Down) => Written::Down,
            // It may only have been late.
            Some(transcript) if !(self.terms.is_written)(transcript) => Written::Nowhere,
            Some(_) | None => Written::Down,
        };
        self.written = Some(written);
        (written, (before.is_none() && written == Written::Nowhere).then(|| error(NOT_WRITTEN)))
    }

    /// Remembers a request until it is answered. In a subagent, it may come before the line with the call.
    fn hold(
        &mut self,
        id: &str,
        name: &str,
        agent: Option<&str>,
        held: Held,
        input: &Value,
    ) -> (Option<Effect>, Vec<String>) {
        let parent = agent.and_then(|agent| self.subagents.get(agent).cloned());
        // Otherwise it is known, or it was parked in an earlier life and is known there.
        let begun = agent.and_then(|_| self.begin_call(parent.as_deref(), id, name));
        let call = self.calls.entry(id.to_owned()).or_default();
        call.held = Some(held);
        call.asked = Some(input.clone());
        let parent = call.parent.clone();
        (begun, self.chain(parent.as_deref()))
    }

    /// The program's own request: for what passed the hook, or to make sure of what was decided there.
    pub(super) fn permission(&mut self, request_id: String, request: PermissionRequest) -> Vec<Effect> {
        let refuse = |words: &str| {
            let answer = convert::permission_answer(&Decision::Deny { words: words.to_owned() });
            vec![
                line(&wire::response(&request_id, &answer)),
                error(&format!("{}: {words}", request.tool_name)),
            ]
        };
        let id = request.tool_use_id.clone().unwrap_or_default();
        let Ok(tool_call_id) = ToolCallId::new(id.as_str()) else { return refuse(NO_ID) };
        let changed = match self.confirm(&id, &request_id, &request.input) {
            Confirmed::Answer(answer) => return vec![line(&wire::response(&request_id, &answer))],
            Confirmed::Changed => {
                let because = NotRun::AskedAnew;
                Some(Effect::Event(AgentEvent::NotRun { tool_call_id: tool_call_id.clone(), because }))
            }
            Confirmed::Undecided => None,
        };
        let found = verdict(&request.tool_name, &request.input, "", &self.terms);
        let (body, may_allow) = match ask_body(&self.terms, &found, &request.tool_name, &request.input) {
            Ok(shown) => shown,
            Err(words) => return refuse(words),
        };
        let may_allow = match may_allow {
            // The program's own rules ask: it is not told to go by them.
            MayAllow::Rules | MayAllow::AgentsOwn => MayAllow::RulesOfPeople,
            MayAllow::PersonOnly | MayAllow::RulesOfPeople | MayAllow::RulesMayDeny => may_allow,
        };
        let held = Held { request_id, via: Via::Permission, park: false, own_tool: false };
        let (begun, parents) =
            self.hold(&id, &request.tool_name, request.agent_id.as_deref(), held, &request.input);
        let asked = ask(Ask {
            tool_call_id,
            agent_says: words(&request.input, &request.tool_name),
            tool_name: request.tool_name,
            input: request.input,
            body,
            cwd: self.calls.get(&id).and_then(|call| call.cwd.clone()),
            decision_reason: match changed {
                Some(_) => Some(CHANGED.to_owned()),
                None => request.decision_reason.filter(|reason| !reason.is_empty()),
            },
            parents,
            can_park: false,
            capabilities: (may_allow == MayAllow::PersonOnly).then_some(ONCE_AS_IT_IS),
            may_allow,
            hold: None,
            timeout_ms: None,
            host_limit_ms: None,
        });
        changed.into_iter().chain(begun).chain([asked]).collect()
    }

    pub(super) fn withdrawn(&mut self, request_id: &str) -> Vec<Effect> {
        self.overruled(request_id);
        let held = |call: &Call| call.held.as_ref().is_some_and(|held| held.request_id == request_id);
        let Some((id, call)) = self.calls.iter_mut().find(|(_, call)| held(call)) else { return Vec::new() };
        call.held = None;
        let id = ToolCallId::new(id.as_str()).ok();
        id.map(|tool_call_id| Effect::Event(AgentEvent::AskWithdrawn { tool_call_id })).into_iter().collect()
    }

    pub(super) fn decide(&mut self, id: &str, decision: Decision) -> Vec<Effect> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        // Without a request that waits there is nobody to tell.
        let Some(held) = call.held.take() else { return Vec::new() };
        let answer = match (held.via, &decision) {
            // At the first point where the program asks. Were it told to ask by itself, another hook could allow the call
            // before our refusal is there.
            (Via::Hook, Decision::Deny { words }) => convert::hook_refusal(words),
            (Via::Hook, Decision::Allow { .. }) => convert::hook_ask(),
            (Via::Permission, decision) => {
                call.confirmed = Some(held.request_id.clone());
                convert::permission_answer(decision)
            }
        };
        call.decided = Some(decision);
        vec![line(&wire::response(&held.request_id, &answer))]
    }

    /// Nobody decides: the program does, by its own rules.
    pub(super) fn leave(&mut self, id: &str) -> Vec<Effect> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        let Some(held) = call.held.take() else { return Vec::new() };
        // What nobody was asked about is not compared with what runs.
        call.asked = None;
        let answer = match held.via {
            Via::Hook if held.own_tool => convert::hook_allow(),
            Via::Hook => convert::hook_pass(),
            // It asked because of its own rules: to go by them is no answer.
            Via::Permission => return vec![refusal(&held, UNDECIDED)],
        };
        vec![line(&wire::response(&held.request_id, &answer))]
    }

    pub(super) fn park(&mut self, tool_call_id: &ToolCallId) -> Vec<Effect> {
        let id = tool_call_id.as_str();
        let stays = |why: &str| {
            let tool_call_id = tool_call_id.clone();
            vec![Effect::Event(AgentEvent::CannotPark { tool_call_id, why: why.to_owned() })]
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
    pub(super) fn park_now(&mut self) -> Vec<Effect> {
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
        id.map(|tool_call_id| Effect::Event(AgentEvent::CannotPark { tool_call_id, why }))
            .into_iter()
            .collect()
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

/// What a person is shown, and what may decide in their place; or why there is nothing to show.
pub(super) fn ask_body(
    terms: &Terms,
    found: &Verdict,
    tool: &str,
    input: &Value,
) -> Result<(AskBody, MayAllow), &'static str> {
    match found {
        Verdict::Question => {
            let questions = questions::questions(input);
            if questions.is_empty() {
                Err(NO_QUESTION)
            } else {
                Ok((AskBody::Question { questions }, MayAllow::PersonOnly))
            }
        }
        Verdict::Plan => {
            let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
            if plan.trim().is_empty() {
                return Err(NO_PLAN);
            }
            let body = AskBody::Approval { preview: None, offered_scopes: Vec::new(), is_plan: true };
            Ok((body, MayAllow::PersonOnly))
        }
        Verdict::Forbidden => Err(FORBIDDEN),
        Verdict::Approval(may_allow) => {
            let read = |path: &str| (terms.read)(path, terms.private.folders(), terms.account.as_ref());
            Ok((approval(preview(tool, input, &read)), *may_allow))
        }
    }
}

/// What a person alone decides, they decide once, and as it is.
pub(super) const ONCE_AS_IT_IS: Capabilities =
    Capabilities { reason: true, edit_input: false, scopes: false };

pub(super) const fn approval(preview: Option<String>) -> AskBody {
    AskBody::Approval { preview, offered_scopes: Vec::new(), is_plan: false }
}

/// The model's own words about a call.
pub(super) fn words(input: &Value, tool: &str) -> Option<String> {
    let described = tool == "Bash";
    input.get("description").and_then(Value::as_str).filter(|_| described).map(str::to_owned)
}

/// Nobody decided, and nobody will.
pub(super) fn refusal(held: &Held, words: &str) -> Effect {
    let answer = match held.via {
        Via::Hook => convert::hook_refusal(words),
        Via::Permission => convert::permission_answer(&Decision::Deny { words: words.to_owned() }),
    };
    line(&wire::response(&held.request_id, &answer))
}

fn ask(ask: Ask) -> Effect {
    Effect::Event(AgentEvent::Ask(Box::new(ask)))
}
