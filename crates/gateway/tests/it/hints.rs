//! What nodes hear of each other, by every way that hints travel: they may be lost, doubled and late, and anybody may write there.

use std::collections::HashSet;

use holdstead_gateway::{InboxFrame, Person};
use holdstead_protocol::api::NewRule;
use holdstead_protocol::api::SendMessage;
use holdstead_protocol::{AskState, InteractionId, Seq, SessionId, Settlement, Surface};
use uuid::Uuid;

use crate::deployment::{By, Deployment, Open, ask};
use crate::world::{PATIENCE, Talk, ada, approve, owner, respond};

macro_rules! by_every_way {
    ($($test:ident)*) => {
        mod notify {
            use super::*;
            $(#[tokio::test] async fn $test() { super::$test(By::Notify).await; })*
        }
        mod nats {
            use super::*;
            $(#[tokio::test] async fn $test() { super::$test(By::Nats).await; })*
        }
    };
}

by_every_way! {
    an_agent_on_one_node_is_watched_and_answered_on_the_other
    a_caller_who_waits_on_one_node_is_answered_on_the_other
    an_inbox_on_one_node_has_what_is_asked_and_answered_on_the_other
    what_was_told_while_a_node_could_not_listen_is_found
    what_is_told_again_and_late_changes_nothing
    whoever_writes_there_can_wake_nodes_and_nothing_else
    many_sessions_at_once_are_all_told
    a_rule_saved_on_one_node_settles_what_waits_on_the_other
    two_deployments_on_one_server_do_not_hear_each_other
}

async fn an_agent_on_one_node_is_watched_and_answered_on_the_other(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    respond(&second, &request, approve()).await.unwrap();
    talk.completed().await;
    let (journal, _) = first.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    assert_eq!(talk.seen, journal[..talk.seen.len()], "no gap and no double");
    deployment.end([first, second]).await;
}

async fn a_caller_who_waits_on_one_node_is_answered_on_the_other(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let asked = ask(&second, &ada(), 1).await;
    let waiting = tokio::spawn({
        let (second, read) = (second.clone(), asked.clone());
        async move { second.wait_settled(&ada(), read, PATIENCE).await }
    });
    respond(&first, &asked.request, approve()).await.unwrap();
    let settled = waiting.await.unwrap().unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
    deployment.end([first, second]).await;
}

/// Reads on until the inbox says this of the ask. What it was told in between may be a snapshot.
async fn until(inbox: &mut holdstead_gateway::InboxStream, id: InteractionId, state: &AskState) {
    loop {
        let frame = tokio::time::timeout(PATIENCE, inbox.next()).await.expect("a frame in time").unwrap();
        match frame.expect("a frame") {
            InboxFrame::Upsert(upsert) if upsert.interaction_id == id && upsert.state == *state => return,
            InboxFrame::Upsert(_) => {}
            InboxFrame::Snapshot(page) => {
                let found = page.interactions.iter().find(|ask| ask.request.interaction_id == id);
                match (found, state) {
                    (Some(ask), state) if ask.state == *state => return,
                    (None, AskState::Settled { .. }) => return,
                    (_, _) => {}
                }
            }
        }
    }
}

async fn an_inbox_on_one_node_has_what_is_asked_and_answered_on_the_other(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut inbox = second.inbox(&owner("ada"));
    let asked = ask(&first, &ada(), 1).await.request;
    until(&mut inbox, asked.interaction_id, &AskState::Open).await;
    respond(&first, &asked, approve()).await.unwrap();
    let approved = AskState::Settled { settlement: Settlement::Approved };
    until(&mut inbox, asked.interaction_id, &approved).await;
    deployment.end([first, second]).await;
}

async fn what_was_told_while_a_node_could_not_listen_is_found(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    let mut inbox = second.inbox(&owner("ada"));
    for round in 1..=3 {
        deployment.break_connections_of("second").await;
        let asked = ask(&first, &ada(), round).await.request;
        first.message(&ada(), session, SendMessage::new("say hello")).await.unwrap();
        talk.completed().await;
        until(&mut inbox, asked.interaction_id, &AskState::Open).await;
        // The one that has the agent hears of a message, too.
        deployment.break_connections_of("first").await;
        second.message(&ada(), session, SendMessage::new("say hello")).await.unwrap();
        talk.completed().await;
    }
    deployment.end([first, second]).await;
}

async fn what_is_told_again_and_late_changes_nothing(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut stranger = deployment.stranger().await;
    stranger.until_hints_go(&first, &deployment).await;
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    let mut earlier = Vec::new();
    for _ in 0..3 {
        talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
        let request = talk.ask().await;
        earlier.push(stranger.hear_of(session).await);
        for notice in earlier.iter().rev().chain(&earlier) {
            stranger.say(notice.clone()).await;
        }
        respond(&second, &request, approve()).await.unwrap();
        talk.completed().await;
    }
    let (journal, _) = first.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    assert_eq!(talk.seen, journal[..talk.seen.len()], "no gap and no double");
    deployment.end([first, second]).await;
}

async fn whoever_writes_there_can_wake_nodes_and_nothing_else(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut stranger = deployment.stranger().await;
    stranger.until_hints_go(&first, &deployment).await;
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    let real = String::from_utf8(stranger.hear_of(session).await).unwrap();
    let node = real.split(' ').next().unwrap();
    let (nobody, other) = (Uuid::new_v4().simple(), SessionId::generate(&owner("ada")));
    let odd: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"approve everything".to_vec(),
        vec![0xff; 300],
        vec![0; 7_000],
        vec![b'x'; 900_000],
        real.replace(' ', "  ").into_bytes(),
        [real.as_bytes(), b"\n", &[0xc3]].concat(),
        // Of a node that nobody knows, of a session that is none, of events that are not there yet.
        format!("{nobody} 1 0\n{session} 1 1 host").into_bytes(),
        format!("{nobody} {} {}\n{other} 1 {} host", i64::MIN, u64::MAX, u64::MAX).into_bytes(),
        format!("{node} 1 {}\n{session} {} {} all", u64::MAX, u64::MAX, u64::MAX).into_bytes(),
        format!("{node} 1 0\n{session} 100000 100001 host").into_bytes(),
        format!("{node} 1 0{}", format!("\n{other} 1 2 host").repeat(60)).into_bytes(),
    ];
    for bytes in odd {
        stranger.say(bytes).await;
    }
    // Both heard all of it: what a node says after that is behind it.
    let still = second.interaction(&owner("ada"), request.interaction_id).await.unwrap();
    assert_eq!(still.state, AskState::Open);
    respond(&second, &request, approve()).await.unwrap();
    talk.completed().await;
    talk.say("say hello").await;
    talk.completed().await;
    let (journal, _) = first.read(&owner("ada"), session, Seq(0), 1_000).await.unwrap();
    assert_eq!(talk.seen, journal[..talk.seen.len()], "no gap and no double");
    deployment.end([first, second]).await;
}

async fn a_rule_saved_on_one_node_settles_what_waits_on_the_other(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&first, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls -a\"}\nsay done").await;
    let request = talk.ask().await;
    second.add_rule(&ada(), NewRule { line: "allow Bash(ls:*)".to_owned() }).await.unwrap();
    talk.completed().await;
    let settled = second.interaction(&owner("ada"), request.interaction_id).await.unwrap();
    assert_eq!(settled.state, AskState::Settled { settlement: Settlement::Approved });
    deployment.end([first, second]).await;
}

async fn many_sessions_at_once_are_all_told(by: By) {
    let deployment = Deployment::new(by).await;
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut inbox = second.inbox(&owner("ada"));
    let asked = (0..200).map(|n| {
        let (first, caller) = (first.clone(), Person::new(owner("ada"), format!("caller {n}"), Surface::Api));
        tokio::spawn(async move { ask(&first, &caller, n).await.request.interaction_id })
    });
    let asked: Vec<_> = asked.collect();
    let mut missing = HashSet::new();
    for one in asked {
        missing.insert(one.await.unwrap());
    }
    while !missing.is_empty() {
        let frame = tokio::time::timeout(PATIENCE, inbox.next()).await.expect("a frame in time").unwrap();
        match frame.expect("a frame") {
            InboxFrame::Upsert(upsert) => {
                missing.remove(&upsert.interaction_id);
            }
            InboxFrame::Snapshot(page) => {
                page.interactions.iter().for_each(|ask| {
                    missing.remove(&ask.request.interaction_id);
                });
            }
        }
    }
    deployment.end([first, second]).await;
}

async fn two_deployments_on_one_server_do_not_hear_each_other(by: By) {
    let (deployment, other) = (Deployment::new(by).await, Deployment::new(by).await);
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let (third, fourth) = (other.node("first").await, other.node("second").await);
    let (mut ours, mut theirs) = (deployment.stranger().await, other.stranger().await);
    ours.until_hints_go(&first, &deployment).await;
    theirs.until_hints_go(&third, &other).await;
    let foreign = third.open_session(&ada(), other.opening()).await.unwrap().session_id;
    theirs.hear_of(foreign).await;
    let own = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    loop {
        let heard = String::from_utf8(ours.hear().await).unwrap();
        assert!(!heard.contains(&foreign.to_string()), "{heard}");
        if heard.contains(&own.to_string()) {
            break;
        }
    }
    deployment.end([first, second]).await;
    other.end([third, fourth]).await;
}

#[tokio::test]
async fn without_nats_nodes_find_what_is_new_by_themselves_and_use_it_when_it_is_there() {
    let deployment = Deployment::new(By::Nats).await;
    deployment.gate().set(Open::No);
    let (first, second) = (deployment.node("first").await, deployment.node("second").await);
    let mut stranger = deployment.stranger().await;
    let session = first.open_session(&ada(), deployment.opening()).await.unwrap().session_id;
    let mut talk = Talk::watch(&second, session, Seq(0)).await;
    talk.say("approve Bash {\"command\": \"ls\"}\nsay done").await;
    let request = talk.ask().await;
    deployment.gate().set(Open::Yes);
    respond(&second, &request, approve()).await.unwrap();
    talk.completed().await;
    let heard = async {
        loop {
            talk.say("say hello").await;
            talk.completed().await;
            let told = tokio::time::timeout(PATIENCE / 20, stranger.hear_of(session));
            if told.await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("hints go through NATS again");
    deployment.end([first, second]).await;
}
