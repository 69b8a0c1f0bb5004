//! A session that ages out leaves its lines in the journal and comes back from its file as it was.

use holdstead_core::{Command, Output};
use holdstead_protocol::{
    MessageId, Seq, SessionId, TextDelta, ThinkingDelta, ToolCallDelta, ToolCallEnd, ToolCallId, TurnId,
};
use holdstead_store::{BringBackError, EraseError, Going, Journal};
use serde_json::json;

use crate::checkpoints::Office;
use crate::commands::{answer, ask, open, question, read_all};
use crate::erasing::LEFT;
use crate::fixture::Fixture;

const WORDS: usize = 40;
const CALL: &str = "toolu_1";

/// A file that has its name already.
pub(crate) fn written(head: Seq) -> Going {
    Going::new("/aged/one.jsonl", head, None, || Ok(()))
}

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

pub(crate) async fn what_went_to_a_file_comes_back(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    let request = question(session, "kept");
    journal.append(session, ask(&request)).await.expect("asked");
    journal.append(session, answer(&request, "ada", "k", "here")).await.expect("answered");
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let before = read_all(journal, session).await;
    let record = journal.session(session).await.expect("a session").expect("this one");
    let asked = journal.ask(request.interaction_id).await.expect("an ask");
    let mut file = Vec::new();
    journal.export(session, &mut file).await.expect("written");

    let late = journal.age_out(session, written(Seq(record.head.0 - 1))).await;
    assert!(matches!(late, Err(EraseError::StillGoing)), "{late:?}");
    journal.age_out(session, written(record.head)).await.expect("it goes");
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

pub(crate) async fn a_file_without_its_name_takes_nothing_away(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let session = said(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let record = journal.session(session).await.expect("a session").expect("this one");
    let full = || Err(std::io::Error::other("the disk is full"));
    let refused = journal.age_out(session, Going::new("/aged/one.jsonl", record.head, None, full)).await;
    assert!(matches!(refused, Err(EraseError::NoFile(_))), "{refused:?}");
    assert_eq!(journal.session(session).await.expect("a session"), Some(record.clone()));

    // Only one of two nodes that write the file gives it its name.
    journal.age_out(session, written(record.head)).await.expect("it goes");
    let never = || unreachable!("another node gave the file its name");
    let again = journal.age_out(session, Going::new("/aged/two.jsonl", record.head, None, never)).await;
    assert!(again.is_ok(), "{again:?}");
    let away = journal.session(session).await.expect("a session").expect("its lines stay");
    assert_eq!(away.aged_out_to.as_deref(), Some("/aged/one.jsonl"));
}

pub(crate) async fn what_somebody_erased_does_not_come_back(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let session = said(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let head = journal.session(session).await.expect("a session").expect("this one").head;
    let mut file = Vec::new();
    journal.export(session, &mut file).await.expect("written");
    journal.age_out(session, written(head)).await.expect("it goes");
    assert_eq!(journal.erase(session, "ada").await.expect("for good").by, "ada");
    let refused = journal.bring_back(session, &mut file.as_slice()).await;
    assert!(matches!(refused, Err(BringBackError::NotAway { .. })), "{refused:?}");
    assert_eq!(office.audit(fixture, session).await.fault, None);
}

/// Half of it is back: whoever brought it was interrupted, or the file is not whole.
async fn back_in_part(fixture: &Fixture) -> (SessionId, Vec<u8>) {
    let journal = &**fixture.journal();
    let session = said(journal).await;
    journal.append(session, Command::End { name: "ada".to_owned() }).await.expect("ended");
    let head = journal.session(session).await.expect("a session").expect("this one").head;
    let mut file = Vec::new();
    journal.export(session, &mut file).await.expect("written");
    journal.age_out(session, written(head)).await.expect("it goes");
    assert_eq!(fixture.count(LEFT).await, 0);
    let cut = &file[..=file[..file.len() / 2].iter().rposition(|byte| *byte == b'\n').expect("a line")];
    let refused = journal.bring_back(session, &mut &*cut).await;
    assert!(matches!(refused, Err(BringBackError::Lacks { .. })), "{refused:?}");
    assert!(fixture.count(LEFT).await > 10, "some of it is back");
    (session, file)
}

pub(crate) async fn an_erasure_leaves_nothing_of_what_was_brought_back_in_part(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, file) = back_in_part(fixture).await;
    assert_eq!(journal.erase(session, "ada").await.expect("for good").by, "ada");
    assert_eq!(fixture.count(LEFT).await, 0);
    assert_eq!(fixture.count("SELECT count(*) FROM asks").await, 0);
    assert_eq!(fixture.count("SELECT count(*) FROM search").await, 0);
    assert_eq!(journal.unfinished(None, 10).await.expect("a list"), []);
    let refused = journal.bring_back(session, &mut file.as_slice()).await;
    assert!(matches!(refused, Err(BringBackError::NotAway { .. })), "{refused:?}");
    assert_eq!(office.audit(fixture, session).await.fault, None);
}

pub(crate) async fn an_erasure_leaves_nothing_while_another_process_brings_it_back(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let (session, file) = back_in_part(fixture).await;
    let other = fixture.second().await;
    let mut whole = file.as_slice();
    let (erased, brought) =
        tokio::join!(journal.erase(session, "ada"), other.bring_back(session, &mut whole));
    assert_eq!(erased.expect("for good").by, "ada");
    assert!(matches!(brought, Ok(_) | Err(BringBackError::NotAway { .. })), "{brought:?}");
    assert_eq!(fixture.count(LEFT).await, 0);
    assert_eq!(read_all(journal, session).await, []);
}
