//! Journals as lines of JSON that anybody can check, without a database and without us.

use std::io::{BufRead, Write};

use holdstead_protocol::{EventId, Seq, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::audit::{PAGE, Signed};
use crate::chain::{self, Hash, Salt};
use crate::db::{Param, Row, Snapshot};
use crate::walk::{Content, Walk};
use crate::{ChainReport, Checkpoint, Fault, PublicKey, StoreError, decode, hex, sql};

/// One line of an export. A checkpoint stands right behind the event it is about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    Event(EventLine),
    Checkpoint(Checkpoint),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventLine {
    pub(crate) session: SessionId,
    id: EventId,
    pub(crate) seq: Seq,
    at: Timestamp,
    #[serde(rename = "type")]
    event_type: String,
    /// The very text that was hashed; as JSON of its own it would not survive being read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex::maybe")]
    pub(crate) salt: Option<Salt>,
    /// In place of data and salt where they were erased.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex::maybe")]
    data_hash: Option<Hash>,
    #[serde(with = "hex")]
    pub(crate) hash: Hash,
}

impl Line {
    const fn session(&self) -> SessionId {
        match self {
            Self::Event(event) => event.session,
            Self::Checkpoint(checkpoint) => checkpoint.session,
        }
    }
}

pub(crate) async fn write(
    snapshot: &mut dyn Snapshot,
    session: SessionId,
    out: &mut (dyn Write + Send),
) -> Result<(), StoreError> {
    let id = Param::Id(session.uuid());
    let heads = snapshot.query(sql::SESSION, vec![id.clone()]).await?;
    let erased = heads.first().map(decode::erasure).transpose()?.flatten().is_some();
    let mut signed = Signed::new();
    let mut last = Seq::START;
    loop {
        let page = vec![id.clone(), Param::Int(decode::number(last)), Param::Int(PAGE)];
        let rows = snapshot.query(sql::READ_CHAIN, page).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            let event = event_line(session, row, erased)?;
            last = event.seq;
            put(out, &Line::Event(event))?;
            while let Some(next) = signed.peek(snapshot, &id).await?
                && next.seq <= last
            {
                put(out, &Line::Checkpoint(next.clone()))?;
                signed.page.pop_front();
            }
        }
    }
}

fn put(out: &mut (dyn Write + Send), line: &Line) -> Result<(), StoreError> {
    let mut bytes = serde_json::to_vec(line).map_err(|error| StoreError::corrupt(error.to_string()))?;
    bytes.push(b'\n');
    out.write_all(&bytes).map_err(|error| StoreError::file("write the export", &error))
}

/// Of an erased session nothing is told, even where it is not gone yet.
fn event_line(session: SessionId, row: &Row, erased: bool) -> Result<EventLine, StoreError> {
    let chain::Line { id, seq, at, event_type, .. } = decode::line(session, row)?;
    let bad = |what: &str| StoreError::corrupt(format!("{what} of event {seq}"));
    let data_hash = row.maybe_bytes("data_hash")?.map(Hash::try_from).transpose();
    let mut data_hash = data_hash.map_err(|_| bad("the hash of the data"))?;
    let (mut data, mut salt) = (None, None);
    if data_hash.is_none() {
        let (bytes, salted): (_, Salt) =
            (row.bytes("data")?, row.bytes("salt")?.try_into().map_err(|_| bad("the salt"))?);
        if erased {
            data_hash = Some(chain::data_hash(&salted, &bytes));
        } else {
            data = Some(String::from_utf8(bytes).map_err(|_| bad("the data"))?);
            salt = Some(salted);
        }
    }
    let event_type = event_type.as_str().to_owned();
    Ok(EventLine {
        session,
        id,
        seq,
        at,
        event_type,
        data,
        salt,
        data_hash,
        hash: decode::hash(row, "hash")?,
    })
}

/// The next line. `None` at the end.
pub(crate) fn read_line(
    lines: &mut (impl BufRead + ?Sized),
    number: &mut usize,
) -> Result<Option<Line>, StoreError> {
    let mut text = String::new();
    *number += 1;
    let read = lines.read_line(&mut text).and_then(|bytes| match bytes {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_str(&text)?)),
    });
    read.map_err(|error| StoreError::file(format!("read line {number}"), &error))
}

/// Checks an export line by line. Each session's report is handed on when its last line was read, so that memory does
/// not grow with the file.
pub fn verify_export(
    mut lines: impl BufRead,
    keys: &[PublicKey],
    mut report: impl FnMut(ChainReport),
) -> Result<(), StoreError> {
    let (mut current, mut number): (Option<Checked<'_>>, _) = (None, 0);
    while let Some(line) = read_line(&mut lines, &mut number)? {
        if current.as_ref().is_none_or(|checked| checked.walk.session != line.session()) {
            let new = Checked { walk: Walk::new(line.session(), Some(keys)), fault: None };
            if let Some(done) = current.replace(new) {
                report(done.end());
            }
        }
        if let Some(checked) = &mut current
            && checked.fault.is_none()
        {
            checked.fault = checked.line(&line).err();
        }
    }
    if let Some(done) = current {
        report(done.end());
    }
    Ok(())
}

struct Checked<'k> {
    walk: Walk<'k>,
    fault: Option<Fault>,
}

impl Checked<'_> {
    fn line(&mut self, line: &Line) -> Result<(), Fault> {
        match line {
            Line::Checkpoint(checkpoint) => self.walk.checkpoint(checkpoint),
            Line::Event(event) => {
                let seq = event.seq;
                let event_type = decode::event_type(&event.event_type)
                    .map_err(|error| Fault::Unreadable { seq, why: error.to_string() })?;
                let EventLine { session, id, at, .. } = *event;
                let content = match (&event.data, &event.salt, event.data_hash) {
                    (Some(data), Some(salt), None) => Content::Kept { salt, data: data.as_bytes() },
                    (None, None, Some(hash)) => Content::Erased(hash),
                    (_, _, _) => return Err(Fault::Changed { seq }),
                };
                self.walk.event(chain::Line { id, session, seq, at, event_type }, content, &event.hash)
            }
        }
    }

    fn end(self) -> ChainReport {
        let ended = || self.walk.end().err();
        // In a database the next checkpoint may be a minute away. A file is evidence, so it must have one.
        let unsigned = || (self.walk.checkpoints == 0).then_some(Fault::NothingSigned);
        let fault = self.fault.clone().or_else(ended).or_else(unsigned);
        self.walk.report(fault)
    }
}
