//! One gateway hosts a database file, and the second one is told who does. PostgreSQL has room for both.

use std::sync::Arc;

use holdstead_store::StoreError;

use crate::fixture::Fixture;

pub(crate) async fn one_gateway_hosts_a_file(fixture: &Fixture) {
    let claim = fixture.journal().claim().await.expect("nobody else hosts it");
    let second = fixture.second().await;
    if Arc::ptr_eq(&second, fixture.journal()) {
        return;
    }
    if second.cluster().is_some() {
        drop(second.claim().await.expect("there is room for two"));
    } else {
        let Err(StoreError::Claimed { by, .. }) = second.claim().await else { panic!("two host one file") };
        assert!(by.contains(&format!("process {}", std::process::id())), "{by}");
    }
    // What is not hosting goes on beside it.
    second.ready().await.expect("it can be read and written");
    drop(claim);
    drop(second.claim().await.expect("it is free again"));
    second.close().await;
}
