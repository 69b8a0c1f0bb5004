//! Words that streamed become one event each: what is read says the same, and the chain still holds.

use std::collections::BTreeMap;

use holdstead_core::{Command, Output};
use holdstead_protocol::{
    Event, EventBody, MessageId, Seq, SessionId, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallEnd,
    ToolCallId, TurnId,
};
use holdstead_store::{BringBackError, EraseError, Fault, Gathered, Heads, Journal, verify_export};
use serde_json::json;

use crate::checkpoints::Office;
use crate::commands::{answer, ask, message, open, question, read_all};
use crate::fixture::Fixture;

const WORDS: usize = 40;
const CALL: &str = "toolu_1";

/// Each in an event of its own: thoughts and words of a message, a call with what it is called with, and the
/// words of another message, which goes on.
async fn said(journal: &dyn Journal) -> SessionId {
    let session = open(journal, "much is said").await;
    let (turn_id, ids) = (TurnId::generate(), [MessageId::generate(), MessageId::generate()]);
    let text =
        |message_id, text: String| Output::Text(TextDelta { turn_id, message_id, text, parents: Vec::new() });
    let mut outputs = Vec::new();
    for number in 0..10 {
        let (message_id, text, parents) = (ids[0], format!("hm {number} "), Vec::new());
        outputs.push(Output::Thinking(ThinkingDelta { turn_id, message_id, text, parents }));
    }
    outputs.extend((0..WORDS).map(|number| text(ids[0], format!("wörd {number} "))));
    let tool_call_id = ToolCallId::new(CALL).expect("an id");
    for number in 0..5 {
        let text = format!("{{\"part\": {number}");
        outputs.push(Output::ToolCallDelta(ToolCallDelta {
            turn_id,
            tool_call_id: tool_call_id.clone(),
            text,
        }));
    }
    let (tool_name, decision, input) = (None, None, json!({ "command": "make" }));
    outputs.push(Output::ToolCallEnd(ToolCallEnd { turn_id, tool_call_id, tool_name, input, decision }));
    outputs.extend((0..3).map(|number| text(ids[1], format!("later {number} "))));
    for output in outputs {
        journal.append(session, Command::Record(vec![output])).await.expect("said");
    }
    session
}

/// All words by whose they are, and everything else in its order. What streamed of a call is in its end.
fn words(events: &[Event]) -> (BTreeMap<String, String>, Vec<Event>) {
    let (mut words, mut others) = (BTreeMap::<String, String>::new(), Vec::new());
    for event in events {
        let (whose, text) = if let EventBody::TextDelta(delta) = &event.body {
            (format!("text {}", delta.message_id), &delta.text)
        } else if let EventBody::ThinkingDelta(delta) = &event.body {
            (format!("thinking {}", delta.message_id), &delta.text)
        } else {
            if !matches!(event.body, EventBody::ToolCallDelta(_) | EventBody::WordsGathered(_)) {
                others.push(event.clone());
            }
            continue;
        };
        words.entry(whose).or_default().push_str(text);
    }
    (words, others)
}

pub(crate) async fn words_that_streamed_are_gathered(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    journal.append(session, message("go on")).await.expect("said");
    let before = read_all(journal, session).await;
    let gathered = journal.gather(session).await.expect("gathered");
    // Thoughts, words, what a call was called with, and the words behind it.
    assert_eq!(gathered, Gathered { events: (10 - 1 + WORDS - 1 + 5 - 1 + 3 - 1) as u64, kept: 4 });

    let after = read_all(journal, session).await;
    assert_eq!(words(&after), words(&before));
    assert_eq!(after.len(), before.len() + 1 - gathered.events as usize);
    let record = journal.session(session).await.expect("a session").expect("this one");
    assert_eq!(record.changed_at, before.last().expect("the last").at, "nothing happened in it");
    let report = office.audit(fixture, session).await;
    assert_eq!((report.events, report.fault), (before.len() as u64 + 1, None));
    assert!(journal.verify(session).await.expect("a report").is_sound());
    let mut export = Vec::new();
    journal.export(session, &mut export).await.expect("exported");
    let mut faults = Vec::new();
    verify_export(export.as_slice(), &office.keys(), |report| faults.push(report.fault)).expect("reports");
    assert_eq!(faults, [None]);

    assert_eq!(journal.gather(session).await.expect("nothing is left to do"), Gathered::default());
    assert_eq!(read_all(journal, session).await, after);
    journal.append(session, message("and on")).await.expect("it goes on");
    assert!(office.audit(fixture, session).await.is_sound());
}

pub(crate) async fn whoever_has_some_of_the_words_gets_the_rest(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = said(journal).await;
    journal.append(session, message("go on")).await.expect("said");
    let before = read_all(journal, session).await;
    journal.gather(session).await.expect("gathered");
    for place in 0..before.len() {
        let after = before[..place].last().map_or(Seq::START, |event| event.seq);
        let rest = journal.read(session, after, 1_000).await.expect("the rest");
        let all: Vec<_> = before[..place].iter().chain(&rest).cloned().collect();
        assert_eq!(words(&all), words(&before), "read up to {after}");
    }
}

pub(crate) async fn what_was_signed_in_between_stays(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = open(journal, "signed").await;
    let (turn_id, message_id) = (TurnId::generate(), MessageId::generate());
    for number in 0..30 {
        let text = format!("{number} ");
        let delta = TextDelta { turn_id, message_id, text, parents: Vec::new() };
        journal.append(session, Command::Record(vec![Output::Text(delta)])).await.expect("said");
        if number % 10 == 5 {
            journal.checkpoint(Heads::Changed).await.expect("signed");
        }
    }
    journal.append(session, message("go on")).await.expect("said");
    let before = read_all(journal, session).await;
    assert_eq!(journal.gather(session).await.expect("gathered").kept, 4);
    assert_eq!(words(&read_all(journal, session).await), words(&before));
    let report = office.audit(fixture, session).await;
    assert_eq!((report.checkpoints, report.fault), (4, None));
    for kept in office.kept() {
        assert_eq!(journal.contradiction(&kept).await.expect("an answer"), None);
    }
}

pub(crate) async fn what_stands_for_others_cannot_be_changed(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    journal.append(session, message("go on")).await.expect("said");
    let after = read_all(journal, session).await;
    journal.gather(session).await.expect("gathered");
    let last = after
        .iter()
        .rev()
        .find(|event| matches!(&event.body, EventBody::TextDelta(delta) if delta.text.contains("39")));
    let seq = last.expect("the last words").seq;
    fixture
        .run(
            &format!("UPDATE events SET data = CAST(replace(CAST(data AS TEXT), 'rd 7', 'rd 8') AS BLOB) WHERE seq = {seq}"),
            &format!("UPDATE events SET data = convert_to(replace(convert_from(data, 'UTF8'), 'rd 7', 'rd 8'), 'UTF8') WHERE seq = {seq}"),
        )
        .await;
    let fault = office.audit(fixture, session).await.fault;
    assert!(matches!(fault, Some(Fault::Missing { .. } | Fault::Changed { .. })), "{fault:?}");
}

/// Whoever can write to the journal and has no key could put other words in the place of what was said.
pub(crate) async fn words_that_nobody_signed_for_are_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = said(journal).await;
    journal.append(session, message("go on")).await.expect("said");
    assert!(journal.gather(session).await.expect("gathered").events > 0);
    let office = Office::new(journal);
    let report = office.audit(fixture, session).await;
    assert!(matches!(report.fault, Some(Fault::Hidden { .. })), "{report:?}");
    // Nor does it help that the head is signed behind it.
    journal.checkpoint(Heads::All).await.expect("signed");
    let report = office.audit(fixture, session).await;
    assert!(matches!(report.fault, Some(Fault::Hidden { .. })), "{report:?}");
}

pub(crate) async fn what_was_gathered_can_be_erased(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    assert!(journal.gather(session).await.expect("gathered").events > 0);
    journal.erase(session, "ada").await.expect("erased");
    assert_eq!(read_all(journal, session).await, []);
    assert_eq!(journal.gather(session).await.expect("nothing is there"), Gathered::default());
    assert_eq!(office.audit(fixture, session).await.fault, None);
    let mut export = Vec::new();
    journal.export(session, &mut export).await.expect("exported");
    let mut faults = Vec::new();
    verify_export(export.as_slice(), &office.keys(), |report| faults.push(report.fault)).expect("reports");
    assert_eq!(faults, [None]);
    assert!(!String::from_utf8_lossy(&export).contains("rd 7"), "words are left of it");
}

pub(crate) async fn what_went_to_a_file_comes_back(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    let request = question(session, "kept");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    journal.gather(session).await.expect("gathered");
    let before = read_all(journal, session).await;
    let record = journal.session(session).await.expect("a session").expect("this one");
    let asked = journal.ask(request.interaction_id).await.expect("an ask");
    let mut file = Vec::new();
    journal.export(session, &mut file).await.expect("written");

    let late = journal.age_out(session, "/aged/one.jsonl", Seq(record.head.0 - 1)).await;
    assert!(matches!(late, Err(EraseError::StillGoing)), "{late:?}");
    journal.age_out(session, "/aged/one.jsonl", record.head).await.expect("it goes");
    assert_eq!(read_all(journal, session).await, []);
    assert_eq!(journal.ask(request.interaction_id).await.expect("no ask"), None);
    let away = journal.session(session).await.expect("a session").expect("its lines stay");
    assert_eq!(away.aged_out_to.as_deref(), Some("/aged/one.jsonl"));
    assert_eq!(office.audit(fixture, session).await.fault, None);

    let changed = String::from_utf8(file.clone()).expect("text").replace("rd 7", "rd 8");
    let refused = journal.bring_back(session, &mut changed.as_bytes()).await;
    assert!(matches!(refused, Err(BringBackError::Other { .. })), "{refused:?}");
    let cut = &file[..=file[..file.len() / 2].iter().rposition(|byte| *byte == b'\n').expect("a line")];
    let refused = journal.bring_back(session, &mut &*cut).await;
    assert!(matches!(refused, Err(BringBackError::Lacks { .. })), "{refused:?}");
    assert_eq!(read_all(journal, session).await, [], "half of it is none of it");
    let brought = journal.bring_back(session, &mut file.as_slice()).await.expect("it is back");
    assert_eq!((brought.session, brought.events), (session, before.len() as u64));
    assert_eq!(read_all(journal, session).await, before);
    assert_eq!(journal.session(session).await.expect("a session").expect("this one"), record);
    assert_eq!(journal.ask(request.interaction_id).await.expect("an ask"), asked);
    assert_eq!(office.audit(fixture, session).await.fault, None);
    assert!(journal.verify(session).await.expect("a report").is_sound());
    let again = journal.bring_back(session, &mut file.as_slice()).await;
    assert!(matches!(again, Err(BringBackError::NotAway { .. })), "{again:?}");
}

pub(crate) async fn what_somebody_erased_does_not_come_back(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let head = journal.session(session).await.expect("a session").expect("this one").head;
    let mut file = Vec::new();
    journal.export(session, &mut file).await.expect("written");
    journal.age_out(session, "/aged/one.jsonl", head).await.expect("it goes");
    assert_eq!(journal.erase(session, "ada").await.expect("for good").by, "ada");
    let refused = journal.bring_back(session, &mut file.as_slice()).await;
    assert!(matches!(refused, Err(BringBackError::NotAway { .. })), "{refused:?}");
    assert_eq!(office.audit(fixture, session).await.fault, None);
}
