//! What is open, what is due, and what needs looking after.

use std::sync::Arc;
use std::time::Duration;

use holdstead_core::{Cancel, Command, Exit, Expire, ExpireCause, Listener, Message, Resume, Start, TurnEnd};
use holdstead_protocol::api::SessionFilter;
use holdstead_protocol::{
    AgentBox, AgentState, Incarnation, InteractionRequest, MessageId, Origin, OwnerId, Response, SessionId,
    StopReason, TurnId, UserMessage,
};
use holdstead_store::{Age, AskFilter, AskQuery, Journal, SessionQuery, SessionsOnly, UnderWay, WaitsFor};

use crate::commands::{
    answer, ask, check_sound, closing_at, from_now, message, open, opened, owner, question,
};
use crate::fixture::Fixture;

async fn pages(
    journal: &dyn Journal,
    session: Option<SessionId>,
    only: AskFilter,
    limit: u32,
) -> Vec<String> {
    let (mut keys, mut after) = (Vec::new(), None);
    loop {
        let page =
            journal.asks(AskQuery { owner: owner(), session, only, after, limit }).await.expect("a page");
        let Some(last) = page.last() else { return keys };
        after = Some((last.ask.opened_at, last.id));
        assert!(page.len() <= limit as usize);
        keys.extend(page.into_iter().map(|record| record.id.to_string()));
    }
}

pub(crate) async fn the_inbox_comes_in_pages(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (one, two) = (open(journal, "one").await, open(journal, "two").await);
    let (mut all, mut live, mut live_in_two) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..23 {
        let session = if number % 2 == 0 { one } else { two };
        let request = question(session, &format!("ask {number}"));
        let opened_at = journal.append(session, ask(&request)).await.expect("asked").events[0].at;
        let key = (opened_at, request.interaction_id);
        all.push(key);
        if number % 3 == 0 {
            journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
            continue;
        }
        live.push(key);
        if session == two {
            live_in_two.push(key);
        }
    }
    let ids = |mut keys: Vec<_>| {
        keys.sort();
        keys.into_iter().map(|(_, id)| ToString::to_string(&id)).collect::<Vec<_>>()
    };
    assert_eq!(journal.live_count(&owner()).await.expect("a number"), live.len() as u64);
    for limit in [1, 4, 100] {
        assert_eq!(pages(journal, None, AskFilter::All, limit).await, ids(all.clone()));
        assert_eq!(pages(journal, None, AskFilter::Live, limit).await, ids(live.clone()));
        assert_eq!(pages(journal, Some(two), AskFilter::Live, limit).await, ids(live_in_two.clone()));
    }
    assert_eq!(pages(journal, Some(one), AskFilter::All, 5).await.len(), 12);
    let stranger = OwnerId::new("eve").expect("an owner");
    let query =
        AskQuery { owner: stranger.clone(), session: None, only: AskFilter::All, after: None, limit: 9 };
    assert!(journal.asks(query).await.expect("nothing").is_empty());
    assert_eq!(journal.live_count(&stranger).await.expect("a number"), 0);
}

pub(crate) async fn an_ask_comes_with_its_prompt_and_its_answer(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "A title").await;
    let request = question(session, "one");
    journal.append(session, ask(&request)).await.expect("asked");
    let record = journal.ask(request.interaction_id).await.expect("an ask").expect("this ask");
    assert_eq!((record.session, record.id), (session, request.interaction_id));
    assert_eq!(record.request, request);
    assert_eq!(record.response, None);
    assert_eq!(record.session_title.as_deref(), Some("A title"));
    assert_eq!((record.agent.as_str(), record.agent_state), ("scripted", AgentState::Idle));

    let answered =
        journal.append(session, answer(&request, "ada", "k", "over there")).await.expect("answered");
    let record = journal.ask(request.interaction_id).await.expect("an ask").expect("this ask");
    assert_eq!(Some(&record.ask), answered.session.asks.get(&request.interaction_id));
    let response = record.response.expect("a response").response;
    let Response::Answer { answers } = response else { panic!("{response:?}") };
    assert_eq!(answers[0].other.as_deref(), Some("over there"));
}

pub(crate) async fn sessions_come_in_pages_without_the_owners_journal(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let own = SessionId::derive(&owner(), "owner");
    journal
        .append(own, Command::Open(Box::new(opened("owner", "grants"))))
        .await
        .expect("the owner's journal");
    let mut expected = Vec::new();
    for number in 0..7 {
        expected.insert(0, open(journal, &number.to_string()).await);
    }
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let query = SessionQuery { owner: owner(), before, only: SessionsOnly::All, limit: 3 };
        let page = journal.sessions(query).await.expect("a page");
        let Some(last) = page.last() else { break };
        before = Some((last.opened_at, last.id));
        found.extend(page);
    }
    assert_eq!(found.iter().map(|record| record.id).collect::<Vec<_>>(), expected);
    assert_eq!(found[0].title.as_deref(), Some("6"));
    assert_eq!(found[0].opened, opened("scripted", "6"));
    assert!(journal.session(own).await.expect("a look").is_some());
}

pub(crate) async fn sessions_are_found_by_what_their_agents_do(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let mut expected = Vec::new();
    for number in 0..12 {
        let session = open(journal, &number.to_string()).await;
        match number % 3 {
            0 => {
                let end = Command::End { name: "ada".to_owned() };
                journal.append(session, end).await.expect("ended");
            }
            1 => {
                // Its agent waits.
                let resume =
                    Resume { incarnation: Incarnation(1), pid: 1, left_out: None, boxed: AgentBox::Landlock };
                journal.append(session, message("go")).await.expect("a message");
                let start = Command::Start { incarnation: Incarnation(1), turn: None };
                journal.append(session, start).await.expect("a start");
                journal.append(session, Command::Resume(resume)).await.expect("a process");
                expected.insert(0, session);
            }
            _ => expected.insert(0, session),
        }
    }
    let open = vec![AgentState::Idle, AgentState::Running, AgentState::Waiting];
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let query =
            SessionQuery { owner: owner(), before, only: SessionsOnly::Unarchived(open.clone()), limit: 3 };
        let page = journal.sessions(query).await.expect("a page");
        let Some(last) = page.last() else { break };
        before = Some((last.opened_at, last.id));
        found.extend(page.into_iter().map(|record| record.id));
    }
    assert_eq!(found, expected);
    let ended = SessionQuery {
        owner: owner(),
        before: None,
        only: SessionsOnly::Unarchived(vec![AgentState::Ended]),
        limit: 9,
    };
    assert_eq!(journal.sessions(ended).await.expect("a page").len(), 4);
}

pub(crate) async fn a_session_that_changes_is_listed_once(fixture: &Fixture) {
    let journal = fixture.journal();
    let session = open(&**journal, "busy").await;
    let changing = tokio::spawn({
        let journal = Arc::clone(journal);
        async move {
            for number in 1..=40 {
                let (turn_id, incarnation) = (TurnId::generate(), Incarnation(number));
                journal.append(session, said(turn_id)).await.expect("a message");
                let start = Command::Start { incarnation, turn: None };
                journal.append(session, start).await.expect("a start");
                let resume = Resume { incarnation, pid: 1, left_out: None, boxed: AgentBox::Landlock };
                journal.append(session, Command::Resume(resume)).await.expect("a process");
                let begin = Command::Begin { turn_id, start: Start::default() };
                journal.append(session, begin).await.expect("a turn");
                let turn_end = Some(TurnEnd { reason: StopReason::Failed, words: None });
                let exit = Exit { incarnation, parked: false, message: None, turn_end };
                journal.append(session, Command::Exit(exit)).await.expect("an end");
            }
        }
    });
    while !changing.is_finished() {
        let open = SessionFilter::Open.states();
        let only = SessionsOnly::Unarchived(open);
        let query = SessionQuery { owner: owner(), before: None, only, limit: 9 };
        assert_eq!(journal.sessions(query).await.expect("a page").len(), 1);
    }
    changing.await.expect("it ends");
}

pub(crate) async fn deadlines_are_found_in_time(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "deadlines").await;
    let none = journal.due(10).await.expect("a list");
    assert_eq!((none.due.len(), none.next_in), (0, None));

    let later = closing_at(question(session, "later"), from_now(journal, 600_000).await);
    // Its own tool goes first: it is due here a minute later.
    let mut handled = closing_at(question(session, "handled"), from_now(journal, 1).await);
    handled.has_handler = true;
    let answered = closing_at(question(session, "answered"), from_now(journal, 600_000).await);
    for request in [&later, &handled, &answered, &question(session, "never")] {
        journal.append(session, ask(request)).await.expect("asked");
    }
    journal.append(session, answer(&answered, "ada", "k", "here")).await.expect("in time");
    let in_a_minute = |next: Option<Duration>| {
        next.is_some_and(|next| next > Duration::from_secs(30) && next <= Duration::from_millis(60_001))
    };
    let list = journal.due(10).await.expect("a list");
    assert!(list.due.is_empty() && in_a_minute(list.next_in), "{list:?}");

    let deadline = from_now(journal, 1).await;
    let soon = closing_at(question(session, "soon"), deadline);
    journal.append(session, ask(&soon)).await.expect("asked");
    // By the journal's own clock.
    while journal.now().await.expect("the time") <= deadline {
        tokio::task::yield_now().await;
    }
    let list = journal.due(10).await.expect("a list");
    let due: Vec<_> = list.due.iter().map(|due| (due.session, due.interaction, due.prompt)).collect();
    assert_eq!(due, [(session, soon.interaction_id, soon.prompt_id)]);
    assert!(in_a_minute(list.next_in), "{list:?}");

    let expire = Expire {
        interaction_id: soon.interaction_id,
        prompt_id: soon.prompt_id,
        cause: ExpireCause::Deadline,
    };
    journal.append(session, Command::Expire(expire)).await.expect("expired");
    assert!(journal.due(10).await.expect("a list").due.is_empty());
    check_sound(journal, session).await;
}

pub(crate) async fn what_needs_looking_after_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let ids = async || {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = journal.unfinished(after, 1).await.expect("a page");
            let Some(last) = page.last() else { return found };
            after = Some(last.id);
            found.extend(page.into_iter().map(|record| record.id));
        }
    };
    let idle = open(journal, "idle").await;
    let said = open(journal, "said").await;
    let alive = open(journal, "alive").await;
    journal.append(said, message("hello")).await.expect("a message");
    let start = Command::Start { incarnation: Incarnation(1), turn: None };
    journal.append(alive, start).await.expect("a process may be there");
    let mut expected = [said, alive];
    expected.sort();
    assert_eq!(ids().await, expected);
    journal.append(said, Command::End { name: "ada".to_owned() }).await.expect("ended");
    assert_eq!(ids().await, [alive]);
    assert!(journal.session(idle).await.expect("a session").is_some());
}

pub(crate) async fn a_head_does_not_grow_with_its_asks(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "many").await;
    let largest = || fixture.count("SELECT CAST(max(length(state)) AS BIGINT) FROM sessions");
    let ask_some = async |from: u32, to: u32| {
        let asks = (from..to).map(|number| ask(&question(session, &format!("ask {number}"))));
        let asked: Vec<_> = asks.map(|command| journal.append(session, command)).collect();
        for asked in asked {
            asked.await.expect("asked");
        }
    };
    ask_some(0, 10).await;
    let few = largest().await;
    ask_some(10, 300).await;
    let many = largest().await;
    assert!(many < few + 10, "{few} bytes with 10 asks, {many} with 300");
    let record = journal.session(session).await.expect("read").expect("the session");
    assert_eq!(record.state.live, 300);
    let ended = journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    assert_eq!(ended.session.head.live, 0, "all are found without being named");
    assert_eq!(check_sound(journal, session).await.len(), 602);
}

/// Also when an older version wrote its rows.
fn said(turn_id: TurnId) -> Command {
    let said = UserMessage {
        turn_id,
        message_id: MessageId::generate(),
        text: "go".to_owned(),
        from: "ada".to_owned(),
        actor: None,
    };
    Command::Message(Box::new(Message { said, listener: Listener::Here }))
}

pub(crate) async fn what_is_on_its_way_to_an_agent_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "hosted").await;
    let (turn_id, incarnation) = (TurnId::generate(), Incarnation(1));
    journal.append(session, said(turn_id)).await.expect("said");
    journal.append(session, Command::Start { incarnation, turn: None }).await.expect("a start");
    let resume = Resume { incarnation, pid: 1, left_out: None, boxed: AgentBox::Landlock };
    journal.append(session, Command::Resume(resume)).await.expect("a process");
    journal.append(session, Command::Begin { turn_id, start: Start::default() }).await.expect("a turn");
    let [told, untold] = ["told", "untold"].map(|key| {
        let request = question(session, key);
        InteractionRequest { origin: Origin::Agent, turn_id: Some(turn_id), ..request }
    });
    for request in [&told, &untold] {
        journal.append(session, ask(request)).await.expect("asked");
        journal.append(session, answer(request, "ada", "k", "here")).await.expect("answered");
    }
    let interaction_id = told.interaction_id;
    journal.append(session, Command::Delivering { interaction_id, incarnation }).await.expect("delivering");
    let found = async || {
        let asks = journal.under_way(session, UnderWay::Undelivered).await.expect("a list");
        asks.into_iter().map(|record| record.id).collect::<Vec<_>>()
    };
    assert_eq!(found().await, [told.interaction_id, untold.interaction_id]);

    let older = "UPDATE asks SET under_way = NULL; UPDATE sessions SET state_version = 0, state = {}";
    fixture.run(&older.replace("{}", "x'00'"), &older.replace("{}", "'\\x00'")).await;
    check_sound(journal, session).await;
    assert_eq!(found().await, [told.interaction_id, untold.interaction_id]);

    // What was being written may be told again in the next life; the end of the turn gives it up.
    let exit = Exit { incarnation, parked: false, message: None, turn_end: None };
    let gone = journal.append(session, Command::Exit(exit)).await.expect("gone");
    assert_eq!(gone.session.head.undelivered, 2);
    journal.append(session, Command::Cancel(Cancel::Turn { by: "ada".to_owned() })).await.expect("stopped");
    assert_eq!(found().await, []);
    check_sound(journal, session).await;
}

pub(crate) async fn what_waits_is_counted_by_age(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let counted = async || {
        let waiting = journal.waiting().await.expect("a count");
        let some = waiting.asks.into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>();
        (some, waiting.overdue)
    };
    assert_eq!(counted().await, (Vec::new(), 0));
    let session = open(journal, "one").await;
    for number in 0..6 {
        let request = question(session, &number.to_string());
        let request = InteractionRequest { has_handler: number == 5, ..request };
        journal.append(session, ask(&request)).await.expect("asked");
        match number {
            // Older than any other.
            0 => fixture.run_on_all_asks("opened_at = opened_at - 90000000000").await,
            // Between ten minutes and an hour.
            1 => fixture.run_on_all_asks("opened_at = opened_at - 1800000000").await,
            4 | 5 => {
                journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
            }
            _ => {}
        }
    }
    let expected = vec![
        ((WaitsFor::Person, Age::UpToMinute), 2),
        ((WaitsFor::Person, Age::UpToHour), 1),
        ((WaitsFor::Person, Age::Older), 1),
        ((WaitsFor::Tool, Age::UpToMinute), 1),
    ];
    assert_eq!(counted().await, (expected, 0));
    fixture.run_on_all_asks("due_at = 1").await;
    assert_eq!(counted().await.1, 6);
}

pub(crate) async fn every_query_has_its_index(fixture: &Fixture) {
    let journal = &**fixture.journal();
    // Of a table with one row it does not matter how it is read.
    let mut session = open(journal, "many").await;
    for number in 0..60 {
        if number % 3 == 0 {
            session = open(journal, "many").await;
        }
        let request = closing_at(question(session, &number.to_string()), from_now(journal, 60_000).await);
        journal.append(session, ask(&request)).await.expect("asked");
        if number % 20 > 0 {
            journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
        }
    }
    let plans = async || journal.plans().await.expect("plans");
    // With statistics and without them.
    let without = plans().await;
    fixture.run("ANALYZE", "ANALYZE sessions, events, asks").await;
    for plan in without.into_iter().chain(plans().await) {
        let index = match plan.name {
            "read" | "session" | "ask" | "decision" | "journals" | "signed journals" | "unsigned"
            | "checkpoint" | "checkpoints" | "last checkpoint" | "secret" | "login link" | "ticket"
            | "person" | "device" => "primary key",
            "person by handle" | "people" => "people_by_handle",
            "device by hash" => "devices_by_hash",
            "devices" => "devices_by_person",
            "passkeys" => "passkeys_by_person",
            "confirmations" => "passkey_confirmations_by_device",
            "changed devices" => "devices_by_change",
            "in no round" | "in round" => "checkpoints_by_round",
            "sessions" => "sessions_by_owner",
            "decisions" => "asks_by_decision",
            "found rows" => fixture.found_by_session(),
            "unarchived sessions" => "sessions_unarchived",
            "archived sessions" => "sessions_archived",
            "sessions in state" => "sessions_by_state",
            "unfinished" => "sessions_unfinished",
            "outdated" => "sessions_by_version",
            "live asks" | "live count" => "asks_live",
            "all asks" => "asks_by_owner",
            "live asks in session" => "asks_live_in_session",
            "under way" => "asks_under_way",
            "all asks in session" => "asks_by_session",
            "live by age" => "asks_live",
            "under way by age" => "asks_under_way",
            "due" | "next due" | "overdue" => "asks_due",
            other => panic!("which index serves `{other}`?"),
        };
        fixture.check_plan(plan.name, &plan.plan, index);
    }
}
