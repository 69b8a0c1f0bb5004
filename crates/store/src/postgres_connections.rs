//! Connections to PostgreSQL that are used as they are, without asking first whether they still work: that would cost a
//! round trip each time, and whoever uses one sees it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::StoreError;
use crate::postgres_check::check;
use crate::seen::{LastSeen, Timeline};

/// What every connection is set to.
///
/// A commit is reported after it is on disk, whatever the server's default; stricter settings than `on` are left
/// alone. Every query here finds rows by key, so that the plans which read whole tables are wrong even where
/// statistics are missing and the planner takes a table for small. One plan serves for every value: planning anew
/// costs more than the query.
const SETTINGS: &str = "
    SELECT set_config('synchronous_commit', 'on', false)
     WHERE current_setting('synchronous_commit') IN ('off', 'local');
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan;
    SET jit = off";

/// Makes a new connection fit for use: nothing of ours runs on it before.
pub(crate) async fn prepare(connection: &mut PgConnection, seen: &LastSeen) -> Result<Timeline, sqlx::Error> {
    sqlx::raw_sql(SETTINGS).execute(&mut *connection).await?;
    check(connection, seen).await
}

#[derive(Debug)]
pub(crate) struct Connections {
    options: PgConnectOptions,
    seen: Arc<LastSeen>,
    idle: Mutex<Vec<(PgConnection, Timeline)>>,
    seats: Semaphore,
}

/// A connection while somebody has it. One that is not given back is closed.
#[derive(Debug)]
pub(crate) struct Taken<'c> {
    pub(crate) connection: PgConnection,
    /// It was made for this: if it fails, the server is away, and not only has been.
    pub(crate) is_new: bool,
    /// What its server writes.
    pub(crate) timeline: Timeline,
    seat: SemaphorePermit<'c>,
}

impl Connections {
    pub(crate) const fn new(options: PgConnectOptions, most: usize, seen: Arc<LastSeen>) -> Self {
        Self { options, seen, idle: Mutex::new(Vec::new()), seats: Semaphore::const_new(most) }
    }

    pub(crate) async fn take(&self) -> Result<Taken<'_>, StoreError> {
        let seat = self.seats.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        self.seen.usable()?;
        if let Some((connection, timeline)) = self.pop() {
            return Ok(Taken { connection, is_new: false, timeline, seat });
        }
        let mut connection = PgConnection::connect_with(&self.options).await?;
        let timeline = prepare(&mut connection, &self.seen).await?;
        Ok(Taken { connection, is_new: true, timeline, seat })
    }

    /// One that was used before. Those to a server that another one took over from are closed.
    fn pop(&self) -> Option<(PgConnection, Timeline)> {
        let mut idle = self.idle();
        idle.retain(|(_, timeline)| !self.seen.is_ended(*timeline));
        idle.pop()
    }

    pub(crate) fn give_back(&self, taken: Taken<'_>) {
        self.idle().push((taken.connection, taken.timeline));
        drop(taken.seat);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(PgConnection, Timeline)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn close(&self) {
        self.seats.close();
        let idle = std::mem::take(&mut *self.idle());
        for (connection, _) in idle {
            // The server notices either way.
            let _gone = connection.close().await;
        }
    }
}
