//! One life of an agent: what it said, and what it was told.
//!
//! To be told something twice is to be told it once. Where the agent runs on another machine, whoever speaks for it has an
//! image of this, made from a snapshot: it knows what the other knows, and passes on what the agent is told.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdstead_agents::{
    Agent, AgentEvent, AgentInput, DriverCapabilities, Outgoing, ProjectFiles, Resolution, TurnEnd,
};
use holdstead_core::EndedBy;
use holdstead_protocol::{
    AgentBox, AgentSeq, Incarnation, InteractionId, LeftOut, SessionId, ToolCallId, TurnId,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::said::{Kept, KeptWord, Said, SaidByAgent};
use crate::wire::ToRunner;

/// What a process is started for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Started {
    /// Whether it runs with the folder's own files.
    pub project_files: ProjectFiles,
    pub left_out: Option<LeftOut>,
    /// The turn that it goes on with.
    pub turn: Option<TurnId>,
    pub loss: Option<Loss>,
}

/// What an agent must be told about calls that were lost with an earlier life.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Loss {
    /// What comes before that.
    pub words: Vec<String>,
    pub asks: Vec<InteractionId>,
}

/// One life of an agent.
#[derive(Debug)]
pub struct Running {
    pub incarnation: Incarnation,
    pub pid: u32,
    pub boxed: AgentBox,
    pub project_files: ProjectFiles,
    pub left_out: Option<LeftOut>,
    pub capabilities: DriverCapabilities,
    said: SaidByAgent,
    mouth: Mouth,
    /// The settlements that were handed to it.
    written: tokio::sync::Mutex<mpsc::UnboundedReceiver<Vec<InteractionId>>>,
    told: Mutex<Told>,
}

/// How it is told something.
#[derive(Debug)]
enum Mouth {
    Agent {
        input: AgentInput,
        queue: mpsc::UnboundedSender<Word>,
    },
    /// By the machine that has it.
    Afar {
        session: SessionId,
        frames: mpsc::UnboundedSender<ToRunner>,
    },
}

/// Something that is said to it, with the settlements that it carries.
#[derive(Debug)]
struct Word {
    outgoing: Outgoing,
    settlements: Vec<InteractionId>,
}

/// What it was told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Told {
    stopped: Option<TurnId>,
    parking: Option<InteractionId>,
    /// Asks of this turn whose settlement it was told, or is being told.
    settled: HashSet<InteractionId>,
    loss: Option<Loss>,
    ended_by: Option<EndedBy>,
}

/// What whoever speaks for an agent tells it, or has come to know about what it said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Tell {
    /// The message that a turn begins with.
    Begin { turn: TurnId, message: Outgoing },
    /// Its turn is to end now.
    Stop { turn: TurnId },
    /// It is to go away at this call, and to come back to it.
    Park { ask: InteractionId, tool_call_id: ToolCallId },
    /// It was told to park, and stays.
    Stays,
    /// What became of the call that it made with this number.
    Resolve {
        made: AgentSeq,
        tool_call_id: ToolCallId,
        resolution: Resolution,
        settlement: Option<InteractionId>,
    },
    /// Whether the turn ends that it wanted to end with this number.
    TurnEnds { asked: AgentSeq, end: TurnEnd },
    /// In words, what became of calls that were lost with an earlier life.
    Loss { text: String, settlements: Vec<InteractionId> },
    /// It gets no reply to this.
    NoReply { number: AgentSeq },
    /// The journal has all that it said up to this number.
    Taken { upto: AgentSeq },
    /// Nothing came of it that the journal would have: whoever comes next need not hear it.
    CameToNothing { number: AgentSeq },
    /// With this number its turn was over, and so is whatever it waited for.
    TurnDone { number: AgentSeq },
    /// The whole group is to be killed; its end follows.
    Kill { why: EndedBy },
}

/// All that is known of one life, for whoever speaks for it from afar. What is kept of its words goes before it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Snapshot {
    pub session: SessionId,
    pub incarnation: Incarnation,
    pid: u32,
    boxed: AgentBox,
    project_files: ProjectFiles,
    left_out: Option<LeftOut>,
    capabilities: DriverCapabilities,
    told: Told,
    kept: Kept,
}

impl Snapshot {
    /// The number of the last that it said.
    pub(crate) const fn last(&self) -> AgentSeq {
        self.kept.last()
    }

    pub(crate) fn take_words(&mut self) -> Vec<KeptWord> {
        self.kept.take_words()
    }

    pub(crate) fn put_back(&mut self, word: KeptWord) {
        self.kept.put_back(word);
    }
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
        let told = Told { loss: started.loss, ..Told::default() };
        Self {
            incarnation,
            pid: agent.pid,
            boxed: agent.boxed,
            project_files: started.project_files,
            left_out: started.left_out,
            capabilities,
            said: SaidByAgent::new(agent.events, started.turn),
            mouth: Mouth::Agent { input: agent.input, queue },
            written: tokio::sync::Mutex::new(written),
            told: Mutex::new(told),
        }
    }

    /// An image of one that runs elsewhere.
    pub(crate) fn image(
        snapshot: Snapshot,
        frames: mpsc::UnboundedSender<ToRunner>,
        said: mpsc::Receiver<Said>,
        written: mpsc::UnboundedReceiver<Vec<InteractionId>>,
    ) -> Self {
        Self {
            incarnation: snapshot.incarnation,
            pid: snapshot.pid,
            boxed: snapshot.boxed,
            project_files: snapshot.project_files,
            left_out: snapshot.left_out,
            capabilities: snapshot.capabilities,
            said: SaidByAgent::afar(said, snapshot.kept),
            mouth: Mouth::Afar { session: snapshot.session, frames },
            written: tokio::sync::Mutex::new(written),
            told: Mutex::new(snapshot.told),
        }
    }

    pub(crate) fn snapshot(&self, session: SessionId) -> Snapshot {
        Snapshot {
            session,
            incarnation: self.incarnation,
            pid: self.pid,
            boxed: self.boxed.clone(),
            project_files: self.project_files,
            left_out: self.left_out.clone(),
            capabilities: self.capabilities,
            told: self.told().clone(),
            kept: self.said.snapshot(),
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first thing that it said behind this number, now or when it says it.
    pub async fn says(&self, after: AgentSeq) -> Said {
        self.said.next(after).await
    }

    /// Returns when its process has ended.
    pub(crate) async fn ended(&self) {
        let mut last = AgentSeq::START;
        loop {
            let said = self.says(last).await;
            if matches!(*said.event, AgentEvent::Exited(_)) {
                return;
            }
            last = said.number;
        }
    }

    pub const fn said(&self) -> &SaidByAgent {
        &self.said
    }

    /// The settlements of the next thing that was handed to it.
    pub async fn written(&self) -> Vec<InteractionId> {
        match self.written.lock().await.recv().await {
            Some(settlements) => settlements,
            None => std::future::pending().await,
        }
    }

    /// The last turn whose beginning it knows.
    pub fn turn(&self) -> Option<TurnId> {
        self.said.begun()
    }

    pub fn loss(&self) -> Option<Loss> {
        self.told().loss.clone()
    }

    /// Whether what this ask was settled as was handed over to be written.
    pub fn is_told(&self, ask: InteractionId) -> bool {
        self.told().settled.contains(&ask)
    }

    /// Why it was killed, if it was.
    pub fn ended_by(&self) -> Option<EndedBy> {
        self.told().ended_by
    }

    pub fn tell(&self, tell: Tell) {
        match &self.mouth {
            Mouth::Agent { input, queue } => {
                let kill = matches!(tell, Tell::Kill { .. });
                if let Some(word) = self.follows(tell) {
                    // If nobody writes any more, its end is on its way.
                    drop(queue.send(word));
                }
                if kill {
                    input.kill();
                }
            }
            Mouth::Afar { session, frames } => {
                let frame = ToRunner::Tell {
                    session: *session,
                    incarnation: self.incarnation,
                    tell: Box::new(tell.clone()),
                };
                self.follows(tell);
                // If nobody is there any more, whoever speaks for it next tells it.
                drop(frames.send(frame));
            }
        }
    }

    /// What the agent itself is told, unless it was before.
    fn follows(&self, tell: Tell) -> Option<Word> {
        let mut told = self.told();
        let word = |outgoing| Some(Word { outgoing, settlements: Vec::new() });
        match tell {
            Tell::Begin { turn, message } => {
                if self.said.begins(turn) {
                    word(message)
                } else {
                    None
                }
            }
            Tell::Stop { turn } => {
                if told.stopped.replace(turn) == Some(turn) {
                    return None;
                }
                word(Outgoing::Interrupt)
            }
            Tell::Park { ask, tool_call_id } => {
                if told.parking.replace(ask) == Some(ask) {
                    return None;
                }
                word(Outgoing::Park { tool_call_id })
            }
            Tell::Stays => {
                told.parking = None;
                None
            }
            Tell::Resolve { made, tool_call_id, resolution, settlement } => {
                let asked = self.said.replied(made)?;
                told.settled.extend(settlement);
                let resolution = with_own_input(resolution, &asked);
                let settlements = settlement.into_iter().collect();
                Some(Word { outgoing: Outgoing::Resolve { tool_call_id, resolution }, settlements })
            }
            Tell::TurnEnds { asked, end } => {
                self.said.replied(asked)?;
                word(Outgoing::TurnEnd(end))
            }
            Tell::Loss { text, settlements } => {
                told.loss.take()?;
                if text.is_empty() {
                    return None;
                }
                told.settled.extend(&settlements);
                Some(Word { outgoing: Outgoing::Message { text }, settlements })
            }
            Tell::NoReply { number } => {
                self.said.replied(number);
                None
            }
            Tell::Taken { upto } => {
                self.said.taken(upto);
                None
            }
            Tell::CameToNothing { number } => {
                self.said.came_to_nothing(number);
                None
            }
            Tell::TurnDone { number } => {
                self.said.turn_done(number);
                told.settled.clear();
                told.parking = None;
                None
            }
            Tell::Kill { why } => {
                told.ended_by.get_or_insert(why);
                None
            }
        }
    }
}

/// It goes on with what it asked about. The journal may have that with its secrets masked.
fn with_own_input(resolution: Resolution, asked: &Said) -> Resolution {
    match (resolution, &*asked.event) {
        (Resolution::Settled { settlement, response, .. }, AgentEvent::Ask(ask)) => {
            Resolution::Settled { settlement, response, input: ask.input.clone() }
        }
        (resolution, _) => resolution,
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
