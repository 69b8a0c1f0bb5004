//! What a million streamed fragments take on disk; sessions that are erased stay erased, and sessions that age out come back
//! from their files as they were.

use std::time::Instant;

use holdstead_core::{Command, Listener, Message, Output};
use holdstead_protocol::{
    Event, MessageId, OwnerId, Seq, SessionId, SessionOpened, TextDelta, TurnId, UserMessage,
};
use holdstead_store::{AuditKey, Going, Heads, Journal, Notary, PublicKey};
use tempfile::TempDir;

use super::parked;
use crate::database::{Database, Kind};
use crate::{Result, ensure};

const DELTAS: usize = 1_000_000;
/// What streams at the speed of a model in a few seconds.
const IN_A_MESSAGE: usize = 100;
const MESSAGES: usize = 50;
const PAGE: u32 = 1_000;
/// Of so many sessions one is erased before.
const ERASED: usize = 20;

pub(crate) async fn show() -> Result<String> {
    let deltas = std::env::args().nth(2).map_or(Ok(DELTAS), |text| text.parse())?;
    let sessions = deltas / (IN_A_MESSAGE * MESSAGES);
    ensure!(sessions >= ERASED, "at least {} deltas are needed", ERASED * IN_A_MESSAGE * MESSAGES);
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let figure = one_kind(kind, sessions).await?;
        println!("{figure}");
        figures.push(figure);
    }
    Ok(format!("{}; {}", figures.join("; "), parked::show().await?))
}

async fn one_kind(kind: Kind, sessions: usize) -> Result<String> {
    let database = Database::new(kind).await?;
    let journal = holdstead_store::open(&database.url()).await?;
    let (folder, key) = (TempDir::new()?, AuditKey::generate());
    let keys = [key.public()];
    journal.sign_with(Notary::new(key, folder.path().join("checkpoints.log")));
    let empty = database.bytes().await?;
    let begin = Instant::now();
    let mut all = Vec::new();
    for number in 0..sessions {
        all.push(said(journal.as_ref(), number).await?);
        if number % 10 == 0 {
            journal.checkpoint(Heads::Changed).await?;
        }
    }
    println!("{kind}: {} deltas written in {:.0} s", deltas(sessions), begin.elapsed().as_secs_f64());
    let erased: Vec<_> = all.iter().copied().step_by(ERASED).collect();
    for session in &erased {
        journal.append(*session, Command::End { name: "Ada".to_owned() }).await?;
        journal.erase(*session, "Ada").await?;
    }
    database.vacuum().await?;
    let stored = database.bytes().await?.saturating_sub(empty);
    for session in &all {
        let report = journal.audit(*session, &keys).await?;
        ensure!(report.is_sound(), "{session} does not verify: {:?}", report.fault);
    }
    for session in &erased {
        ensure!(read(journal.as_ref(), *session).await?.is_empty(), "{session} was erased and can be read");
    }
    let aged = all.iter().skip(1).step_by(ERASED).copied().collect::<Vec<_>>();
    for session in &aged {
        there_and_back(journal.as_ref(), *session, &keys).await?;
    }
    journal.close().await;
    database.remove().await?;
    Ok(format!(
        "{kind}: {} deltas in {sessions} sessions take {:.0} MB, a session of {MESSAGES} messages {:.0} KB; {} sessions were \
         erased and stay erased, {} went to files and came back as they were; every session verifies",
        deltas(sessions),
        stored as f64 / 1e6,
        stored as f64 / 1e3 / sessions as f64,
        erased.len(),
        aged.len(),
    ))
}

/// A session goes to a file, and comes back as it was.
async fn there_and_back(journal: &dyn Journal, session: SessionId, keys: &[PublicKey]) -> Result<()> {
    journal.append(session, Command::End { name: "Ada".to_owned() }).await?;
    let before = read(journal, session).await?;
    let mut file = Vec::new();
    journal.export(session, &mut file).await?;
    let head = before.last().map_or(Seq::START, |last| last.seq);
    journal.age_out(session, Going::new("/aged", head, None, || Ok(()))).await?;
    ensure!(read(journal, session).await?.is_empty(), "{session} went to a file and can be read");
    ensure!(
        journal.audit(session, keys).await?.is_sound(),
        "{session} does not verify without what was said"
    );
    journal.bring_back(session, &mut file.as_slice()).await?;
    ensure!(read(journal, session).await? == before, "{session} is not what it was");
    let report = journal.audit(session, keys).await?;
    ensure!(report.is_sound(), "{session} does not verify when it is back: {:?}", report.fault);
    Ok(())
}

const fn deltas(sessions: usize) -> usize {
    sessions * MESSAGES * IN_A_MESSAGE
}

/// A person says something, an agent answers word by word, again and again.
async fn said(journal: &dyn Journal, number: usize) -> Result<SessionId> {
    let owner = OwnerId::new(format!("owner-{}", number % 10))?;
    let session = SessionId::generate(&owner);
    let mut appends =
        vec![journal.append(session, Command::Open(Box::new(SessionOpened::new(owner, "scripted"))))];
    for _ in 0..MESSAGES {
        let (turn_id, message_id) = (TurnId::generate(), MessageId::generate());
        let text = "And then?".to_owned();
        let asked = UserMessage {
            turn_id,
            message_id: MessageId::generate(),
            text,
            from: "Ada".to_owned(),
            actor: None,
        };
        appends.push(
            journal.append(
                session,
                Command::Message(Box::new(Message { said: asked, listener: Listener::Here })),
            ),
        );
        let delta = |word: usize| {
            let text = format!("and word {word} ");
            Output::Text(TextDelta { turn_id, message_id, text, parents: Vec::new() })
        };
        let outputs = (0..IN_A_MESSAGE).map(delta).collect();
        appends.push(journal.append(session, Command::Record(outputs)));
    }
    for append in appends {
        append.await?;
    }
    Ok(session)
}

async fn read(journal: &dyn Journal, session: SessionId) -> Result<Vec<Event>> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(Seq::START, |event| event.seq);
        let page = journal.read(session, after, PAGE).await?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}
