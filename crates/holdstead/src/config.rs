//! Settings: the defaults in the binary, a file over them, the environment over that, flags over all.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use holdstead_agents::{Account, BoxSetting};
use holdstead_core::person_name;
use holdstead_gateway::{AgeOut, BadNatsUrl, HintsBy, Quota};
use holdstead_protocol::{Hold, HoldThen, OwnerId};
use serde::Deserialize;
use toml::{Table, Value};

use crate::cli::Common;
use crate::failure::Failure;
use crate::places::Places;
use crate::traces;

pub(crate) const DEFAULTS: &str = include_str!("config.default.toml");

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) listen: SocketAddr,
    pub(crate) allow_remote: bool,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) store: String,
    otlp_endpoint: String,
    pub(crate) owner: OwnerId,
    pub(crate) name: String,
    pub(crate) marked_words: Vec<String>,
    hold: HoldConfig,
    offload: OffloadConfig,
    cluster: ClusterConfig,
    pub(crate) limits: LimitsConfig,
    pub(crate) agents: AgentsConfig,
}

/// What may wait for a person in one session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    open_asks: usize,
    open_megabytes: u32,
}

impl LimitsConfig {
    pub(crate) fn quota(&self) -> Quota {
        Quota { asks: self.open_asks, bytes: u64::from(self.open_megabytes) * 1024 * 1024 }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentsConfig {
    #[serde(rename = "box")]
    pub(crate) boxed: BoxSetting,
    user: String,
    pub(crate) claude: AgentConfig,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentConfig {
    pub(crate) program: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldConfig {
    after: String,
    then: HoldThen,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterConfig {
    notify_url: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OffloadConfig {
    after: String,
    dir: String,
}

impl AgentsConfig {
    /// Whom agents run as. The error says why none is started.
    pub(crate) fn account(&self) -> Result<Option<Account>, String> {
        Account::choose(&self.user)
    }

    /// Whom agents run as, where that is not this process's account.
    pub(crate) fn other_account(&self) -> Option<Account> {
        self.account().ok().flatten()
    }
}

impl Config {
    pub(crate) fn load(common: &Common, places: &Places) -> Result<Self, Failure> {
        let mut table = merged(places)?;
        if let Some(store) = &common.store {
            table.insert("store".to_owned(), Value::String(store.clone()));
        }
        let mut config: Self =
            table.try_into().map_err(|error: toml::de::Error| Failure::Config(error.to_string()))?;
        if config.store.is_empty() {
            config.store = places.database();
        }
        if config.name.is_empty() {
            let user = std::env::var("USER").ok().and_then(|user| person_name(&user).ok());
            config.name = user.unwrap_or_else(|| "you".to_owned());
        }
        if !config.agents.user.is_empty() {
            config.agents.account().map_err(Failure::Config)?;
        }
        config.hold()?;
        config.hints_by()?;
        config.traces_to()?;
        config.age_out(places)?;
        Ok(config)
    }

    /// How several gateways on one PostgreSQL notify each other of new events.
    pub(crate) fn hints_by(&self) -> Result<HintsBy, Failure> {
        let url = &self.cluster.notify_url;
        if url.is_empty() {
            return Ok(HintsBy::Notify);
        }
        let bad = |error: BadNatsUrl| Failure::Config(format!("`cluster.notify_url`: {error}"));
        let url = url.parse().map_err(bad)?;
        Ok(HintsBy::Nats(url))
    }

    /// Where traces are sent.
    pub(crate) fn traces_to(&self) -> Result<Option<String>, Failure> {
        traces::endpoint(&self.otlp_endpoint)
    }

    /// When sessions go to files, and where to.
    pub(crate) fn age_out(&self, places: &Places) -> Result<Option<AgeOut>, Failure> {
        let OffloadConfig { after, dir } = &self.offload;
        if after.is_empty() {
            return Ok(None);
        }
        let bad = || Failure::Config(format!("offload.after is `{after}`: write it in days, like 90d"));
        let days: u64 = after
            .strip_suffix('d')
            .and_then(|days| days.parse().ok())
            .filter(|days| *days > 0)
            .ok_or_else(bad)?;
        let after = Duration::from_secs(days.saturating_mul(24 * 60 * 60));
        let to = if dir.is_empty() { places.offloaded() } else { PathBuf::from(dir) };
        if !to.is_absolute() {
            return Err(Failure::Config(format!(
                "offload.dir is `{}`: write it from the root, like /srv/offloaded",
                to.display()
            )));
        }
        Ok(Some(AgeOut { after, to }))
    }

    pub(crate) fn hold(&self) -> Result<Hold, Failure> {
        let after = duration(&self.hold.after).ok_or_else(|| {
            Failure::Config(format!("hold.after is `{}`: write it like 30s, 10m or 2h", self.hold.after))
        })?;
        let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        Ok(Hold { after_ms, then: self.hold.then })
    }
}

/// The defaults, the file and the environment, one over the other.
pub(crate) fn merged(places: &Places) -> Result<Table, Failure> {
    let mut table = parse(DEFAULTS, "the defaults")?;
    let path = places.config_file();
    match std::fs::read_to_string(&path) {
        Ok(text) => overlay(&mut table, parse(&text, &path.display().to_string())?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(Failure::Io { what: format!("read {}", path.display()), source }),
    }
    from_environment(&mut table, "HOLDSTEAD", &|name| std::env::var(name).ok())?;
    Ok(table)
}

fn parse(text: &str, place: &str) -> Result<Table, Failure> {
    text.parse().map_err(|error: toml::de::Error| Failure::Config(format!("in {place}: {error}")))
}

fn overlay(table: &mut Table, over: Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => overlay(inner, over),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// Every key can be set from the environment: `hold.after` is `HOLDSTEAD_HOLD_AFTER`.
fn from_environment(
    table: &mut Table,
    prefix: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(), Failure> {
    for (key, value) in table.iter_mut() {
        let name = format!("{prefix}_{}", key.to_uppercase());
        if let Value::Table(inner) = value
            && variable(&name).is_none()
        {
            from_environment(inner, &name, variable)?;
            continue;
        }
        let Some(text) = variable(&name) else { continue };
        *value = match value {
            Value::Boolean(_) => text
                .parse()
                .map(Value::Boolean)
                .map_err(|_| Failure::Config(format!("{name} is `{text}`: say true or false")))?,
            Value::Array(_) => Value::Array(
                text.split(',').filter(|part| !part.is_empty()).map(|part| part.trim().into()).collect(),
            ),
            Value::Integer(_) => text
                .parse()
                .map(Value::Integer)
                .map_err(|_| Failure::Config(format!("{name} is `{text}`: write a whole number")))?,
            Value::String(_) | Value::Float(_) | Value::Datetime(_) | Value::Table(_) => Value::String(text),
        };
    }
    Ok(())
}

pub(crate) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "ms" => return Some(Duration::from_millis(number)),
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_settings() {
        let config: Config = parse(DEFAULTS, "the defaults").unwrap().try_into().unwrap();
        assert_eq!(config.hold().unwrap(), Hold { after_ms: 600_000, then: HoldThen::Park });
        assert!(config.listen.ip().is_loopback());
        assert!(!config.allow_remote);
        assert_eq!(config.limits.quota(), Quota::default());
        assert_eq!(config.hints_by().unwrap(), HintsBy::Notify);
    }

    #[test]
    fn a_bad_address_for_notifications_is_not_repeated() {
        let mut table = parse(DEFAULTS, "the defaults").unwrap();
        let mut set = |url: &str| {
            overlay(&mut table, parse(&format!("[cluster]\nnotify_url = \"{url}\""), "a file").unwrap());
            Config::deserialize(table.clone()).unwrap().hints_by()
        };
        assert!(matches!(set("nats://ana:hunter2@127.0.0.1:4222"), Ok(HintsBy::Nats(_))));
        let refused = set("redis://ana:hunter2@127.0.0.1").unwrap_err().to_string();
        assert!(refused.contains("nats://HOST") && !refused.contains("hunter2"), "{refused}");
    }

    #[test]
    fn the_environment_goes_over_the_file_and_the_file_over_the_defaults() {
        let mut table = parse(DEFAULTS, "the defaults").unwrap();
        overlay(&mut table, parse("name = \"ana\"\n[hold]\nafter = \"5m\"", "a file").unwrap());
        let set = |name: &str| match name {
            "HOLDSTEAD_HOLD_AFTER" => Some("7s".to_owned()),
            "HOLDSTEAD_ALLOWED_HOSTS" => Some("a.example, b.example".to_owned()),
            "HOLDSTEAD_ALLOW_REMOTE" => Some("true".to_owned()),
            "HOLDSTEAD_LIMITS_OPEN_ASKS" => Some("7".to_owned()),
            _ => None,
        };
        from_environment(&mut table, "HOLDSTEAD", &set).unwrap();
        let config: Config = table.try_into().unwrap();
        assert_eq!(config.name, "ana");
        assert_eq!(config.hold().unwrap(), Hold { after_ms: 7_000, then: HoldThen::Park });
        assert_eq!(config.allowed_hosts, ["a.example", "b.example"]);
        assert!(config.allow_remote);
        assert_eq!(config.limits.quota().asks, 7);
    }

    #[test]
    fn a_key_that_does_not_exist_is_named() {
        let mut table = parse(DEFAULTS, "the defaults").unwrap();
        overlay(&mut table, parse("listn = \"x\"", "a file").unwrap());
        let error = Config::deserialize(table).unwrap_err();
        assert!(error.to_string().contains("listn"), "{error}");
    }

    #[test]
    fn durations() {
        assert_eq!(duration("0s"), Some(Duration::ZERO));
        assert_eq!(duration("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(duration("10m"), Some(Duration::from_secs(600)));
        assert_eq!(duration("10"), None);
        assert_eq!(duration("ten minutes"), None);
    }
}
