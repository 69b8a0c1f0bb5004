//! The strict reader: serde_json reads every text that it takes as the same value, and that value survives writing and reading.

use holdstead_protocol::json;
use serde_json::Value;

pub fn run(bytes: &[u8]) {
    let strict = json::read(bytes);
    if let Ok(value) = &strict {
        let again: Value = serde_json::from_slice(bytes).expect("what is strict is JSON");
        assert_eq!(*value, again, "two readers, one meaning");
        let written = value.to_string();
        assert_eq!(json::read(written.as_bytes()).as_ref(), Ok(value), "what was read can be read again");
    }
    match json::read_flawed(bytes) {
        Ok((value, None)) => assert_eq!(strict, Ok(value)),
        Ok((_, Some(_))) | Err(_) => assert!(strict.is_err()),
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok((_, rest)) = json::read_first(text)
    {
        assert!(text.ends_with(rest));
    }
}
