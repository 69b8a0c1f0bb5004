//! One gateway hosts a database; the second one is told who does.

use std::sync::Arc;
use std::time::Duration;

use holdstead_store::StoreError;

use crate::fixture::Fixture;

/// The connection is looked after every two seconds.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn one_gateway_hosts_a_database(fixture: &Fixture) {
    let claim = fixture.journal().claim().await.expect("nobody else hosts it");
    let second = fixture.second().await;
    if Arc::ptr_eq(&second, fixture.journal()) {
        return;
    }
    let Err(StoreError::Claimed { by, .. }) = second.claim().await else { panic!("two host one database") };
    assert!(by.contains(&format!("process {}", std::process::id())), "{by}");
    // What is not hosting goes on beside it.
    second.ready().await.expect("it can be read and written");
    drop(claim);
    drop(second.claim().await.expect("it is free again"));
    second.close().await;
}

/// The server ends the connections that hold this schema's lock.
async fn break_connection(fixture: &Fixture) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted \
               AND objid::bigint = (hashtext(current_schema())::bigint & 4294967295)";
    fixture.run("", end).await;
}

#[tokio::test]
async fn a_claim_whose_connection_broke_is_taken_again() {
    let fixture = Fixture::postgres().await;
    let claim = fixture.journal().claim().await.expect("nobody else hosts it");
    break_connection(&fixture).await;
    let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted \
                AND objid::bigint = (hashtext(current_schema())::bigint & 4294967295)";
    let again = async {
        while fixture.count(held).await == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("it takes the lock again");
    let second = fixture.second().await;
    assert!(matches!(second.claim().await, Err(StoreError::Claimed { .. })), "two host one database");
    second.close().await;
    drop(claim);
    fixture.end().await;
}

#[tokio::test]
async fn a_claim_that_another_took_meanwhile_is_lost_and_says_to_whom() {
    let fixture = Fixture::postgres().await;
    let mut claim = fixture.journal().claim().await.expect("nobody else hosts it");
    let second = fixture.second().await;
    break_connection(&fixture).await;
    let taken = second.claim().await.expect("the lock is free");
    let by = tokio::time::timeout(PATIENCE, claim.lost()).await.expect("it is told");
    assert!(by.contains(&format!("process {}", std::process::id())), "{by}");
    drop(taken);
    second.close().await;
    fixture.end().await;
}
