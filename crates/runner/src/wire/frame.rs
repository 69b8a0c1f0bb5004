//! Frames, read strictly: an object that has a key twice means one thing to this reader and another to the next one.
//!
//! What an agent said lies in frames, so they may be deeper than what other doors take (`holdstead_protocol::json`).

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str::<KeysOnce>(text)?;
    serde_json::from_str(text)
}

/// Any value in which no object has a key twice.
struct KeysOnce;

impl<'de> Deserialize<'de> for KeysOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

/// A key as it is meant, however it is written.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

impl<'de> Visitor<'de> for KeysOnce {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<Key<'de>>()? {
            if let Some(Key(twice)) = keys.replace(key) {
                return Err(A::Error::custom(format!("the key `{twice}` stands twice in one object")));
            }
            members.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_is() {
        for text in [r#"{"a":1,"a":2}"#, r#"{"data":{"input":[{"command":"ls","\u0063ommand":"rm"}]}}"#] {
            let refused = read::<Value>(text).expect_err("it is refused");
            assert!(refused.to_string().contains("stands twice"), "{refused}");
        }
        let text = r#"{"a":{"b":[null,true,-1,2.5,"x\n"]},"b":{"a":{}}}"#;
        assert_eq!(
            read::<Value>(text).expect("it is read"),
            json!({"a": {"b": [null, true, -1, 2.5, "x\n"]}, "b": {"a": {}}})
        );
    }
}
