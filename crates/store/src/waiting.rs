//! How many asks wait, and for how long: for whoever watches over a deployment. Numbers only, over all owners.

use std::collections::BTreeMap;
use std::time::Duration;

use holdstead_protocol::Timestamp;

use crate::db::{Db, Param, Row};
use crate::{StoreError, sql};

/// An ask whose time ran out this long ago should have been closed: whoever sees to that is late.
const LATE: Duration = Duration::from_secs(10);

/// What waits in the journal now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// For every pair; of most there is none.
    pub asks: BTreeMap<(WaitsFor, Age), u64>,
    /// Asks that should have closed, or come back into sight, more than ten seconds ago.
    pub overdue: u64,
}

/// Whom an ask waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitsFor {
    /// A person can answer it.
    Person,
    /// Its tool has a response, and has not said yet what follows.
    Tool,
    /// What was decided is on its way to the agent.
    Agent,
}

/// How long ago an ask was opened, each without those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    UpToMinute,
    UpToTenMinutes,
    UpToHour,
    UpToDay,
    Older,
}

impl Age {
    pub const ALL: [Self; 5] =
        [Self::UpToMinute, Self::UpToTenMinutes, Self::UpToHour, Self::UpToDay, Self::Older];
}

/// The ends of all ages but the last.
const ENDS: [Duration; 4] = [
    Duration::from_secs(60),
    Duration::from_secs(600),
    Duration::from_secs(3_600),
    Duration::from_secs(86_400),
];

/// Two scans of indexes that have only what waits, and one of what is overdue.
pub(crate) async fn count(db: &dyn Db) -> Result<Waiting, StoreError> {
    let now = db.now().await?;
    let live = one(db, sql::LIVE_BY_AGE, ends(now)).await?;
    let under_way = one(db, sql::UNDER_WAY_BY_AGE, ends(now)).await?;
    let late = vec![Param::Int(before(now, LATE))];
    let overdue = number(&one(db, sql::OVERDUE, late).await?, "n")?;
    let live = by_age(&live, ["n1", "n2", "n3", "n4", "n"])?;
    let submitted = by_age(&under_way, ["s1", "s2", "s3", "s4", "s"])?;
    let undelivered = by_age(&under_way, ["u1", "u2", "u3", "u4", "u"])?;
    let mut asks = BTreeMap::new();
    for (place, age) in Age::ALL.into_iter().enumerate() {
        // What is submitted is live, too; one may have been settled between the two looks.
        asks.insert((WaitsFor::Person, age), live[place].saturating_sub(submitted[place]));
        asks.insert((WaitsFor::Tool, age), submitted[place]);
        asks.insert((WaitsFor::Agent, age), undelivered[place]);
    }
    Ok(Waiting { asks, overdue })
}

/// When an ask was opened that is as old as each age can be.
pub(crate) fn ends(now: Timestamp) -> Vec<Param> {
    ENDS.map(|end| Param::Int(before(now, end))).to_vec()
}

fn before(now: Timestamp, long: Duration) -> i64 {
    now.micros().saturating_sub(i64::try_from(long.as_micros()).unwrap_or(i64::MAX))
}

async fn one(db: &dyn Db, sql: &'static str, params: Vec<Param>) -> Result<Row, StoreError> {
    let rows = db.query(sql, params).await?;
    rows.into_iter().next().ok_or_else(|| StoreError::corrupt("a count came to nothing"))
}

fn number(row: &Row, column: &str) -> Result<u64, StoreError> {
    Ok(u64::try_from(row.int(column)?).unwrap_or_default())
}

/// The columns count all that are newer than the end of an age.
fn by_age(row: &Row, columns: [&str; 5]) -> Result<[u64; 5], StoreError> {
    let (mut counts, mut younger) = ([0; 5], 0);
    for (count, column) in counts.iter_mut().zip(columns) {
        let so_far = number(row, column)?;
        *count = so_far.saturating_sub(younger);
        younger = so_far;
    }
    Ok(counts)
}
