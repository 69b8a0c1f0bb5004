//! Several gateways on one PostgreSQL: who is there, and who speaks for a runner.

use std::sync::Arc;
use std::time::Duration;

use holdstead_core::Command;
use holdstead_protocol::{OwnerId, RunnerId, Seq, SessionId, SessionOpened};
use holdstead_store::{
    Claimed, Cluster, ConnectedRunner, EraseError, Going, Journal, KeyMatch, Member, NOTICE_LIMIT, NodeId,
    NodeStart, Notices, RunnerPlace, Speaking, Watcher,
};
use uuid::Uuid;

use crate::commands::open;
use crate::fixture::Fixture;

const PATIENCE: Duration = Duration::from_secs(20);

fn of(journal: &Arc<dyn Journal>) -> &dyn Cluster {
    journal.cluster().expect("PostgreSQL serves several gateways")
}

async fn joined(journal: &Arc<dyn Journal>, name: &str) -> Member {
    of(journal).join(NodeId::generate(), NodeStart::generate(), name).await.expect("it joins")
}

async fn speaks_for(journal: &Arc<dyn Journal>, member: Member) -> Vec<RunnerId> {
    let roll = of(journal).renew(member, 0).await.expect("it renews").expect("it lives");
    roll.spoken_for.into_iter().filter(|(_, node)| *node == member.id).map(|(runner, _)| runner).collect()
}

fn runner() -> ConnectedRunner {
    ConnectedRunner {
        id: RunnerId::from_uuid(Uuid::now_v7()),
        name: "laptop".to_owned(),
        owner: OwnerId::new("local").expect("a name"),
        instance: Uuid::now_v7(),
        place: RunnerPlace::Outside,
        agents: Vec::new(),
    }
}

fn another_instance(runner: &ConnectedRunner) -> ConnectedRunner {
    ConnectedRunner { instance: Uuid::now_v7(), ..runner.clone() }
}

/// The node was last seen eleven seconds ago.
async fn fall_silent(fixture: &Fixture, name: &str) {
    fixture.run("", &format!("UPDATE nodes SET seen_at = seen_at - 11000000 WHERE name = '{name}'")).await;
}

#[tokio::test]
async fn a_file_has_one_gateway_only() {
    let fixture = Fixture::file().await;
    assert!(fixture.journal().cluster().is_none());
    fixture.end().await;
}

#[tokio::test]
async fn nodes_see_each_other_until_they_leave_or_fall_silent() {
    let fixture = Fixture::postgres().await;
    let (first, second) = (fixture.journal(), fixture.second().await);
    let one = joined(first, "one").await;
    let two = joined(&second, "two").await;
    let three = joined(&second, "three").await;
    of(&second).renew(two, 7).await.expect("it renews");
    let roll = of(first).renew(one, 0).await.expect("it renews").expect("it lives");
    let seen: Vec<_> = roll.live.iter().map(|node| (node.name.as_str(), node.hints)).collect();
    assert_eq!(seen, [("one", 0), ("two", 7), ("three", 0)]);
    of(&second).leave(three).await.expect("it leaves");
    fall_silent(&fixture, "two").await;
    let roll = of(first).renew(one, 0).await.expect("it renews").expect("it lives");
    assert_eq!(roll.live.iter().map(|node| node.id).collect::<Vec<_>>(), [one.id]);
    // Nobody wanted its place meanwhile.
    assert!(of(&second).renew(two, 7).await.expect("it renews").is_some());
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn of_many_who_want_to_speak_for_a_runner_one_does() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let runner = runner();
    let mut nodes = Vec::new();
    for number in 0..8 {
        let journal = if number % 2 == 0 { fixture.journal() } else { &second };
        nodes.push((Arc::clone(journal), joined(journal, &format!("node {number}")).await));
    }
    let wanting = nodes.iter().map(|(journal, member)| {
        let (journal, member, runner) = (Arc::clone(journal), *member, another_instance(&runner));
        tokio::spawn(async move { of(&journal).speak_for(member, &runner).await })
    });
    let wanting: Vec<_> = wanting.collect();
    let mut speaking = Vec::new();
    for (wanting, (_, member)) in wanting.into_iter().zip(&nodes) {
        match wanting.await.expect("no panic").expect("an answer") {
            Speaking::Here { epoch } => speaking.push((*member, epoch)),
            Speaking::Elsewhere { node } => assert!(node.starts_with("node "), "{node}"),
            Speaking::DeclaredDead => panic!("it was declared dead"),
        }
    }
    let [(speaker, 1)] = speaking.as_slice() else { panic!("{speaking:?}") };
    for (journal, member) in &nodes {
        let expected = if member == speaker { vec![runner.id] } else { Vec::new() };
        assert_eq!(speaks_for(journal, *member).await, expected);
    }
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn the_place_of_a_node_that_fell_silent_is_taken_and_it_learns_so() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let (first, runner) = (fixture.journal(), runner());
    let (one, two) = (joined(first, "one").await, joined(&second, "two").await);
    assert_eq!(of(first).speak_for(one, &runner).await.unwrap(), Speaking::Here { epoch: 1 });
    let again = another_instance(&runner);
    let elsewhere = Speaking::Elsewhere { node: "one".to_owned() };
    assert_eq!(of(&second).speak_for(two, &again).await.unwrap(), elsewhere);
    fall_silent(&fixture, "one").await;
    assert_eq!(of(&second).speak_for(two, &again).await.unwrap(), Speaking::Here { epoch: 2 });
    // It was only slow. It is told, speaks for nobody, and may begin again.
    assert_eq!(of(first).renew(one, 0).await.unwrap(), None);
    assert_eq!(of(first).speak_for(one, &runner).await.unwrap(), Speaking::DeclaredDead);
    of(first).stop_speaking_for(one, runner.id, 1).await.expect("it is too late for that");
    assert_eq!(speaks_for(&second, two).await, [runner.id]);
    let one = of(first).join(one.id, NodeStart::generate(), "one").await.expect("it joins again");
    assert_eq!(speaks_for(first, one).await, []);
    assert_eq!(
        of(first).speak_for(one, &runner).await.unwrap(),
        Speaking::Elsewhere { node: "two".to_owned() }
    );
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn a_runner_may_come_by_another_way_or_again() {
    let fixture = Fixture::postgres().await;
    let (journal, runner) = (fixture.journal(), runner());
    let (one, two) = (joined(journal, "one").await, joined(journal, "two").await);
    let speak = async |member, runner: &ConnectedRunner| of(journal).speak_for(member, runner).await.unwrap();
    assert_eq!(speak(one, &runner).await, Speaking::Here { epoch: 1 });
    // Its connection to the first node broke, which may not have noticed yet.
    assert_eq!(speak(two, &runner).await, Speaking::Here { epoch: 2 });
    assert_eq!(speaks_for(journal, one).await, []);
    // The node that speaks for it knows best that its last process is gone.
    let restarted = another_instance(&runner);
    assert_eq!(speak(two, &restarted).await, Speaking::Here { epoch: 3 });
    // The end of an earlier connection is no news.
    of(journal).stop_speaking_for(two, runner.id, 2).await.expect("it is over already");
    assert_eq!(speaks_for(journal, two).await, [runner.id]);
    let known = of(journal).runners_of(&runner.owner).await.expect("a list");
    let known: Vec<_> = known.iter().map(|known| (known.id, &*known.name, &*known.node_name)).collect();
    assert_eq!(known, [(runner.id, "laptop", "two")]);
    assert_eq!(of(journal).runners_of(&OwnerId::new("eve").unwrap()).await.expect("a list"), []);
    of(journal).stop_speaking_for(two, runner.id, 3).await.expect("it lets go");
    assert_eq!(of(journal).runners_of(&runner.owner).await.expect("a list"), []);
    assert_eq!(speak(one, &another_instance(&runner)).await, Speaking::Here { epoch: 4 });
    of(journal).leave(one).await.expect("it leaves");
    assert_eq!(speak(two, &runner).await, Speaking::Here { epoch: 5 });
    fixture.end().await;
}

#[tokio::test]
async fn two_nodes_that_want_each_others_places_at_once_both_get_their_reply() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let (first, runners) = (fixture.journal(), [runner(), runner()]);
    for _ in 0..50 {
        let (one, two) = (joined(first, "one").await, joined(&second, "two").await);
        for (member, runner) in [(one, &runners[0]), (two, &runners[1])] {
            let speaking = of(first).speak_for(member, &another_instance(runner)).await.unwrap();
            assert!(matches!(speaking, Speaking::Here { .. }), "{speaking:?}");
        }
        fall_silent(&fixture, "one").await;
        fall_silent(&fixture, "two").await;
        let swapped = runners.each_ref().map(another_instance);
        let (left, right) =
            tokio::join!(of(first).speak_for(one, &swapped[1]), of(&second).speak_for(two, &swapped[0]));
        // One of them may be declared dead by the other, and neither waits for the other for ever.
        let replies = [left.expect("no deadlock"), right.expect("no deadlock")];
        assert!(replies.iter().any(|reply| matches!(reply, Speaking::Here { .. })), "{replies:?}");
        for (member, runner) in [(one, &runners[0]), (two, &runners[1])] {
            drop(of(first).stop_speaking_for(member, runner.id, u64::MAX).await);
            drop(of(first).leave(member).await);
        }
        fixture.run("", "DELETE FROM nodes").await;
    }
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn a_runner_inside_a_node_waits_for_it() {
    let fixture = Fixture::postgres().await;
    let journal = fixture.journal();
    let own = ConnectedRunner { place: RunnerPlace::Inside, ..runner() };
    let (one, two) = (joined(journal, "one").await, joined(journal, "two").await);
    let speak = async |member: Member| {
        let own = ConnectedRunner { instance: member.id.uuid(), ..own.clone() };
        of(journal).speak_for(member, &own).await.unwrap()
    };
    assert_eq!(speak(one).await, Speaking::Here { epoch: 1 });
    fall_silent(&fixture, "one").await;
    // It may only be cut off, and its agents live: for more than a day, even if nodes join meanwhile.
    fixture.run("", "UPDATE nodes SET seen_at = seen_at - 100000000000 WHERE name = 'one'").await;
    let (two, _) = (
        of(journal).join(two.id, NodeStart::generate(), "two").await.unwrap(),
        joined(journal, "three").await,
    );
    assert_eq!(speak(two).await, Speaking::Elsewhere { node: "one".to_owned() });
    // Started again, it goes on at once.
    let one = of(journal).join(one.id, NodeStart::generate(), "one").await.unwrap();
    assert_eq!(speak(one).await, Speaking::Here { epoch: 2 });
    of(journal).leave(one).await.unwrap();
    assert_eq!(speak(two).await, Speaking::Here { epoch: 3 });
    fixture.end().await;
}

#[tokio::test]
async fn the_first_key_stays() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let first = of(fixture.journal());
    assert_eq!(first.match_key("secrets", &[1; 32]).await.unwrap(), KeyMatch::First);
    assert_eq!(of(&second).match_key("secrets", &[2; 32]).await.unwrap(), KeyMatch::Other);
    assert_eq!(of(&second).match_key("secrets", &[1; 32]).await.unwrap(), KeyMatch::Same);
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn all_nodes_of_a_deployment_know_it_by_one_name_and_no_other_does() {
    let (fixture, other) = (Fixture::postgres().await, Fixture::postgres().await);
    let second = fixture.second().await;
    let name = of(fixture.journal()).deployment().await.unwrap();
    assert_eq!(of(&second).deployment().await.unwrap(), name);
    assert_ne!(of(other.journal()).deployment().await.unwrap(), name);
    second.close().await;
    fixture.end().await;
    other.end().await;
}

#[tokio::test]
async fn who_watches_is_known_on_other_nodes_while_theirs_lives() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let (here, there) = (of(fixture.journal()), of(&second));
    let mine = here.join(NodeId::generate(), NodeStart::generate(), "first").await.unwrap();
    let theirs = there.join(NodeId::generate(), NodeStart::generate(), "second").await.unwrap();
    let owner = OwnerId::new("local").expect("a name");
    let watcher = |client: &str, session, is_on| Watcher {
        owner: owner.clone(),
        person: "ana".to_owned(),
        client: client.to_owned(),
        session,
        is_on,
    };
    let both = [watcher("desk", None, true), watcher("phone", Some(SessionId::generate(&owner)), false)];
    here.share_watchers(mine, &[watcher("own", None, true)]).await.unwrap();
    there.share_watchers(theirs, &both).await.unwrap();
    let (seen, mut heard) = here.watchers_elsewhere(mine.id, &Vec::new()).await.unwrap().expect("it is new");
    heard.sort();
    assert_eq!(heard, both);
    assert_eq!(here.watchers_elsewhere(mine.id, &seen).await.unwrap(), None, "nothing changed");
    there.share_watchers(theirs, &both[..1]).await.unwrap();
    let (seen, heard) = here.watchers_elsewhere(mine.id, &seen).await.unwrap().expect("it changed");
    assert_eq!(heard, both[..1]);
    // Another life of the node has said nothing yet, and the earlier one says nothing any more.
    let again = there.join(theirs.id, NodeStart::generate(), "second").await.unwrap();
    there.share_watchers(theirs, &both).await.unwrap();
    let (seen, heard) = here.watchers_elsewhere(mine.id, &seen).await.unwrap().expect("it changed");
    assert_eq!(heard, []);
    there.share_watchers(again, &both[..1]).await.unwrap();
    let (seen, _) = here.watchers_elsewhere(mine.id, &seen).await.unwrap().expect("it changed");
    there.leave(again).await.unwrap();
    assert_eq!(here.watchers_elsewhere(mine.id, &seen).await.unwrap(), Some((Vec::new(), Vec::new())));
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn one_at_a_time_does_what_is_claimed_until_it_is_released_or_its_node_is_gone() {
    let fixture = Fixture::postgres().await;
    let second = fixture.second().await;
    let (here, there) = (of(fixture.journal()), of(&second));
    let mine = here.join(NodeId::generate(), NodeStart::generate(), "first").await.unwrap();
    let theirs = there.join(NodeId::generate(), NodeStart::generate(), "second").await.unwrap();
    let [what, one, other] = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
    assert_eq!(here.claim(mine, what, one).await.unwrap(), Claimed::Here);
    assert_eq!(here.claim(mine, what, one).await.unwrap(), Claimed::Here, "tried again");
    assert_eq!(
        here.claim(mine, what, other).await.unwrap(),
        Claimed::Elsewhere,
        "by another on the same node"
    );
    assert_eq!(there.claim(theirs, what, other).await.unwrap(), Claimed::Elsewhere);
    there.release(what, other).await.unwrap();
    assert_eq!(there.claim(theirs, what, other).await.unwrap(), Claimed::Elsewhere, "not theirs to release");
    here.release(what, one).await.unwrap();
    assert_eq!(there.claim(theirs, what, other).await.unwrap(), Claimed::Here);
    there.leave(theirs).await.unwrap();
    assert_eq!(here.claim(mine, what, one).await.unwrap(), Claimed::Here, "its node is gone");
    second.close().await;
    fixture.end().await;
}

#[tokio::test]
async fn heads_are_found_together() {
    let fixture = Fixture::postgres().await;
    let owner = OwnerId::new("local").expect("a name");
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let session = SessionId::generate(&owner);
        let open = Command::Open(Box::new(SessionOpened::new(owner.clone(), "scripted")));
        let appended = fixture.journal().append(session, open).await.expect("it opens");
        sessions.push((session, appended.head));
    }
    let nobody = SessionId::generate(&owner);
    let asked: Vec<_> = sessions.iter().map(|(session, _)| *session).chain([nobody]).collect();
    let mut heads = of(fixture.journal()).heads(&asked).await.expect("they are read");
    heads.sort();
    sessions.sort();
    assert_eq!(heads, sessions);
    assert!(heads.iter().all(|(_, head)| *head > Seq::START));
    fixture.end().await;
}

async fn heard(notices: &mut dyn Notices) -> Option<String> {
    tokio::time::timeout(PATIENCE, notices.next()).await.expect("it hears something").expect("it listens")
}

#[tokio::test]
async fn whoever_listens_hears_what_is_told_also_after_the_connection_broke() {
    let fixture = Fixture::postgres().await;
    let elsewhere = Fixture::postgres().await;
    let second = fixture.second().await;
    let mut notices = of(&second).listen().await.expect("it listens");
    // A schema is a gateway's world of its own.
    of(elsewhere.journal()).notify("not for us").await.expect("it is told");
    let longest = "x".repeat(NOTICE_LIMIT);
    of(fixture.journal()).notify(&longest).await.expect("it is told");
    assert_eq!(heard(&mut *notices).await, Some(longest));
    fixture.break_connections().await;
    assert_eq!(heard(&mut *notices).await, None, "what was told meanwhile is lost, and that is said");
    of(fixture.journal()).notify("again").await.expect("it is told");
    assert_eq!(heard(&mut *notices).await, Some("again".to_owned()));
    second.close().await;
    elsewhere.end().await;
    fixture.end().await;
}

#[tokio::test]
async fn a_node_that_was_declared_dead_takes_no_session_to_a_file() {
    let fixture = Fixture::postgres().await;
    let journal = fixture.journal();
    let dead = joined(journal, "one").await;
    // Its place is taken: it is in another life now.
    let lives = of(journal).join(dead.id, NodeStart::generate(), "one").await.expect("it joins");
    let session = open(&**journal, "old").await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let record = journal.session(session).await.expect("a session").expect("this one");
    let never = || unreachable!("the file of a dead node got its name");
    let refused =
        journal.age_out(session, Going::new("/aged/one.jsonl", record.head, Some(dead), never)).await;
    assert!(matches!(refused, Err(EraseError::LostPlace)), "{refused:?}");
    assert_eq!(journal.session(session).await.expect("a session"), Some(record.clone()));
    let going = Going::new("/aged/one.jsonl", record.head, Some(lives), || Ok(()));
    journal.age_out(session, going).await.expect("it goes");
    fixture.end().await;
}
