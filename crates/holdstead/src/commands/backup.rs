//! A copy of the journal, while the gateway runs.

use std::path::Path;

use serde_json::json;

use super::print_json;
use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

pub(super) async fn run(common: &Common, file: &Path) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    let bytes = holdstead_store::backup(&store::address(common, &places, &config), file).await?;
    if common.json {
        return print_json(&json!({ "file": file, "bytes": bytes }));
    }
    println!("✓ {} has the journal as it was a moment ago ({bytes} bytes).", file.display());
    println!("It is of use only with the keys, which are not in it. Keep copies of these elsewhere:");
    for path in places.beside_the_journal() {
        println!("  {}", path.display());
    }
    println!("To restore: docs/operations.md");
    Ok(())
}
