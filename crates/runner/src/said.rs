//! What an agent said in one life, numbered, until the journal has it and it has its reply.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdstead_agents::{AgentEvent, AgentExit};
use holdstead_protocol::{AgentSeq, MessageId, ToolCallId, TurnId};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// So much is listened to ahead of the journal, where somebody listens from afar.
pub(crate) const AHEAD: usize = 256;

/// Something that an agent said.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    pub number: AgentSeq,
    #[serde(with = "age")]
    pub at: Instant,
    /// The turn in which it was said.
    pub turn: Option<TurnId>,
    /// The message of the model's that its words belong to.
    pub message: MessageId,
    /// Which message made the call that it is about, and of which tool.
    pub made_by: Option<(MessageId, String)>,
    pub event: Arc<AgentEvent>,
}

/// Something that is kept of what an agent said.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptWord {
    until: KeptUntil,
    said: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptUntil {
    /// The journal has it.
    Taken,
    /// It has its reply.
    Replied,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    turn: TurnId,
    by: BegunBy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BegunBy {
    /// It was told to.
    Told,
    /// By somebody where it runs.
    Itself,
}

#[derive(Debug)]
pub struct SaidByAgent {
    source: tokio::sync::Mutex<Source>,
    kept: Mutex<Kept>,
    /// Told when there is less that the journal may not have.
    room: Notify,
}

/// Where it is heard.
#[derive(Debug)]
enum Source {
    Agent(mpsc::Receiver<AgentEvent>),
    /// From the machine that has the agent, which numbers it.
    Afar(mpsc::Receiver<Said>),
}

/// What is kept of it; also what whoever takes it up from afar begins with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    last: AgentSeq,
    /// The journal had all up to here. Runners that are older do not say it.
    #[serde(default)]
    taken: AgentSeq,
    /// With this it ended its last turn: whatever it waited for before is over.
    turn_done: AgentSeq,
    ended: bool,
    /// What the journal may not have.
    #[serde(skip)]
    untaken: BTreeMap<AgentSeq, Said>,
    /// What it waits for a reply to, also when the journal has it.
    #[serde(skip)]
    unreplied: BTreeMap<AgentSeq, Said>,
    /// The calls of this turn that it asked about in this life.
    asked: HashSet<ToolCallId>,
    turn: Option<TurnId>,
    /// The last turn that began, and who began it.
    #[serde(default)]
    begun: Option<Begun>,
    message: MessageId,
    made_by: HashMap<ToolCallId, (MessageId, String)>,
}

impl SaidByAgent {
    /// Of an agent that goes on with this turn.
    pub fn new(events: mpsc::Receiver<AgentEvent>, turn: Option<TurnId>) -> Self {
        let kept = Kept {
            last: AgentSeq::START,
            taken: AgentSeq::START,
            turn_done: AgentSeq::START,
            ended: false,
            untaken: BTreeMap::new(),
            unreplied: BTreeMap::new(),
            asked: HashSet::new(),
            turn,
            begun: turn.map(|turn| Begun { turn, by: BegunBy::Told }),
            message: MessageId::generate(),
            made_by: HashMap::new(),
        };
        Self::from(Source::Agent(events), kept)
    }

    /// Of an agent that runs elsewhere.
    pub(crate) fn afar(said: mpsc::Receiver<Said>, kept: Kept) -> Self {
        Self::from(Source::Afar(said), kept)
    }

    fn from(source: Source, kept: Kept) -> Self {
        Self { source: tokio::sync::Mutex::new(source), kept: Mutex::new(kept), room: Notify::new() }
    }

    pub(crate) fn snapshot(&self) -> Kept {
        self.kept().clone()
    }

    /// Returns when not too much is kept to listen to more.
    pub(crate) async fn room(&self) {
        loop {
            let told = self.room.notified();
            if self.kept().untaken.len() < AHEAD {
                return;
            }
            told.await;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn behind(&self, after: AgentSeq) -> Option<Said> {
        self.kept().untaken.range(after.next()..).next().map(|(_, said)| said.clone())
    }

    /// The first behind this number. It is not listened to before somebody wants to know.
    pub(crate) async fn next(&self, after: AgentSeq) -> Said {
        if let Some(said) = self.behind(after) {
            return said;
        }
        let mut source = self.source.lock().await;
        // Somebody else may have listened meanwhile.
        if let Some(said) = self.behind(after) {
            return said;
        }
        if self.kept().ended {
            return std::future::pending().await;
        }
        match &mut *source {
            Source::Agent(events) => {
                let gone =
                    || AgentEvent::Exited(AgentExit { parked: false, code: None, stderr: String::new() });
                let event = events.recv().await.unwrap_or_else(gone);
                self.kept().number(event)
            }
            Source::Afar(heard) => match heard.recv().await {
                Some(said) => {
                    self.kept().keep(said.clone());
                    said
                }
                // Nobody hears it here any more. That is no end of the agent's.
                None => std::future::pending().await,
            },
        }
    }

    /// The journal has all of it up to this number.
    pub fn taken(&self, upto: AgentSeq) {
        let mut kept = self.kept();
        kept.untaken = kept.untaken.split_off(&upto.next());
        kept.taken = kept.taken.max(upto);
        drop(kept);
        self.room.notify_one();
    }

    /// The highest number up to which the journal had all of it.
    pub fn taken_upto(&self) -> AgentSeq {
        self.kept().taken
    }

    /// Nothing came of it that the journal would have: whoever comes next need not hear it.
    pub fn came_to_nothing(&self, number: AgentSeq) {
        self.kept().untaken.remove(&number);
        self.room.notify_one();
    }

    /// What the journal has up to this number and it has no reply to, in its order.
    pub fn unreplied(&self, upto: AgentSeq) -> Vec<Said> {
        let kept = self.kept();
        let over = if kept.turn_done <= upto { kept.turn_done } else { AgentSeq::START };
        kept.unreplied
            .range(over..)
            .take_while(|(number, _)| **number <= upto)
            .map(|(_, said)| said.clone())
            .collect()
    }

    /// Whether it still waits for a reply to what it said with this number.
    pub fn waits_for_reply(&self, number: AgentSeq) -> bool {
        self.kept().unreplied.contains_key(&number)
    }

    /// It has its reply. What it had said, if it had none before.
    pub(crate) fn replied(&self, number: AgentSeq) -> Option<Said> {
        self.kept().unreplied.remove(&number)
    }

    pub fn asked(&self, call: &ToolCallId) -> bool {
        self.kept().asked.contains(call)
    }

    /// The last turn that began.
    pub(crate) fn begun(&self) -> Option<TurnId> {
        self.kept().begun.map(|begun| begun.turn)
    }

    /// It is told to begin this turn. Says whether it has to be: not if it has begun it.
    pub(crate) fn begins(&self, turn: TurnId) -> bool {
        let mut kept = self.kept();
        if kept.begun.is_some_and(|begun| begun.turn == turn) {
            return false;
        }
        // One that it began by itself goes on, with what it is told.
        if kept.turn.is_none() || kept.begun.is_none_or(|begun| begun.by == BegunBy::Told) {
            kept.turn = Some(turn);
            kept.begun = Some(Begun { turn, by: BegunBy::Told });
            kept.message = MessageId::generate();
        }
        true
    }

    pub(crate) fn turn_done(&self, number: AgentSeq) {
        let mut kept = self.kept();
        kept.unreplied = kept.unreplied.split_off(&number);
        kept.asked.clear();
    }
}

impl Kept {
    pub(crate) const fn last(&self) -> AgentSeq {
        self.last
    }

    /// What is kept, each to be sent by itself: all of it may be more than a connection carries at once.
    pub(crate) fn take_words(&mut self) -> Vec<KeptWord> {
        let mut unreplied = std::mem::take(&mut self.unreplied);
        let mut words = Vec::new();
        for (number, said) in std::mem::take(&mut self.untaken) {
            let both = unreplied.remove(&number).is_some();
            words.push(KeptWord { until: if both { KeptUntil::Both } else { KeptUntil::Taken }, said });
        }
        words.extend(unreplied.into_values().map(|said| KeptWord { until: KeptUntil::Replied, said }));
        words
    }

    pub(crate) fn put_back(&mut self, word: KeptWord) {
        let KeptWord { until, said } = word;
        if until != KeptUntil::Taken {
            self.unreplied.insert(said.number, said.clone());
        }
        if until != KeptUntil::Replied {
            self.untaken.insert(said.number, said);
        }
    }

    fn number(&mut self, event: AgentEvent) -> Said {
        let about = if let AgentEvent::ToolCallEnd { tool_call_id, .. } = &event {
            Some(tool_call_id)
        } else if let AgentEvent::Ask(ask) = &event {
            Some(&ask.tool_call_id)
        } else {
            None
        };
        let said = Said {
            number: self.last.next(),
            at: Instant::now(),
            turn: self.turn,
            message: self.message,
            made_by: about.and_then(|call| self.made_by.get(call).cloned()),
            event: Arc::new(event),
        };
        self.keep(said.clone());
        said
    }

    fn keep(&mut self, said: Said) {
        self.last = said.number;
        let mut waits = false;
        match &*said.event {
            AgentEvent::MessageEnd => self.message = MessageId::generate(),
            AgentEvent::ToolCallStart { tool_call_id, tool_name, .. } => {
                self.made_by.insert(tool_call_id.clone(), (said.message, tool_name.clone()));
            }
            AgentEvent::Ask(ask) => {
                self.asked.insert(ask.tool_call_id.clone());
                waits = true;
            }
            AgentEvent::TurnEnding => waits = true,
            AgentEvent::TurnBegun { turn_id, .. } => {
                self.turn = Some(*turn_id);
                self.begun = Some(Begun { turn: *turn_id, by: BegunBy::Itself });
                self.message = MessageId::generate();
            }
            AgentEvent::TurnDone { .. } => {
                self.made_by.clear();
                self.turn_done = said.number;
                self.turn = None;
            }
            AgentEvent::Exited(_) => self.ended = true,
            AgentEvent::ToolCallEnd { .. }
            | AgentEvent::Ready { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCallDelta { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AskWithdrawn { .. }
            | AgentEvent::AnsweredInTerminal { .. }
            | AgentEvent::Acknowledged { .. }
            | AgentEvent::NotRun { .. }
            | AgentEvent::RanOther { .. }
            | AgentEvent::CannotPark { .. }
            | AgentEvent::Forgotten
            | AgentEvent::Error { .. } => {}
        }
        if waits {
            self.unreplied.insert(said.number, said.clone());
        }
        self.untaken.insert(said.number, said);
    }
}

/// A moment of this machine is another one's so long ago.
mod age {
    use std::time::Duration;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
    use tokio::time::Instant;

    pub(super) fn serialize<S: Serializer>(at: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
        u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        let age = Duration::from_millis(u64::deserialize(deserializer)?);
        let now = Instant::now();
        Ok(now.checked_sub(age).unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: usize) -> ToolCallId {
        ToolCallId::new(format!("call-{number}")).unwrap()
    }

    /// An agent that talked and asked, of which the journal has some and which has one reply.
    async fn talked() -> SaidByAgent {
        let (say, events) = mpsc::channel(64);
        let said = SaidByAgent::new(events, None);
        for number in 0..8 {
            say.send(AgentEvent::Text { text: "word ".repeat(1_000), parents: Vec::new() }).await.unwrap();
            let ask = serde_json::json!({
                "toolCallId": call(number), "toolName": "Bash", "input": { "command": "ls" },
                "body": { "kind": "approval", "offeredScopes": [], "isPlan": false }, "parents": [],
                "canPark": true, "mayAllow": "rules_of_people",
            });
            say.send(AgentEvent::Ask(Box::new(serde_json::from_value(ask).unwrap()))).await.unwrap();
        }
        for number in 0..16 {
            said.next(AgentSeq(number)).await;
        }
        said.taken(AgentSeq(5));
        assert!(said.replied(AgentSeq(4)).is_some());
        said
    }

    #[tokio::test]
    async fn what_is_kept_is_sent_word_by_word_and_put_together_again() {
        let said = talked().await;
        let numbers = |kept: &Kept| {
            let of = |words: &BTreeMap<AgentSeq, Said>| words.keys().copied().collect::<Vec<_>>();
            (of(&kept.untaken), of(&kept.unreplied))
        };
        let mut kept = said.snapshot();
        let before = numbers(&kept);
        assert_eq!((before.0.len(), before.1.len()), (11, 7));
        let words = kept.take_words();
        let rest = serde_json::to_string(&kept).unwrap();
        assert!(rest.len() < 2_000, "{} bytes are left", rest.len());
        let mut again: Kept = serde_json::from_str(&rest).unwrap();
        for word in words {
            let sent = serde_json::to_string(&word).unwrap();
            assert!(sent.len() < 6_000, "{} bytes in one", sent.len());
            again.put_back(serde_json::from_str(&sent).unwrap());
        }
        assert_eq!(numbers(&again), before);
        assert_eq!(again.last(), AgentSeq(16));
    }
}
