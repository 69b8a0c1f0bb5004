//! The agent's process, as its session's task knows it: made anew from the journal by every task that takes it up.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use holdstead_agents::{DriverCapabilities, Outgoing, Resolution, TurnEnd};
use holdstead_core::{EndedBy, Fence, Head};
use holdstead_protocol::{
    AgentSeq, Delivery, Incarnation, InteractionId, ToolCallId, TurnEndBlocked, TurnId,
};
use holdstead_runner::{Running, Said, Tell};
use holdstead_store::UnderWay;
use tokio::time::Instant;

use super::SessionTask;
use crate::GatewayError;

/// How long an agent that is told to stop may take to end its turn.
const STOPPING: Duration = Duration::from_secs(10);
/// How long an agent that is told to park may take to go, or to say that it stays.
const PARKING: Duration = Duration::from_secs(60);
/// How long a process is kept that has nothing to do. Long: what it runs in the background may go with it.
const IDLE: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub(super) struct Process {
    pub(super) incarnation: Incarnation,
    pub(super) capabilities: DriverCapabilities,
    pub(super) running: Arc<Running>,
    pub(super) turn: Option<TurnId>,
    /// The journal has what it said up to here, as far as we know.
    pub(super) heard: AgentSeq,
    /// We have taken in what it said up to here.
    taken: AgentSeq,
    /// What is being taken in now, or was last.
    pub(super) now: AgentSeq,
    /// What the journal has, and whoever took it in may not have replied to.
    again: VecDeque<Said>,
    /// What this process asked and has no resolution for yet.
    pub(super) asked: HashMap<ToolCallId, Asked>,
    /// What was written to it and it has not acknowledged.
    pub(super) written: HashMap<ToolCallId, InteractionId>,
    /// What it was told in words, and has not gone on after.
    pub(super) told: Vec<InteractionId>,
    /// The end of its turn that is being blocked, until it was told.
    pub(super) end_blocked: Option<Box<TurnEndBlocked>>,
    /// Its turn was stopped: when we lose patience.
    pub(super) stop_by: Option<Instant>,
    /// It was told to park: when we lose patience.
    park_by: Option<Instant>,
    /// Unless it gets something to do until then, it is not kept.
    idle_at: Instant,
}

/// A call that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub(super) ask: InteractionId,
    /// The agent made it with this number.
    pub(super) made: AgentSeq,
}

/// What a process brings about.
#[derive(Debug)]
pub(super) enum Heard {
    Said(Said),
    /// These settlements were handed to it.
    Written(Vec<InteractionId>),
}

impl SessionTask {
    /// The process as the journal knows it, wherever its last task left off.
    pub(super) async fn process_of(
        &self,
        running: Arc<Running>,
        head: &Head,
    ) -> Result<Process, GatewayError> {
        let incarnation = running.incarnation;
        let (mut written, mut told) = (HashMap::new(), Vec::new());
        let asks = match head.undelivered {
            0 => Vec::new(),
            1.. => self.gateway.inner.journal.under_way(self.session, UnderWay::Undelivered).await?,
        };
        for record in asks {
            let to_it = match record.ask.delivery {
                Some(Delivery::Delivering { incarnation: to } | Delivery::Delivered { incarnation: to }) => {
                    to == incarnation
                }
                Some(
                    Delivery::Accepted
                    | Delivery::Acknowledged
                    | Delivery::Unknown { .. }
                    | Delivery::Undeliverable { .. }
                    | Delivery::NotRun { .. },
                )
                | None => false,
            };
            match record.ask.tool_call_id.filter(|call| running.said().asked(call)) {
                Some(call) if to_it => drop(written.insert(call, record.id)),
                // It never asked: it was told in words.
                None if to_it => told.push(record.id),
                Some(_) | None => {}
            }
        }
        Ok(Process {
            incarnation,
            capabilities: running.capabilities,
            turn: head.turn.filter(|turn| running.turn() == Some(*turn)),
            heard: head.heard,
            taken: head.heard,
            now: head.heard,
            again: running.said().unreplied(head.heard).into(),
            asked: HashMap::new(),
            written,
            told,
            end_blocked: None,
            stop_by: None,
            park_by: None,
            idle_at: Instant::now() + IDLE,
            running,
        })
    }
}

impl Process {
    /// What happens next. Never, without a process. It is not listened to while what it said before piles up.
    pub(super) async fn next(process: Option<&mut Self>, listening: bool) -> Heard {
        let Some(process) = process else { return std::future::pending().await };
        if let Some(said) = process.again.pop_front() {
            return Heard::Said(said);
        }
        tokio::select! {
            biased;
            settlements = process.running.written() => Heard::Written(settlements),
            said = process.running.says(process.taken), if listening => Heard::Said(said),
        }
    }

    /// This is being taken in.
    pub(super) fn takes_in(&mut self, said: &Said) {
        self.now = said.number;
        self.taken = self.taken.max(said.number);
        // Another task may have begun it.
        self.turn = said.turn.or(self.turn);
    }

    /// The journal had what is being taken in before we did: another task may have done all of it or a part.
    pub(super) fn is_repeated(&self) -> bool {
        self.now <= self.heard
    }

    /// Somebody else took in what we did not.
    pub(super) fn has_missed(&self, head: &Head) -> bool {
        head.heard > self.taken
    }

    /// For what follows from what it says now.
    pub(super) const fn heard_now(&self) -> Fence {
        self.heard_upto(self.now)
    }

    pub(super) const fn heard_upto(&self, upto: AgentSeq) -> Fence {
        Fence::Heard { incarnation: self.incarnation, after: self.heard, upto }
    }

    /// The journal stands like this.
    pub(super) fn is_heard(&mut self, head: &Head) {
        if head.alive == Some(self.incarnation) && head.heard > self.heard {
            self.heard = head.heard;
            self.running.tell(Tell::Taken { upto: head.heard });
        }
    }

    /// Tells it what became of the call that it makes now.
    pub(super) fn reply(&self, tool_call_id: &ToolCallId, resolution: Resolution) {
        self.resolve(self.now, tool_call_id.clone(), resolution, None);
    }

    /// Tells it what became of the call that it made with this number.
    pub(super) fn resolve(
        &self,
        made: AgentSeq,
        tool_call_id: ToolCallId,
        resolution: Resolution,
        settlement: Option<InteractionId>,
    ) {
        self.running.tell(Tell::Resolve { made, tool_call_id, resolution, settlement });
    }

    /// Tells it whether the turn ends that it wanted to end with this number.
    pub(super) fn turn_ends(&self, asked: AgentSeq, end: TurnEnd) {
        self.running.tell(Tell::TurnEnds { asked, end });
    }

    /// Gives it the message that its turn begins with.
    pub(super) fn begin(&mut self, turn: TurnId, message: Outgoing) {
        self.running.tell(Tell::Begin { turn, message });
        self.turn = Some(turn);
    }

    /// It has begun this turn by itself.
    pub(super) fn begins(&mut self, turn: TurnId) {
        self.turn = Some(turn);
        self.asked.clear();
        self.written.clear();
    }

    /// Its turn is to end now.
    pub(super) fn stop_turn(&mut self) {
        self.stop_by.get_or_insert_with(|| Instant::now() + STOPPING);
        if let Some(turn) = self.turn {
            self.running.tell(Tell::Stop { turn });
        }
    }

    /// It is to go away at this call, and to come back to it.
    pub(super) fn park(&mut self, ask: InteractionId) {
        let call = self.asked.iter().find(|(_, asked)| asked.ask == ask).map(|(call, _)| call.clone());
        if let Some(call) = call {
            self.park_by = Some(Instant::now() + PARKING);
            self.running.tell(Tell::Park { ask, tool_call_id: call });
        }
    }

    /// The same, of the one call that it waits for: whoever parked it may not have told it.
    pub(super) fn park_again(&mut self) {
        let mut asked = self.asked.values();
        if let (Some(only), None) = (asked.next().map(|asked| asked.ask), asked.next()) {
            self.park(only);
        }
    }

    /// It was told to park, as far as we know.
    pub(super) const fn is_parking(&self) -> bool {
        self.park_by.is_some()
    }

    /// It was told to park, and stays.
    pub(super) fn stays(&mut self) {
        self.park_by = None;
        self.running.tell(Tell::Stays);
    }

    /// Its turn is over, and so is whatever it waited for.
    pub(super) fn turn_done(&mut self) {
        self.running.tell(Tell::TurnDone { number: self.now });
        self.turn = None;
        self.end_blocked = None;
        self.idle_at = Instant::now() + IDLE;
        self.stop_by = None;
        self.park_by = None;
        self.asked.clear();
        self.written.clear();
        self.told.clear();
    }

    /// When it has been idle long enough to be looked at.
    pub(super) fn idle_ends(&self) -> Option<Instant> {
        (self.turn.is_none() && !self.is_leaving()).then_some(self.idle_at)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle_ends().is_some_and(|ends| ends <= Instant::now())
    }

    /// It is kept, and looked at again much later.
    pub(super) fn keep_idle(&mut self) {
        self.idle_at = Instant::now() + IDLE;
    }

    /// When it is killed for not doing what it was told.
    pub(super) fn patience_ends(&self) -> Option<Instant> {
        let ends = self.stop_by.into_iter().chain(self.park_by).min();
        ends.filter(|_| !self.is_leaving())
    }

    /// It was killed, and its end was not heard yet.
    pub(super) fn is_leaving(&self) -> bool {
        self.running.ended_by().is_some()
    }

    /// Kills the whole group; its end follows.
    pub(super) fn kill(&self, why: EndedBy) {
        self.running.tell(Tell::Kill { why });
    }
}
