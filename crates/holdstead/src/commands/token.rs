//! Tokens and logins: make one, see who has which, revoke one.

use std::time::Duration;

use holdstead_protocol::{DeviceKind, SessionId};
use holdstead_server::{NewDevice, add_device, named};
use holdstead_store::{DeviceRecord, Journal, PersonRecord};
use serde_json::json;

use super::people::{self, is_good};
use super::print_json;
use crate::cli::{Common, NewToken, TokenCommand};
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::text::safe_line;
use crate::words;

pub(super) async fn make(common: &Common, new: NewToken) -> Result<(), Failure> {
    let session = new.session.as_deref().map(str::parse::<SessionId>).transpose();
    let session = session.map_err(|error| Failure::Usage(error.to_string()))?;
    let lifetime = match &new.expires {
        Some(text) => Some(
            config::duration(text)
                .ok_or_else(|| Failure::Usage(format!("`{text}` is not a time: write it like 12h or 30d")))?,
        ),
        None => None,
    };
    let role = new.role.into();
    let (journal, Config { owner, .. }) = people::open(common).await?;
    let person = named(journal.as_ref(), &owner, role, &new.name).await?;
    let expires_at = match lifetime {
        Some(lifetime) => Some(journal.now().await?.after(lifetime)),
        None => None,
    };
    let device = NewDevice { session, expires_at, ..NewDevice::TOKEN };
    let (id, token) = add_device(journal.as_ref(), person.id, device).await?;
    journal.close().await;
    if common.json {
        let made = json!({ "token": token, "role": role, "name": person.name, "deviceId": id, "expiresAt": expires_at });
        return print_json(&made);
    }
    println!("{token}");
    Ok(())
}

pub(super) async fn run(common: &Common, command: TokenCommand) -> Result<(), Failure> {
    let (journal, config) = people::open(common).await?;
    let people = journal.people(&config.owner).await?;
    let done = match command {
        TokenCommand::List => list(common, journal.as_ref(), &people).await,
        TokenCommand::Revoke { name: Some(name), .. } => {
            let person = people::find(&people, &name)?;
            revoked(common, journal.revoke_devices(person.id).await?).await
        }
        TokenCommand::Revoke { id, name: None } => {
            let device = find(journal.as_ref(), &people, &id.unwrap_or_default()).await?;
            revoked(common, usize::from(journal.revoke_device(device.id).await?)).await
        }
    };
    journal.close().await;
    done
}

/// A gateway that runs looks for what was changed beside it twice a second, and believes a token for as long as a second. What is
/// said here is true by then.
const KNOWN: Duration = Duration::from_secs(1);

async fn revoked(common: &Common, count: usize) -> Result<(), Failure> {
    if count > 0 {
        tokio::time::sleep(KNOWN).await;
    }
    if common.json {
        return print_json(&json!({ "revoked": count }));
    }
    match count {
        0 => println!("Nothing to revoke: it was done before."),
        1 => println!("✓ Revoked. Where it was connected, it is out."),
        many => println!("✓ {many} revoked. Where they were connected, they are out."),
    }
    Ok(())
}

async fn list(common: &Common, journal: &dyn Journal, people: &[PersonRecord]) -> Result<(), Failure> {
    let devices = devices(journal, people).await?;
    if common.json {
        let rows = devices.iter().map(|(device, person)| {
            json!({
                "deviceId": device.id, "kind": device.kind, "device": device.name, "name": person.name,
                "role": person.role, "sessionId": device.session, "createdAt": device.created_at,
                "lastUsedAt": device.last_used_at, "expiresAt": device.expires_at,
            })
        });
        return print_json(&rows.collect::<Vec<_>>());
    }
    let now = journal.now().await?;
    println!("{:<5} {:<20} {:<7} {:<9} {:<9} {:<8} DEVICE", "ID", "NAME", "ROLE", "KIND", "USED", "EXPIRES");
    for (device, person) in &devices {
        let used =
            device.last_used_at.map_or("never".to_owned(), |at| format!("{} ago", words::age(at, now)));
        let expires =
            device.expires_at.map_or("never".to_owned(), |at| format!("in {}", words::age(now, at)));
        println!(
            "{:<5} {:<20} {:<7} {:<9} {used:<9} {expires:<8} {}",
            device.id.short(),
            safe_line(&person.name),
            person.role.as_str(),
            kind_word(device.kind),
            safe_line(&device.name),
        );
    }
    println!("Revoke one: holdstead token revoke ID");
    Ok(())
}

/// Those that let somebody in now.
async fn devices<'a>(
    journal: &dyn Journal,
    people: &'a [PersonRecord],
) -> Result<Vec<(DeviceRecord, &'a PersonRecord)>, Failure> {
    let now = journal.now().await?;
    let mut found = Vec::new();
    for person in people {
        let good = journal.devices(person.id).await?.into_iter().filter(|device| is_good(device, now));
        found.extend(good.map(|device| (device, person)));
    }
    Ok(found)
}

/// By its id or the end of it.
async fn find(journal: &dyn Journal, people: &[PersonRecord], digits: &str) -> Result<DeviceRecord, Failure> {
    let mut found = devices(journal, people).await?;
    found.retain(|(device, _)| !digits.is_empty() && device.id.to_string().ends_with(digits));
    match (found.pop(), found.len()) {
        (Some((device, _)), 0) => Ok(device),
        (Some(_), others) => {
            Err(Failure::Usage(format!("{} ids end in `{digits}`: give more digits of one", others + 1)))
        }
        (None, _) => Err(Failure::Usage(format!(
            "No id that is good now ends in `{digits}`. See: holdstead token list"
        ))),
    }
}

const fn kind_word(kind: DeviceKind) -> &'static str {
    match kind {
        DeviceKind::Browser => "browser",
        DeviceKind::Terminal => "terminal",
        DeviceKind::Token => "token",
    }
}
