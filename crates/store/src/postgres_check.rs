//! Whether the server behind a connection is one to use: the primary, with everything that was seen.

use holdstead_protocol::SessionId;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::decode;
use crate::seen::{Checked, Expected, LastSeen, Timeline, Unfit};

/// The first eight digits of a WAL file's name are the timeline. A standby writes none.
macro_rules! server {
    () => {
        "SELECT pg_is_in_recovery() AS is_standby, CASE WHEN pg_is_in_recovery() THEN 0 ELSE \
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END AS timeline"
    };
}

/// For when there may be no tables yet.
const SERVER: &str = server!();
/// Erased events keep their hash.
const SERVER_AND_MISSING: &str = concat!(
    server!(),
    ", ARRAY(SELECT seen.id FROM UNNEST($1::uuid[], $2::bigint[], $3::bytea[]) AS seen (id, seq, hash) \
     WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.session_id = seen.id AND e.seq = seen.seq \
     AND e.hash = seen.hash)) AS missing"
);

pub(crate) async fn check(connection: &mut PgConnection, seen: &LastSeen) -> Result<Timeline, sqlx::Error> {
    loop {
        let expected = seen.expected();
        let server = ask(connection, &expected).await?;
        if server.is_standby {
            return Err(unfit(Unfit::Standby));
        }
        if !server.missing.is_empty() {
            return Err(unfit(Unfit::WentBack(seen.lacks(&expected, &server.missing))));
        }
        match seen.has_all(&expected, server.timeline).map_err(unfit)? {
            Checked::Fit => return Ok(server.timeline),
            Checked::Again => {}
        }
    }
}

/// Whether the server of a connection that was made earlier still takes writes, and no other one took over from it.
pub(crate) async fn is_current(connection: &mut PgConnection, seen: &LastSeen) -> Result<bool, sqlx::Error> {
    let row = sqlx::query(SERVER).fetch_one(connection).await?;
    let is_standby: bool = row.try_get("is_standby")?;
    Ok(!is_standby && !seen.is_ended(Timeline(row.try_get("timeline")?)))
}

struct Server {
    is_standby: bool,
    timeline: Timeline,
    missing: Vec<SessionId>,
}

async fn ask(connection: &mut PgConnection, expected: &Expected) -> Result<Server, sqlx::Error> {
    let places = &expected.places;
    if !places.is_empty() {
        let query = sqlx::query(SERVER_AND_MISSING)
            .bind(places.iter().map(|place| place.session.uuid()).collect::<Vec<_>>())
            .bind(places.iter().map(|place| decode::number(place.seq)).collect::<Vec<_>>())
            .bind(places.iter().map(|place| place.hash.to_vec()).collect::<Vec<_>>());
        match query.persistent(false).fetch_one(&mut *connection).await {
            Ok(row) => {
                let missing: Vec<Uuid> = row.try_get("missing")?;
                let missing = missing.into_iter().map(SessionId::from_uuid).collect();
                return Ok(Server {
                    is_standby: row.try_get("is_standby")?,
                    timeline: Timeline(row.try_get("timeline")?),
                    missing,
                });
            }
            Err(error) if has_no_tables(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let row = sqlx::query(SERVER).persistent(false).fetch_one(connection).await?;
    Ok(Server {
        is_standby: row.try_get("is_standby")?,
        timeline: Timeline(row.try_get("timeline")?),
        missing: places.iter().map(|place| place.session).collect(),
    })
}

fn has_no_tables(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("42P01"))
}

/// The pool passes on nothing else.
fn unfit(why: Unfit) -> sqlx::Error {
    sqlx::Error::Configuration(Box::new(why))
}
