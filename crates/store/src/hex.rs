//! Bytes as hexadecimal digits, where people and other programs read them.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

pub(crate) fn serialize<S: Serializer, const N: usize>(
    bytes: &[u8; N],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
) -> Result<[u8; N], D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| serde::de::Error::custom(format!("not {N} bytes in hexadecimal digits")))
}

/// The same for bytes that may be missing.
pub(crate) mod maybe {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Hex<const N: usize>(#[serde(with = "super")] [u8; N]);

    pub(crate) fn serialize<S: Serializer, const N: usize>(
        bytes: &Option<[u8; N]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.map(Hex).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<Option<[u8; N]>, D::Error> {
        Ok(Option::<Hex<N>>::deserialize(deserializer)?.map(|hex| hex.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back() {
        assert_eq!(text(&[0, 255, 16]), "00ff10");
        assert_eq!(parse("00ff10"), Some([0, 255, 16]));
        assert_eq!(parse::<3>("00ff1"), None);
        assert_eq!(parse::<3>("00ff1g"), None);
        assert_eq!(parse::<3>("00ff1é"), None);
    }
}
