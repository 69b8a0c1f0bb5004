//! Where the journal is: one database, or several of which one controls the others.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use holdstead_store::{Journal, NewDatabases, Sharded, StoreError, without_secret};
use serde::Deserialize;
use toml::{Table, Value};

/// As `store` has it in the settings. As text, several are written as there: `{ control = "…", data = ["…"] }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum StoreAddress {
    One(String),
    Several(Several),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Several {
    control: String,
    data: Vec<String>,
}

impl StoreAddress {
    /// Opens it, and makes its tables.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Journal>, StoreError> {
        match self {
            Self::One(url) => holdstead_store::open(url).await,
            Self::Several(several) => Ok(Arc::new(several.open(NewDatabases::Refused).await?)),
        }
    }

    /// Opens one that is there.
    pub(crate) async fn open_existing(&self) -> Result<Arc<dyn Journal>, StoreError> {
        match self {
            Self::One(url) => holdstead_store::open_existing(url).await,
            Self::Several(Several { control, .. }) => {
                holdstead_store::is_there(control).await?;
                self.open().await
            }
        }
    }

    /// The same database from any folder: a file named from here is named from the root.
    pub(crate) fn absolute(&self) -> Self {
        match self {
            Self::One(url) => Self::One(crate::store::absolute(url)),
            Self::Several(_) => self.clone(),
        }
    }

    /// Without passwords.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::One(url) => without_secret(url),
            Self::Several(Several { control, data }) => {
                let data = data.iter().map(|url| without_secret(url)).collect();
                Self::Several(Several { control: without_secret(control), data }).to_string()
            }
        }
    }

    /// The address of the one that there is, or of the one that controls the others.
    pub(crate) fn first(&self) -> &str {
        match self {
            Self::One(url) => url,
            Self::Several(several) => &several.control,
        }
    }

    /// The file that it is, if it is one.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::One(url) => url.strip_prefix("sqlite:").map(|path| path.split('?').next().unwrap_or(path)),
            Self::Several(_) => None,
        }
    }
}

impl Several {
    pub(crate) async fn open(&self, new: NewDatabases) -> Result<Sharded, StoreError> {
        Sharded::open(&self.control, &self.data, new).await
    }
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.trim_start().starts_with('{') {
            return Ok(Self::One(text.to_owned()));
        }
        let table: Result<Table, _> = format!("store = {text}").parse();
        match table.ok().and_then(|mut table| table.remove("store")) {
            Some(value @ Value::Table(_)) => Self::try_from(value),
            // What was given may have a password in it.
            Some(_) | None => Err(BAD.to_owned()),
        }
    }
}

const BAD: &str = "`store` is one address, or several databases as { control = \"postgres://…\", data = [\"postgres://…\"] }";

impl TryFrom<Value> for StoreAddress {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => text.parse(),
            value @ Value::Table(_) => value.try_into().map(Self::Several).map_err(|_| BAD.to_owned()),
            Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_) => Err(BAD.to_owned()),
        }
    }
}

impl Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(url) => f.write_str(url),
            Self::Several(Several { control, data }) => {
                let data: Vec<Value> = data.iter().map(|url| Value::String(url.clone())).collect();
                write!(f, "{{ control = {}, data = {} }}", Value::String(control.clone()), Value::Array(data))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"{ control = "postgres://ana:hunter2@a/c", data = ["postgres://ana:hunter2@b/d", "postgres://c/e"] }"#;

    #[test]
    fn several_databases_read_back_from_text_and_from_the_settings() {
        let several: StoreAddress = TWO.parse().unwrap();
        assert_eq!(several.to_string().parse(), Ok(several.clone()));
        let table: Table = format!("store = {TWO}").parse().unwrap();
        assert_eq!(StoreAddress::try_from(table["store"].clone()), Ok(several.clone()));
        let shown = several.shown();
        assert!(shown.contains("@b/d") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn one_address_stays_as_it_is() {
        for url in ["", "sqlite:a.db", "postgres://ana@db/holdstead"] {
            assert_eq!(url.parse(), Ok(StoreAddress::One(url.to_owned())));
        }
    }

    #[test]
    fn what_is_neither_is_refused_and_not_repeated() {
        for bad in [
            r#"{ control = "postgres://ana:hunter2@a/c" }"#,
            r#"{ control = "postgres://ana:hunter2@a/c", data = "x" }"#,
            r#"{ control = "postgres://ana:hunter2@a/c", data = [], more = 1 }"#,
            "{ hunter2",
        ] {
            let refused = bad.parse::<StoreAddress>().unwrap_err();
            assert!(refused.contains("control") && !refused.contains("hunter2"), "{refused}");
        }
    }
}
