//! Formats that an earlier version wrote and this one does not read. Opening such a database is refused.

use holdstead_protocol::SessionId;

use crate::db::{Db, Param};
use crate::{PostgresJournal, StoreError, without_secret};

/// The event by which an earlier version said that it had merged streamed text and deleted the fragments. Such a
/// journal has gaps, so its chain does not verify here.
pub(crate) const COMPACTED: &str = "words_gathered";
/// A session whose state this version wrote has no such event: folding it would have failed. So only sessions of earlier
/// versions are searched, and once they are folded again the query costs one index lookup.
const FIND_COMPACTED: &str = "SELECT e.session_id AS id FROM sessions s JOIN events e ON e.session_id = s.id \
    WHERE s.state_version < $1 AND e.type = $2 LIMIT 1";
/// The first version without compaction.
const UNCOMPACTED_SINCE: i64 = 18;

/// The sessions of such a deployment are spread over several databases. The one that lists the others has rows in
/// `shard_databases`; each of the others has a name of its own in `keys`.
const IS_ONE_OF_SEVERAL: &str = "SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM shard_databases) \
    OR EXISTS (SELECT 1 FROM keys WHERE name = $1)";
const OWN_NAME: &str = "database";

pub(crate) async fn refuse_several_databases(journal: &PostgresJournal, url: &str) -> Result<(), StoreError> {
    let found = journal.db.query(IS_ONE_OF_SEVERAL, vec![Param::Text(OWN_NAME.to_owned())]).await?;
    if found.is_empty() {
        return Ok(());
    }
    Err(StoreError::OldFormat {
        what: format!(
            "{} belongs to a deployment whose sessions are spread over several databases, which this version does not \
             support. Nothing was changed. Run the version that wrote it, or start with an empty database",
            without_secret(url)
        ),
    })
}

pub(crate) async fn refuse_compacted_text(db: &dyn Db, url: &str) -> Result<(), StoreError> {
    let params = vec![Param::Int(UNCOMPACTED_SINCE), Param::Text(COMPACTED.to_owned())];
    let found = db.query(FIND_COMPACTED, params).await?;
    let Some(row) = found.first() else { return Ok(()) };
    Err(StoreError::OldFormat {
        what: format!(
            "the streamed text of session {} in {} was compacted by an earlier version, which this version does not \
             read. Nothing was changed. Run the version that wrote it, or start with an empty database",
            SessionId::from_uuid(row.id("id")?),
            without_secret(url)
        ),
    })
}
