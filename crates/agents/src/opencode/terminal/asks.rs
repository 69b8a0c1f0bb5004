//! What is asked in a terminal and here, and who was faster.
//!
//! The program takes one answer to an ask and refuses any other, and it tells every client what it took. So an answer of ours
//! counted if the program took it *and* tells the same; otherwise what it tells is what somebody said in the terminal.

use holdstead_protocol::{
    AskBody, Hold, HoldThen, InTerminal, KnownBy, Response, Settlement, TerminalAnswer, ToolCallId,
};
use serde_json::{Value, json};

use super::super::shown::{OUTSIDE, Shown};
use super::super::wire::{Around, Closed, Reply};
use super::{OpencodeTerminal, event};
use crate::terminal::TerminalEffect;
use crate::{AgentEvent, Ask, Resolution};

const TAKEN: u16 = 200;
/// It was answered before.
const TOO_LATE: u16 = 404;
/// The plugin did not give it to the program: its ask was over.
const NOT_GIVEN: u16 = 0;

#[derive(Debug)]
pub(super) struct Asked {
    /// The session that waits for it, which may be a subagent's.
    session: String,
    tool_call_id: ToolCallId,
    kind: Kind,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Permission,
    /// With the ids that its questions have here, in order.
    Questions(Vec<String>),
}

#[derive(Debug)]
enum State {
    /// The plugin waits for what is decided here.
    Waits(u64),
    /// The plugin lost its way to us, and comes again unless the ask is over. It gets what was decided meanwhile.
    Away(Option<Answer>),
    /// The plugin was told this. Whether it counted, it says, and so does the program.
    Told { answer: Answer, status: Option<u16>, ended: Option<Ended> },
    /// Nothing more follows from it here.
    Over,
}

/// What the plugin gives to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Our own rules do the rest: the program is never told "always".
    Once,
    Reject {
        words: Option<String>,
    },
    Answers(Vec<Vec<String>>),
    Dismiss,
}

/// What the program says it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    Permission(Reply),
    Answered(Vec<Vec<String>>),
    Dismissed,
}

impl Answer {
    fn for_plugin(&self) -> Value {
        match self {
            Self::Once => json!({ "reply": "once" }),
            Self::Reject { words: Some(words) } => json!({ "reply": "reject", "message": words }),
            Self::Reject { words: None } => json!({ "reply": "reject" }),
            Self::Answers(answers) => json!({ "answers": answers }),
            Self::Dismiss => json!({ "reject": true }),
        }
    }

    fn is(&self, ended: &Ended) -> bool {
        match (self, ended) {
            (Self::Once, Ended::Permission(reply)) => *reply == Reply::Once,
            (Self::Reject { .. }, Ended::Permission(reply)) => *reply == Reply::Reject,
            (Self::Answers(ours), Ended::Answered(theirs)) => ours == theirs,
            (Self::Dismiss, Ended::Dismissed) => true,
            (Self::Once | Self::Reject { .. }, Ended::Answered(_) | Ended::Dismissed)
            | (Self::Answers(_), Ended::Permission(_) | Ended::Dismissed)
            | (Self::Dismiss, Ended::Permission(_) | Ended::Answered(_)) => false,
        }
    }
}

impl Ended {
    fn in_terminal(&self) -> TerminalAnswer {
        match self {
            Self::Permission(Reply::Once | Reply::Always) => TerminalAnswer::Allowed,
            Self::Permission(Reply::Reject) | Self::Dismissed => TerminalAnswer::Refused,
            Self::Answered(_) => TerminalAnswer::Answered,
        }
    }
}

/// What to give to the program. Nothing, where nobody decided: somebody may in the terminal.
fn answer(kind: &Kind, resolution: &Resolution) -> Option<Answer> {
    let (settlement, response) = match resolution {
        Resolution::Settled { settlement, response, .. } => (settlement, response),
        Resolution::Closed { .. } | Resolution::Queued { .. } | Resolution::LeftToAgent { .. } => {
            return None;
        }
    };
    match (kind, settlement, response) {
        (Kind::Permission, Settlement::Approved, Response::Approve { edited_input: None, .. }) => {
            Some(Answer::Once)
        }
        (Kind::Permission, Settlement::Denied, Response::Deny { reason }) => {
            let words = reason.clone().filter(|words| !words.trim().is_empty());
            Some(Answer::Reject { words })
        }
        (Kind::Questions(ids), Settlement::Answered, Response::Answer { answers }) => {
            let of = |id: &String| answers.iter().find(|answer| answer.question_id == *id);
            let values = ids.iter().map(|id| of(id).into_iter().flat_map(|answer| answer.values()));
            Some(Answer::Answers(values.map(|values| values.map(str::to_owned).collect()).collect()))
        }
        (Kind::Questions(_), Settlement::Declined, Response::Cancel { .. }) => Some(Answer::Dismiss),
        // What does not fit is no answer: an edited input, say, which the program does not take.
        (
            Kind::Permission | Kind::Questions(_),
            Settlement::Approved
            | Settlement::Answered
            | Settlement::Denied
            | Settlement::Declined
            | Settlement::Failed,
            Response::Approve { .. }
            | Response::Deny { .. }
            | Response::Answer { .. }
            | Response::Submit { .. }
            | Response::Cancel { .. },
        ) => None,
    }
}

impl Asked {
    fn overtaken(&mut self, answer: TerminalAnswer, known_by: KnownBy) -> TerminalEffect {
        self.state = State::Over;
        let how = InTerminal { answer, known_by };
        event(AgentEvent::AnsweredInTerminal { tool_call_id: self.tool_call_id.clone(), how })
    }

    /// The plugin came again, as it does when it lost its way.
    fn again(&mut self, waits: u64) -> Vec<TerminalEffect> {
        let nothing = TerminalEffect::Answer { waits, answer: None };
        let decided = match &self.state {
            State::Waits(_) | State::Away(None) => None,
            State::Away(Some(answer)) | State::Told { answer, status: None, ended: None } => {
                Some(answer.clone())
            }
            State::Told { .. } | State::Over => return vec![nothing],
        };
        match decided {
            Some(answer) => self.tell(waits, answer),
            None => {
                self.state = State::Waits(waits);
                Vec::new()
            }
        }
    }

    fn tell(&mut self, waits: u64, answer: Answer) -> Vec<TerminalEffect> {
        let told = TerminalEffect::Answer { waits, answer: Some(answer.for_plugin()) };
        self.state = State::Told { answer, status: None, ended: None };
        vec![told]
    }

    /// Both have spoken, the plugin and the program, or neither has to any more.
    fn settle(&mut self) -> Option<TerminalEffect> {
        let State::Told { answer, status: Some(status), ended } = &self.state else { return None };
        let (status, ours) = (*status, ended.as_ref().map(|ended| answer.is(ended)));
        let theirs = ended.as_ref().map(Ended::in_terminal);
        match (status, ours, theirs) {
            (TAKEN, Some(true), _) => {
                self.state = State::Over;
                Some(event(AgentEvent::Acknowledged { tool_call_id: self.tool_call_id.clone() }))
            }
            (_, _, Some(theirs)) => Some(self.overtaken(theirs, KnownBy::Program)),
            (NOT_GIVEN, _, None) => Some(self.overtaken(TerminalAnswer::NotSaid, KnownBy::Program)),
            // What was said in the terminal follows.
            (_, _, None) => None,
        }
    }

    /// It is over, and this is what is known of it.
    fn over(&mut self, answer: TerminalAnswer, known_by: KnownBy) -> Vec<TerminalEffect> {
        match &self.state {
            State::Waits(waits) => {
                let told = TerminalEffect::Answer { waits: *waits, answer: None };
                vec![told, self.overtaken(answer, known_by)]
            }
            State::Away(_) => vec![self.overtaken(answer, known_by)],
            // The program took it, or says what it took.
            State::Told { status: Some(TAKEN), .. } | State::Told { ended: Some(_), .. } => Vec::new(),
            State::Told { .. } => vec![self.overtaken(answer, known_by)],
            State::Over => Vec::new(),
        }
    }
}

impl OpencodeTerminal {
    pub(super) fn asked(
        &mut self,
        id: &str,
        call: Option<&str>,
        shown: Shown,
        around: &Around,
        waits: u64,
    ) -> Vec<TerminalEffect> {
        if let Some(asked) = self.asks.get_mut(id) {
            return asked.again(waits);
        }
        let taken = |call: &ToolCallId| self.asks.values().any(|asked| asked.tool_call_id == *call);
        let of_call = call.filter(|_| shown.tool_name != OUTSIDE).and_then(|call| ToolCallId::new(call).ok());
        let own = || ToolCallId::new(id).ok();
        let Some(tool_call_id) = of_call.filter(|call| !taken(call)).or_else(own) else {
            return vec![TerminalEffect::Answer { waits, answer: None }];
        };
        let kind = if let AskBody::Question { questions } = &shown.body {
            Kind::Questions(questions.iter().map(|question| question.id.clone()).collect())
        } else {
            Kind::Permission
        };
        let asked = Asked {
            session: around.session.clone(),
            tool_call_id: tool_call_id.clone(),
            kind,
            state: State::Waits(waits),
        };
        self.asks.insert(id.to_owned(), asked);
        let Shown { tool_name, input, body, agent_says, cwd, may_allow, capabilities } = shown;
        vec![event(AgentEvent::Ask(Box::new(Ask {
            tool_call_id,
            tool_name,
            input,
            body,
            agent_says,
            cwd: Some(cwd),
            decision_reason: None,
            parents: around.parents(),
            can_park: false,
            may_allow,
            capabilities,
            hold: Some(Hold { after_ms: 0, then: HoldThen::Wait }),
            timeout_ms: None,
            host_limit_ms: None,
        })))]
    }

    pub(super) fn decided(&mut self, call: &ToolCallId, resolution: &Resolution) -> Vec<TerminalEffect> {
        let open = |asked: &&mut Asked| matches!(asked.state, State::Waits(_) | State::Away(None));
        let asked = self.asks.values_mut().filter(open).find(|asked| asked.tool_call_id == *call);
        let Some(asked) = asked else { return Vec::new() };
        match (answer(&asked.kind, resolution), &asked.state) {
            (Some(answer), State::Waits(waits)) => {
                let waits = *waits;
                asked.tell(waits, answer)
            }
            (Some(answer), State::Away(_) | State::Told { .. } | State::Over) => {
                asked.state = State::Away(Some(answer));
                Vec::new()
            }
            (None, State::Waits(waits)) => {
                let told = TerminalEffect::Answer { waits: *waits, answer: None };
                asked.state = State::Over;
                vec![told]
            }
            (None, State::Away(_) | State::Told { .. } | State::Over) => {
                asked.state = State::Over;
                Vec::new()
            }
        }
    }

    /// The program says that an ask is over, and what it was told.
    pub(super) fn ended(&mut self, id: &str, ended: Ended, around: &Around) -> Vec<TerminalEffect> {
        let Some(asked) = self.asks.get_mut(id) else {
            return earlier(around, id, ended.in_terminal());
        };
        let session = asked.session.clone();
        let refused = ended == Ended::Permission(Reply::Reject);
        let mut effects = match &mut asked.state {
            State::Told { ended: known @ None, .. } => {
                *known = Some(ended);
                asked.settle().into_iter().collect()
            }
            State::Waits(_) | State::Away(_) | State::Told { .. } | State::Over => {
                asked.over(ended.in_terminal(), KnownBy::Program)
            }
        };
        if refused {
            effects.extend(self.refused_with_it(&session));
        }
        effects
    }

    /// The program refuses all that a session asks when one of it is refused. Nobody was at the others.
    fn refused_with_it(&mut self, session: &str) -> Vec<TerminalEffect> {
        let others = self.asks.values_mut().filter(|asked| asked.session == session);
        let permissions = others.filter(|asked| asked.kind == Kind::Permission);
        permissions.flat_map(|asked| asked.over(TerminalAnswer::NotByAPerson, KnownBy::Program)).collect()
    }

    /// The program was given an answer of ours, and said this.
    pub(super) fn answered(&mut self, id: &str, said: u16) -> Vec<TerminalEffect> {
        let Some(asked) = self.asks.get_mut(id) else { return Vec::new() };
        let State::Told { status, .. } = &mut asked.state else { return Vec::new() };
        *status = Some(said);
        if matches!(said, TAKEN | TOO_LATE | NOT_GIVEN) {
            return asked.settle().into_iter().collect();
        }
        let message = format!("This answer did not reach opencode (status {said}). Answer in the terminal.");
        let left = asked.over(TerminalAnswer::NotSaid, KnownBy::LeftToTerminal);
        left.into_iter().chain([event(AgentEvent::Error { message })]).collect()
    }

    /// Nothing that is asked in this session is answered any more: what the program still holds open would run.
    pub(super) fn dead(&mut self, session: &str) -> Vec<TerminalEffect> {
        let asks = self.asks.values_mut().filter(|asked| asked.session == session);
        asks.flat_map(|asked| asked.over(TerminalAnswer::NotSaid, KnownBy::Program)).collect()
    }

    pub(super) fn give_up_all(&mut self, known_by: KnownBy) -> Vec<TerminalEffect> {
        let asks = std::mem::take(&mut self.asks);
        asks.into_values().flat_map(|mut asked| asked.over(TerminalAnswer::NotSaid, known_by)).collect()
    }

    /// Asks of which the plugin says that they were open when this happened, and that nobody here heard of: somebody did,
    /// before.
    pub(super) fn ended_earlier(&self, around: &Around) -> Vec<TerminalEffect> {
        let unknown = around.over.iter().filter(|closed| !self.asks.contains_key(&closed.id));
        unknown.flat_map(|closed| earlier(around, &closed.id, TerminalAnswer::NotSaid)).collect()
    }

    /// The plugin lost its way, or its ask is over. Which it was, it says.
    pub(super) fn lost(&mut self, gone: u64) {
        let waiting = |asked: &&mut Asked| matches!(asked.state, State::Waits(waits) if waits == gone);
        if let Some(asked) = self.asks.values_mut().find(waiting) {
            asked.state = State::Away(None);
        }
    }
}

/// The same, of an ask that was heard in an earlier life.
fn earlier(around: &Around, id: &str, answer: TerminalAnswer) -> Vec<TerminalEffect> {
    let Some(closed) = around.over.iter().find(|closed| closed.id == id) else { return Vec::new() };
    let how = InTerminal { answer, known_by: KnownBy::Program };
    let came_to = |tool_call_id| {
        event(match closed.ours {
            true => AgentEvent::Acknowledged { tool_call_id },
            false => AgentEvent::AnsweredInTerminal { tool_call_id, how },
        })
    };
    tool_call_id(closed).map(came_to).into_iter().collect()
}

fn tool_call_id(closed: &Closed) -> Option<ToolCallId> {
    let of_call = closed.call.as_deref().filter(|_| closed.permission.as_deref() != Some(OUTSIDE));
    ToolCallId::new(of_call.unwrap_or(&closed.id)).ok()
}
