//! The digest that an allow is bound to.

use holdstead_protocol::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// SHA-256 of a JSON value whose keys are sorted: two spellings of the same input have the same digest.
pub fn digest(value: &Value) -> Digest {
    let mut text = String::new();
    write_canonical(value, &mut text);
    Digest::from_bytes(&Sha256::digest(text.as_bytes()))
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string())
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(item, out);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_everything_else_does() {
        let one: Value = serde_json::from_str(r#"{"a":[1,{"x":1,"y":2}],"b":"c"}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"b":"c","a":[1,{"y":2,"x":1}]}"#).unwrap();
        assert_eq!(digest(&one), digest(&two));
        assert_ne!(digest(&json!({"command": "ls"})), digest(&json!({"command": "ls "})));
        assert_ne!(digest(&json!([1, 2])), digest(&json!([2, 1])));
        assert_ne!(digest(&json!("1")), digest(&json!(1)));
    }
}
