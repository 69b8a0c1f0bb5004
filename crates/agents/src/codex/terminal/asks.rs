//! The calls that are asked about in a terminal and here, and who was faster.

use std::collections::btree_map::Entry;
use std::time::Duration;

use holdstead_protocol::{
    AskBody, Capabilities, Hold, HoldThen, InTerminal, KnownBy, MayAllow, StopReason, TerminalAnswer,
    ToolCallId,
};
use serde_json::json;
use tokio::time::Instant;

use super::super::questions;
use super::super::wire::{Asks, ToolAsk};
use super::call::{Call, CallState, Kind, Said, reply};
use super::{ASKED_AGAIN, CodexTerminal, call_id, event, not_here};
use crate::terminal::TerminalEffect;
use crate::{AgentEvent, Ask, Resolution};

/// A refusal shows so soon: in its call, or in the end of its turn.
const REFUSAL_SHOWS: Duration = Duration::from_secs(1);
/// So soon the terminal's "no" ends its turn. A person who changes their mind takes longer.
const NO_ENDS_TURN: Duration = Duration::from_millis(300);
/// A question is answered once, and as it is.
const ONCE: Capabilities = Capabilities { reason: false, edit_input: false, scopes: false };

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CameTo {
    Ran,
    Declined,
}

/// What ends everything that waits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    Turn { reason: StopReason, at: Instant },
    Closed,
}

impl CodexTerminal {
    pub(super) fn asks(
        &mut self,
        request: String,
        asks: Asks,
        waits: u64,
        now: Instant,
    ) -> Vec<TerminalEffect> {
        let (turn, id) = match &asks {
            Asks::Command(ask) => (ask.turn_id.clone(), Some(ask.item_id.clone())),
            Asks::Change(ask) => (ask.turn_id.clone(), Some(ask.item_id.clone())),
            Asks::Question(ask) => (ask.turn_id.clone(), Some(ask.item_id.clone())),
            Asks::Tool(ask) => (ask.turn_id.clone(), self.call_of(ask)),
        };
        // Of a turn that is over, or about a call that nobody knows, nothing is decided here.
        let Some(mut effects) = self.in_turn(&turn, now) else { return not_here(Some(waits)) };
        let Some(id) = id else {
            effects.extend(not_here(Some(waits)));
            return effects;
        };
        if let Some(call) = self.calls.get_mut(&id).filter(|call| call.is_asked_with(&request)) {
            // The same, sent again.
            let idle = match &mut call.state {
                CallState::Waits { waits: before, .. } => std::mem::replace(before, waits),
                CallState::Made
                | CallState::Replied { .. }
                | CallState::Answered { .. }
                | CallState::Over => waits,
            };
            effects.extend(not_here(Some(idle)));
            return effects;
        }
        // A call that waits is not among what its turn did, and stands in the journal all the same.
        let told_before = !self.calls.contains_key(&id)
            && self.taken_up.is_some_and(|at| now.duration_since(at) < ASKED_AGAIN);
        // It asks once more, for more than it was allowed: so it had been allowed something.
        effects.extend(self.came_to(&id, CameTo::Ran));
        let shown = match asks {
            Asks::Command(ask) => {
                let asked = Call::command(&ask.command, ask.cwd.as_deref());
                match self.calls.entry(id.clone()) {
                    Entry::Occupied(mut known) => known.get_mut().input = asked.input,
                    Entry::Vacant(new) => drop(new.insert(asked)),
                }
                Some((approval(None), ask.reason, None, ask.cwd))
            }
            Asks::Change(ask) => {
                let preview = self.calls.get(&id).and_then(Call::preview);
                // Without what it would do there is nothing to decide about.
                preview.map(|preview| (approval(Some(preview)), ask.reason, None, None))
            }
            Asks::Tool(_) => Some((approval(None), None, None, None)),
            Asks::Question(ask) => questions::questions(&ask.questions).map(|questions| {
                let input = json!({"questions": questions});
                self.calls.entry(id.clone()).or_insert_with(|| Call::question(input));
                (AskBody::Question { questions }, None, Some(ONCE), None)
            }),
        };
        let Some((body, agent_says, capabilities, cwd)) = shown else {
            effects.extend(not_here(Some(waits)));
            return effects;
        };
        if let Some(call) = self.calls.get_mut(&id) {
            call.shown |= told_before;
        }
        effects.extend(self.show_call(&id));
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(&id), call_id(&id)) else {
            effects.extend(not_here(Some(waits)));
            return effects;
        };
        call.state = CallState::Waits { request, waits };
        // The program asks because its own rules do not allow it.
        let may_allow = if body.is_approval() { MayAllow::RulesOfPeople } else { MayAllow::PersonOnly };
        let ask = Ask {
            tool_call_id,
            tool_name: call.tool_name.clone(),
            input: call.input.clone(),
            body,
            agent_says: agent_says.filter(|words| !words.is_empty()),
            cwd,
            decision_reason: None,
            parents: Vec::new(),
            can_park: false,
            may_allow,
            capabilities,
            // Its dialog stands in the terminal meanwhile.
            hold: Some(Hold { after_ms: 0, then: HoldThen::Wait }),
            timeout_ms: None,
            host_limit_ms: None,
        };
        effects.push(event(AgentEvent::Ask(Box::new(ask))));
        effects
    }

    /// The call of this server that is asked about, if there is only one that it can be.
    fn call_of(&self, ask: &ToolAsk) -> Option<String> {
        let may_be = |call: &Call| {
            let of_server = matches!(&call.kind, Kind::Tool { server } if *server == ask.server);
            let same = call.input == ask.params || (ask.params.is_null() && call.input == json!({}));
            of_server && same && matches!(call.state, CallState::Made | CallState::Waits { .. })
        };
        let mut found = self.calls.iter().filter(|(_, call)| may_be(call)).map(|(id, _)| id);
        found.next().filter(|_| found.next().is_none()).cloned()
    }

    /// The call's own line, for people, unless it was shown.
    pub(super) fn show_call(&mut self, id: &str) -> Vec<TerminalEffect> {
        let (Some(call), Some(tool_call_id)) = (self.calls.get_mut(id), call_id(id)) else {
            return Vec::new();
        };
        if std::mem::replace(&mut call.shown, true) {
            return Vec::new();
        }
        let (tool_name, input) = (call.tool_name.clone(), call.input.clone());
        let parents = Vec::new();
        vec![
            event(AgentEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_name, parents }),
            event(AgentEvent::ToolCallEnd { tool_call_id, input }),
        ]
    }

    pub(super) fn decided(&mut self, id: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        let Some(call) = self.calls.get_mut(id.as_str()) else { return Vec::new() };
        let CallState::Waits { request, waits } = &call.state else { return Vec::new() };
        let (request, waits) = (request.clone(), *waits);
        let Some((said, answer)) = reply(&call.kind, resolution) else {
            call.state = CallState::Over;
            return not_here(Some(waits));
        };
        call.state = CallState::Replied { request, said, answer: answer.clone(), over: None };
        vec![TerminalEffect::Answer { waits, answer: Some(answer) }]
    }

    /// The program says that an ask is over, and nothing else.
    pub(super) fn resolved(&mut self, request: &str, now: Instant) -> Vec<TerminalEffect> {
        let found = self.calls.iter_mut().find(|(_, call)| call.is_asked_with(request));
        let Some((id, call)) = found else { return Vec::new() };
        let waits = match &mut call.state {
            CallState::Waits { waits, .. } => *waits,
            CallState::Replied { over, .. } => {
                *over = over.or(Some(now));
                return Vec::new();
            }
            CallState::Made | CallState::Answered { .. } | CallState::Over => return Vec::new(),
        };
        let mut effects = not_here(Some(waits));
        match call.kind {
            // A turn that goes on after its question has an answer to it.
            Kind::Question => {
                call.state = CallState::Over;
                effects.extend(overtaken(id, TerminalAnswer::Answered, KnownBy::Program));
            }
            Kind::Command | Kind::Change { .. } | Kind::Tool { .. } => {
                call.state = CallState::Answered { since: now };
            }
        }
        effects
    }

    /// The program says what became of a call.
    pub(super) fn came_to(&mut self, id: &str, came_to: CameTo) -> Vec<TerminalEffect> {
        let Some(call) = self.calls.get_mut(id) else { return Vec::new() };
        let (answer, fits) = match came_to {
            CameTo::Ran => (TerminalAnswer::Allowed, Said::Yes),
            CameTo::Declined => (TerminalAnswer::Refused, Said::No),
        };
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Made | CallState::Over => Vec::new(),
            CallState::Waits { waits, .. } => {
                let told = overtaken(id, answer, KnownBy::Program);
                not_here(Some(waits)).into_iter().chain(told).collect()
            }
            CallState::Answered { .. } => overtaken(id, answer, KnownBy::Program),
            CallState::Replied { said, .. } if said == fits => acknowledged(id),
            CallState::Replied { .. } => overtaken(id, answer, KnownBy::Program),
        }
    }

    /// A command says something, so it was allowed.
    pub(super) fn runs(&mut self, id: &str) -> Vec<TerminalEffect> {
        match self.calls.get(id).map(|call| &call.state) {
            Some(CallState::Answered { .. } | CallState::Replied { over: Some(_), .. }) => {
                self.came_to(id, CameTo::Ran)
            }
            Some(CallState::Made | CallState::Waits { .. } | CallState::Replied { .. } | CallState::Over)
            | None => Vec::new(),
        }
    }

    /// The model goes on, so it was told what became of its calls.
    pub(super) fn goes_on(&mut self) -> Vec<TerminalEffect> {
        self.settle(|call| match &call.state {
            CallState::Replied { said: Said::No, over: Some(_), .. } => Some(Outcome::Counted),
            CallState::Replied { .. }
            | CallState::Made
            | CallState::Waits { .. }
            | CallState::Answered { .. }
            | CallState::Over => None,
        })
    }

    /// What would have shown itself by now.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<TerminalEffect> {
        let late = |since: Instant| now.duration_since(since) >= REFUSAL_SHOWS;
        self.settle(|call| match &call.state {
            // It runs.
            CallState::Answered { since } if late(*since) => {
                Some(Outcome::Overtaken(TerminalAnswer::Allowed, KnownBy::Program))
            }
            CallState::Replied { said: Said::Yes | Said::Words, over: Some(over), .. } if late(*over) => {
                Some(Outcome::Counted)
            }
            CallState::Answered { .. }
            | CallState::Replied { .. }
            | CallState::Made
            | CallState::Waits { .. }
            | CallState::Over => None,
        })
    }

    /// Nobody is asked any more.
    pub(super) fn end_asks(&mut self, ending: Ending) -> Vec<TerminalEffect> {
        let overtaken = |answer, known_by| Some(Outcome::Overtaken(answer, known_by));
        let not_said = |known_by| overtaken(TerminalAnswer::NotSaid, known_by);
        let last = self.calls.values().filter_map(Call::over_since).max();
        // The terminal's "no" ends the turn at once, and was said to what was over last.
        let ended_by = |over: Instant, within: Duration| match ending {
            Ending::Turn { reason: StopReason::Interrupted, at } => {
                last == Some(over) && at.duration_since(over) < within
            }
            Ending::Turn { reason: StopReason::Completed | StopReason::Failed, .. } | Ending::Closed => false,
        };
        self.settle(|call| match (&call.state, ending) {
            (CallState::Made | CallState::Over, _) => None,
            (CallState::Waits { .. } | CallState::Answered { .. }, Ending::Closed) => {
                not_said(KnownBy::Closed)
            }
            // Whether it counted nobody will know.
            (CallState::Replied { .. }, Ending::Closed) => None,
            (CallState::Answered { since }, Ending::Turn { .. }) if ended_by(*since, NO_ENDS_TURN) => {
                overtaken(TerminalAnswer::Refused, KnownBy::Program)
            }
            (
                CallState::Waits { .. } | CallState::Answered { .. } | CallState::Replied { over: None, .. },
                Ending::Turn { .. },
            ) => not_said(KnownBy::Program),
            (CallState::Replied { said, over: Some(over), .. }, Ending::Turn { .. }) => match said {
                // Somebody said no there: before us, or to what we had allowed. Nothing tells which.
                Said::Yes | Said::Words if ended_by(*over, REFUSAL_SHOWS) => None,
                Said::Yes | Said::Words | Said::No => Some(Outcome::Counted),
            },
        })
    }

    /// Ends what is decided now.
    fn settle(&mut self, decided: impl Fn(&Call) -> Option<Outcome>) -> Vec<TerminalEffect> {
        let mut effects = Vec::new();
        for (id, call) in &mut self.calls {
            let Some(outcome) = decided(call) else { continue };
            if let CallState::Waits { waits, .. } = std::mem::replace(&mut call.state, CallState::Over) {
                effects.extend(not_here(Some(waits)));
            }
            effects.extend(match outcome {
                Outcome::Counted => acknowledged(id),
                Outcome::Overtaken(answer, known_by) => overtaken(id, answer, known_by),
            });
        }
        effects
    }
}

#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// What was replied.
    Counted,
    Overtaken(TerminalAnswer, KnownBy),
}

/// The same of a call that may have been asked about in an earlier life.
pub(super) fn was_answered(id: &str, came_to: CameTo) -> Vec<TerminalEffect> {
    let answer = match came_to {
        CameTo::Ran => TerminalAnswer::Allowed,
        CameTo::Declined => TerminalAnswer::Refused,
    };
    overtaken(id, answer, KnownBy::Program)
}

pub(super) fn acknowledged(id: &str) -> Vec<TerminalEffect> {
    call_id(id).map(|tool_call_id| event(AgentEvent::Acknowledged { tool_call_id })).into_iter().collect()
}

pub(super) fn overtaken(id: &str, answer: TerminalAnswer, known_by: KnownBy) -> Vec<TerminalEffect> {
    let how = InTerminal { answer, known_by };
    let told = |tool_call_id| event(AgentEvent::AnsweredInTerminal { tool_call_id, how });
    call_id(id).map(told).into_iter().collect()
}

const fn approval(preview: Option<String>) -> AskBody {
    AskBody::Approval { preview, offered_scopes: Vec::new(), is_plan: false }
}
