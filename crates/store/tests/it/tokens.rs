//! Who may do what.

use std::sync::Arc;
use std::time::Duration;

use holdstead_protocol::{SessionId, api::Role};
use holdstead_store::{LinkUse, LoginLinkRecord, TicketRecord, TokenRecord};
use tokio::task::JoinSet;

use crate::commands::{from_now, owner};
use crate::fixture::Fixture;

pub(crate) async fn a_token_is_found_until_it_is_revoked(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let person = TokenRecord {
        hash: [1; 32],
        owner: owner(),
        role: Role::Person,
        name: "Ada".to_owned(),
        session: None,
        created_at: from_now(journal, 0).await,
        expires_at: None,
        revoked_at: None,
    };
    let agent = TokenRecord {
        hash: [2; 32],
        role: Role::Agent,
        session: Some(SessionId::generate(&owner())),
        expires_at: Some(from_now(journal, 1_000).await),
        ..person.clone()
    };
    for token in [&person, &agent] {
        journal.add_token(token.clone()).await.expect("added");
        assert_eq!(journal.token(&token.hash).await.expect("a look").as_ref(), Some(token));
    }
    assert!(journal.add_token(person.clone()).await.is_err(), "one secret, one token");
    assert_eq!(journal.token(&[3; 32]).await.expect("a look"), None);
    assert!(journal.revoke_token(&person.hash).await.expect("revoked"));
    assert!(!journal.revoke_token(&person.hash).await.expect("a look"));
    let revoked = journal.token(&person.hash).await.expect("a look").expect("it is still known");
    assert!(revoked.revoked_at.is_some_and(|at| at >= person.created_at));
    assert_eq!(journal.token(&agent.hash).await.expect("a look"), Some(agent));
}

pub(crate) async fn a_link_lets_one_of_twenty_in(fixture: &Fixture) {
    let journal = fixture.journal();
    let expires_at = from_now(&**journal, 60_000).await;
    let link = LoginLinkRecord { hash: [7; 32], owner: owner(), name: "Ada".to_owned(), expires_at };
    journal.add_login_link(link).await.expect("added");
    let mut browsers = JoinSet::new();
    for _ in 0..20 {
        let journal = Arc::clone(journal);
        browsers.spawn(async move { journal.use_login_link(&[7; 32]).await.expect("an answer") });
    }
    let mut entered = 0;
    while let Some(used) = browsers.join_next().await {
        match used.expect("a browser") {
            LinkUse::Ok { owner: whose, name } => {
                assert_eq!((whose, name.as_str()), (owner(), "Ada"));
                entered += 1;
            }
            LinkUse::UsedAt(at) => assert!(at < expires_at),
            other @ (LinkUse::Expired(_) | LinkUse::Unknown) => panic!("{other:?}"),
        }
    }
    assert_eq!(entered, 1);
    assert_eq!(journal.use_login_link(&[8; 32]).await.expect("an answer"), LinkUse::Unknown);
}

pub(crate) async fn an_old_link_lets_nobody_in(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let expires_at = from_now(journal, 20).await;
    let link = LoginLinkRecord { hash: [9; 32], owner: owner(), name: "Ada".to_owned(), expires_at };
    journal.add_login_link(link).await.expect("added");
    tokio::time::sleep(Duration::from_millis(40)).await;
    assert_eq!(journal.use_login_link(&[9; 32]).await.expect("an answer"), LinkUse::Expired(expires_at));
}

pub(crate) async fn a_ticket_opens_one_of_twenty(fixture: &Fixture) {
    let journal = fixture.journal();
    let expires_at = from_now(&**journal, 60_000).await;
    let ticket = TicketRecord { hash: [7; 32], token: [1; 32], expires_at };
    journal.add_ticket(ticket).await.expect("added");
    let mut sockets = JoinSet::new();
    for _ in 0..20 {
        let journal = Arc::clone(journal);
        sockets.spawn(async move { journal.use_ticket(&[7; 32]).await.expect("an answer") });
    }
    let used = sockets.join_all().await;
    let opened: Vec<_> = used.into_iter().flatten().collect();
    assert_eq!(opened, [[1; 32]]);
    assert_eq!(journal.use_ticket(&[8; 32]).await.expect("an answer"), None);
}

pub(crate) async fn an_old_ticket_opens_nothing(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let expires_at = from_now(journal, 20).await;
    journal.add_ticket(TicketRecord { hash: [9; 32], token: [1; 32], expires_at }).await.expect("added");
    tokio::time::sleep(Duration::from_millis(40)).await;
    assert_eq!(journal.use_ticket(&[9; 32]).await.expect("an answer"), None);
}
