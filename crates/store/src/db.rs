//! The little that reading needs of a database, so that every query is written once.

use std::fmt::Debug;

use async_trait::async_trait;
use holdstead_protocol::{Seq, SessionId, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::{Decode, Row as _, Type};
use uuid::Uuid;

use crate::backend::Backend;
use crate::refold::Refolding;
use crate::search::Language;
use crate::sqlite_row::{FromValue, SqliteRow};
use crate::{Claim, Cluster, StoreError, sql};

/// A value that a query is given.
#[derive(Debug, Clone)]
pub(crate) enum Param {
    Id(Uuid),
    MaybeId(Option<Uuid>),
    Int(i64),
    Flag(bool),
    MaybeInt(Option<i64>),
    Text(String),
    MaybeText(Option<String>),
    Bytes(Vec<u8>),
    MaybeBytes(Option<Vec<u8>>),
}

/// A row that a query gave.
#[derive(Debug)]
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
    /// A row that another version stored, and columns that this version comes to instead.
    Folded {
        stored: Box<Row>,
        folded: SqliteRow,
    },
}

impl Row {
    fn get<T>(&self, column: &str) -> Result<T, StoreError>
    where
        T: FromValue + for<'r> Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>,
    {
        match self {
            Self::Sqlite(row) => row.get(column),
            Self::Postgres(row) => row.try_get(column).map_err(unreadable),
            Self::Folded { folded, .. } if folded.has(column) => folded.get(column),
            Self::Folded { stored, .. } => stored.get(column),
        }
    }

    fn maybe<T>(&self, column: &str) -> Result<Option<T>, StoreError>
    where
        T: FromValue + for<'r> Decode<'r, sqlx::Postgres> + Type<sqlx::Postgres>,
    {
        match self {
            Self::Sqlite(row) => row.maybe(column),
            Self::Postgres(row) => row.try_get(column).map_err(unreadable),
            Self::Folded { folded, .. } if folded.has(column) => folded.maybe(column),
            Self::Folded { stored, .. } => stored.maybe(column),
        }
    }

    pub(crate) fn id(&self, column: &str) -> Result<Uuid, StoreError> {
        self.get(column)
    }

    pub(crate) fn maybe_id(&self, column: &str) -> Result<Option<Uuid>, StoreError> {
        self.maybe(column)
    }

    pub(crate) fn int(&self, column: &str) -> Result<i64, StoreError> {
        self.get(column)
    }

    pub(crate) fn maybe_int(&self, column: &str) -> Result<Option<i64>, StoreError> {
        self.maybe(column)
    }

    pub(crate) fn flag(&self, column: &str) -> Result<bool, StoreError> {
        self.get(column)
    }

    pub(crate) fn text(&self, column: &str) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn maybe_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.maybe(column)
    }

    pub(crate) fn bytes(&self, column: &str) -> Result<Vec<u8>, StoreError> {
        self.get(column)
    }

    pub(crate) fn maybe_bytes(&self, column: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.maybe(column)
    }
}

fn unreadable(error: sqlx::Error) -> StoreError {
    StoreError::corrupt(error.to_string())
}

/// A database, for everything but appending.
#[async_trait]
pub(crate) trait Db: Backend {
    async fn query(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError>;

    /// What was said in a session.
    async fn events(&self, session: SessionId, after: Seq, limit: u32) -> Result<Vec<Row>, StoreError> {
        self.query(sql::READ, sql::page(session, after, limit)).await
    }

    /// A query for the few rows that have one key.
    async fn look(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError> {
        self.query(sql, params).await
    }

    /// How it is asked for words.
    fn language(&self) -> Language;

    /// A query for words. How it is best run depends on which words they are.
    async fn find(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError>;

    /// A query that writes.
    async fn execute(&self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError>;

    /// How the query would be run.
    async fn explain(&self, sql: &'static str, params: Vec<Param>) -> Result<String, StoreError>;

    /// Held by whoever folds a session of another version again.
    fn refolding(&self) -> &Refolding;

    /// The database as it is at one moment, for several queries.
    async fn snapshot(&self) -> Result<Box<dyn Snapshot>, StoreError>;

    /// Several statements that are written together. Nobody appends to the locked session meanwhile.
    async fn begin(&self, lock: Option<SessionId>) -> Result<Box<dyn Snapshot>, StoreError>;

    /// What was erased is taken from where the database keeps old pages, as far as it can be told to.
    async fn forget(&self) -> Result<(), StoreError>;

    async fn claim(&self) -> Result<Claim, StoreError>;

    /// `None` where one gateway has it for itself.
    fn cluster(&self) -> Option<&dyn Cluster> {
        None
    }

    async fn now(&self) -> Result<Timestamp, StoreError>;

    async fn close(&self);
}

#[async_trait]
pub(crate) trait Snapshot: Send {
    async fn query(&mut self, sql: &'static str, params: Vec<Param>) -> Result<Vec<Row>, StoreError>;

    /// What is dropped without this was never written.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
}
