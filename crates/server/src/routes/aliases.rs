//! Other names that programs have for parts of an ask, as the first papers about asking people had them.

use holdstead_protocol::{Code, FieldErrors, Refusal};
use serde_json::{Map, Value};

const OF_ASKS: [(&str, &str); 2] = [("prompt", "agentSays"), ("approvalScopes", "scopes")];
const OF_FIELDS: [(&str, &str); 1] = [("defaultValue", "default")];
const HOLD: &str = "is for agents that are kept waiting: a program waits as long as it likes, and `timeoutMs` says how \
    long the ask stays open";

/// An ask in our words. What has both names keeps the other one, which is then refused as unknown.
pub(super) fn in_our_words(mut call: Value) -> Result<Value, Refusal> {
    let Value::Object(ask) = &mut call else { return Ok(call) };
    if ask.contains_key("hold") {
        let field_errors = FieldErrors::from([("hold".to_owned(), HOLD.to_owned())]);
        return Err(Refusal { field_errors, ..Refusal::new(Code::Invalid, format!("`hold` {HOLD}.")) });
    }
    rename(ask, &OF_ASKS);
    let fields = ask.get_mut("form").and_then(|form| form.get_mut("fields")).and_then(Value::as_array_mut);
    for field in fields.into_iter().flatten().filter_map(Value::as_object_mut) {
        rename(field, &OF_FIELDS);
    }
    Ok(call)
}

fn rename(map: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (other, ours) in names {
        if !map.contains_key(*ours)
            && let Some(value) = map.remove(*other)
        {
            map.insert((*ours).to_owned(), value);
        }
    }
}
