//! People: who there is, with which role.
//!
//! Like all commands about who may do what, these write to the database: they work whether a gateway runs or not, and one
//! that runs follows within a second.

use std::sync::Arc;

use holdstead_core::{handle_of, may_change_role};
use holdstead_protocol::Timestamp;
use holdstead_protocol::api::Role;
use holdstead_server::named;
use holdstead_store::{DeviceRecord, Journal, PasskeyRule, PersonRecord};
use serde_json::json;

use super::print_json;
use crate::cli::{Common, People};
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;
use crate::text::safe_line;
use crate::words;

pub(super) async fn run(common: &Common, command: People) -> Result<(), Failure> {
    let (journal, config) = open(common).await?;
    let people = journal.people(&config.owner).await?;
    let done = match command {
        People::List => list(common, journal.as_ref(), &people).await,
        People::Add { name, role } => {
            let person = named(journal.as_ref(), &config.owner, role.into(), &name).await?;
            let words = format!("Let them in: holdstead login '{}'", safe_line(&person.name));
            told(common, &person, &words)
        }
        People::Role { name, role } => {
            let (person, role) = (find(&people, &name)?, Role::from(role));
            may_change(&people, person, Some(role))?;
            journal.change_role(person.id, role).await?;
            let person = PersonRecord { role, ..person.clone() };
            told(common, &person, "It holds for what they have open within a second.")
        }
        People::ForgetPasskeys { name } => {
            let person = find(&people, &name)?;
            journal.set_passkey_rule(person.id, PasskeyRule::NotRequired).await?;
            for passkey in journal.passkeys(person.id).await? {
                journal.remove_passkey(person.id, passkey.id).await?;
            }
            told(
                common,
                person,
                "No passkey is required any longer. Add another one on the page: You → Passkeys.",
            )
        }
        People::Remove { name } => {
            let person = find(&people, &name)?;
            may_change(&people, person, None)?;
            journal.remove_person(person.id).await?;
            let words = "Removed, with all browsers and tokens: what they have open ends within a second. The name stays theirs.";
            told(common, person, words)
        }
    };
    journal.close().await;
    done
}

/// The journal of this machine's gateway, and its settings.
pub(super) async fn open(common: &Common) -> Result<(Arc<dyn Journal>, Config), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    Ok((store::open(common, &places, &config).await?, config))
}

/// Capitals and small letters are the same, as they are where names are given.
pub(super) fn find<'a>(people: &'a [PersonRecord], name: &str) -> Result<&'a PersonRecord, Failure> {
    let handle = handle_of(name.trim());
    let found = people.iter().find(|person| person.removed_at.is_none() && person.handle == handle);
    found.ok_or_else(|| {
        Failure::Usage(format!("Nobody is called {}. See: holdstead people list", safe_line(name)))
    })
}

/// Whether it lets somebody in now.
pub(super) fn is_good(device: &DeviceRecord, now: Timestamp) -> bool {
    device.revoked_at.is_none() && device.expires_at.is_none_or(|at| now < at)
}

fn may_change(people: &[PersonRecord], person: &PersonRecord, to: Option<Role>) -> Result<(), Failure> {
    let is_other = |one: &&PersonRecord| one.id != person.id && one.removed_at.is_none();
    let others: Vec<Role> = people.iter().filter(is_other).map(|one| one.role).collect();
    may_change_role(person.role, to, &others)
        .map_err(|refused| Failure::Usage(format!("{} {refused}", safe_line(&person.name))))
}

fn told(common: &Common, person: &PersonRecord, words: &str) -> Result<(), Failure> {
    if common.json {
        return print_json(&json!({ "personId": person.id, "name": person.name, "role": person.role }));
    }
    println!("✓ {} ({}). {words}", safe_line(&person.name), person.role.as_str());
    Ok(())
}

async fn list(common: &Common, journal: &dyn Journal, people: &[PersonRecord]) -> Result<(), Failure> {
    let now = journal.now().await?;
    let mut rows = Vec::new();
    for person in people.iter().filter(|person| person.removed_at.is_none()) {
        let devices = journal.devices(person.id).await?;
        let good = devices.iter().filter(|device| is_good(device, now)).count();
        let used = devices.iter().filter_map(|device| device.last_used_at).max();
        rows.push((person, good, used));
    }
    if common.json {
        let rows = rows.iter().map(|(person, good, used)| {
            json!({ "personId": person.id, "name": person.name, "role": person.role, "devices": good, "lastUsedAt": used })
        });
        return print_json(&rows.collect::<Vec<_>>());
    }
    println!("{:<24} {:<7} {:<8} USED", "NAME", "ROLE", "DEVICES");
    for (person, good, used) in rows {
        let used = used.map_or("never".to_owned(), |at| format!("{} ago", words::age(at, now)));
        println!("{:<24} {:<7} {good:<8} {used}", safe_line(&person.name), person.role.as_str());
    }
    Ok(())
}
