//! What the index for searches costs an ask with its answer.
//!
//! It is measured on one database in turns: with the index, and with a trigger that drops what would be written to it.

use std::time::Instant;

use holdstead_core::Command;
use holdstead_protocol::SessionId;
use holdstead_store::Journal;

use super::load::{approval, largest_owner, opening, request};
use crate::Result;
use crate::database::Database;
use crate::latency::Latencies;

const ROUNDS: usize = 20;
/// Asks with their answers in each half of a round.
const ANSWERS: usize = 20;

/// For SQLite and for PostgreSQL.
const PREPARE: [&str; 2] =
    ["", "CREATE FUNCTION drop_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$"];
const SWITCH_OFF: [&str; 2] = [
    "CREATE TRIGGER search_off BEFORE INSERT ON search BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER search_off BEFORE INSERT ON search FOR EACH ROW EXECUTE FUNCTION drop_it()",
];
const SWITCH_ON: [&str; 2] =
    ["DROP TRIGGER IF EXISTS search_off", "DROP TRIGGER IF EXISTS search_off ON search"];

/// What it takes with the index, in parts of what it takes without.
pub(super) async fn measure(journal: &dyn Journal, database: &Database) -> Result<f64> {
    let session = SessionId::generate(&largest_owner()?);
    journal.append(session, Command::Open(Box::new(opening(&largest_owner()?, 0)))).await?;
    let (mut with, mut without) = (Latencies::default(), Latencies::default());
    database.run(PREPARE).await?;
    for round in 0..=ROUNDS {
        for (switch, took) in [(SWITCH_ON, &mut with), (SWITCH_OFF, &mut without)] {
            database.run(switch).await?;
            for ask in 0..ANSWERS {
                let (asked, command) = request(session, ask);
                let begin = Instant::now();
                journal.append(session, command).await?;
                journal.append(session, approval(asked)).await?;
                // The first round warms caches and is not counted.
                if round > 0 {
                    took.add(begin.elapsed());
                }
            }
        }
    }
    database.run(SWITCH_ON).await?;
    println!("an ask with its answer: with the index for searches {with}, without {without}");
    Ok(with.ratio_to(&without))
}
