//! What was signed cannot be changed, not even by somebody who writes the whole chain anew.

use std::path::{Path, PathBuf};

use holdstead_core::Command;
use holdstead_protocol::{Seq, SessionId};
use holdstead_store::{
    AuditKey, ChainReport, Checkpoint, Fault, Heads, Journal, Kept, Notary, PublicKey, StoreError, read_log,
    verify_export,
};
use tempfile::TempDir;

use crate::audit::journal_of_seven;
use crate::commands::{message, opened};
use crate::fixture::Fixture;

/// A notary with its key and its file, which the database knows nothing of.
pub(crate) struct Office {
    folder: TempDir,
    key: AuditKey,
}

impl Office {
    pub(crate) fn new(journal: &dyn Journal) -> Self {
        let office = Self { folder: TempDir::new().expect("a folder"), key: AuditKey::generate() };
        office.signs_for(journal);
        office
    }

    pub(crate) fn signs_for(&self, journal: &dyn Journal) {
        journal.sign_with(Notary::new(self.key.clone(), self.log()));
    }

    /// With the same key, and a file of that journal's own.
    pub(crate) fn signs_elsewhere_for(&self, journal: &dyn Journal, folder: &Path) {
        journal.sign_with(Notary::new(self.key.clone(), folder.join("log")));
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.path().join("checkpoints.log")
    }

    pub(crate) fn keys(&self) -> [PublicKey; 1] {
        [self.key.public()]
    }

    pub(crate) fn kept(&self) -> Vec<Checkpoint> {
        let checkpoint = |line| match line {
            Kept::Checkpoint(checkpoint) => Some(checkpoint),
            Kept::Round(_) => None,
        };
        self.lines().into_iter().filter_map(checkpoint).collect()
    }

    pub(crate) fn lines(&self) -> Vec<Kept> {
        read_log(&self.log()).expect("the file").map(|(_, line)| line.expect("a line")).collect()
    }

    /// By another process: whoever wrote it would notice that something is gone.
    pub(crate) async fn audit(&self, fixture: &Fixture, session: SessionId) -> ChainReport {
        fixture.second().await.audit(session, &self.keys()).await.expect("a report")
    }
}

pub(crate) async fn sign(journal: &dyn Journal) -> u64 {
    journal.checkpoint(Heads::Changed).await.expect("signed")
}

pub(crate) async fn what_changed_is_signed_once(fixture: &Fixture) {
    let journal = &**fixture.journal();
    assert!(matches!(journal.checkpoint(Heads::All).await, Err(StoreError::NoKey)));
    // Written before there was a notary: found by looking at all.
    let (first, _) = journal_of_seven(fixture).await;
    let office = Office::new(journal);
    assert_eq!(sign(journal).await, 0);
    assert_eq!(journal.checkpoint(Heads::All).await.expect("signed"), 1);
    assert_eq!(journal.checkpoint(Heads::All).await.expect("signed"), 0);

    let (second, _) = journal_of_seven(fixture).await;
    assert_eq!(sign(journal).await, 1);
    assert_eq!(sign(journal).await, 0);
    journal.append(second, message("more")).await.expect("said");
    let before = office.audit(fixture, second).await;
    assert_eq!((before.events, before.signed, before.fault), (8, Seq(7), None));
    assert_eq!(sign(journal).await, 1);
    let after = office.audit(fixture, second).await;
    assert_eq!((after.checkpoints, after.signed, after.fault), (2, Seq(8), None));

    let kept = office.kept();
    let stored = journal.checkpoints(second, 0, 10).await.expect("checkpoints");
    assert_eq!(kept[1..], stored);
    assert_eq!(journal.checkpoints(second, 1, 10).await.expect("checkpoints"), stored[1..]);
    for checkpoint in &kept {
        assert!(checkpoint.is_signed());
        assert_eq!(journal.contradiction(checkpoint).await.expect("a comparison"), None);
    }
    let mut both = [first, second];
    both.sort();
    assert_eq!(journal.journals(None, 10).await.expect("journals"), both);
    assert_eq!(journal.journals(Some(both[0]), 10).await.expect("journals"), both[1..]);
    assert_eq!(journal.journals(None, 1).await.expect("journals"), both[..1]);
}

/// Takes the last event away and everything that points to it.
async fn cut(fixture: &Fixture) {
    for sql in [
        "DELETE FROM events WHERE seq = 7",
        "UPDATE sessions SET last_seq = 6, \
         head_hash = (SELECT hash FROM events WHERE seq = 6), last_at = (SELECT at FROM events WHERE seq = 6)",
    ] {
        fixture.run(sql, sql).await;
    }
}

pub(crate) async fn a_cut_tail_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    cut(fixture).await;
    let report = office.audit(fixture, session).await;
    assert_eq!(report.fault, Some(Fault::Cut { last: Seq(6), signed: Seq(7) }));
    let another = fixture.second().await;
    let journal = &*another;
    office.signs_for(journal);
    // What was cut is not signed as if nothing were missing.
    assert_eq!(journal.checkpoint(Heads::All).await.expect("looked at"), 0);
    let sql = "DELETE FROM sessions";
    fixture.run(sql, sql).await;
    assert_eq!(journal.journals(None, 10).await.expect("journals"), [session]);
    assert_eq!(office.audit(fixture, session).await.fault, Some(Fault::NoSuchSession));
}

pub(crate) async fn a_rewritten_chain_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    for sql in ["DELETE FROM events", "DELETE FROM asks", "DELETE FROM search", "DELETE FROM sessions"] {
        fixture.run(sql, sql).await;
    }
    let another = fixture.second().await;
    let journal = &*another;
    office.signs_for(journal);
    journal
        .append(session, Command::Open(Box::new(opened("scripted", "another story"))))
        .await
        .expect("opened");
    for number in 0..9 {
        journal.append(session, message(&format!("never said {number}"))).await.expect("said");
    }
    // Every hash is right, and so is everything beside the journal.
    let report = office.audit(fixture, session).await;
    assert_eq!(report.fault, Some(Fault::Rewritten { seq: Seq(7) }));
    assert_eq!(
        journal.contradiction(&office.kept()[0]).await.expect("a comparison"),
        None,
        "the checkpoint itself is as it was"
    );
    let sql = "DELETE FROM checkpoints";
    fixture.run(sql, sql).await;
    assert!(office.audit(fixture, session).await.is_sound(), "nothing in the database speaks against it");
    let found = journal.contradiction(&office.kept()[0]).await.expect("a comparison");
    assert_eq!(found, Some(Fault::Rewritten { seq: Seq(7) }));
}

pub(crate) async fn a_tampered_checkpoint_is_found(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    journal.append(session, message("more")).await.expect("said");
    sign(journal).await;

    let stranger = AuditKey::generate().public();
    let report = journal.audit(session, &[stranger]).await.expect("a report");
    let key = office.keys()[0];
    assert_eq!(report.fault, Some(Fault::UnknownKey { number: 1, seq: Seq(7), key }));

    let sql = "UPDATE checkpoints SET at = at + 1 WHERE number = 2";
    fixture.run(sql, sql).await;
    let changed = Some(Fault::CheckpointChanged { number: 2, seq: Seq(8) });
    assert_eq!(office.audit(fixture, session).await.fault, changed);

    let sql = "DELETE FROM checkpoints WHERE number = 1";
    fixture.run(sql, sql).await;
    let sql = "UPDATE checkpoints SET at = at - 1";
    fixture.run(sql, sql).await;
    let missing = Some(Fault::CheckpointMissing { number: 1, seq: Seq(8) });
    assert_eq!(office.audit(fixture, session).await.fault, missing);
    // Giving it another number does not help: that is signed, too.
    let sql = "UPDATE checkpoints SET number = 1";
    fixture.run(sql, sql).await;
    let changed = Some(Fault::CheckpointChanged { number: 1, seq: Seq(8) });
    assert_eq!(office.audit(fixture, session).await.fault, changed);
}

pub(crate) async fn a_kept_copy_finds_what_was_taken(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (session, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    let kept = &office.kept()[0];
    let against = async || fixture.second().await.contradiction(kept).await.expect("a comparison");
    let sql = "DELETE FROM checkpoints";
    fixture.run(sql, sql).await;
    assert_eq!(against().await, Some(Fault::CheckpointMissing { number: 1, seq: Seq(7) }));
    cut(fixture).await;
    assert_eq!(against().await, Some(Fault::Cut { last: Seq(6), signed: Seq(7) }));
    for sql in ["DELETE FROM events", "DELETE FROM asks", "DELETE FROM sessions"] {
        fixture.run(sql, sql).await;
    }
    assert_eq!(against().await, Some(Fault::NoSuchSession));
    assert_eq!(office.audit(fixture, session).await.fault, Some(Fault::NoSuchSession));
}

pub(crate) async fn two_nodes_sign_one_journal(fixture: &Fixture) {
    let (journal, other) = (&**fixture.journal(), fixture.second().await);
    let office = Office::new(journal);
    let folder = TempDir::new().expect("a folder");
    office.signs_elsewhere_for(&*other, folder.path());
    let (session, _) = journal_of_seven(fixture).await;
    for round in 0..10 {
        journal.append(session, message(&format!("here {round}"))).await.expect("said");
        other.append(session, message(&format!("there {round}"))).await.expect("said");
        let (here, there) = tokio::join!(journal.checkpoint(Heads::All), other.checkpoint(Heads::All));
        assert!((1..=2).contains(&(here.expect("signed") + there.expect("signed"))));
    }
    let report = office.audit(fixture, session).await;
    assert_eq!((report.signed, report.fault), (Seq(27), None));
    assert!(report.checkpoints >= 10);
}

fn check(lines: &[String], keys: &[PublicKey]) -> Result<Vec<ChainReport>, StoreError> {
    let mut reports = Vec::new();
    verify_export(lines.join("\n").as_bytes(), keys, |report| reports.push(report))?;
    Ok(reports)
}

pub(crate) async fn an_export_can_be_checked_without_a_database(fixture: &Fixture) {
    let journal = &**fixture.journal();
    let office = Office::new(journal);
    let (first, _) = journal_of_seven(fixture).await;
    let (second, _) = journal_of_seven(fixture).await;
    sign(journal).await;
    journal.append(first, message("more")).await.expect("said");
    let mut bytes = Vec::new();
    for session in [first, second] {
        journal.export(session, &mut bytes).await.expect("exported");
    }
    let text = String::from_utf8(bytes).expect("text");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 7 + 1 + 1 + 7 + 1);
    let reports = check(&lines, &office.keys()).expect("reports");
    let seen: Vec<_> = reports.iter().map(|r| (r.session, r.events, r.signed, r.is_sound())).collect();
    assert_eq!(seen, [(first, 8, Seq(7), true), (second, 7, Seq(7), true)]);

    let fault = |change: &dyn Fn(&mut Vec<String>)| {
        let mut changed = lines.clone();
        change(&mut changed);
        check(&changed, &office.keys()).expect("reports").into_iter().find_map(|report| report.fault)
    };
    let hello = |lines: &mut Vec<String>| lines[3] = lines[3].replace("hello", "jello");
    assert_eq!(fault(&hello), Some(Fault::Changed { seq: Seq(4) }));
    assert_eq!(fault(&|lines| drop(lines.remove(3))), Some(Fault::Missing { seq: Seq(4) }));
    assert_eq!(fault(&|lines| lines.swap(3, 4)), Some(Fault::Missing { seq: Seq(4) }));
    let cut = Some(Fault::Cut { last: Seq(6), signed: Seq(7) });
    assert_eq!(fault(&|lines| drop(lines.remove(6))), cut);
    assert_eq!(fault(&|lines| drop(lines.remove(7))), Some(Fault::NothingSigned));
    let signature = Some(Fault::CheckpointChanged { number: 1, seq: Seq(7) });
    let later = |lines: &mut Vec<String>| lines[7] = lines[7].replace("\"at\":\"20", "\"at\":\"21");
    assert_eq!(fault(&later), signature);
    let unreadable = check(&["{".to_owned()], &office.keys());
    assert!(unreadable.expect_err("no JSON").to_string().contains("read line 1"));
    assert!(check(&lines, &[]).expect("reports")[0].fault.is_some(), "no key is trusted by itself");
}
