//! To answer is to append while the prompt is open: one wins.

use std::sync::Arc;

use holdstead_core::{Command, Rejection};
use holdstead_protocol::{
    AskState, Decider, EventBody, InteractionId, PromptId, SessionId, Settlement, Surface,
};
use holdstead_store::{AppendError, Journal, StoreError};
use tokio::task::JoinSet;

use crate::commands::{answer, ask, check_sound, message, open, owner, question};
use crate::fixture::Fixture;

async fn hundred_answers(journals: [Arc<dyn Journal>; 2]) {
    let session = open(&*journals[0], "race").await;
    let request = question(session, "race");
    journals[0].append(session, ask(&request)).await.expect("asked");
    let mut people = JoinSet::new();
    for number in 0..100 {
        let journal = Arc::clone(&journals[number % 2]);
        let respond = answer(&request, &format!("person {number}"), &format!("key {number}"), "here");
        people.spawn(async move { (number, journal.append(session, respond).await) });
    }
    let (mut winners, mut losers) = (Vec::new(), Vec::new());
    while let Some(person) = people.join_next().await {
        match person.expect("a person") {
            (number, Ok(appended)) => winners.push((number, appended)),
            (_, Err(AppendError::Rejected(Rejection::Lost { winner }))) => losers.push(winner),
            (_, Err(other)) => panic!("{other:?}"),
        }
    }
    let [(number, won)] = winners.as_slice() else { panic!("{} won", winners.len()) };
    assert_eq!(losers.len(), 99);
    for winner in losers {
        let name = format!("person {number}");
        assert_eq!(winner.decider, Decider::Person { name, surface: Surface::Web, actor: None });
        assert_eq!(winner.at, won.events[0].at);
    }
    let state = AskState::Settled { settlement: Settlement::Answered };
    assert_eq!(won.session.asks[&request.interaction_id].state, state);
    let events = check_sound(&*journals[0], session).await;
    let responses =
        events.iter().filter(|event| matches!(event.body, EventBody::InteractionResponse(_))).count();
    assert_eq!(responses, 1);
}

pub(crate) async fn one_of_a_hundred_answers_wins(fixture: &Fixture) {
    hundred_answers([Arc::clone(fixture.journal()), Arc::clone(fixture.journal())]).await;
}

pub(crate) async fn two_instances_have_one_winner(fixture: &Fixture) {
    hundred_answers([Arc::clone(fixture.journal()), fixture.second().await]).await;
}

/// What a writer remembers of a session is a guess: others write, too. Neither a refusal nor an answer stands on it.
pub(crate) async fn what_another_instance_wrote_is_what_counts(fixture: &Fixture) {
    let (here, there) = (fixture.journal(), fixture.second().await);
    let session = open(&**here, "two of us").await;
    let request = question(session, "two of us");
    here.append(session, ask(&request)).await.expect("asked");
    there.append(session, answer(&request, "bea", "theirs", "there")).await.expect("answered");
    let late = here.append(session, answer(&request, "ada", "ours", "here")).await;
    assert!(matches!(late, Err(AppendError::Rejected(_))), "{late:?}");
    // What is no repeat for one that knows of nothing else is one all the same.
    let again = there.append(session, ask(&request)).await.expect("the same ask");
    assert!(again.events.is_empty());
    let acknowledged = here.append(session, message("go on")).await.expect("said");
    let next = question(session, "next");
    let asked = there.append(session, ask(&next)).await.expect("asked by the other");
    assert_eq!(asked.head, acknowledged.head.next());
    let same = here.append(session, ask(&next)).await.expect("asked there before");
    assert!(same.events.is_empty(), "an ask that is there is not taken for a new one");
    let answered = here.append(session, answer(&next, "ada", "second", "here")).await.expect("answered here");
    assert_eq!(answered.head, asked.head.next());
    check_sound(&**here, session).await;
}

pub(crate) async fn the_same_key_gets_the_same_result(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "keys").await;
    let request = question(session, "keys");
    journal.append(session, ask(&request)).await.expect("asked");
    let first = journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
    let again = journal.append(session, answer(&request, "ada", "k", "here")).await.expect("the same");
    assert_eq!((again.events.as_slice(), again.head), ([].as_slice(), first.head));
    assert_eq!(again.session.asks, first.session.asks);
    let other = journal.append(session, answer(&request, "ada", "k", "there")).await;
    assert!(matches!(other, Err(AppendError::Rejected(Rejection::KeyReused))), "{other:?}");
    check_sound(&**journal, session).await;
}

pub(crate) async fn asking_twice_is_one_ask(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "twice").await;
    let first = question(session, "same");
    let mut again = question(session, "same");
    again.prompt_id = PromptId::generate();
    // At once, so that both are in one batch, and later.
    let (one, two) = tokio::join!(journal.append(session, ask(&first)), journal.append(session, ask(&again)));
    assert_eq!(one.expect("asked").events.len(), 1);
    assert!(two.expect("asked already").events.is_empty());
    assert!(journal.append(session, ask(&again)).await.expect("asked already").events.is_empty());
    assert_eq!(journal.live_count(&owner()).await.expect("a number"), 1);
    let record = journal.ask(first.interaction_id).await.expect("an ask").expect("this ask");
    assert_eq!(record.request.prompt_id, first.prompt_id);
    check_sound(&**journal, session).await;
}

pub(crate) async fn an_ask_is_answered_in_its_own_session_only(fixture: &Fixture) {
    let journal = fixture.journal();
    let (session, other) = (open(&**journal, "a").await, open(&**journal, "b").await);
    let request = question(session, "mine");
    journal.append(session, ask(&request)).await.expect("asked");
    let respond = answer(&request, "eve", "k", "here");
    let elsewhere = journal.append(other, respond).await;
    assert!(matches!(elsewhere, Err(AppendError::Rejected(Rejection::UnknownAsk))), "{elsewhere:?}");
}

pub(crate) async fn an_ask_id_of_another_session_cannot_be_taken(fixture: &Fixture) {
    let journal = fixture.journal();
    let (session, other) = (open(&**journal, "a").await, open(&**journal, "b").await);
    let request = question(session, "mine");
    journal.append(session, ask(&request)).await.expect("asked");
    // A client that makes up an id must not get at a row that is not its own; its neighbours in the batch pass.
    let (before, taken, after) = tokio::join!(
        journal.append(other, message("before")),
        journal.append(other, ask(&request)),
        journal.append(other, message("after")),
    );
    assert!(matches!(taken, Err(AppendError::Store(StoreError::Refused { .. }))), "{taken:?}");
    assert!(before.is_ok() && after.is_ok());
    let record = journal.ask(request.interaction_id).await.expect("an ask").expect("this ask");
    assert_eq!(record.session, session);
    check_sound(&**journal, session).await;
    check_sound(&**journal, other).await;
}

pub(crate) async fn what_is_refused_leaves_no_trace(fixture: &Fixture) {
    let journal = fixture.journal();
    let nowhere = SessionId::generate(&owner());
    let refused = journal.append(nowhere, message("hello")).await;
    assert!(matches!(refused, Err(AppendError::Rejected(Rejection::NotOpened))), "{refused:?}");
    assert!(journal.session(nowhere).await.expect("a look").is_none());

    let session = open(&**journal, "a").await;
    let again =
        journal.append(session, Command::Open(Box::new(crate::commands::opened("scripted", "b")))).await;
    assert!(matches!(again, Err(AppendError::Rejected(Rejection::AlreadyOpen))), "{again:?}");
    let unknown = question(session, "never asked");
    let answered = journal.append(session, answer(&unknown, "ada", "k", "here")).await;
    assert!(matches!(answered, Err(AppendError::Rejected(Rejection::UnknownAsk))), "{answered:?}");
    assert_eq!(check_sound(&**journal, session).await.len(), 1);
    assert!(journal.ask(InteractionId::derive(session, "x")).await.expect("a look").is_none());
}
