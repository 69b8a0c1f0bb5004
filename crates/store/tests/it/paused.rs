//! A journal whose clock is the test's, on a runtime whose time stands still.

use std::sync::Arc;
use std::time::Duration;

use holdstead_protocol::Timestamp;
use holdstead_store::{Clock, Journal, SqliteJournal};
use tokio::time::Instant;

use crate::commands::{ask, closing_at, from_now, open, question};

struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_000_000).after(self.0.elapsed())
    }
}

#[tokio::test(start_paused = true)]
async fn time_stands_still_while_the_database_works() {
    let start = Instant::now();
    let timer = tokio::spawn(tokio::time::sleep(Duration::from_secs(600)));
    let journal =
        SqliteJournal::open_with_clock("sqlite::memory:", Arc::new(Paused(start))).await.expect("in memory");
    let session = open(&journal, "paused").await;
    let request = closing_at(question(session, "paused"), from_now(&journal, 60_000).await);
    for _ in 0..50 {
        journal.append(session, ask(&request)).await.expect("asked");
        journal.session(session).await.expect("a look");
    }
    assert!(journal.verify(session).await.expect("a report").is_sound());
    assert_eq!(start.elapsed(), Duration::ZERO, "time ran while the database worked");
    let list = journal.due(10).await.expect("a list");
    assert_eq!((list.due.len(), list.next_in), (0, Some(Duration::from_secs(60))));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(journal.due(10).await.expect("a list").due.len(), 1);
    timer.abort();
    journal.close().await;
}
