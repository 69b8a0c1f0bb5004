//! Prove that nobody changed the journal, or an export of it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use holdstead_protocol::SessionId;
use holdstead_store::{
    AuditKey, ChainReport, Checkpoint, Fault, Journal, Kept, PublicKey, StoreError, read_log, verify_export,
    without_secret,
};
use serde::Serialize;

use super::audit::Chosen;
use super::{audit_rounds, print_json};
use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

/// What was looked at, and what is wrong with it.
#[derive(Debug, Default, Serialize)]
struct Verified {
    /// The database, without its password; an export has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    sessions: u64,
    events: u64,
    checkpoints: u64,
    /// Events behind the last checkpoint of their session.
    unsigned: u64,
    /// Checkpoints outside the database that it was compared with; an export has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<u64>,
    /// Signed lists of all sessions' checkpoints; an export and a single session have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<usize>,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Finding {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    words: String,
}

/// The keys that were named, or this machine's own.
pub(super) fn keys(places: &Places, named: &[String]) -> Result<Vec<PublicKey>, Failure> {
    if named.is_empty() {
        return Ok(places.audit_key()?.iter().map(AuditKey::public).collect());
    }
    named.iter().map(|name| one_key(name)).collect()
}

/// This machine's own, and what was named.
pub(super) fn logs(places: &Places, named: Vec<PathBuf>) -> Vec<PathBuf> {
    [places.checkpoints_file()].into_iter().chain(named).collect()
}

fn one_key(name: &str) -> Result<PublicKey, Failure> {
    if let Ok(key) = name.parse() {
        return Ok(key);
    }
    let text = std::fs::read_to_string(name)
        .map_err(|source| Failure::Io { what: format!("read the key `{name}`"), source })?;
    let key = text.parse().or_else(|_| AuditKey::from_secret_text(&text).map(|key| key.public()));
    key.map_err(|error| Failure::Usage(format!("{name}: {error}")))
}

pub(super) async fn journal(
    common: &Common,
    places: &Places,
    journal: &dyn Journal,
    keys: &[PublicKey],
    logs: &[PathBuf],
    session: Option<&str>,
) -> Result<(), Failure> {
    let mut chosen = Chosen::new(journal, session).await?;
    let config = Config::load(common, places)?;
    let store = Some(without_secret(&store::address(common, places, &config)));
    let mut verified = Verified { store, kept: Some(0), ..Verified::default() };
    loop {
        let page = chosen.next(journal).await?;
        if page.is_empty() {
            break;
        }
        for session in page {
            match journal.audit(session, keys).await {
                Ok(report) => verified.add(report),
                Err(StoreError::Corrupt { what }) => verified.find(session, what),
                Err(error) => return Err(error.into()),
            }
        }
    }
    // What was signed is also kept where whoever changes the database does not reach.
    let mut ends = Vec::new();
    for log in logs {
        let end = audit_rounds::end(journal, log).await?;
        for (number, line) in read_log(log)? {
            match line {
                Ok(Kept::Round(_)) => {}
                Ok(Kept::Checkpoint(kept)) if !chosen.includes(kept.session) => {}
                // Told once, below.
                Ok(Kept::Checkpoint(_)) if end.as_ref().is_some_and(|end| number > end.line) => {}
                Ok(Kept::Checkpoint(kept)) => {
                    verified.kept = verified.kept.map(|kept| kept + 1);
                    if let Some(fault) = against(journal, keys, &kept).await? {
                        verified.find(kept.session, format!("{fault} (line {number} of {})", log.display()));
                    }
                }
                Err(error) => verified
                    .findings
                    .push(Finding { session: None, words: format!("{error} (line {number})") }),
            }
        }
        ends.extend(end);
    }
    for end in &ends {
        verified.findings.push(Finding { session: None, words: end.to_string() });
    }
    if session.is_none() {
        let (rounds, mut found) = audit_rounds::verify(journal, keys, logs, &ends).await?;
        let unmarked = journal.audit_people().await?.into_iter();
        found.extend(
            unmarked.map(|who| format!("somebody without the key wrote or changed {who}: it lets nobody in")),
        );
        verified.rounds = Some(rounds);
        verified.findings.extend(found.into_iter().map(|words| Finding { session: None, words }));
    }
    verified.print(common)
}

async fn against(
    journal: &dyn Journal,
    keys: &[PublicKey],
    kept: &Checkpoint,
) -> Result<Option<Fault>, Failure> {
    // The same row in the database was checked there.
    let Some(fault) = journal.contradiction(kept).await? else { return Ok(None) };
    let Checkpoint { number, seq, key, .. } = *kept;
    Ok(Some(match (kept.is_signed(), keys.contains(&key)) {
        (true, true) => fault,
        (true, false) => Fault::UnknownKey { number, seq, key },
        (false, _) => Fault::CheckpointChanged { number, seq },
    }))
}

pub(super) fn file(common: &Common, keys: &[PublicKey], path: &Path) -> Result<(), Failure> {
    let io = |source| Failure::Io { what: format!("read {}", path.display()), source };
    let lines = BufReader::new(File::open(path).map_err(io)?);
    let mut verified = Verified::default();
    verify_export(lines, keys, |report| verified.add(report))?;
    verified.print(common)
}

impl Verified {
    fn add(&mut self, report: ChainReport) {
        self.sessions += 1;
        self.events += report.events;
        self.checkpoints += report.checkpoints;
        self.unsigned += report.events - report.signed.0;
        if let Some(fault) = report.fault {
            self.find(report.session, fault.to_string());
        }
    }

    fn find(&mut self, session: SessionId, words: String) {
        self.findings.push(Finding { session: Some(session), words });
    }

    fn print(&self, common: &Common) -> Result<(), Failure> {
        if common.json {
            print_json(self)?;
        } else {
            for finding in &self.findings {
                let session = finding.session.map(|session| format!("{session}: ")).unwrap_or_default();
                println!("✕ {session}{}", finding.words);
            }
            let kept = match self.kept {
                None => String::new(),
                Some(0) => "; none kept outside the database to compare with".to_owned(),
                Some(kept) => format!("; {kept} kept outside the database compared with it"),
            };
            let signed = match self.unsigned {
                0 => "Every event is signed.".to_owned(),
                some => format!("{some} events came after the last checkpoint and are not signed yet."),
            };
            let rounds = self.rounds.map(|rounds| format!(", rounds: {rounds}")).unwrap_or_default();
            let Self { sessions, events, checkpoints, .. } = self;
            if self.findings.is_empty() {
                println!("✓ This is what was written.");
            }
            if let Some(store) = &self.store {
                println!("Store: {store}");
            }
            println!(
                "Sessions: {sessions}, events: {events}, checkpoints: {checkpoints}{rounds}{kept}. {signed}"
            );
        }
        match self.findings.len() {
            0 => Ok(()),
            1 => Err(Failure::Unhealthy("1 finding: this is not what was written.".to_owned())),
            many => Err(Failure::Unhealthy(format!("{many} findings: this is not what was written."))),
        }
    }
}
