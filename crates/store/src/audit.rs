//! Checks a journal against itself, against what was signed about it, and against what is stored beside it.

use std::collections::{BTreeMap, VecDeque};

use holdstead_core::{Session, State, findable, fold, is_unfinished};
use holdstead_protocol::{Event, EventBody, InteractionId, SessionId, SessionOpened, Timestamp, heard_in};

use crate::chain;
use crate::db::{Param, Row, Snapshot};
use crate::plan::StoredHead;
use crate::rows::{self, AskRow};
use crate::search::{self, FoundRow};
use crate::walk::{Content, Walk};
use crate::{ChainReport, Checkpoint, Fault, PublicKey, StoreError, decode, sql};

/// How many events or checkpoints are read at a time.
pub(crate) const PAGE: i64 = 500;

/// `keys` are those whose signatures count; `None` leaves signatures unchecked.
pub(crate) async fn verify(
    snapshot: &mut dyn Snapshot,
    session: SessionId,
    keys: Option<&[PublicKey]>,
) -> Result<ChainReport, StoreError> {
    let mut audit = Audit {
        walk: Walk::new(session, keys),
        state: State::Unopened,
        opened: None,
        found: search::Sum::default(),
    };
    let fault = audit.check(snapshot).await?;
    Ok(audit.walk.report(fault))
}

/// What the database says against a checkpoint that was kept elsewhere.
pub(crate) async fn contradiction(
    snapshot: &mut dyn Snapshot,
    kept: &Checkpoint,
) -> Result<Option<Fault>, StoreError> {
    let Checkpoint { session, number, seq, .. } = *kept;
    let id = || Param::Id(session.uuid());
    let rows = snapshot.query(sql::CHECKPOINT, vec![id(), Param::Int(decode::count(number))]).await?;
    if let Some(row) = rows.first()
        && decode::checkpoint(row).is_ok_and(|stored| stored == *kept)
    {
        return Ok(None);
    }
    // The row was tampered with. What it was to hide says more than that.
    let Some(head) = snapshot.query(sql::SESSION, vec![id()]).await?.pop() else {
        return Ok(Some(Fault::NoSuchSession));
    };
    let at = vec![id(), Param::Int(decode::number(seq) - 1), Param::Int(1)];
    let found = snapshot.query(sql::READ_CHAIN, at).await?.pop();
    let hash = found.filter(|row| decode::seq(row, "seq").is_ok_and(|found| found == seq));
    let hash = hash.map(|row| decode::hash(&row, "hash").ok());
    Ok(Some(match hash {
        None => Fault::Cut { last: decode::seq(&head, "last_seq")?, signed: seq },
        Some(hash) if hash != Some(kept.hash) => Fault::Rewritten { seq },
        Some(_) => Fault::CheckpointMissing { number, seq },
    }))
}

struct Audit<'k> {
    walk: Walk<'k>,
    state: State,
    opened: Option<(SessionOpened, Timestamp)>,
    found: search::Sum,
}

impl Audit<'_> {
    async fn check(&mut self, snapshot: &mut dyn Snapshot) -> Result<Option<Fault>, StoreError> {
        let session = || Param::Id(self.walk.session.uuid());
        let heads = snapshot.query(sql::SESSION, vec![session()]).await?;
        let Some(head) = heads.first() else { return Ok(Some(Fault::NoSuchSession)) };
        let openings = snapshot.query(sql::OPENING, vec![session()]).await?;
        let asks = vec![session()];
        if let Err(fault) = self.check_lines(snapshot).await? {
            return Ok(Some(fault));
        }
        let erased = self.is_erased(head)?;
        if let Err(fault) = self.walk.end().and_then(|()| self.check_head(head, erased)) {
            return Ok(Some(fault));
        }
        if erased {
            // Nothing is left that the stored state could be compared with.
            return Ok(self.check_erasure(head)?.err());
        }
        if !openings.first().is_some_and(|row| self.is_opening(row)) {
            return Ok(Some(Fault::Opening));
        }
        let asks = snapshot.query(sql::ASK_ROWS, asks).await?;
        let asks = asks.iter().map(decode::ask_row).collect::<Result<Vec<_>, _>>()?;
        if let Err(fault) = self.check_asks(asks)? {
            return Ok(Some(fault));
        }
        let found = std::mem::take(&mut self.found);
        Ok((!found.holds(snapshot, self.walk.session).await?).then_some(Fault::Search))
    }

    /// Every event, and every checkpoint when the walk has come to its event.
    async fn check_lines(&mut self, snapshot: &mut dyn Snapshot) -> Result<Result<(), Fault>, StoreError> {
        let session = Param::Id(self.walk.session.uuid());
        let mut signed = Signed::new();
        loop {
            let after = Param::Int(decode::number(self.walk.last));
            let rows =
                snapshot.query(sql::READ_CHAIN, vec![session.clone(), after, Param::Int(PAGE)]).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                if let Err(fault) = self.step(row) {
                    return Ok(Err(fault));
                }
                while let Some(next) = signed.peek(snapshot, &session).await?
                    && next.seq == self.walk.last
                {
                    if let Err(fault) = self.walk.checkpoint(next) {
                        return Ok(Err(fault));
                    }
                    signed.page.pop_front();
                }
            }
        }
        // One about an event that the journal has not.
        Ok(match signed.peek(snapshot, &session).await? {
            Some(left) => self.walk.checkpoint(left),
            None => Ok(()),
        })
    }

    fn step(&mut self, row: &Row) -> Result<(), Fault> {
        let seq = self.walk.last.next();
        let unreadable = |error: StoreError| Fault::Unreadable { seq, why: error.to_string() };
        let line = decode::line(self.walk.session, row).map_err(unreadable)?;
        let stored = decode::hash(row, "hash").map_err(unreadable)?;
        let (salt, data) = (row.bytes("salt").map_err(unreadable)?, row.bytes("data").map_err(unreadable)?);
        match row.maybe_bytes("data_hash").map_err(unreadable)? {
            // Data beside the hash that stands for it would be shown, and not be checked.
            Some(_) if !data.is_empty() || !salt.is_empty() => Err(Fault::Changed { seq: line.seq }),
            Some(hash) => {
                let hash = hash.try_into().map_err(|_| Fault::Changed { seq: line.seq })?;
                self.walk.event(line, Content::Erased(hash), &stored)
            }
            None => {
                self.walk.event(line, Content::Kept { salt: &salt, data: &data }, &stored)?;
                self.fold(&line, &data).map_err(unreadable)
            }
        }
    }

    fn fold(&mut self, line: &chain::Line, data: &[u8]) -> Result<(), StoreError> {
        let body = decode::body(line.event_type, data)?;
        if let (EventBody::SessionOpened(opened), None) = (&body, &self.opened) {
            self.opened = Some((opened.clone(), line.at));
        }
        let event = Event { id: line.id, seq: line.seq, at: line.at, heard: heard_in(data), body };
        fold(&mut self.state, &event);
        if let Some(session) = self.state.session()
            && let Some(found) = findable(session, &event)
        {
            self.found.add(&FoundRow::of(line.session, &session.head.owner, &event, found));
        }
        Ok(())
    }

    /// Something of it is gone, or somebody says so: what is left may be gone a moment later.
    fn is_erased(&self, head: &Row) -> Result<bool, StoreError> {
        let said = self.walk.erasure.is_some() || decode::erasure(head)?.is_some();
        Ok(said || self.walk.is_erased())
    }

    fn check_head(&self, row: &Row, erased: bool) -> Result<(), Fault> {
        let seq = self.walk.last;
        let Ok((_, head)) = decode::head(row) else { return Err(Fault::State { seq }) };
        let StoredHead { state, last_seq, last_at, hash, .. } = head;
        if last_seq != seq {
            return Err(Fault::Head { head: last_seq, last: seq });
        }
        if hash != self.walk.hash || Some(last_at) != self.walk.at {
            return Err(Fault::HeadChanged { seq });
        }
        let same = erased || self.state.session().is_some_and(|session| *session.head == *state);
        if same { Ok(()) } else { Err(Fault::State { seq }) }
    }

    /// What the lists are made from.
    fn is_opening(&self, row: &Row) -> bool {
        let expected = self.opened.as_ref().and_then(|(opened, at)| rows::opening_row(opened, *at).ok());
        let Some(Session { head, .. }) = self.state.session() else { return false };
        expected.is_some()
            && decode::opening_row(row).ok() == expected
            && row.flag("unfinished").ok() == Some(is_unfinished(head))
            && row.maybe_bytes("title").ok() == Some(head.title.clone().map(String::into_bytes))
            && decode::archived(row).ok().as_ref() == Some(&head.archived)
    }

    fn check_erasure(&self, row: &Row) -> Result<Result<(), Fault>, StoreError> {
        let stored = decode::erasure(row)?;
        let signed =
            self.walk.erasure.as_ref().and_then(|signed| Some((signed.at, signed.erased_by.clone()?)));
        let hidden = Fault::Hidden { seq: self.walk.last };
        Ok(match (&stored, signed) {
            (None, None) => Err(hidden),
            // Whoever sets the mark without the key hides a session that nobody erased.
            (Some(_), None) if self.walk.checks_signatures() => Err(hidden),
            (Some(_), None) => Ok(()),
            (Some(stored), Some((at, by))) if stored.at == at && stored.by == by => Ok(()),
            (Some(_) | None, Some(_)) => Err(Fault::Erasure),
        })
    }

    fn check_asks(&self, rows: Vec<AskRow>) -> Result<Result<(), Fault>, StoreError> {
        let Some(session) = self.state.session() else { return Ok(Ok(())) };
        let mut expected = self.expected(session)?;
        for row in rows {
            if expected.remove(&row.id).as_ref() != Some(&row) {
                return Ok(Err(Fault::Ask { id: row.id }));
            }
        }
        Ok(match expected.into_keys().next() {
            Some(id) => Err(Fault::Ask { id }),
            None => Ok(()),
        })
    }

    fn expected(&self, session: &Session) -> Result<BTreeMap<InteractionId, AskRow>, StoreError> {
        let rows = session.asks.iter().map(|(id, ask)| {
            rows::ask_row(self.walk.session, &session.head.owner, *id, ask).map(|row| (*id, row))
        });
        rows.collect()
    }
}

/// A session's checkpoints in their order, some at a time.
pub(crate) struct Signed {
    pub(crate) page: VecDeque<Checkpoint>,
    read: u64,
    more: bool,
}

impl Signed {
    pub(crate) const fn new() -> Self {
        Self { page: VecDeque::new(), read: 0, more: true }
    }

    pub(crate) async fn peek(
        &mut self,
        snapshot: &mut dyn Snapshot,
        session: &Param,
    ) -> Result<Option<&Checkpoint>, StoreError> {
        if self.page.is_empty() && self.more {
            let after = Param::Int(decode::count(self.read));
            let rows =
                snapshot.query(sql::CHECKPOINTS, vec![session.clone(), after, Param::Int(PAGE)]).await?;
            self.page = rows.iter().map(decode::checkpoint).collect::<Result<_, _>>()?;
            self.more = rows.len() as i64 == PAGE;
            self.read = self.page.back().map_or(self.read, |last| last.number);
        }
        Ok(self.page.front())
    }
}
