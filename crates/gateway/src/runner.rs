//! The agents that run here: their processes, what each said that the journal may not have yet, and what each was told.
//!
//! A session's task comes and goes; the process stays. Whoever speaks for the session next is given what was said behind
//! the last number in the journal, and calls that have no reply yet. To be told something twice is to be told it once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_agents::{Agent, AgentInput, Driver, DriverCapabilities, Outgoing, Resolution, TurnEnd};
use holdstead_core::EndedBy;
use holdstead_protocol::{
    AgentBox, AgentSeq, Incarnation, InteractionId, LeftOut, SessionId, ToolCallId, TurnId,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::said::{Said, SaidByAgent};

/// Every agent of a machine, and the drivers that start them.
#[derive(Debug)]
pub struct Runner {
    drivers: Vec<Arc<dyn Driver>>,
    lives: Mutex<HashMap<SessionId, Life>>,
}

#[derive(Debug, Clone)]
pub(crate) enum Life {
    /// Somebody is starting it.
    Starting,
    Running(Arc<Running>),
}

impl Runner {
    pub fn new(drivers: Vec<Arc<dyn Driver>>) -> Self {
        Self { drivers, lives: Mutex::default() }
    }

    pub(crate) fn drivers(&self) -> &[Arc<dyn Driver>] {
        &self.drivers
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<SessionId, Life>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of this session, if it runs here.
    pub(crate) fn find(&self, session: SessionId) -> Option<Life> {
        self.lives().get(&session).cloned()
    }

    /// The life of this session's agent that can be told something: it runs here, and nobody has ended it.
    pub(crate) fn listening(&self, session: SessionId) -> Option<Incarnation> {
        match self.lives().get(&session)? {
            Life::Starting => None,
            Life::Running(running) => running.ended_by().is_none().then_some(running.incarnation),
        }
    }

    /// A place for a process. `None` while another one has it.
    pub(crate) fn reserve(self: &Arc<Self>, session: SessionId) -> Option<Place> {
        let mut lives = self.lives();
        if lives.contains_key(&session) {
            return None;
        }
        lives.insert(session, Life::Starting);
        Some(Place { runner: Arc::clone(self), session, filled: false })
    }

    /// It is gone, and the journal knows. If it is not gone, it goes when nobody holds it any more.
    pub(crate) fn forget(&self, session: SessionId, incarnation: Incarnation) {
        let mut lives = self.lives();
        if let Some(Life::Running(running)) = lives.get(&session)
            && running.incarnation == incarnation
        {
            lives.remove(&session);
        }
    }
}

/// Where a process will be. Given up when it is dropped before that.
#[derive(Debug)]
pub(crate) struct Place {
    runner: Arc<Runner>,
    session: SessionId,
    filled: bool,
}

impl Place {
    pub(crate) fn fill(mut self, running: Running) {
        self.filled = true;
        self.runner.lives().insert(self.session, Life::Running(Arc::new(running)));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.filled {
            self.runner.lives().remove(&self.session);
        }
    }
}

/// What a process is started for.
#[derive(Debug, Default)]
pub(crate) struct Started {
    pub(crate) left_out: Option<LeftOut>,
    /// The turn that it goes on with.
    pub(crate) turn: Option<TurnId>,
    pub(crate) loss: Option<Loss>,
}

/// What an agent must be told about calls that were lost with an earlier life.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loss {
    /// What comes before that.
    pub(crate) words: Vec<String>,
    pub(crate) asks: Vec<InteractionId>,
}

/// One life of an agent.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) incarnation: Incarnation,
    pub(crate) pid: u32,
    pub(crate) boxed: AgentBox,
    pub(crate) left_out: Option<LeftOut>,
    pub(crate) capabilities: DriverCapabilities,
    said: SaidByAgent,
    input: AgentInput,
    queue: mpsc::UnboundedSender<Word>,
    /// The settlements that were handed to it.
    written: tokio::sync::Mutex<mpsc::UnboundedReceiver<Vec<InteractionId>>>,
    told: Mutex<Told>,
}

/// Something that is said to it, with the settlements that it carries.
#[derive(Debug)]
struct Word {
    outgoing: Outgoing,
    settlements: Vec<InteractionId>,
}

#[derive(Debug, Default)]
struct Told {
    /// The last turn whose beginning it knows.
    turn: Option<TurnId>,
    stopped: Option<TurnId>,
    parking: Option<InteractionId>,
    /// Asks of this turn whose settlement it was told, or is being told.
    settled: HashSet<InteractionId>,
    loss: Option<Loss>,
    ended_by: Option<EndedBy>,
    /// Inputs of calls that were shown with their secrets masked: the agent goes on with what it asked about.
    unmasked: HashMap<ToolCallId, Value>,
}

impl Running {
    pub(crate) fn new(
        incarnation: Incarnation,
        capabilities: DriverCapabilities,
        agent: Agent,
        started: Started,
    ) -> Self {
        let (queue, words) = mpsc::unbounded_channel();
        let (hand, written) = mpsc::unbounded_channel();
        tokio::spawn(hand_over(agent.input.clone(), words, hand));
        let told = Told { turn: started.turn, loss: started.loss, ..Told::default() };
        Self {
            incarnation,
            pid: agent.pid,
            boxed: agent.boxed,
            left_out: started.left_out,
            capabilities,
            said: SaidByAgent::new(agent.events, started.turn),
            input: agent.input,
            queue,
            written: tokio::sync::Mutex::new(written),
            told: Mutex::new(told),
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first thing that it said behind this number, now or when it says it.
    pub(crate) async fn says(&self, after: AgentSeq) -> Said {
        self.said.next(after).await
    }

    pub(crate) const fn said(&self) -> &SaidByAgent {
        &self.said
    }

    /// The settlements of the next thing that was handed to it.
    pub(crate) async fn written(&self) -> Vec<InteractionId> {
        match self.written.lock().await.recv().await {
            Some(settlements) => settlements,
            None => std::future::pending().await,
        }
    }

    fn queue(&self, outgoing: Outgoing, settlements: Vec<InteractionId>) {
        // If nobody writes any more, its end is on its way.
        drop(self.queue.send(Word { outgoing, settlements }));
    }

    /// The last turn whose beginning it knows.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        self.told().turn
    }

    /// Gives it the message that a turn begins with.
    pub(crate) fn begin(&self, turn: TurnId, message: Outgoing) {
        let mut told = self.told();
        if told.turn.replace(turn) != Some(turn) {
            self.said.begins(turn);
            self.queue(message, Vec::new());
        }
    }

    /// Its turn is to end now.
    pub(crate) fn stop(&self, turn: TurnId) {
        if self.told().stopped.replace(turn) != Some(turn) {
            self.queue(Outgoing::Interrupt, Vec::new());
        }
    }

    /// It is to go away at this call, and to come back to it.
    pub(crate) fn park(&self, ask: InteractionId, tool_call_id: ToolCallId) {
        if self.told().parking.replace(ask) != Some(ask) {
            self.queue(Outgoing::Park { tool_call_id }, Vec::new());
        }
    }

    pub(crate) fn stays(&self) {
        self.told().parking = None;
    }

    /// What became of the call that it made with this number.
    pub(crate) fn resolve(
        &self,
        made: AgentSeq,
        tool_call_id: ToolCallId,
        resolution: Resolution,
        settlement: Option<InteractionId>,
    ) {
        if self.said.replied(made) {
            let mut told = self.told();
            told.unmasked.remove(&tool_call_id);
            told.settled.extend(settlement);
            self.queue(Outgoing::Resolve { tool_call_id, resolution }, settlement.into_iter().collect());
        }
    }

    /// Whether the turn ends that it wanted to end with this number.
    pub(crate) fn turn_ends(&self, asked: AgentSeq, end: TurnEnd) {
        if self.said.replied(asked) {
            self.queue(Outgoing::TurnEnd(end), Vec::new());
        }
    }

    pub(crate) fn loss(&self) -> Option<Loss> {
        self.told().loss.clone()
    }

    /// Tells it in words what became of calls that were lost with an earlier life.
    pub(crate) fn tell_loss(&self, text: String, settlements: Vec<InteractionId>) {
        let mut told = self.told();
        if told.loss.take().is_some() && !text.is_empty() {
            told.settled.extend(&settlements);
            self.queue(Outgoing::Message { text }, settlements);
        }
    }

    /// Whether what this ask was settled as was handed over to be written.
    pub(crate) fn is_told(&self, ask: InteractionId) -> bool {
        self.told().settled.contains(&ask)
    }

    pub(crate) fn keep_unmasked(&self, call: ToolCallId, input: Value) {
        self.told().unmasked.insert(call, input);
    }

    pub(crate) fn unmasked(&self, call: &ToolCallId) -> Option<Value> {
        self.told().unmasked.get(call).cloned()
    }

    /// Its turn is over, and so is whatever it waited for.
    pub(crate) fn turn_done(&self, number: AgentSeq) {
        self.said.turn_done(number);
        let mut told = self.told();
        told.unmasked.clear();
        told.settled.clear();
        told.parking = None;
    }

    /// Kills the whole group; its end follows.
    pub(crate) fn kill(&self, why: EndedBy) {
        self.told().ended_by.get_or_insert(why);
        self.input.kill();
    }

    /// Why it was killed, if it was.
    pub(crate) fn ended_by(&self) -> Option<EndedBy> {
        self.told().ended_by
    }
}

/// An agent may stop reading until it was heard, so nobody else waits here.
async fn hand_over(
    input: AgentInput,
    mut words: mpsc::UnboundedReceiver<Word>,
    written: mpsc::UnboundedSender<Vec<InteractionId>>,
) {
    while let Some(Word { outgoing, settlements }) = words.recv().await {
        // If it could not be written, the agent's end is on its way.
        if input.send(outgoing).await.is_ok() && !settlements.is_empty() {
            drop(written.send(settlements));
        }
    }
}
