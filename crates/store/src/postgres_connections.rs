//! Connections to PostgreSQL that are used as they are, without asking first whether they still work: that would cost a
//! round trip each time, and whoever uses one sees it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

/// What every connection is set to.
///
/// A commit is reported after it is on disk, whatever the server's default; stricter settings than `on` are left
/// alone. Every query here finds rows by key, so that the plans which read whole tables are wrong even where
/// statistics are missing and the planner takes a table for small. One plan serves for every value: planning anew
/// costs more than the query.
pub(crate) const SETTINGS: &str = "
    SELECT set_config('synchronous_commit', 'on', false)
     WHERE current_setting('synchronous_commit') IN ('off', 'local');
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET plan_cache_mode = force_generic_plan;
    SET jit = off";

#[derive(Debug)]
pub(crate) struct Connections {
    options: PgConnectOptions,
    idle: Mutex<Vec<PgConnection>>,
    seats: Semaphore,
}

/// A connection while somebody has it. One that is not given back is closed.
#[derive(Debug)]
pub(crate) struct Taken<'c> {
    pub(crate) connection: PgConnection,
    /// It was made for this: if it fails, the server is away, and not only has been.
    pub(crate) is_new: bool,
    seat: SemaphorePermit<'c>,
}

impl Connections {
    pub(crate) const fn new(options: PgConnectOptions, most: usize) -> Self {
        Self { options, idle: Mutex::new(Vec::new()), seats: Semaphore::const_new(most) }
    }

    pub(crate) async fn take(&self) -> Result<Taken<'_>, sqlx::Error> {
        let seat = self.seats.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
        let idle = self.idle().pop();
        let (connection, is_new) = match idle {
            Some(connection) => (connection, false),
            None => {
                let mut connection = PgConnection::connect_with(&self.options).await?;
                sqlx::raw_sql(SETTINGS).execute(&mut connection).await?;
                (connection, true)
            }
        };
        Ok(Taken { connection, is_new, seat })
    }

    pub(crate) fn give_back(&self, taken: Taken<'_>) {
        self.idle().push(taken.connection);
        drop(taken.seat);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn close(&self) {
        self.seats.close();
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            // The server notices either way.
            let _gone = connection.close().await;
        }
    }
}
