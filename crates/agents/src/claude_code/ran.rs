//! What runs is compared with what was approved: at the last moment before, and again when it has run.

use holdstead_protocol::{NotRun, ToolCallId};
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::convert::{self, Decision};
use super::wire::HookInput;
use crate::AgentEvent;
use crate::process::Effect;

/// The answer to the program's own request for a call that was decided in the hook.
#[derive(Debug, PartialEq)]
pub(super) enum Confirmed {
    Answer(Value),
    /// Approved was another input: this one is a new ask.
    Changed,
    /// Nobody decided yet.
    Undecided,
}

impl Conversation {
    /// All hooks have had their say, and this input would run.
    pub(super) fn confirm(&mut self, id: &str, request_id: &str, input: &Value) -> Confirmed {
        let Some(call) = self.calls.get_mut(id) else { return Confirmed::Undecided };
        let Some(decision) = &call.decided else { return Confirmed::Undecided };
        let same = match decision {
            // The program does not know yet what the person changed.
            Decision::Allow { input: approved } => call.asked.as_ref() == Some(input) || approved == input,
            Decision::Deny { .. } => true,
        };
        if same {
            call.confirmed = Some(request_id.to_owned());
            return Confirmed::Answer(convert::permission_answer(decision));
        }
        call.decided = None;
        Confirmed::Changed
    }

    /// The program took its own request back: somebody else decided it.
    pub(super) fn overruled(&mut self, request_id: &str) {
        let ours = |confirmed: &Option<String>| confirmed.as_deref() == Some(request_id);
        if let Some(call) = self.calls.values_mut().find(|call| ours(&call.confirmed)) {
            call.confirmed = None;
        }
    }

    /// What the program is told when a call has run: its model is told of an input that a person changed.
    pub(super) fn after(&self, hook: &HookInput) -> Value {
        let call = hook.tool_use_id.as_deref().and_then(|id| self.calls.get(id));
        match call.filter(|call| call.edited && call.asked.as_ref() != Some(&hook.tool_input)) {
            Some(_) => convert::after_edit(&hook.hook_event_name, &hook.tool_name, &hook.tool_input),
            None => convert::hook_pass(),
        }
    }

    /// A call has run, with this input.
    pub(super) fn ran(&mut self, hook: &HookInput) -> Option<Effect> {
        let id = hook.tool_use_id.as_deref()?;
        let call = self.calls.get_mut(id)?;
        call.ran = true;
        // What nobody was asked about needed nobody.
        call.asked.as_ref()?;
        let as_approved = match &call.decided {
            Some(Decision::Allow { input }) => {
                // The plan is not an argument of the call: the program took it from the plan's file and showed it.
                let plan = hook.tool_name == "ExitPlanMode" && hook.tool_input == json!({});
                *input == hook.tool_input || plan
            }
            Some(Decision::Deny { .. }) | None => false,
        };
        let tool_call_id = ToolCallId::new(id).ok().filter(|_| !as_approved)?;
        Some(Effect::Event(AgentEvent::RanOther { tool_call_id, input: hook.tool_input.clone() }))
    }

    /// The model was told what a call came to: so what was decided had reached the program.
    pub(super) fn came_to(
        &mut self,
        id: &str,
        tool_call_id: &ToolCallId,
        is_error: bool,
    ) -> Option<AgentEvent> {
        let stopped = self.interrupted;
        let call = self.calls.get_mut(id)?;
        call.over = true;
        let tool_call_id = tool_call_id.clone();
        let blocked = match call.decided.as_ref()? {
            // The program never asked by itself, or took that back, and nothing ran.
            Decision::Allow { .. } => is_error && !call.ran && call.confirmed.is_none() && !stopped,
            Decision::Deny { .. } => false,
        };
        Some(if blocked {
            AgentEvent::NotRun { tool_call_id, because: NotRun::Blocked }
        } else {
            AgentEvent::Acknowledged { tool_call_id }
        })
    }
}
