//! Brings a session back from the file that it went to.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _};
use std::path::Path;

use holdstead_protocol::SessionId;
use holdstead_store::BroughtBack;
use serde::Deserialize;
use serde_json::json;

use super::print_json;
use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

/// What every line has.
#[derive(Deserialize)]
struct Whose {
    session: SessionId,
}

pub(super) async fn run(common: &Common, path: &Path) -> Result<(), Failure> {
    let io = |source| Failure::Io { what: format!("read {}", path.display()), source };
    let mut file = BufReader::new(File::open(path).map_err(io)?);
    let mut first = String::new();
    file.read_line(&mut first).map_err(io)?;
    let Ok(Whose { session }) = serde_json::from_str(&first) else {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "{path} is no file that a session went to: its first line says no session"
        )));
    };
    file.rewind().map_err(io)?;
    let places = Places::new(common.dir.as_deref())?;
    let journal = store::open(common, &places, &Config::load(common, &places)?).await?;
    places.make()?;
    journal.sign_with(places.notary()?);
    let brought = journal.bring_back(session, &mut file).await;
    journal.close().await;
    let BroughtBack { session, events } =
        brought.map_err(|error| Failure::Usage(format!("Nothing came back: {error}.")))?;
    if common.json {
        return print_json(&json!({ "session": session, "events": events }));
    }
    println!("✓ Session {session} is back, with {events} events. Its file is not needed any more.");
    Ok(())
}
