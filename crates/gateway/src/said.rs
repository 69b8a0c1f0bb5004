//! What an agent said in one life, numbered, until the journal has it and it has its reply.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_agents::{AgentEvent, AgentExit};
use holdstead_protocol::{AgentSeq, MessageId, ToolCallId, TurnId};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Something that an agent said.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) number: AgentSeq,
    pub(crate) at: Instant,
    /// The turn in which it was said.
    pub(crate) turn: Option<TurnId>,
    /// The message of the model's that its words belong to.
    pub(crate) message: MessageId,
    /// Which message made the call that it is about, and of which tool.
    pub(crate) made_by: Option<(MessageId, String)>,
    pub(crate) event: Arc<AgentEvent>,
}

#[derive(Debug)]
pub(crate) struct SaidByAgent {
    events: tokio::sync::Mutex<mpsc::Receiver<AgentEvent>>,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    last: AgentSeq,
    /// With this it ended its last turn: whatever it waited for before is over.
    turn_done: AgentSeq,
    ended: bool,
    /// What the journal may not have.
    untaken: BTreeMap<AgentSeq, Said>,
    /// What it waits for a reply to, also when the journal has it.
    unreplied: BTreeMap<AgentSeq, Said>,
    /// The calls of this turn that it asked about in this life.
    asked: HashSet<ToolCallId>,
    turn: Option<TurnId>,
    message: MessageId,
    made_by: HashMap<ToolCallId, (MessageId, String)>,
}

impl SaidByAgent {
    /// Of an agent that goes on with this turn.
    pub(crate) fn new(events: mpsc::Receiver<AgentEvent>, turn: Option<TurnId>) -> Self {
        let kept = Kept {
            last: AgentSeq::START,
            turn_done: AgentSeq::START,
            ended: false,
            untaken: BTreeMap::new(),
            unreplied: BTreeMap::new(),
            asked: HashSet::new(),
            turn,
            message: MessageId::generate(),
            made_by: HashMap::new(),
        };
        Self { events: tokio::sync::Mutex::new(events), kept: Mutex::new(kept) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn behind(&self, after: AgentSeq) -> Option<Said> {
        self.kept().untaken.range(after.next()..).next().map(|(_, said)| said.clone())
    }

    /// The first behind this number. It is not listened to before somebody wants to know.
    pub(super) async fn next(&self, after: AgentSeq) -> Said {
        if let Some(said) = self.behind(after) {
            return said;
        }
        let mut events = self.events.lock().await;
        // Somebody else may have listened meanwhile.
        if let Some(said) = self.behind(after) {
            return said;
        }
        if self.kept().ended {
            return std::future::pending().await;
        }
        let gone = || AgentEvent::Exited(AgentExit { parked: false, code: None, stderr: String::new() });
        let event = events.recv().await.unwrap_or_else(gone);
        self.kept().number(event)
    }

    /// The journal has all of it up to this number.
    pub(crate) fn taken(&self, upto: AgentSeq) {
        let mut kept = self.kept();
        kept.untaken = kept.untaken.split_off(&upto.next());
    }

    /// Nothing came of it that the journal would have: whoever comes next need not hear it.
    pub(crate) fn came_to_nothing(&self, number: AgentSeq) {
        self.kept().untaken.remove(&number);
    }

    /// What the journal has up to this number and it has no reply to, in its order.
    pub(crate) fn unreplied(&self, upto: AgentSeq) -> Vec<Said> {
        let kept = self.kept();
        let over = if kept.turn_done <= upto { kept.turn_done } else { AgentSeq::START };
        kept.unreplied
            .range(over..)
            .take_while(|(number, _)| **number <= upto)
            .map(|(_, said)| said.clone())
            .collect()
    }

    /// Says whether it had no reply before.
    pub(crate) fn replied(&self, number: AgentSeq) -> bool {
        self.kept().unreplied.remove(&number).is_some()
    }

    pub(crate) fn asked(&self, call: &ToolCallId) -> bool {
        self.kept().asked.contains(call)
    }

    pub(super) fn begins(&self, turn: TurnId) {
        let mut kept = self.kept();
        kept.turn = Some(turn);
        kept.message = MessageId::generate();
    }

    pub(super) fn turn_done(&self, number: AgentSeq) {
        let mut kept = self.kept();
        kept.unreplied = kept.unreplied.split_off(&number);
        kept.asked.clear();
    }
}

impl Kept {
    fn number(&mut self, event: AgentEvent) -> Said {
        self.last = self.last.next();
        let (number, turn, message) = (self.last, self.turn, self.message);
        let mut made_by = None;
        let mut waits = false;
        match &event {
            AgentEvent::MessageEnd => self.message = MessageId::generate(),
            AgentEvent::ToolCallStart { tool_call_id, tool_name, .. } => {
                self.made_by.insert(tool_call_id.clone(), (message, tool_name.clone()));
            }
            AgentEvent::ToolCallEnd { tool_call_id, .. } => {
                made_by = self.made_by.get(tool_call_id).cloned();
            }
            AgentEvent::Ask(ask) => {
                made_by = self.made_by.get(&ask.tool_call_id).cloned();
                self.asked.insert(ask.tool_call_id.clone());
                waits = true;
            }
            AgentEvent::TurnEnding => waits = true,
            AgentEvent::TurnDone { .. } => {
                self.made_by.clear();
                self.turn_done = number;
                self.turn = None;
            }
            AgentEvent::Exited(_) => self.ended = true,
            AgentEvent::Ready { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCallDelta { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AskWithdrawn { .. }
            | AgentEvent::Acknowledged { .. }
            | AgentEvent::NotRun { .. }
            | AgentEvent::RanOther { .. }
            | AgentEvent::CannotPark { .. }
            | AgentEvent::Forgotten
            | AgentEvent::Error { .. } => {}
        }
        let said = Said { number, at: Instant::now(), turn, message, made_by, event: Arc::new(event) };
        self.untaken.insert(number, said.clone());
        if waits {
            self.unreplied.insert(number, said.clone());
        }
        said
    }
}
