//! Several databases: which has which sessions, taking a new one in, and moving sessions between them.

use std::sync::Arc;

use holdstead_store::{DatabaseNumber, Journal as _, Moved, NewDatabases, Sharded, TagRange};
use serde_json::json;

use super::print_json;
use crate::cli::{Common, Shards};
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;
use crate::store_address::{Several, StoreAddress};

pub(super) async fn run(common: &Common, command: Shards) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    let new = match command {
        Shards::Add => NewDatabases::Added,
        Shards::List | Shards::Move { .. } => NewDatabases::Refused,
    };
    let shards = Arc::new(several(common, &places, &config, &command)?.open(new).await?);
    let done = match command {
        Shards::List => list(common, &config, &shards),
        Shards::Add => added(common, &shards),
        Shards::Move { range, to } => {
            // What arrives is signed there.
            shards.sign_with(places.notary()?);
            move_range(common, &shards, range, DatabaseNumber(to)).await
        }
    };
    shards.close().await;
    done
}

/// A new one is in the settings first, so those count then, and not what the gateway here was started with.
fn several(common: &Common, places: &Places, config: &Config, command: &Shards) -> Result<Several, Failure> {
    let address = match command {
        Shards::Add => config.store.clone(),
        Shards::List | Shards::Move { .. } => store::address(common, places, config),
    };
    match address {
        StoreAddress::Several(several) => Ok(several),
        StoreAddress::One(_) => Err(Failure::Usage(
            "The journal is in one database. Several are named in the settings: store = { control = \"postgres://…\", \
             data = [\"postgres://…\", \"postgres://…\"] }"
                .to_owned(),
        )),
    }
}

fn list(common: &Common, config: &Config, shards: &Sharded) -> Result<(), Failure> {
    let (map, databases) = (shards.map(), shards.databases());
    if common.json {
        let ranges: Vec<_> = map
            .placed()
            .iter()
            .map(|placed| {
                json!({ "range": placed.range.to_string(), "database": placed.database.0,
                        "movingTo": placed.moving_to.map(|to| to.0) })
            })
            .collect();
        let databases: Vec<_> = databases
            .iter()
            .map(|(number, address, why)| {
                json!({ "number": number.0, "address": address, "trouble": why.as_ref().map(ToString::to_string) })
            })
            .collect();
        return print_json(&json!({ "databases": databases, "ranges": ranges }));
    }
    for (number, address, why) in &databases {
        println!("Database {number}: {address}");
        if let Some(why) = why {
            println!("  ✕ {why}");
        }
        for placed in map.placed().iter().filter(|placed| placed.database == *number) {
            let moving = match placed.moving_to {
                Some(to) => format!(", on its way to {to} and read-only until it is there"),
                None => String::new(),
            };
            println!("  {}: {} of 65,536 tags{moving}", placed.range, placed.range.len());
        }
    }
    println!("The sessions of `{}` have the tag {:04x}.", config.owner, config.owner.shard_tag().0);
    Ok(())
}

fn added(common: &Common, shards: &Sharded) -> Result<(), Failure> {
    let databases = shards.databases().len();
    if common.json {
        return print_json(&json!({ "databases": databases }));
    }
    println!(
        "✓ There are {databases} databases for sessions. Restart the gateways with these settings, one after another; \
         then move something to the new one: holdstead shards move FIRST-LAST {databases}"
    );
    Ok(())
}

async fn move_range(
    common: &Common,
    shards: &Sharded,
    range: TagRange,
    to: DatabaseNumber,
) -> Result<(), Failure> {
    let Moved { sessions, events, read_only } = shards.move_range(range, to).await?;
    let seconds = read_only.as_secs_f64();
    if common.json {
        return print_json(&json!({ "sessions": sessions, "events": events, "readOnlySeconds": seconds }));
    }
    println!(
        "✓ {range} is in database {to}: {sessions} sessions with {events} events were moved. They could only be read for \
         {seconds:.1} s."
    );
    Ok(())
}
