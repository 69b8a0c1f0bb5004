//! Plans a batch: heads, asks and commands in; rows and results out. No IO, no clock.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use holdstead_core::{Ask, Head, Needs, Rejection, Session, State, decide, findable, fold};
use holdstead_protocol::{Event, EventBody, InteractionId, Seq, SessionId, SessionOpened, Timestamp};

use crate::backend::Item;
use crate::chain::{self, Hash, Salt};
use crate::rows::{EventRow, SessionPlan, ask_row, head_row, opening_row};
use crate::search::FoundRow;
use crate::{AppendError, Appended, EVENT_LIMIT, StoreError};

/// A journal's head as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredHead {
    pub(crate) state: Arc<Head>,
    pub(crate) last_seq: Seq,
    pub(crate) last_at: Timestamp,
    pub(crate) hash: Hash,
    /// Its asks are gone, though their rows may not be yet.
    pub(crate) erased: bool,
}

/// Everything that a batch is decided on.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) heads: HashMap<SessionId, StoredHead>,
    pub(crate) asks: Vec<(SessionId, InteractionId, Ask)>,
    /// Items that a lost commit wrote after all, by their index, with their events.
    pub(crate) found: HashMap<usize, Vec<Event>>,
}

/// A head as a batch was decided on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) seq: Seq,
    pub(crate) hash: Hash,
}

/// The journals whose heads a batch is decided on: those that it writes to, and those that its commands read.
pub(crate) fn sessions(items: &[&Item]) -> BTreeSet<SessionId> {
    items.iter().flat_map(|item| [Some(item.session), item.command.reads()]).flatten().collect()
}

impl Loaded {
    pub(crate) fn seen(&self) -> HashMap<SessionId, Seen> {
        let seen =
            |(id, head): (&SessionId, &StoredHead)| (*id, Seen { seq: head.last_seq, hash: head.hash });
        self.heads.iter().map(seen).collect()
    }
}

#[derive(Debug)]
pub(crate) struct Plan {
    /// Only sessions that get an event.
    pub(crate) sessions: BTreeMap<SessionId, SessionPlan>,
    /// Other journals whose heads must still be as they were read.
    pub(crate) bases: BTreeSet<SessionId>,
    /// One for each item.
    pub(crate) results: Vec<Result<Appended, AppendError>>,
}

/// The asks that must be loaded before the batch can be planned.
///
/// Those of the stored state are enough: what a command of the batch adds to them was loaded for that very command, or
/// made by it.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) asks: BTreeSet<InteractionId>,
    /// Sessions of which all undelivered ones are wanted.
    pub(crate) undelivered: BTreeSet<SessionId>,
    /// And all live ones.
    pub(crate) live: BTreeSet<SessionId>,
}

impl Wanted {
    pub(crate) fn by(items: &[&Item]) -> Self {
        let mut wanted = Self::default();
        for item in items {
            wanted.asks.extend(item.command.names());
            match item.command.needs() {
                Needs::NoOthers => {}
                Needs::Undelivered => drop(wanted.undelivered.insert(item.session)),
                Needs::NotOver => {
                    wanted.undelivered.insert(item.session);
                    wanted.live.insert(item.session);
                }
            }
        }
        wanted
    }
}

/// More events than any command leads to: how far to read for what a lost commit wrote.
pub(crate) const MOST_EVENTS: i64 = 100_000;

/// The events of this item among those that stand where it would have been written, if they do.
pub(crate) fn written_by(item: &Item, events: Vec<Event>) -> Option<Vec<Event>> {
    let own: Vec<_> = events
        .into_iter()
        .enumerate()
        .take_while(|(index, event)| event.id == item.event_id(*index))
        .collect();
    if own.is_empty() { None } else { Some(own.into_iter().map(|(_, event)| event).collect()) }
}

/// A panic while deciding or folding is this batch's failure, not the writer's end: nothing was written yet, so the
/// batcher halves the batch until the one bad item stands alone.
pub(crate) fn plan(
    items: &[&Item],
    loaded: Loaded,
    now: Timestamp,
    salt: impl FnMut() -> Salt,
) -> Result<Plan, StoreError> {
    let planned = catch_unwind(AssertUnwindSafe(|| plan_or_panic(items, loaded, now, salt)));
    planned.unwrap_or_else(|panic| Err(StoreError::Panicked { what: words_of(&*panic) }))
}

/// What a panic said.
pub(crate) fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it left no words".to_owned())
}

fn plan_or_panic(
    items: &[&Item],
    loaded: Loaded,
    now: Timestamp,
    mut salt: impl FnMut() -> Salt,
) -> Result<Plan, StoreError> {
    let Loaded { mut heads, asks, mut found } = loaded;
    let mut asks_of: HashMap<SessionId, BTreeMap<InteractionId, Ask>> = HashMap::new();
    for (session, id, ask) in asks {
        asks_of.entry(session).or_default().insert(id, ask);
    }
    let mut drafts: BTreeMap<SessionId, Draft> = BTreeMap::new();
    let mut results = Vec::with_capacity(items.len());
    let mut bases = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        // An earlier item of the batch may have changed that journal.
        let owner = item.command.reads().and_then(|id| match drafts.get(&id) {
            Some(draft) => draft.state.session().map(|session| session.head.rules_seq),
            None => heads.get(&id).map(|head| head.state.rules_seq),
        });
        let draft = drafts.entry(item.session).or_insert_with(|| {
            let asks = asks_of.remove(&item.session).unwrap_or_default();
            Draft::of(heads.remove(&item.session), asks)
        });
        let result = match found.remove(&index) {
            Some(events) => draft.result(item, events),
            None => draft.append(item, owner, now, &mut salt),
        };
        if result.as_ref().is_ok_and(|appended| !appended.events.is_empty()) {
            bases.extend(item.command.reads());
        }
        results.push(result);
    }
    let mut sessions = BTreeMap::new();
    for (id, draft) in drafts {
        if let Some(rows) = draft.into_rows(id)? {
            sessions.insert(id, rows);
        }
    }
    bases.retain(|id| !sessions.contains_key(id));
    Ok(Plan { sessions, bases, results })
}

/// A session while the batch is being decided.
struct Draft {
    state: State,
    erased: bool,
    last_seq: Seq,
    last_at: Option<Timestamp>,
    hash: Hash,
    opened: Option<(SessionOpened, Timestamp)>,
    events: Vec<EventRow>,
    new_asks: BTreeSet<InteractionId>,
    changed_asks: BTreeSet<InteractionId>,
    found: Vec<FoundRow>,
}

impl Draft {
    fn of(head: Option<StoredHead>, asks: BTreeMap<InteractionId, Ask>) -> Self {
        let erased = head.as_ref().is_some_and(|head| head.erased);
        let (state, last_seq, last_at, hash) = match head {
            None => (State::Unopened, Seq::START, None, chain::START),
            Some(stored) => {
                let asks = if erased { BTreeMap::new() } else { asks };
                let session = Session { head: stored.state, asks };
                (State::Opened(Box::new(session)), stored.last_seq, Some(stored.last_at), stored.hash)
            }
        };
        Self {
            state,
            erased,
            last_seq,
            last_at,
            hash,
            opened: None,
            events: Vec::new(),
            new_asks: BTreeSet::new(),
            changed_asks: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    fn append(
        &mut self,
        item: &Item,
        owner: Option<Seq>,
        now: Timestamp,
        salt: &mut impl FnMut() -> Salt,
    ) -> Result<Appended, AppendError> {
        // A clock that goes back on one of the nodes must not turn time back within a journal.
        let at = self.last_at.map_or(now, |last| last.max(now));
        let bodies = decide(&self.state, &item.command, owner, at)?;
        if self.erased && !bodies.is_empty() {
            return Err(Rejection::Erased.into());
        }
        // All bytes first: an item that does not fit changes nothing.
        let mut lines = Vec::with_capacity(bodies.len());
        let last = bodies.len().saturating_sub(1);
        for (index, body) in bodies.into_iter().enumerate() {
            let heard = item.command.heard().filter(|_| index == last);
            let data = body.stored_bytes(heard).map_err(|error| StoreError::corrupt(error.to_string()))?;
            if data.len() > EVENT_LIMIT {
                return Err(AppendError::TooLarge { bytes: data.len(), limit: EVENT_LIMIT });
            }
            lines.push((heard, body, data));
        }
        let mut events = Vec::with_capacity(lines.len());
        for (index, (heard, body, data)) in lines.into_iter().enumerate() {
            let event = Event { id: item.event_id(index), seq: self.last_seq.next(), at, heard, body };
            self.take(item.session, &event, data, salt());
            events.push(event);
        }
        self.result(item, events)
    }

    fn take(&mut self, session: SessionId, event: &Event, data: Vec<u8>, salt: Salt) {
        let asked = event.body.ask();
        let known = |state: &State, id| state.session().is_some_and(|session| session.asks.contains_key(&id));
        let was_known = asked.is_some_and(|id| known(&self.state, id));
        let given_up = self.given_up_by(&event.body);
        fold(&mut self.state, event);
        let asks = self.state.session().map(|session| &session.asks);
        let waits =
            |id: &InteractionId| asks.is_some_and(|asks| asks.get(id).is_some_and(|ask| ask.undelivered));
        let given_up = given_up.into_iter().filter(|id| !waits(id) && !self.new_asks.contains(id));
        self.changed_asks.extend(given_up);
        if let Some(id) = asked.filter(|id| known(&self.state, *id)) {
            if !was_known {
                self.new_asks.insert(id);
            } else if !self.new_asks.contains(&id) {
                self.changed_asks.insert(id);
            }
        }
        if let Some((owner, found)) =
            self.state.session().and_then(|now| Some((&now.head.owner, findable(now, event)?)))
        {
            self.found.push(FoundRow::of(session, owner, event, found));
        }
        if let (None, EventBody::SessionOpened(opened)) = (self.last_at, &event.body) {
            self.opened = Some((opened.clone(), event.at));
        }
        let event_type = event.body.event_type();
        let line = chain::Line { id: event.id, session, seq: event.seq, at: event.at, event_type };
        self.hash = chain::link(&self.hash, line, &chain::data_hash(&salt, &data));
        self.last_seq = event.seq;
        self.last_at = Some(event.at);
        self.events.push(EventRow { line, data, salt, hash: self.hash });
    }

    /// The asks that an event may change without naming them: at the end of a turn or a session nobody waits any more for
    /// answers that may not have arrived.
    fn given_up_by(&self, body: &EventBody) -> Vec<InteractionId> {
        let ends = matches!(body, EventBody::Done(_) | EventBody::SessionStatus(_));
        let session = self.state.session().filter(|_| ends);
        let asks = session.into_iter().flat_map(|session| &session.asks);
        asks.filter(|(_, ask)| ask.undelivered).map(|(id, _)| *id).collect()
    }

    /// Also for an item that was written by a commit whose reply was lost.
    fn result(&mut self, item: &Item, events: Vec<Event>) -> Result<Appended, AppendError> {
        let mut concerned = item.command.names();
        concerned.extend(events.iter().filter_map(|event| event.body.ask()));
        let session = match &self.state {
            State::Unopened => return Err(Rejection::NotOpened.into()),
            State::Opened(session) => session,
        };
        let asks =
            concerned.into_iter().filter_map(|id| Some((id, session.asks.get(&id)?.clone()))).collect();
        Ok(Appended {
            events,
            head: self.last_seq,
            session: Session { head: Arc::clone(&session.head), asks },
        })
    }

    fn into_rows(self, id: SessionId) -> Result<Option<SessionPlan>, StoreError> {
        let (State::Opened(session), Some(last_at), false) =
            (self.state, self.last_at, self.events.is_empty())
        else {
            return Ok(None);
        };
        let rows = |ids: BTreeSet<InteractionId>| {
            ids.into_iter()
                .filter_map(|ask| Some(ask_row(id, &session.head.owner, ask, session.asks.get(&ask)?)))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Some(SessionPlan {
            head: head_row(id, &session.head, self.last_seq, last_at, self.hash)?,
            opening: self.opened.map(|(opened, at)| opening_row(&opened, at)).transpose()?,
            events: self.events,
            new_asks: rows(self.new_asks)?,
            changed_asks: rows(self.changed_asks)?,
            found: self.found,
            session: *session,
        }))
    }
}
