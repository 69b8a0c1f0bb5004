//! What can be found again, and what was decided.

use holdstead_core::{Command, Output, SearchWords};
use holdstead_protocol::api::FoundKind;
use holdstead_protocol::{
    InteractionId, OwnerId, Seq, SessionId, SessionOpened, ToolCallEnd, ToolCallId, ToolResult, TurnId,
};
use holdstead_store::{Fault, FoundRecord, Journal, SearchQuery};
use serde_json::{Value, json};

use crate::commands::{answer, ask, check_sound, message, open, owner, question, say};
use crate::fixture::Fixture;

async fn find_of(
    journal: &dyn Journal,
    owner: OwnerId,
    kind: Option<FoundKind>,
    words: &str,
) -> Vec<FoundRecord> {
    let words = SearchWords::of(words).expect("words");
    let (mut found, mut before): (Vec<FoundRecord>, _) = (Vec::new(), None);
    loop {
        let query = SearchQuery { owner: owner.clone(), words: words.clone(), kind, before, limit: 3 };
        let page = journal.search(query).await.expect("a page");
        let Some(last) = page.last() else { return found };
        before = Some(last.place);
        found.extend(page);
    }
}

async fn find(journal: &dyn Journal, words: &str) -> Vec<(FoundKind, Seq)> {
    let found = find_of(journal, owner(), None, words).await;
    found.into_iter().map(|found| (found.kind, found.place.seq)).collect()
}

fn call(tool: &str, input: Value) -> Command {
    Command::Record(outputs(tool, input))
}

fn outputs(tool: &str, input: Value) -> Vec<Output> {
    let turn_id = TurnId::generate();
    let tool_call_id = ToolCallId::new("toolu_1").expect("an id");
    let tool_name = Some(tool.to_owned());
    let end = ToolCallEnd { turn_id, tool_call_id: tool_call_id.clone(), tool_name, input, decision: None };
    let output = json!("printed by the tool");
    let result = ToolResult { turn_id, tool_call_id, output, is_error: false };
    vec![Output::ToolCallEnd(end), Output::ToolResult(result)]
}

/// Title (1), message (2), words of the agent (3), a call and its result (4, 5), an ask (6), its answer (7).
async fn talk(journal: &dyn Journal) -> (SessionId, InteractionId) {
    let session = open(journal, "Release the shop").await;
    journal.append(session, message("Please tidy the Größen table")).await.expect("said");
    journal.append(session, say("zebra, said the agent")).await.expect("said");
    let input = json!({ "command": "terraform destroy -auto-approve", "timeout": 7 });
    journal.append(session, call("Bash", input)).await.expect("called");
    let request = question(session, "harbour");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(session, answer(&request, "ada", "k", "over the hills")).await.expect("answered");
    (session, request.interaction_id)
}

pub(crate) async fn what_people_look_for_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, asked) = talk(journal).await;
    use FoundKind::{Call, Decision, Message, Session};
    for (words, expected) in [
        ("shop", vec![(Session, Seq(1))]),
        ("release SHO", vec![(Session, Seq(1))]),
        ("größen", vec![(Message, Seq(2))]),
        ("terraform dest", vec![(Call, Seq(4))]),
        ("bash approve", vec![(Call, Seq(4))]),
        ("destroy terra", vec![(Call, Seq(4))]),
        ("terra destroy", vec![]),
        ("harbour", vec![(Decision, Seq(7)), (Call, Seq(6))]),
        ("hills", vec![(Decision, Seq(7))]),
        ("where hills", vec![(Decision, Seq(7))]),
        ("zebra", vec![]),
        ("printed", vec![]),
    ] {
        assert_eq!(find(journal, words).await, expected, "{words}");
    }
    let found = find_of(journal, owner(), Some(Decision), "harbour").await;
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((found.place.session, found.interaction), (session, Some(asked)));
    assert_eq!(found.session_title.as_deref(), Some("Release the shop"));
    assert!(found.text.contains("over the hills"), "{}", found.text);
    let stranger = OwnerId::new("eve").expect("an owner");
    assert!(find_of(journal, stranger, None, "shop").await.is_empty(), "others find nothing");
    check_sound(journal, session).await;
}

pub(crate) async fn the_newest_are_found_first_in_pages(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (one, two) = (open(journal, "one").await, open(journal, "two").await);
    let mut expected = Vec::new();
    for number in 0..10 {
        let session = if number % 2 == 0 { one } else { two };
        let said = journal.append(session, message(&format!("wanted {number}"))).await.expect("said");
        let event = &said.events[0];
        expected.push((event.at, session, event.seq));
    }
    expected.reverse();
    let found = find_of(journal, owner(), None, "wanted").await;
    let places: Vec<_> = found.iter().map(|one| (one.place.at, one.place.session, one.place.seq)).collect();
    assert_eq!(places, expected);
    // Many at one moment are all found, once each.
    let calls = (0..50).map(|n| outputs("Bash", json!({ "command": format!("together {n}") })));
    journal.append(one, Command::Record(calls.flatten().collect())).await.expect("called");
    // A beginning of many words, too.
    let many = (0..50).map(|n| outputs("Bash", json!({ "command": format!("bulk{n} bulkhead") })));
    journal.append(two, Command::Record(many.flatten().collect())).await.expect("called");
    assert_eq!((find(journal, "bul").await.len(), find(journal, "bulk4").await.len()), (50, 11));
    let mut found: Vec<_> = find(journal, "together").await.into_iter().map(|(_, seq)| seq).collect();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 50);
}

pub(crate) async fn odd_queries_find_nothing_and_break_nothing(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, _) = talk(journal).await;
    for odd in [
        "\"",
        "'",
        "a\" OR \"b",
        "shop OR zebra",
        "NOT shop*",
        "shop* AND",
        "NEAR(shop release)",
        "words:shop",
        "-shop^",
        "shop & !zebra | <-> :* ",
        "\\'\\\\",
        "% _ %",
        "_oshop",
        "shop\u{0}zebra",
        "shop\u{301}",
        "ſhop ㍿ \u{1f600}",
        "'; DROP TABLE search; --",
    ] {
        if let Some(words) = SearchWords::of(odd) {
            let query = SearchQuery { owner: owner(), words, kind: None, before: None, limit: 5 };
            let found = journal.search(query).await.unwrap_or_else(|error| panic!("{odd}: {error}"));
            assert!(found.iter().all(|found| found.place.session == session), "{odd}");
        }
    }
    let many = (0..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
    assert!(find(journal, &many).await.is_empty());
    assert!(find(journal, &"shop".repeat(2_500)).await.is_empty());
    assert_eq!(find(journal, "shop").await.len(), 1, "it is all still there");
}

pub(crate) async fn what_is_odd_is_kept_and_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = open(journal, "a\u{0}b \u{202e}title").await;
    let large = "x".repeat(900_000);
    let input =
        json!({ "content": large, "file_path": "/etc/hosts\u{0}", "deep": [[[[[[[["deepest"]]]]]]]] });
    journal.append(session, call("Write", input)).await.expect("called");
    assert_eq!(find(journal, "title").await.len(), 1);
    assert_eq!(find(journal, "hosts").await.len(), 1);
    assert_eq!(find(journal, "deepest").await.len(), 0);
    let bytes = fixture.count("SELECT CAST(sum(length(text) + length(words)) AS BIGINT) FROM search").await;
    assert!(bytes < 10_000, "{bytes}");
    check_sound(journal, session).await;
}

pub(crate) async fn nothing_is_found_of_an_erased_session(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, _) = talk(journal).await;
    let (_, kept) = talk(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    // As if whoever erases it had come no further than to put it on record.
    let sql =
        "UPDATE sessions SET erased_at = 1, erased_by = 'ada', unfinished = TRUE WHERE agent_state = {}";
    let ended = ("x'22656e64656422'", "'\\x22656e64656422'");
    fixture.run(&sql.replace("{}", ended.0), &sql.replace("{}", ended.1)).await;
    assert_eq!(find(journal, "shop").await.len(), 1, "the other one");
    assert_eq!(find(journal, "hills").await.len(), 1);
    assert_eq!(journal.decisions(&owner(), None, 10).await.expect("a page").len(), 1);
    journal.erase(session, "ada").await.expect("goes on");
    let rows = fixture.count("SELECT count(*) FROM search").await;
    assert_eq!(rows, 5, "those of the other one");
    assert_eq!(
        find_of(journal, owner(), Some(FoundKind::Decision), "hills").await[0].interaction,
        Some(kept)
    );
}

pub(crate) async fn journals_of_before_are_found_once_they_are_folded(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, _) = talk(journal).await;
    let sql = "DELETE FROM search; UPDATE asks SET decided_at = NULL; UPDATE sessions SET state_version = 0, state = {}";
    fixture.run(&sql.replace("{}", "x'00'"), &sql.replace("{}", "'\\x00'")).await;
    assert!(find(journal, "shop").await.is_empty());
    check_sound(journal, session).await;
    assert_eq!(find(journal, "harbour").await, [(FoundKind::Decision, Seq(7)), (FoundKind::Call, Seq(6))]);
    assert_eq!(journal.decisions(&owner(), None, 10).await.expect("a page").len(), 1);
}

pub(crate) async fn what_was_changed_beside_the_journal_is_found_out(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let fault = async |session| journal.verify(session).await.expect("a report").fault;
    for sql in [
        "UPDATE search SET text = 'harmless' WHERE seq = 4",
        "UPDATE search SET words = 'harmless' WHERE seq = 4",
        "UPDATE search SET owner = 'eve' WHERE seq = 4",
        "DELETE FROM search WHERE seq = 4",
    ] {
        let (session, _) = talk(journal).await;
        assert_eq!(fault(session).await, None);
        // The index of words is told nothing.
        fixture.run(&format!("DROP TRIGGER IF EXISTS search_dropped; {sql}"), sql).await;
        assert_eq!(fault(session).await, Some(Fault::Search), "{sql}");
    }
}

pub(crate) async fn decisions_come_in_pages_the_newest_first(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = SessionId::generate(&owner());
    let opened =
        SessionOpened { cwd: Some("/srv/shop".to_owned()), ..SessionOpened::new(owner(), "scripted") };
    journal.append(session, Command::Open(Box::new(opened))).await.expect("opened");
    let mut expected = Vec::new();
    for number in 0..7 {
        let request = question(session, &number.to_string());
        journal.append(session, ask(&request)).await.expect("asked");
        if number < 5 {
            let answered =
                journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
            expected.insert(0, (answered.events[0].at, request.interaction_id));
        }
    }
    journal.append(session, Command::End { name: "ben".to_owned() }).await.expect("ended");
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = journal.decisions(&owner(), before, 2).await.expect("a page");
        let Some(last) = page.last() else { break };
        before = Some((last.decided_at, last.record.id));
        found.extend(page);
    }
    assert_eq!(found.len(), 7, "those that were open are closed");
    for closed in &found[..2] {
        assert_eq!(closed.record.ask.closed_by.as_deref(), Some("ben"));
    }
    let answered: Vec<_> = found[2..].iter().map(|one| (one.decided_at, one.record.id)).collect();
    assert_eq!(answered, expected);
    assert!(found.iter().all(|one| one.cwd.as_deref() == Some("/srv/shop")));
    let stranger = OwnerId::new("eve").expect("an owner");
    assert!(journal.decisions(&stranger, None, 9).await.expect("nothing").is_empty());
    assert_eq!(journal.decision(&stranger, found[0].record.id).await.expect("nothing"), None);
    assert!(journal.decision(&owner(), found[0].record.id).await.expect("a look").is_some());
    check_sound(journal, session).await;
}
