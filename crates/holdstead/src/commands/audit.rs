//! The audit: export, sign on demand, erase, and the key. Verifying has a file of its own.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use holdstead_protocol::SessionId;
use holdstead_store::{EraseError, Heads, Journal};
use serde_json::json;

use super::{audit_verify, print_json};
use crate::cli::{Audit, Common};
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

/// How many journals are listed at a time.
const PAGE: u32 = 500;

pub(super) async fn run(common: &Common, command: Audit) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    match command {
        Audit::Verify { session, key, log, file } => {
            let keys = audit_verify::keys(&places, &key)?;
            match file {
                Some(file) => audit_verify::file(common, &keys, &file),
                None => {
                    let journal = open(common, &places).await?;
                    let logs = audit_verify::logs(&places, log);
                    let verified =
                        audit_verify::journal(common, &places, &*journal, &keys, &logs, session.as_deref())
                            .await;
                    journal.close().await;
                    verified
                }
            }
        }
        Audit::Export { session, out } => {
            let journal = open(common, &places).await?;
            let exported = export(&*journal, session.as_deref(), out.as_deref()).await;
            journal.close().await;
            exported
        }
        Audit::Checkpoint => checkpoint(common, &places).await,
        Audit::Erase { session } => erase(common, &places, &session).await,
        Audit::Key => key(common, &places),
    }
}

async fn open(common: &Common, places: &Places) -> Result<Arc<dyn Journal>, Failure> {
    store::open(common, places, &Config::load(common, places)?).await
}

/// The one that these digits name, or all, a page at a time.
pub(super) struct Chosen {
    one: Option<SessionId>,
    after: Option<SessionId>,
}

impl Chosen {
    pub(super) async fn new(journal: &dyn Journal, session: Option<&str>) -> Result<Self, Failure> {
        let one = match session {
            Some(session) => Some(find(journal, session).await?),
            None => None,
        };
        Ok(Self { one, after: None })
    }

    pub(super) fn includes(&self, session: SessionId) -> bool {
        self.one.is_none_or(|one| one == session)
    }

    pub(super) async fn next(&mut self, journal: &dyn Journal) -> Result<Vec<SessionId>, Failure> {
        match (self.one, self.after) {
            (Some(_), Some(_)) => Ok(Vec::new()),
            (Some(one), None) => {
                self.after = Some(one);
                Ok(vec![one])
            }
            (None, after) => {
                let page = journal.journals(after, PAGE).await?;
                self.after = page.last().copied().or(after);
                Ok(page)
            }
        }
    }
}

async fn find(journal: &dyn Journal, digits: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = digits.parse() {
        return Ok(id);
    }
    let mut all = Chosen { one: None, after: None };
    let mut found = Vec::new();
    loop {
        let page = all.next(journal).await?;
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().filter(|id| !digits.is_empty() && id.to_string().ends_with(digits)));
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(Failure::Usage(format!("No session ends in `{digits}`. See: holdstead sessions"))),
        many => {
            Err(Failure::Usage(format!("{} sessions end in `{digits}`: give more digits of one", many.len())))
        }
    }
}

async fn export(journal: &dyn Journal, session: Option<&str>, out: Option<&Path>) -> Result<(), Failure> {
    let mut chosen = Chosen::new(journal, session).await?;
    let io = |source| Failure::Io { what: "write the export".to_owned(), source };
    let mut writer: Box<dyn Write + Send> = match out {
        Some(path) => Box::new(BufWriter::new(File::create(path).map_err(io)?)),
        None => Box::new(BufWriter::new(std::io::stdout())),
    };
    loop {
        let page = chosen.next(journal).await?;
        if page.is_empty() {
            return writer.flush().map_err(io);
        }
        for session in page {
            journal.export(session, &mut *writer).await?;
        }
    }
}

async fn checkpoint(common: &Common, places: &Places) -> Result<(), Failure> {
    let journal = open(common, places).await?;
    places.make()?;
    journal.sign_with(places.notary()?);
    let signed = journal.checkpoint(Heads::All).await?;
    journal.close().await;
    if common.json {
        return print_json(&json!({ "signed": signed }));
    }
    println!("✓ Newly signed: {signed}. Whatever did not grow was signed before.");
    Ok(())
}

async fn erase(common: &Common, places: &Places, session: &str) -> Result<(), Failure> {
    let config = Config::load(common, places)?;
    let journal = store::open(common, places, &config).await?;
    places.make()?;
    journal.sign_with(places.notary()?);
    let session = find(&*journal, session).await?;
    let erased = journal.erase(session, &config.name).await;
    journal.close().await;
    let erasure = erased.map_err(|error| match error {
        EraseError::Store(error) => Failure::Store(error),
        refused @ (EraseError::NoSession
        | EraseError::NotEnded
        | EraseError::StillGoing
        | EraseError::LostPlace
        | EraseError::NoFile(_)) => Failure::NotDone(format!("Nothing was erased: {refused}.")),
    })?;
    if common.json {
        return print_json(&json!({ "session": session, "erasedAt": erasure.at, "erasedBy": erasure.by }));
    }
    println!("✓ {session} was erased by {} at {}.", erasure.by, erasure.at);
    Ok(())
}

fn key(common: &Common, places: &Places) -> Result<(), Failure> {
    let key = places.audit_key()?.ok_or_else(|| {
        Failure::NotDone("There is no key yet: `holdstead serve` makes one when it starts.".to_owned())
    })?;
    if common.json {
        return print_json(&json!({ "publicKey": key.public() }));
    }
    println!("{}", key.public());
    Ok(())
}
