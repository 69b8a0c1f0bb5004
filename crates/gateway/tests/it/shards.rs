//! Several databases: what goes on without the one that controls, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdstead_gateway::{Gateway, GatewayConfig, GatewayError};
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind, OwnerId, PersonId};
use holdstead_store::faulty::{Broken, Call, FaultyJournal};
use holdstead_store::{DeviceRecord, Journal, NewDatabases, PasskeyRule, PersonRecord, Sharded, token_hash};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

use crate::world::config;

/// Three schemas: one controls, and two have sessions.
async fn sharded() -> Sharded {
    let server = std::env::var("HOLDSTEAD_TEST_POSTGRES").expect("these tests need PostgreSQL: `just test`");
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let mut urls = Vec::new();
    for _ in 0..3 {
        let schema = format!("test_{}", Uuid::now_v7().simple());
        let create = AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
        urls.push(format!("{server}?options[search_path]={schema}"));
    }
    connection.close().await.unwrap();
    Sharded::open(&urls[0], &urls[1..], NewDatabases::Refused).await.unwrap()
}

async fn device(journal: &dyn Journal, secret: &str) -> DeviceId {
    let now = journal.now().await.unwrap();
    let person = PersonRecord {
        id: PersonId::generate(),
        owner: OwnerId::new("local").unwrap(),
        name: "Ada".to_owned(),
        handle: "ada".to_owned(),
        role: Role::Person,
        passkey_rule: PasskeyRule::NotRequired,
        created_at: now,
        removed_at: None,
    };
    let person = journal.add_person(person).await.unwrap();
    let device = DeviceRecord {
        id: DeviceId::generate(),
        person: person.id,
        hash: token_hash(secret),
        kind: DeviceKind::Token,
        name: "Token".to_owned(),
        session: None,
        created_at: now,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    };
    journal.add_device(device.clone()).await.unwrap();
    device.id
}

/// So long later.
async fn later(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_token_is_good_for_a_minute_without_the_database_that_knows_it() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = Arc::clone(&away);
    let of_control =
        ["device_by_hash", "device", "revision", "changed_devices", "use_device", "revoke_device"];
    let plan = move |call: Call| {
        let fails = matches!(call, Call::Read(name) if of_control.contains(&name));
        (fails && is_away.load(Ordering::SeqCst)).then_some(Broken::Before)
    };
    let journal: Arc<dyn Journal> = Arc::new(FaultyJournal::new(Arc::new(sharded().await), plan));
    let gateway =
        Gateway::start(Arc::clone(&journal), Vec::new(), config(GatewayConfig::DEFAULT_HOLD)).await.unwrap();
    let (seen, revoked, unseen) =
        (device(&*journal, "seen").await, device(&*journal, "revoked").await, token_hash("unseen"));
    device(&*journal, "unseen").await;
    for secret in ["seen", "revoked"] {
        assert!(gateway.admit(&token_hash(secret)).await.unwrap().is_some());
    }
    assert!(gateway.revoke_device(revoked).await.unwrap());
    assert!(gateway.admit(&token_hash("revoked")).await.unwrap().is_none(), "at once, where it was said");
    assert!(gateway.admit(&token_hash("seen")).await.unwrap().is_some());

    away.store(true, Ordering::SeqCst);
    later(Duration::from_secs(30)).await;
    let admitted = gateway.admit(&token_hash("seen")).await.unwrap().expect("seen within a minute");
    assert_eq!(admitted.device.id, seen);
    let new = gateway.admit(&unseen).await;
    assert!(matches!(new, Err(GatewayError::Store(_))), "nobody new comes in: {new:?}");
    let gone = gateway.admit(&token_hash("revoked")).await;
    assert!(matches!(gone, Err(GatewayError::Store(_))), "nor who was put out: {gone:?}");
    assert!(gateway.revoke_device(seen).await.is_err(), "and that is not said to be done which is not");
    later(Duration::from_secs(31)).await;
    let late = gateway.admit(&token_hash("seen")).await;
    assert!(matches!(late, Err(GatewayError::Store(_))), "for a minute: {late:?}");

    away.store(false, Ordering::SeqCst);
    assert!(gateway.admit(&token_hash("seen")).await.unwrap().is_some());
    gateway.stop().await;
    journal.close().await;
}
