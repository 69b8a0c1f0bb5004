//! Which journal a command works with: that of the gateway which runs in this folder, or ran here last.
//!
//! A gateway that was started with `--store` is not the one of the settings. A command that opened the settings' own would
//! make an empty database and find everything in order.

use std::path::Path;
use std::sync::Arc;

use holdstead_store::{Journal, KeyMatch, StoreError, Unmarked, without_secret};

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;

/// What was said for this command, else what the gateway of this folder wrote down, else the settings.
pub(crate) fn address(common: &Common, places: &Places, config: &Config) -> String {
    let is_said = common.store.is_some() || std::env::var_os("HOLDSTEAD_STORE").is_some();
    let last = places.running().and_then(|running| running.store);
    let Some(last) = last.filter(|_| !is_said) else {
        return config.store.clone();
    };
    if last != absolute(&config.store) && !places.is_locked() {
        eprintln!(
            "! No gateway runs here, and the settings name another store than the last one used. This command uses that \
             of the last one: {}. To use another, add --store.",
            without_secret(&last)
        );
    }
    last
}

/// Opens it. Only the gateway makes one.
pub(crate) async fn open(
    common: &Common,
    places: &Places,
    config: &Config,
) -> Result<Arc<dyn Journal>, Failure> {
    let journal = holdstead_store::open_existing(&address(common, places, config)).await?;
    guard(places, journal.as_ref()).await?;
    Ok(journal)
}

/// Refuses a gateway whose key is not the one that the others on this database have: what one seals or marks is nothing to the
/// other. Where the key is known already, so are the rows that it marked.
pub(crate) async fn match_key(places: &Places, journal: &dyn Journal) -> Result<(), Failure> {
    let Some(cluster) = journal.cluster() else { return Ok(()) };
    match cluster.match_key("secrets", &places.secrets_key()?.fingerprint()).await? {
        KeyMatch::First => Ok(()),
        KeyMatch::Same => places.write_rows_are_marked(),
        KeyMatch::Other => {
            let key = places.secrets_key_file();
            Err(Failure::Config(format!(
                "the key in {} is not the one that the other gateways on this database have, so they could not read each \
                 other's secrets. Copy the file `secrets.key` of one of them to {}, or use another database.",
                key.display(),
                key.display()
            )))
        }
    }
}

/// Rows that let somebody in count only with the mark of this machine's key. Those of the time before there were marks are
/// taken over, once: that it was done is written down outside the database.
pub(crate) async fn guard(places: &Places, journal: &dyn Journal) -> Result<(), Failure> {
    let guard = places.secrets_key()?.guard();
    if places.rows_are_marked() {
        return Ok(journal.guard_with(guard, Unmarked::Refused).await?);
    }
    journal.guard_with(guard, Unmarked::TakenOver).await?;
    places.write_rows_are_marked()
}

/// The same database from any folder: a file named from here is named from the root.
pub(crate) fn absolute(store: &str) -> String {
    let Some(rest) = store.strip_prefix("sqlite:").filter(|rest| !rest.contains(":memory:")) else {
        return store.to_owned();
    };
    let (file, query) = rest
        .trim_start_matches("//")
        .split_once('?')
        .map_or((rest.trim_start_matches("//"), None), |(file, query)| (file, Some(query)));
    let Ok(file) = std::path::absolute(Path::new(file)) else { return store.to_owned() };
    match query {
        Some(query) => format!("sqlite:{}?{query}", file.display()),
        None => format!("sqlite:{}", file.display()),
    }
}

/// The file that the journal is, if it is one.
pub(crate) fn file(store: &str) -> Option<&str> {
    store.strip_prefix("sqlite:").map(|path| path.split('?').next().unwrap_or(path))
}

/// A database that is not there yet is told as that, and is no fault of the database.
pub(crate) fn absent(error: &StoreError) -> bool {
    matches!(error, StoreError::Absent { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_from_every_folder() {
        let here = std::env::current_dir().unwrap();
        let file = |name: &str| format!("sqlite:{}", here.join(name).display());
        assert_eq!(absolute("sqlite:a.db"), file("a.db"));
        assert_eq!(absolute("sqlite://a.db?mode=rwc"), file("a.db?mode=rwc"));
        assert_eq!(absolute("sqlite:///x/a.db"), "sqlite:/x/a.db");
        for as_it_is in ["sqlite:/x/a.db", "sqlite::memory:", "postgres://ana@db/holdstead"] {
            assert_eq!(absolute(as_it_is), as_it_is);
        }
    }
}
