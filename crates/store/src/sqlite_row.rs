//! Values on their way into SQLite and out of it.

use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};
use uuid::Uuid;

use crate::StoreError;
use crate::db::{Param, Row};

/// A row that a query gave, apart from the statement that gave it.
#[derive(Debug)]
pub(crate) struct SqliteRow {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

#[derive(Debug)]
enum Value {
    Null,
    Int(i64),
    Real,
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Int(number),
            ValueRef::Real(_) => Self::Real,
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

/// What a column can be read as. SQLite lets anything stand anywhere, so what somebody put there is told, not trusted.
pub(crate) trait FromValue: Sized {
    const NAME: &'static str;
    fn from_int(_number: i64) -> Option<Self> {
        None
    }
    fn from_text(_bytes: &[u8]) -> Option<Self> {
        None
    }
    fn from_blob(_bytes: &[u8]) -> Option<Self> {
        None
    }
}

impl FromValue for i64 {
    const NAME: &'static str = "a number";
    fn from_int(number: i64) -> Option<Self> {
        Some(number)
    }
}

impl FromValue for bool {
    const NAME: &'static str = "yes or no";
    fn from_int(number: i64) -> Option<Self> {
        Some(number != 0)
    }
}

impl FromValue for String {
    const NAME: &'static str = "text";
    fn from_text(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

impl FromValue for Vec<u8> {
    const NAME: &'static str = "bytes";
    fn from_text(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
    fn from_blob(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl FromValue for Uuid {
    const NAME: &'static str = "an id";
    fn from_blob(bytes: &[u8]) -> Option<Self> {
        Self::from_slice(bytes).ok()
    }
}

impl SqliteRow {
    /// A row that no query gave.
    pub(crate) fn of(columns: Vec<(&str, Param)>) -> Self {
        let (columns, values): (Vec<_>, _) =
            columns.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value.value()))).unzip();
        Self { columns: columns.into(), values }
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    pub(crate) fn get<T: FromValue>(&self, column: &str) -> Result<T, StoreError> {
        self.maybe(column)?.ok_or_else(|| StoreError::corrupt(format!("{column} is empty")))
    }

    pub(crate) fn maybe<T: FromValue>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let place = self.columns.iter().position(|name| name == column);
        let value = place.and_then(|place| self.values.get(place));
        let read = match value.ok_or_else(|| StoreError::corrupt(format!("there is no {column}")))? {
            Value::Null => return Ok(None),
            Value::Int(number) => T::from_int(*number),
            Value::Real => None,
            Value::Text(bytes) => T::from_text(bytes),
            Value::Blob(bytes) => T::from_blob(bytes),
        };
        match read {
            Some(read) => Ok(Some(read)),
            None => Err(StoreError::corrupt(format!("{column} is not {}", T::NAME))),
        }
    }
}

impl Param {
    fn value(&self) -> ValueRef<'_> {
        match self {
            Self::Id(id) => ValueRef::Blob(id.as_bytes()),
            Self::MaybeId(id) => id.as_ref().map_or(ValueRef::Null, |id| ValueRef::Blob(id.as_bytes())),
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Flag(flag) => ValueRef::Integer(i64::from(*flag)),
            Self::MaybeInt(number) => number.map_or(ValueRef::Null, ValueRef::Integer),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::MaybeText(text) => {
                text.as_ref().map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()))
            }
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
            Self::MaybeBytes(bytes) => bytes.as_deref().map_or(ValueRef::Null, ValueRef::Blob),
        }
    }
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(self.value()))
    }
}

/// Runs a statement to its end. It is kept prepared.
pub(crate) fn run(connection: &Connection, sql: &str, params: &[&dyn ToSql]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    let columns: Arc<[String]> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut given = statement.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = given.next()? {
        let value = |place| row.get_ref(place).map(Value::from);
        let values = (0..columns.len()).map(value).collect::<Result<_, _>>()?;
        rows.push(Row::Sqlite(SqliteRow { columns: Arc::clone(&columns), values }));
    }
    Ok(rows)
}

/// The same for one that gives no rows.
pub(crate) fn put(connection: &Connection, sql: &str, params: &[&dyn ToSql]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    bind(&mut statement, params)?;
    statement.raw_execute().map(|_| ())
}

/// Statements number their values as PostgreSQL does. To SQLite `$2` is a name, whose place is where it comes first.
fn bind(statement: &mut Statement<'_>, params: &[&dyn ToSql]) -> rusqlite::Result<()> {
    for place in 1..=statement.parameter_count() {
        let name = statement.parameter_name(place).and_then(|name| name.get(1..)?.parse::<usize>().ok());
        let param = name.and_then(|number| params.get(number.checked_sub(1)?));
        let param = param.ok_or(rusqlite::Error::InvalidParameterCount(params.len(), place))?;
        statement.raw_bind_parameter(place, param)?;
    }
    Ok(())
}

/// What a query was given, to be bound.
pub(crate) fn bound(params: &[Param]) -> Vec<&dyn ToSql> {
    params.iter().map(|param| param as &dyn ToSql).collect()
}
