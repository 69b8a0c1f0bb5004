//! A database that lacks what was seen is not used, and neither is a server that takes no writes.

use std::sync::Arc;
use std::time::Duration;

use holdstead_core::Command;
use holdstead_protocol::{Seq, SessionId};
use holdstead_store::{AppendError, Journal, NodeId, NodeStart, StoreError, WentBack};
use sqlx::{AssertSqlSafe, PgPool};
use uuid::Uuid;

use crate::aging_out::written;
use crate::commands::{message, open};

const PATIENCE: Duration = Duration::from_secs(20);

/// A database of its own, of which there can be copies.
struct Database {
    server: PgPool,
    url: String,
    name: String,
}

impl Database {
    async fn new() -> Self {
        let server =
            std::env::var("HOLDSTEAD_TEST_POSTGRES").expect("these tests need PostgreSQL: `just test`");
        let name = format!("test_{}", Uuid::now_v7().simple());
        let (place, _) = server.rsplit_once('/').expect("a database in the URL");
        let url = format!("{place}/{name}?application_name={name}");
        let server = PgPool::connect(&server).await.expect("the server");
        let database = Self { server, url, name };
        database.run(format!("CREATE DATABASE {}", database.name)).await;
        database
    }

    async fn run(&self, sql: String) {
        sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&self.server).await.expect(&sql);
    }

    async fn journal(&self) -> Arc<dyn Journal> {
        holdstead_store::open(&self.url).await.expect("a journal")
    }

    async fn break_connections(&self) {
        let ended = "SELECT count(pg_terminate_backend(pid, 20000)) FROM pg_stat_activity WHERE datname =";
        self.run(format!("{ended} '{}'", self.name)).await;
    }

    /// A copy of what is there now.
    async fn copy(&self) {
        self.break_connections().await;
        self.run(format!("CREATE DATABASE {name}_copy TEMPLATE {name}", name = self.name)).await;
    }

    /// The copy takes its place.
    async fn go_back(&self) {
        self.break_connections().await;
        self.run(format!("ALTER DATABASE {name} RENAME TO {name}_gone", name = self.name)).await;
        self.run(format!("ALTER DATABASE {name}_copy RENAME TO {name}", name = self.name)).await;
    }

    async fn end(self) {
        for name in ["", "_copy", "_gone"] {
            self.run(format!("DROP DATABASE IF EXISTS {}{name} WITH (FORCE)", self.name)).await;
        }
    }
}

async fn say(journal: &Arc<dyn Journal>, session: SessionId) {
    journal.append(session, message("hello")).await.expect("it is written");
}

fn went_back<T: std::fmt::Debug>(refused: Result<T, StoreError>) -> WentBack {
    match refused {
        Err(StoreError::WentBack(went_back)) => went_back,
        other => panic!("a database that went back was used: {other:?}"),
    }
}

async fn refused_append(journal: &Arc<dyn Journal>, session: SessionId) -> WentBack {
    match journal.append(session, message("more")).await {
        Err(AppendError::Store(error)) => went_back::<()>(Err(error)),
        other => panic!("a database that went back was written: {other:?}"),
    }
}

#[tokio::test]
async fn a_database_that_went_back_is_refused_and_says_which_sessions() {
    let database = Database::new().await;
    let journal = database.journal().await;
    let (same, longer) = (open(&*journal, "same").await, open(&*journal, "longer").await);
    say(&journal, longer).await;
    database.copy().await;
    say(&journal, longer).await;
    let new = open(&*journal, "new").await;
    database.go_back().await;

    let refused = refused_append(&journal, same).await;
    assert_eq!(refused, WentBack { sessions: vec![new, longer], more: 0 });
    let words = refused.to_string();
    assert!(words.contains(&format!("sessions {new} and {longer}")), "{words}");
    // Nothing else is done with it either, whichever connection it would be.
    assert_eq!(went_back(journal.read(same, Seq::START, 10).await), refused);
    assert_eq!(went_back(journal.ready().await), refused);
    assert_eq!(went_back(journal.verify(same).await), refused);
    let cluster = journal.cluster().expect("several nodes");
    assert_eq!(went_back(cluster.join(NodeId::generate(), NodeStart::generate(), "one").await), refused);
    assert_eq!(went_back(cluster.heads(&[same]).await), refused);
    assert_eq!(went_back(cluster.notify("hint").await), refused);
    assert_eq!(went_back(cluster.listen().await), refused);

    // Restarted, it takes the database for what it is.
    let restarted = database.journal().await;
    say(&restarted, longer).await;
    assert!(restarted.session(new).await.expect("it is read").is_none());
    // The other one does not take it even so.
    assert_eq!(refused_append(&journal, longer).await, refused);
    for journal in [journal, restarted] {
        journal.close().await;
    }
    database.end().await;
}

#[tokio::test]
async fn whoever_only_read_it_refuses_it_too() {
    let database = Database::new().await;
    let (writer, reader) = (database.journal().await, database.journal().await);
    let session = open(&*writer, "read elsewhere").await;
    database.copy().await;
    say(&writer, session).await;
    assert_eq!(reader.read(session, Seq::START, 10).await.expect("it is read").len(), 2);
    database.go_back().await;
    assert_eq!(went_back(reader.read(session, Seq::START, 10).await).sessions, [session]);
    for journal in [writer, reader] {
        journal.close().await;
    }
    database.end().await;
}

#[tokio::test]
async fn a_listener_hears_that_the_database_went_back() {
    let database = Database::new().await;
    let journal = database.journal().await;
    let mut notices = journal.cluster().expect("several nodes").listen().await.expect("it listens");
    database.copy().await;
    assert_eq!(notices.next().await.expect("a new connection"), None);
    let session = open(&*journal, "lost").await;
    database.go_back().await;
    let heard = async {
        loop {
            match notices.next().await {
                Ok(_) => {}
                Err(error) => break error,
            }
        }
    };
    let (refused, heard) = tokio::join!(refused_append(&journal, session), heard);
    assert_eq!(went_back::<()>(Err(heard)), refused);
    journal.close().await;
    database.end().await;
}

#[tokio::test]
async fn a_database_that_went_on_otherwise_is_refused() {
    let database = Database::new().await;
    let journal = database.journal().await;
    let session = open(&*journal, "two histories").await;
    database.copy().await;
    say(&journal, session).await;
    database.go_back().await;
    // As long as what was seen, and another.
    let other = database.journal().await;
    say(&other, session).await;
    assert_eq!(refused_append(&journal, session).await.sessions, [session]);
    for journal in [journal, other] {
        journal.close().await;
    }
    database.end().await;
}

#[tokio::test]
async fn a_database_that_has_everything_is_used() {
    let database = Database::new().await;
    let journal = database.journal().await;
    let session = open(&*journal, "whole").await;
    say(&journal, session).await;
    let gone = open(&*journal, "erased").await;
    journal.append(gone, Command::End { name: "ada".to_owned() }).await.expect("it ends");
    journal.erase(gone, "ada").await.expect("it is erased");
    database.copy().await;
    database.go_back().await;
    say(&journal, session).await;
    assert_eq!(journal.read(session, Seq::START, 10).await.expect("it is read").len(), 3);
    journal.close().await;
    database.end().await;
}

/// A node remembers the last event of every page that it read. What maintenance does on another node keeps all of them.
#[tokio::test]
async fn erasing_and_ageing_out_elsewhere_takes_nothing_that_a_node_remembers() {
    let database = Database::new().await;
    let (writer, reader) = (database.journal().await, database.journal().await);
    let mut sessions = Vec::new();
    for name in ["erased", "aged out", "brought back"] {
        let session = open(&*writer, name).await;
        for _ in 0..10 {
            say(&writer, session).await;
        }
        writer.append(session, Command::End { name: "ada".to_owned() }).await.expect("it ends");
        // A page that ends in the middle.
        assert_eq!(reader.read(session, Seq::START, 5).await.expect("it is read").len(), 5);
        sessions.push(session);
    }
    writer.erase(sessions[0], "ada").await.expect("it is erased");
    let mut file = Vec::new();
    for session in &sessions[1..] {
        let head = writer.session(*session).await.expect("a session").expect("this one").head;
        file.clear();
        writer.export(*session, &mut file).await.expect("written");
        writer.age_out(*session, written(head)).await.expect("it goes");
    }
    writer.bring_back(sessions[2], &mut file.as_slice()).await.expect("it is back");
    database.break_connections().await;
    say(&reader, open(&*reader, "a new connection").await).await;
    for journal in [writer, reader] {
        journal.close().await;
    }
    database.end().await;
}

#[tokio::test]
async fn an_empty_database_lacks_everything() {
    let database = Database::new().await;
    database.copy().await;
    let journal = database.journal().await;
    let mut sessions = Vec::new();
    for number in 0..23 {
        sessions.push(open(&*journal, &format!("number {number}")).await);
    }
    database.go_back().await;
    let refused = refused_append(&journal, sessions[0]).await;
    sessions.reverse();
    assert_eq!(refused, WentBack { sessions: sessions[..20].to_vec(), more: 3 });
    assert!(refused.to_string().contains(" and 3 more:"), "{refused}");
    journal.close().await;
    database.end().await;
}

/// A server that says what a standby, or one of an earlier timeline, would say.
async fn pretends(pool: &PgPool, standby: bool, timeline: u8) {
    let sql = format!(
        "CREATE OR REPLACE FUNCTION pg_is_in_recovery() RETURNS bool LANGUAGE sql AS 'SELECT {standby}'; \
         CREATE OR REPLACE FUNCTION pg_walfile_name(pg_lsn) RETURNS text LANGUAGE sql \
         AS $$SELECT '000000{timeline:02X}0000000100000001'$$"
    );
    sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(pool).await.expect(&sql);
}

#[tokio::test]
async fn a_standby_and_a_former_primary_are_waited_out() {
    let database = Database::new().await;
    // Found before those of the server itself.
    let url = format!("{}&options[search_path]=public,pg_catalog", database.url);
    let by_hand = PgPool::connect(&url).await.expect("the database");
    pretends(&by_hand, false, 2).await;
    let url = format!("{}_node&options[search_path]=public,pg_catalog", database.url);
    let journal = holdstead_store::open(&url).await.expect("a journal");
    let session = open(&*journal, "waits").await;
    let ended = format!(
        "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name = '{}_node'",
        database.name
    );
    for (standby, timeline, why) in [(true, 0, "it is a standby"), (false, 1, "it is a former primary")] {
        pretends(&by_hand, standby, timeline).await;
        database.run(ended.clone()).await;
        let refused = journal.read(session, Seq::START, 10).await.expect_err("it is not asked");
        assert!(
            matches!(refused, StoreError::Unreachable { .. }) && refused.to_string().contains(why),
            "{refused}"
        );
        let fresh = holdstead_store::open(&url).await;
        assert_eq!(fresh.is_err(), standby, "one that remembers nothing minds only a standby");
        let writing = journal.append(session, message("hello"));
        pretends(&by_hand, false, 3).await;
        tokio::time::timeout(PATIENCE, writing).await.expect("in time").expect("it is written");
    }
    journal.close().await;
    by_hand.close().await;
    database.end().await;
}
