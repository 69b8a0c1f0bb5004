//! Formats that an earlier version wrote and this one does not read. Opening such a database is refused.

use crate::db::{Db, Param};
use crate::{PostgresJournal, StoreError, without_secret};

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
