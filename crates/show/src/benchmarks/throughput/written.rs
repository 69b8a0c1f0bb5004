//! What a cycle writes, read from the rows that cycles left: what databases are given by themselves is the same bytes.

use std::fmt;

use rusqlite::{Connection, OptionalExtension as _};
use sqlx::{Connection as _, PgConnection};

use crate::Result;
use crate::database::{Database, file_of};

/// The events of its three appends.
const EVENTS: [&str; 3] = ["interaction_request", "interaction_response", "interaction_update"];

/// The rows of one cycle.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) events: [Vec<u8>; 3],
    pub(super) head: Vec<u8>,
    pub(super) ask: Vec<u8>,
    /// What the first two are found by; the third is not.
    pub(super) found: [Found; 2],
}

#[derive(Debug, Default, Clone)]
pub(super) struct Found {
    pub(super) kind: String,
    pub(super) text: String,
    pub(super) words: String,
}

const EVENT: &str = "SELECT data FROM events WHERE type = $1 ORDER BY at DESC LIMIT 1";
const HEAD: &str = "SELECT state FROM sessions WHERE listed ORDER BY changed_at DESC LIMIT 1";
const ASK: &str = "SELECT doc FROM asks WHERE decided_at IS NOT NULL ORDER BY decided_at DESC LIMIT 1";
const FOUND: &str = "SELECT f.kind, f.text, f.words FROM events e JOIN search f \
    ON f.session_id = e.session_id AND f.seq = e.seq WHERE e.type = $1 ORDER BY e.at DESC LIMIT 1";

impl Written {
    pub(super) async fn by_cycles(database: &Database) -> Result<Self> {
        let mut written = Self::default();
        match database {
            Database::Sqlite { .. } => {
                let connection = Connection::open(file_of(&database.url())?)?;
                for (data, name) in written.events.iter_mut().zip(EVENTS) {
                    *data = connection.query_one(EVENT, [name], |row| row.get(0))?;
                }
                for (found, name) in written.found.iter_mut().zip(EVENTS) {
                    let row = connection.query_one(FOUND, [name], |row| {
                        Ok(Found { kind: row.get(0)?, text: row.get(1)?, words: row.get(2)? })
                    });
                    *found = row.optional()?.ok_or_else(|| format!("a cycle's {name} cannot be found"))?;
                }
                written.head = connection.query_one(HEAD, [], |row| row.get(0))?;
                written.ask = connection.query_one(ASK, [], |row| row.get(0))?;
            }
            Database::Postgres { .. } => {
                let mut connection = PgConnection::connect(&database.url()).await?;
                for (data, name) in written.events.iter_mut().zip(EVENTS) {
                    *data = sqlx::query_scalar(EVENT).bind(name).fetch_one(&mut connection).await?;
                }
                for (found, name) in written.found.iter_mut().zip(EVENTS) {
                    let (kind, text, words) =
                        sqlx::query_as(FOUND).bind(name).fetch_one(&mut connection).await?;
                    *found = Found { kind, text, words };
                }
                written.head = sqlx::query_scalar(HEAD).fetch_one(&mut connection).await?;
                written.ask = sqlx::query_scalar(ASK).fetch_one(&mut connection).await?;
                connection.close().await?;
            }
        }
        Ok(written)
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [request, response, update] = self.events.each_ref().map(Vec::len);
        let [asked, answered] = self.found.each_ref().map(|found| found.text.len() + found.words.len());
        write!(
            f,
            "in three commits events of {request}, {response} and {update} bytes, with each a head of {} and an ask of {}, \
             and to be found by {asked} and {answered}",
            self.head.len(),
            self.ask.len()
        )
    }
}
