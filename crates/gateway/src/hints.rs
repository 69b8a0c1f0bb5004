//! What nodes tell each other: where to read again. A hint carries no fact, and may be lost, doubled or late.
//!
//! Hints of a node are numbered, so whoever listens sees that some are missing; the node's row has how many it made, so that
//! the last ones are missed, too. Whoever could tell us hints can only wake us.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use holdstead_protocol::{Seq, SessionId};
use holdstead_store::{LiveNode, Member, NOTICE_LIMIT, NodeId};
use tokio::sync::Notify;

/// How many hints one notice has at most: each takes up to 85 bytes.
const AT_ONCE: usize = 90;
/// How many may wait. Where nobody can be told for so long, all are told that they missed some.
const MOST: usize = 10_000;

/// These events of a session are new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) session: SessionId,
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    pub(crate) whom: Whom,
}

/// Whom a hint concerns, and each one those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whom {
    /// Who watches the session, or waits for something in it.
    Followers,
    /// Whoever speaks for its runner has something to do.
    Host,
    /// A rule was saved: whoever speaks for agents settles what it covers, with what is true on their machines.
    Rules,
}

impl Whom {
    const fn word(self) -> &'static str {
        match self {
            Self::Followers => "all",
            Self::Host => "host",
            Self::Rules => "rules",
        }
    }
}

impl Hint {
    /// Both in one.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            session: self.session,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            whom: self.whom.max(other.whom),
        }
    }
}

/// Hints on their way, as one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) node: NodeId,
    /// Its hints are counted anew in each of its lives.
    pub(crate) epoch: i64,
    /// How many the node had told before these.
    pub(crate) before: u64,
    pub(crate) hints: Vec<Hint>,
}

impl Notice {
    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{} {} {}", self.node, self.epoch, self.before);
        for hint in &self.hints {
            let whom = hint.whom.word();
            // A String takes whatever is written to it.
            let _written = write!(text, "\n{} {} {} {whom}", hint.session, hint.first, hint.last);
        }
        text
    }

    /// `None` for what no node wrote.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > NOTICE_LIMIT {
            return None;
        }
        let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
        let mut head = lines.next()?.split(' ');
        let (node, epoch, before) = (head.next()?, head.next()?, head.next()?);
        let hint = |line: &str| {
            let mut words = line.split(' ');
            let hint = Hint {
                session: words.next()?.parse().ok()?,
                first: Seq(words.next()?.parse().ok()?),
                last: Seq(words.next()?.parse().ok()?),
                whom: match words.next()? {
                    "all" => Whom::Followers,
                    "host" => Whom::Host,
                    "rules" => Whom::Rules,
                    _ => return None,
                },
            };
            (words.next().is_none() && hint.first <= hint.last).then_some(hint)
        };
        let hints: Option<Vec<Hint>> = lines.map(hint).collect();
        let (node, epoch, before) = (node.parse().ok()?, epoch.parse().ok()?, before.parse().ok()?);
        head.next().is_none().then_some(Self { node, epoch, before, hints: hints? })
    }
}

/// Hints that wait to be told: one for each session, however much happens in it.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    hints: HashMap<SessionId, Hint>,
    told: u64,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, hint: Hint) {
        let mut waiting = self.lock();
        let both = waiting.hints.get(&hint.session).map_or(hint, |earlier| earlier.and(hint));
        waiting.hints.insert(hint.session, both);
        if waiting.hints.len() > MOST {
            // Skipped numbers say that they are lost.
            waiting.told += waiting.hints.len() as u64;
            waiting.hints.clear();
        }
        drop(waiting);
        self.more.notify_one();
    }

    /// How many wait to be told.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().hints.len()
    }

    /// How many there were, told or not.
    pub(crate) fn made(&self) -> u64 {
        let waiting = self.lock();
        waiting.told + waiting.hints.len() as u64
    }

    /// Waits for some, and takes them.
    pub(crate) async fn take(&self, member: impl Fn() -> Member) -> Notice {
        loop {
            if let Some(notice) = self.take_now(member()) {
                return notice;
            }
            self.more.notified().await;
        }
    }

    fn take_now(&self, member: Member) -> Option<Notice> {
        let mut waiting = self.lock();
        let sessions: Vec<_> = waiting.hints.keys().copied().take(AT_ONCE).collect();
        let hints: Vec<_> = sessions.iter().filter_map(|session| waiting.hints.remove(session)).collect();
        let before = waiting.told;
        waiting.told += hints.len() as u64;
        (!hints.is_empty()).then_some(Notice { node: member.id, epoch: member.epoch, before, hints })
    }
}

/// What was heard of each node.
#[derive(Debug, Default)]
pub(crate) struct Heard(HashMap<(NodeId, i64), Counted>);

#[derive(Debug, Clone, Copy)]
struct Counted {
    heard: u64,
    /// How many it had made when it renewed, as the last roll had it. Some of them may have been on their way.
    made: u64,
    /// How many were heard at the last roll.
    then: u64,
}

/// Whether everything that was told has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    All,
    /// What it was, nobody knows: whatever somebody here follows is to be read again.
    NotAll,
}

impl Arrived {
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, Self::All) => Self::All,
            (Self::NotAll, _) | (_, Self::NotAll) => Self::NotAll,
        }
    }
}

impl Heard {
    pub(crate) fn notice(&mut self, notice: &Notice) -> Arrived {
        let after = notice.before.saturating_add(notice.hints.len() as u64);
        let counted = self.0.entry((notice.node, notice.epoch)).or_insert(Counted {
            heard: notice.before,
            made: 0,
            then: 0,
        });
        let arrived = if notice.before > counted.heard { Arrived::NotAll } else { Arrived::All };
        counted.heard = counted.heard.max(after);
        arrived
    }

    /// Compares with how many the others had made two seconds ago. One that is gone may not have told its last.
    pub(crate) fn roll(&mut self, live: &[LiveNode], own: NodeId) -> Arrived {
        let mut arrived = Arrived::All;
        self.0.retain(|node, _| {
            let lives = live.iter().any(|one| (one.id, one.epoch) == *node);
            if !lives {
                arrived = Arrived::NotAll;
            }
            lives
        });
        for node in live.iter().filter(|node| node.id != own) {
            let counted =
                self.0.entry((node.id, node.epoch)).or_insert(Counted { heard: 0, made: 0, then: 0 });
            if counted.heard < counted.made {
                arrived = Arrived::NotAll;
                counted.heard = counted.made;
            }
            // More than it made: somebody else spoke in its name.
            if counted.then > node.hints {
                arrived = Arrived::NotAll;
                counted.heard = node.hints;
            }
            (counted.made, counted.then) = (node.hints, counted.heard);
        }
        arrived
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::OwnerId;

    use super::*;

    fn hint(session: SessionId, first: u64, last: u64) -> Hint {
        Hint { session, first: Seq(first), last: Seq(last), whom: Whom::Followers }
    }

    fn member() -> Member {
        Member { id: NodeId::generate(), epoch: 1 }
    }

    fn session() -> SessionId {
        SessionId::generate(&OwnerId::new("local").unwrap())
    }

    #[test]
    fn a_notice_is_read_as_it_was_written_and_the_longest_fits() {
        let longest = Hint { whom: Whom::Rules, ..hint(session(), u64::MAX, u64::MAX) };
        let notice = Notice {
            node: NodeId::generate(),
            epoch: i64::MIN,
            before: u64::MAX,
            hints: vec![longest; AT_ONCE],
        };
        let text = notice.to_text();
        assert!(text.len() <= NOTICE_LIMIT, "{}", text.len());
        assert_eq!(Notice::parse(text.as_bytes()), Some(notice));
    }

    #[test]
    fn what_no_node_wrote_is_nothing() {
        let node = NodeId::generate();
        let (session, other) = (session(), session());
        let good = format!("{node} 1 1\n{session} 1 2 all");
        assert!(Notice::parse(good.as_bytes()).is_some());
        for bad in [
            String::new(),
            "hello".to_owned(),
            format!("{node}"),
            format!("{node} 1"),
            format!("{node} 1 -1"),
            format!("{node} 1 1 1"),
            format!("{node} 1 1\n"),
            format!("{good} more"),
            format!("{node} 1 1\n{session} 2 1 all"),
            format!("{node} 1 1\n{session} 1 99999999999999999999 all"),
            format!("{good}\n{other} 1 2 nobody"),
            format!("{good}{}", format!("\n{session} 1 2 all").repeat(500)),
        ] {
            assert_eq!(Notice::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(Notice::parse(&[good.as_bytes(), &[0xff]].concat()), None);
    }

    #[tokio::test]
    async fn hints_of_a_session_are_one_until_they_are_told() {
        let (outbox, node, session) = (Outbox::default(), member(), session());
        outbox.put(hint(session, 3, 4));
        outbox.put(Hint { whom: Whom::Host, ..hint(session, 5, 5) });
        outbox.put(hint(session, 2, 2));
        assert_eq!(outbox.made(), 1);
        let told = outbox.take(|| node).await;
        assert_eq!(told.hints, [Hint { whom: Whom::Host, ..hint(session, 2, 5) }]);
        outbox.put(hint(session, 6, 6));
        assert_eq!(outbox.made(), 2);
        assert_eq!(outbox.take(|| node).await.before, 1);
    }

    #[tokio::test]
    async fn many_hints_are_several_notices_and_none_is_missed() {
        let (outbox, node) = (Outbox::default(), member());
        for _ in 0..2 * AT_ONCE + 1 {
            outbox.put(hint(session(), 1, 1));
        }
        let mut heard = Heard::default();
        for expected in [AT_ONCE, AT_ONCE, 1] {
            let notice = outbox.take(|| node).await;
            assert_eq!(notice.hints.len(), expected);
            assert_eq!(heard.notice(&notice), Arrived::All);
        }
        assert_eq!(
            heard.notice(&Notice { node: node.id, epoch: 1, before: 2, hints: Vec::new() }),
            Arrived::All,
            "told twice"
        );
    }

    #[tokio::test]
    async fn what_nobody_could_be_told_is_missed() {
        let (outbox, node) = (Outbox::default(), member());
        let mut heard = Heard::default();
        outbox.put(hint(session(), 1, 1));
        heard.notice(&outbox.take(|| node).await);
        for _ in 0..=MOST {
            outbox.put(hint(session(), 1, 1));
        }
        outbox.put(hint(session(), 1, 1));
        assert_eq!(heard.notice(&outbox.take(|| node).await), Arrived::NotAll);
    }

    #[test]
    fn missing_hints_are_noticed_in_the_middle_at_the_end_and_of_a_node_that_is_gone() {
        let (own, node) = (NodeId::generate(), NodeId::generate());
        let live = |hints| {
            let of = |id, hints| LiveNode { id, epoch: 1, start: None, name: String::new(), hints };
            vec![of(own, 900), of(node, hints)]
        };
        let notice =
            |before, count| Notice { node, epoch: 1, before, hints: vec![hint(session(), 1, 1); count] };
        let mut heard = Heard::default();
        assert_eq!(heard.roll(&live(0), own), Arrived::All);
        assert_eq!(heard.notice(&notice(0, 2)), Arrived::All);
        assert_eq!(heard.notice(&notice(3, 1)), Arrived::NotAll, "the third is missing");
        assert_eq!(heard.notice(&notice(4, 1)), Arrived::All);
        assert_eq!(heard.roll(&live(6), own), Arrived::All, "the sixth may be on its way");
        assert_eq!(heard.roll(&live(6), own), Arrived::NotAll, "it was not");
        assert_eq!(heard.roll(&live(6), own), Arrived::All, "that is known by now");
        heard.notice(&notice(u64::MAX, 1));
        assert_eq!(heard.roll(&live(6), own), Arrived::All, "it may have made more since");
        assert_eq!(heard.roll(&live(6), own), Arrived::NotAll, "it had not: that was somebody else");
        assert_eq!(heard.roll(&live(8), own), Arrived::All);
        assert_eq!(heard.roll(&live(8), own), Arrived::NotAll, "and what is missing is noticed as before");
        assert_eq!(heard.roll(&live(6)[..1], own), Arrived::NotAll, "it may not have told its last");
        assert_eq!(heard.roll(&live(6)[..1], own), Arrived::All);
    }
}
