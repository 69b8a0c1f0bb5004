//! The calls that are asked about in a terminal and here, and who was faster.

use std::time::Duration;

use holdstead_protocol::{
    AskBody, Hold, HoldThen, InTerminal, KnownBy, MayAllow, TerminalAnswer, ToolCallId,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::asks::{ONCE_AS_IT_IS, ask_body, words};
use super::super::convert::{self, Decision};
use super::super::policy::verdict;
use super::{ClaudeTerminal, call_id, event};
use crate::terminal::{TerminalEffect, UNSEEN};
use crate::{AgentEvent, Ask, Resolution};

/// The call's own line may come after the request, and stands before it for people.
const LINE_FIRST: Duration = Duration::from_millis(250);
/// After so long a request is asked even if its call did not show itself.
const CALL_FIRST: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Call {
    /// The program asks about its calls in the order in which it makes them.
    number: u64,
    pub(super) tool_name: String,
    pub(super) input: Value,
    pub(super) agent_id: Option<String>,
    /// It stands in the transcript.
    pub(super) shown: bool,
    pub(super) state: CallState,
    /// A person approved it here with this input instead.
    edited: Option<Value>,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// Nobody was asked about it here.
    Made,
    /// The program's request waits, and people may be asked.
    Waits { waits: u64, since: Instant, asked: bool, cwd: Option<String>, dialog: Dialog },
    /// This was replied. Whether it counted, the transcript says.
    Replied(Replied),
    /// The program asks no more. Its record may say what was answered in the terminal.
    TakenBack,
    /// Nothing more follows from it here.
    Over,
}

/// What the program shows of the dialog of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialog {
    NotSeen,
    Stands,
    OverSince(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replied {
    Allow,
    Deny,
}

/// The record says at once what a short command came to, and a hook goes at once with a no: that is heard first.
const DIALOG_OVER: Duration = Duration::from_millis(800);

/// A request, before it is known which call it is about.
#[derive(Debug)]
pub(super) struct Unmatched {
    pub(super) waits: u64,
    pub(super) tool_name: String,
    pub(super) tool_input: Value,
    pub(super) agent_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) since: Instant,
}

impl Unmatched {
    fn is_about(&self, call: &Call) -> bool {
        let free = matches!(call.state, CallState::Made);
        free && call.tool_name == self.tool_name
            && call.agent_id == self.agent_id
            && (call.input == self.tool_input || self.tool_name == "ExitPlanMode")
    }
}

/// Who decided about a call, as the transcript has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DecidedBy {
    Hook,
    Person,
    Settings,
    NotSaid,
}

impl Call {
    pub(super) fn ask(&self, tool_call_id: ToolCallId, body: AskBody, may_allow: MayAllow) -> Ask {
        Ask {
            tool_call_id,
            agent_says: words(&self.input, &self.tool_name),
            tool_name: self.tool_name.clone(),
            input: self.input.clone(),
            body,
            cwd: None,
            decision_reason: None,
            parents: Vec::new(),
            can_park: false,
            may_allow,
            capabilities: None,
            hold: Some(Hold { after_ms: 0, then: HoldThen::Wait }),
            timeout_ms: None,
            host_limit_ms: None,
        }
    }
}

impl ClaudeTerminal {
    pub(super) fn called(&mut self, id: String, tool_name: String, input: Value, agent_id: Option<String>) {
        self.called += 1;
        let number = self.called;
        let call =
            Call { number, tool_name, input, agent_id, shown: false, state: CallState::Made, edited: None };
        self.calls.entry(id).or_insert(call);
    }

    /// Finds the calls of requests, and asks about those whose own line was seen.
    pub(super) fn match_requests(&mut self) -> Vec<TerminalEffect> {
        let calls = &mut self.calls;
        self.unmatched.retain(|request| {
            // Of calls that are alike, the first.
            let alike = calls.values_mut().filter(|call| request.is_about(call));
            let Some(call) = alike.min_by_key(|call| call.number) else { return true };
            call.input = request.tool_input.clone();
            let (waits, since, cwd) = (request.waits, request.since, request.cwd.clone());
            call.state = CallState::Waits { waits, since, asked: false, cwd, dialog: Dialog::NotSeen };
            false
        });
        self.ask_shown()
    }

    /// Asks about the calls that stand in the transcript, as what was said before them does by then.
    pub(super) fn ask_shown(&mut self) -> Vec<TerminalEffect> {
        self.ask_those(|call, _| call.shown)
    }

    fn ask_those(&mut self, ready: impl Fn(&Call, Instant) -> bool) -> Vec<TerminalEffect> {
        let mut wanted: Vec<_> = self
            .calls
            .iter()
            .filter_map(|(id, call)| match &call.state {
                CallState::Waits { since, asked: false, .. } if ready(call, *since) => {
                    Some((*since, id.clone()))
                }
                CallState::Waits { .. }
                | CallState::Made
                | CallState::Replied(_)
                | CallState::TakenBack
                | CallState::Over => None,
            })
            .collect();
        wanted.sort();
        wanted.into_iter().flat_map(|(_, id)| self.ask(&id)).collect()
    }

    fn ask(&mut self, id: &str) -> Vec<TerminalEffect> {
        let Some(tool_call_id) = call_id(id) else { return Vec::new() };
        let mut effects = self.show_call(id);
        let parents = self.parents(self.calls.get(id).and_then(|call| call.agent_id.as_deref()));
        let Some(call) = self.calls.get_mut(id) else { return effects };
        let CallState::Waits { waits, cwd, asked, .. } = &mut call.state else { return effects };
        *asked = true;
        let found = verdict(&call.tool_name, &call.input, "", &self.terms);
        let (body, may_allow) = match ask_body(&self.terms, &found, &call.tool_name, &call.input) {
            Ok((body, MayAllow::PersonOnly)) => (body, MayAllow::PersonOnly),
            // The program asks because its own rules do not allow it.
            Ok((
                body,
                MayAllow::Rules | MayAllow::AgentsOwn | MayAllow::RulesOfPeople | MayAllow::RulesMayDeny,
            )) => (body, MayAllow::RulesOfPeople),
            // What cannot be asked here is asked in the terminal alone.
            Err(_) => {
                effects.push(TerminalEffect::Answer { waits: *waits, answer: None });
                call.state = CallState::Over;
                return effects;
            }
        };
        let is_plain = matches!(body, AskBody::Approval { is_plan: false, .. });
        let capabilities = (!is_plain || may_allow == MayAllow::PersonOnly).then_some(ONCE_AS_IT_IS);
        let cwd = cwd.clone();
        let ask = Ask { cwd, parents, capabilities, ..call.ask(tool_call_id, body, may_allow) };
        effects.push(event(AgentEvent::Ask(Box::new(ask))));
        effects
    }

    pub(super) fn is_shown(&mut self, id: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            call.shown = true;
        }
    }

    /// The call's own line, for people, unless it was shown.
    pub(super) fn show_call(&mut self, id: &str) -> Vec<TerminalEffect> {
        let parents = self.parents(self.calls.get(id).and_then(|call| call.agent_id.as_deref()));
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(id), call_id(id)) else {
            return Vec::new();
        };
        if std::mem::replace(&mut call.shown, true) {
            return Vec::new();
        }
        let (tool_name, input) = (call.tool_name.clone(), call.input.clone());
        vec![
            event(AgentEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_name, parents }),
            event(AgentEvent::ToolCallEnd { tool_call_id, input }),
        ]
    }

    pub(super) fn decided(&mut self, id: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        let Some(call) = self.calls.get_mut(id.as_str()) else { return Vec::new() };
        let CallState::Waits { waits, .. } = call.state else { return Vec::new() };
        let decision = match resolution {
            Resolution::Settled { .. } => convert::decision(resolution),
            // Nobody decided here: that is no refusal. Somebody may in the terminal.
            Resolution::Closed { .. } | Resolution::Queued { .. } | Resolution::LeftToAgent { .. } => None,
        };
        let Some(decision) = decision else {
            call.state = CallState::Over;
            return vec![TerminalEffect::Answer { waits, answer: None }];
        };
        let replied = match &decision {
            Decision::Allow { input } => {
                call.edited = convert::is_edited(resolution).then(|| input.clone());
                Replied::Allow
            }
            Decision::Deny { .. } => Replied::Deny,
        };
        call.state = CallState::Replied(replied);
        vec![TerminalEffect::Answer { waits, answer: Some(output(&decision)) }]
    }

    /// A call has run with this input. Whoever waits tells the program's model that a person changed it.
    pub(super) fn ran(&self, id: &str, input: &Value, waits: u64) -> Vec<TerminalEffect> {
        let call = self.calls.get(id).filter(|call| call.edited.as_ref() == Some(input));
        let answer = call.map(|call| convert::after_edit("PostToolUse", &call.tool_name, input));
        vec![TerminalEffect::Answer { waits, answer }]
    }

    /// A call came to something, and the transcript may say who decided.
    pub(super) fn came_to(&mut self, id: &str, by: DecidedBy, refused: bool) -> Vec<TerminalEffect> {
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(id), call_id(id)) else {
            return Vec::new();
        };
        let is_question = call.tool_name == "AskUserQuestion";
        let answer = match (by, refused) {
            (DecidedBy::Hook | DecidedBy::Settings, _) => TerminalAnswer::NotByAPerson,
            (DecidedBy::Person | DecidedBy::NotSaid, true) => TerminalAnswer::Refused,
            (DecidedBy::Person | DecidedBy::NotSaid, false) if is_question => TerminalAnswer::Answered,
            (DecidedBy::Person | DecidedBy::NotSaid, false) => TerminalAnswer::Allowed,
        };
        let known_by = match by {
            DecidedBy::Hook | DecidedBy::Person | DecidedBy::Settings => KnownBy::Record,
            DecidedBy::NotSaid => KnownBy::Program,
        };
        let overtaken = AgentEvent::AnsweredInTerminal {
            tool_call_id: tool_call_id.clone(),
            how: InTerminal { answer, known_by },
        };
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Made | CallState::Over => Vec::new(),
            CallState::TakenBack if by == DecidedBy::NotSaid => Vec::new(),
            CallState::TakenBack => vec![event(overtaken)],
            CallState::Waits { waits, asked, .. } => {
                let told = asked.then(|| event(overtaken));
                [TerminalEffect::Answer { waits, answer: None }].into_iter().chain(told).collect()
            }
            // A turn that is stopped at this moment takes the call with it, which may have begun: nobody can say.
            CallState::Replied(_) if by == DecidedBy::NotSaid && refused => Vec::new(),
            CallState::Replied(replied) => {
                let ours = by == DecidedBy::Hook && refused == (replied == Replied::Deny);
                vec![event(if ours { AgentEvent::Acknowledged { tool_call_id } } else { overtaken })]
            }
        }
    }

    /// The transcript says that a hook decided this.
    pub(super) fn hook_decided(&mut self, id: &str, hook: Replied) -> Vec<TerminalEffect> {
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(id), call_id(id)) else {
            return Vec::new();
        };
        match call.state {
            CallState::Replied(ours) if ours == hook => {
                call.state = CallState::Over;
                vec![event(AgentEvent::Acknowledged { tool_call_id })]
            }
            CallState::Replied(_)
            | CallState::Waits { .. }
            | CallState::Made
            | CallState::TakenBack
            | CallState::Over => Vec::new(),
        }
    }

    /// A hook went away before it was answered. A person may have said no in the terminal, or the hook was killed: only the
    /// program's record tells these apart, so no refusal is recorded here.
    pub(super) fn withdrawn(&mut self, gone: u64) -> Vec<TerminalEffect> {
        self.unmatched.retain(|request| request.waits != gone);
        let waits_so = |call: &Call| matches!(call.state, CallState::Waits { waits, .. } if waits == gone);
        let Some((id, call)) = self.calls.iter_mut().find(|(_, call)| waits_so(call)) else {
            return Vec::new();
        };
        let asked = matches!(call.state, CallState::Waits { asked: true, .. });
        call.state = CallState::TakenBack;
        let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Withdrawn };
        let told = call_id(id).filter(|_| asked);
        told.map(|tool_call_id| event(AgentEvent::AnsweredInTerminal { tool_call_id, how }))
            .into_iter()
            .collect()
    }

    /// Nobody here decides about anything that waits.
    pub(super) fn give_up_all(&mut self, how: InTerminal) -> Vec<TerminalEffect> {
        let mut effects: Vec<_> = self
            .unmatched
            .drain(..)
            .map(|request| TerminalEffect::Answer { waits: request.waits, answer: None })
            .collect();
        let waiting: Vec<_> = self.calls.keys().cloned().collect();
        for id in waiting {
            effects.extend(self.give_up(&id, how));
        }
        effects
    }

    fn give_up(&mut self, id: &str, how: InTerminal) -> Vec<TerminalEffect> {
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(id), call_id(id)) else {
            return Vec::new();
        };
        let CallState::Waits { waits, asked, .. } = call.state else { return Vec::new() };
        call.state = CallState::TakenBack;
        let told = asked.then(|| event(AgentEvent::AnsweredInTerminal { tool_call_id, how }));
        [TerminalEffect::Answer { waits, answer: None }].into_iter().chain(told).collect()
    }

    /// Whether the terminal of the program itself may show the dialog of a call.
    pub(super) fn may_show_dialog(&self) -> bool {
        self.calls
            .values()
            .any(|call| call.agent_id.is_none() && matches!(call.state, CallState::Waits { .. }))
    }

    /// The program says whether a dialog stands in its terminal. Where one stood and is gone, a person answered it there: the
    /// record says what, when the command has ended.
    pub(super) fn dialog_stands(&mut self, stands: bool, now: Instant) -> Vec<TerminalEffect> {
        let mut over = Vec::new();
        for (id, call) in self.calls.iter_mut().filter(|(_, call)| call.agent_id.is_none()) {
            let CallState::Waits { dialog, .. } = &mut call.state else { continue };
            *dialog = match (*dialog, stands) {
                (Dialog::NotSeen | Dialog::Stands | Dialog::OverSince(_), true) => Dialog::Stands,
                (Dialog::Stands, false) => Dialog::OverSince(now),
                (before @ (Dialog::NotSeen | Dialog::OverSince(_)), false) => before,
            };
            if let Dialog::OverSince(since) = dialog
                && now.duration_since(*since) >= DIALOG_OVER
            {
                over.push(id.clone());
            }
        }
        let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Program };
        over.iter().flat_map(|id| self.give_up(id, how)).collect()
    }

    /// What waits for something that may not come.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<TerminalEffect> {
        let late = |since: Instant, limit: Duration| now.duration_since(since) >= limit;
        let mut effects = Vec::new();
        self.unmatched.retain(|request| {
            // Nobody knows which call it is, so what is answered here could not be followed: the terminal asks alone.
            let stale = late(request.since, CALL_FIRST);
            if stale {
                effects.push(TerminalEffect::Answer { waits: request.waits, answer: None });
            }
            !stale
        });
        effects.extend(self.ask_those(|_, since| late(since, LINE_FIRST)));
        let unseen: Vec<_> = self
            .calls
            .iter()
            .filter_map(|(id, call)| match &call.state {
                // In a subagent no dialog appears while we hold its request.
                CallState::Waits { since, .. } if call.agent_id.is_some() && late(*since, UNSEEN) => {
                    Some(id.clone())
                }
                CallState::Waits { .. }
                | CallState::Made
                | CallState::Replied(_)
                | CallState::TakenBack
                | CallState::Over => None,
            })
            .collect();
        let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::LeftToTerminal };
        for id in unseen {
            effects.extend(self.give_up(&id, how));
        }
        effects
    }
}

/// What the hook prints. A question's or a plan's answer is ignored without its input.
fn output(decision: &Decision) -> Value {
    let decision = convert::permission_answer(decision);
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
}
