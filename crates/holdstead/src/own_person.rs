//! This machine's own person: whoever runs the gateway, and may do everything with it.

use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceKind, OwnerId, PersonId};
use holdstead_server::{NewDevice, TokenError, add_device, named, register};
use holdstead_store::{Journal, PersonRecord, StoreError, token_hash};

use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;

/// Finds them by the token in its file, or makes both. A token that was revoked stays so.
pub(crate) async fn ensure(
    places: &Places,
    config: &Config,
    journal: &dyn Journal,
) -> Result<PersonId, Failure> {
    let secret = places.read_token();
    if let Some(secret) = &secret
        && let Some((_, person)) = journal.device_by_hash(&token_hash(secret)).await?
    {
        return Ok(managing(journal, person).await?);
    }
    let person = by_name(journal, &config.owner, &config.name).await?;
    let name = terminal();
    match secret {
        Some(secret) => drop(register(journal, &secret, person.id, device(&name)).await?),
        None => places.write_token(&add_device(journal, person.id, device(&name)).await?.1)?,
    }
    Ok(managing(journal, person).await?)
}

/// Finds them again, and replaces a token that is good no longer. Says whether it did. Only where somebody asks for it:
/// what was revoked stays so otherwise.
pub(crate) async fn log_in(
    places: &Places,
    config: &Config,
    journal: &dyn Journal,
) -> Result<(PersonRecord, bool), Failure> {
    let known = match places.read_token() {
        Some(secret) => journal.device_by_hash(&token_hash(&secret)).await?,
        None => None,
    };
    let now = journal.now().await?;
    let person = match known {
        Some((device, person)) if person.removed_at.is_none() => {
            if device.revoked_at.is_none() && device.expires_at.is_none_or(|at| now < at) {
                return Ok((person, false));
            }
            person
        }
        Some(_) | None => by_name(journal, &config.owner, &config.name).await?,
    };
    places.write_token(&add_device(journal, person.id, device(&terminal())).await?.1)?;
    Ok((person, true))
}

/// The person whom the settings name.
async fn by_name(journal: &dyn Journal, owner: &OwnerId, name: &str) -> Result<PersonRecord, Failure> {
    let found = match named(journal, owner, Role::Admin, name).await {
        Err(TokenError::Taken { role: Role::Person, .. }) => named(journal, owner, Role::Person, name).await,
        found => found,
    };
    found.map_err(|error| match error {
        TokenError::Store(error) => Failure::Store(error),
        refused @ (TokenError::Name(_) | TokenError::Taken { .. } | TokenError::Removed { .. }) => {
            Failure::Config(format!("{refused} Set `name` to what you are called."))
        }
    })
}

/// Somebody must be able to manage the rest. Before there were admins, it was everybody.
async fn managing(journal: &dyn Journal, person: PersonRecord) -> Result<PersonId, StoreError> {
    let people = journal.people(&person.owner).await?;
    let manages = |one: &PersonRecord| one.role == Role::Admin && one.removed_at.is_none();
    if person.role == Role::Person && !people.iter().any(manages) {
        journal.change_role(person.id, Role::Admin).await?;
    }
    Ok(person.id)
}

const fn device(name: &str) -> NewDevice<'_> {
    NewDevice { kind: DeviceKind::Terminal, name, ..NewDevice::TOKEN }
}

fn terminal() -> String {
    let machine = rustix::system::uname();
    match machine.nodename().to_str() {
        Ok(name) if !name.is_empty() => format!("Terminal on {name}"),
        Ok(_) | Err(_) => "Terminal".to_owned(),
    }
}
