//! One gapless order per session, whoever appends.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdstead_core::{Command, Output};
use holdstead_protocol::{Event, EventBody, Seq, Timestamp};
use holdstead_store::Journal;
use tokio::task::JoinSet;

use crate::commands::{check_sound, message, open, read_all, say, text_delta};
use crate::fixture::Fixture;

fn texts(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| {
        if let EventBody::TextDelta(delta) = &event.body { Some(delta.text.clone()) } else { None }
    };
    events.iter().filter_map(text).collect()
}

async fn many_appenders(journals: [Arc<dyn Journal>; 2]) {
    const APPENDERS: usize = 64;
    const EACH: usize = 10;
    let sessions =
        [open(&*journals[0], "a").await, open(&*journals[0], "b").await, open(&*journals[1], "c").await];
    let mut appenders = JoinSet::new();
    for appender in 0..APPENDERS {
        let journal = Arc::clone(&journals[appender % 2]);
        appenders.spawn(async move {
            for number in 0..EACH {
                let session = sessions[(appender + number) % sessions.len()];
                let text = format!("{appender}.{number}");
                let appended = journal.append(session, say(&text)).await.expect("appended");
                assert_eq!(texts(&appended.events), [text]);
                assert_eq!(appended.head, appended.events[0].seq);
            }
        });
    }
    while let Some(done) = appenders.join_next().await {
        done.expect("an appender");
    }
    let mut seen = BTreeSet::new();
    for session in sessions {
        let events = check_sound(&*journals[0], session).await;
        assert_eq!(events, read_all(&*journals[1], session).await);
        seen.extend(texts(&events));
    }
    assert_eq!(seen.len(), APPENDERS * EACH);
}

pub(crate) async fn seq_has_no_gap_under_many_appenders(fixture: &Fixture) {
    many_appenders([Arc::clone(fixture.journal()), Arc::clone(fixture.journal())]).await;
}

pub(crate) async fn two_instances_append_to_the_same_sessions(fixture: &Fixture) {
    many_appenders([Arc::clone(fixture.journal()), fixture.second().await]).await;
}

pub(crate) async fn calls_are_decided_in_their_order(fixture: &Fixture) {
    let journal = fixture.journal();
    let sessions = [open(&**journal, "a").await, open(&**journal, "b").await];
    // Nobody awaits until all are queued, and then the last one first.
    let mut pending = Vec::new();
    for number in 0..600 {
        pending.push(journal.append(sessions[number % 2], say(&number.to_string())));
    }
    while let Some(append) = pending.pop() {
        append.await.expect("appended");
    }
    for (odd, session) in sessions.into_iter().enumerate() {
        let expected: Vec<_> = (0..600).filter(|number| number % 2 == odd).map(|n| n.to_string()).collect();
        assert_eq!(texts(&check_sound(&**journal, session).await), expected);
    }
}

pub(crate) async fn replay_from_any_seq_is_the_journal(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "a").await;
    let mut live = journal.read(session, Seq::START, 10).await.expect("the opening");
    for number in 0..20 {
        let several = Command::Record(
            (0..3).map(|part| text_delta(&format!("{number}.{part}"))).collect::<Vec<Output>>(),
        );
        live.extend(journal.append(session, several).await.expect("appended").events);
    }
    for after in 0..=live.len() {
        let rest = journal.read(session, Seq(after as u64), 1000).await.expect("the rest");
        assert_eq!(rest, live[after..]);
    }
    assert_eq!(read_all(&**journal, session).await, live);
    assert!(journal.read(session, Seq(1_000), 10).await.expect("nothing").is_empty());
}

pub(crate) async fn time_never_runs_backwards(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "a").await;
    // As if the node before had a clock that is an hour ahead. What it wrote has another hash.
    let ahead = journal.now().await.expect("the time").micros() + 3_600_000_000;
    let sqlite = format!("UPDATE sessions SET last_at = {ahead}, head_hash = randomblob(32)");
    let postgres = format!("UPDATE sessions SET last_at = {ahead}, head_hash = sha256(head_hash)");
    fixture.run(&sqlite, &postgres).await;
    let appended = journal.append(session, message("hello")).await.expect("appended");
    assert_eq!(appended.events[0].at, Timestamp::from_micros(ahead));
}
