//! The secrets of one session, and what is written without them.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdstead_core::Secrets;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

const MASK: &str = "•••";
/// Whatever is shorter is in too many words by chance.
const SHORTEST: usize = 4;
/// Names that others find things by. They are the gateway's or an agent program's own.
const NAMES: [&str; 3] = ["toolCallId", "parents", "askedBy"];

/// The secrets of one session, as they may be written; the longest first.
#[derive(Clone, Default)]
pub(crate) struct Needles {
    secrets: Arc<[String]>,
    /// Ids in the asks that the secrets were given for: they were there before.
    older: Arc<BTreeSet<String>>,
}

impl std::fmt::Debug for Needles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Needles")
    }
}

/// It cannot be read again as it is, so nobody can say what a mask would make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unmaskable;

impl Needles {
    pub(crate) fn with(&self, secrets: &Secrets, older: impl IntoIterator<Item = String>) -> Self {
        let mut all = self.secrets.to_vec();
        for secret in secrets.values().map(|secret| secret.trim()) {
            // As it is, and as it is inside of JSON.
            let quoted = Value::from(secret).to_string();
            let forms = [secret, &quoted[1..quoted.len() - 1]].map(str::to_owned);
            all.extend(forms.into_iter().filter(|form| form.chars().count() >= SHORTEST));
        }
        all.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        all.dedup();
        let older = self.older.iter().cloned().chain(older).collect();
        Self { secrets: all.into(), older: Arc::new(older) }
    }

    pub(crate) fn found_in(&self, text: &str) -> bool {
        self.secrets.iter().any(|secret| text.contains(secret))
    }

    /// Whether this id has a secret in it, and is not as old as the secret.
    pub(crate) fn is_told_by(&self, id: &str) -> bool {
        self.found_in(id) && !self.older.contains(id)
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }

    pub(crate) fn text(&self, text: &mut String) {
        if self.found_in(text) {
            *text = self.mask(text);
        }
    }

    /// How many bytes at the end of this text may be the beginning of a secret.
    pub(crate) fn held(&self, text: &str) -> usize {
        let begins = |secret: &String| {
            let ends = secret.char_indices().skip(1).map(|(end, _)| end);
            ends.filter(|end| text.ends_with(&secret[..*end])).max()
        };
        self.secrets.iter().filter_map(begins).max().unwrap_or(0)
    }

    /// Masks every text and every key. Says whether there was something to mask.
    pub(crate) fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => {
                let found = self.found_in(&number.to_string());
                if found {
                    *value = Value::from(MASK);
                }
                found
            }
            Value::String(text) => {
                let found = self.found_in(text);
                self.text(text);
                found
            }
            Value::Array(items) => items.iter_mut().fold(false, |found, item| self.value(item) | found),
            Value::Object(map) => self.map(map),
        }
    }

    fn map(&self, map: &mut Map<String, Value>) -> bool {
        let mut found = false;
        let mut masked = Map::new();
        for (mut key, mut value) in std::mem::take(map) {
            found |= self.found_in(&key) | self.value(&mut value);
            self.text(&mut key);
            // Two keys may look alike now. Neither value may be lost: somebody may be asked to approve it.
            while masked.contains_key(&key) {
                key.push('•');
            }
            masked.insert(key, value);
        }
        *map = masked;
        found
    }

    /// Masks whatever is free text in what will be written: each part that can be masked and still be read again. What
    /// cannot is a word of ours, like the kind of an ask or an id, and has the secret in it by chance.
    pub(crate) fn written<T: Serialize + DeserializeOwned>(&self, said: &mut T) -> Result<(), Unmaskable> {
        let mut whole = serde_json::to_value(&*said).map_err(|_| Unmaskable)?;
        if !self.value(&mut whole.clone()) {
            return Ok(());
        }
        read_back::<T>(&whole).ok_or(Unmaskable)?;
        let parts: Vec<String> = whole.as_object().into_iter().flat_map(Map::keys).cloned().collect();
        for part in parts.into_iter().filter(|part| !NAMES.contains(&part.as_str())) {
            self.part::<T>(&mut whole, &mut vec![part]);
        }
        *said = read_back(&whole).ok_or(Unmaskable)?;
        Ok(())
    }

    /// Masks one part of the whole, or else those of its parts that can be.
    fn part<T: Serialize + DeserializeOwned>(&self, whole: &mut Value, path: &mut Vec<String>) {
        let mut masked = whole.clone();
        let mut found = false;
        each_at(&mut masked, path, &mut |value| found |= self.value(value));
        if !found {
            return;
        }
        if read_back::<T>(&masked).is_some() {
            *whole = masked;
            return;
        }
        let mut keys = BTreeSet::new();
        each_at(whole, path, &mut |value| {
            keys.extend(value.as_object().into_iter().flat_map(Map::keys).cloned())
        });
        for key in keys {
            path.push(key);
            self.part::<T>(whole, path);
            path.pop();
        }
    }
}

/// What the value says, if nothing of it is lost on the way.
fn read_back<T: Serialize + DeserializeOwned>(value: &Value) -> Option<T> {
    let read: T = serde_json::from_value(value.clone()).ok()?;
    (serde_json::to_value(&read).ok()? == *value).then_some(read)
}

/// Whatever lies on this path. The items of a list lie all on the path of the list: what is a word of ours in one of them
/// is in the others too, and a long list costs no more tries than a short one.
fn each_at(value: &mut Value, path: &[String], act: &mut dyn FnMut(&mut Value)) {
    match (value, path) {
        (Value::Array(items), _) => items.iter_mut().for_each(|item| each_at(item, path, act)),
        (value, []) => act(value),
        (Value::Object(map), [key, rest @ ..]) => {
            map.get_mut(key).into_iter().for_each(|value| each_at(value, rest, act));
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), [_, ..]) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdstead_protocol::{Form, MessageId, ToolCallId, ToolCallStart, TurnId};
    use serde_json::json;

    fn needles(secrets: &[&str]) -> Needles {
        let secrets = secrets.iter().enumerate().map(|(at, text)| (at.to_string(), (*text).to_owned()));
        Needles::default().with(&secrets.collect(), [])
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        let needles = needles(&["say \"friend\"\n", "1234"]);
        let mut value =
            json!({"a 1234": ["say \"friend\"", 991_234, 12], "b": "{\"x\":\"say \\\"friend\\\"\"}"});
        assert!(needles.value(&mut value));
        assert_eq!(value, json!({"a •••": ["•••", "•••", 12], "b": "{\"x\":\"•••\"}"}));
        assert!(!needles.value(&mut json!({"a": [null, true, "123"]})));
    }

    #[test]
    fn no_value_is_lost_where_keys_look_alike() {
        let mut value = json!({"hunter2": "rm", "•••": "ls", "other1": "cp"});
        assert!(needles(&["hunter2", "other1"]).value(&mut value));
        let mut left: Vec<_> = value.as_object().unwrap().values().map(Value::to_string).collect();
        left.sort();
        assert_eq!(left, ["\"cp\"", "\"ls\"", "\"rm\""]);
    }

    fn a_form() -> Value {
        let options = [json!({"value": "text", "label": "some text"}), json!({"value": "b", "label": "B"})];
        let field = |id: &str| json!({"id": id, "label": "a text", "required": false, "type": "text", "minLength": 4444});
        json!({"title": "text", "fields": [field("one"), field("two"),
            {"id": "three", "label": "L", "required": false, "type": "select", "options": options}]})
    }

    #[test]
    fn a_word_of_ours_that_is_a_secret_by_chance_stays_and_the_text_beside_it_goes() {
        let mut form: Form = serde_json::from_value(a_form()).unwrap();
        needles(&["text", "4444", "label"]).written(&mut form).unwrap();
        let masked = serde_json::to_string(&form).unwrap();
        assert_eq!(
            masked,
            a_form()
                .to_string()
                .replace("a text", "a •••")
                .replace("some text", "some •••")
                .replace("\"title\":\"text\"", "\"title\":\"•••\"")
                .replace("\"value\":\"text\"", "\"value\":\"•••\"")
        );
    }

    #[test]
    fn ids_of_ours_and_of_programs_stay() {
        let (turn_id, message_id) = (TurnId::generate(), MessageId::generate());
        let start = ToolCallStart {
            turn_id,
            message_id,
            tool_call_id: ToolCallId::new("toolu_hunter2").unwrap(),
            tool_name: "hunter2".to_owned(),
            parents: vec!["toolu_hunter2".to_owned()],
        };
        let mut masked = start.clone();
        let part = &turn_id.to_string()[10..20];
        needles(&["hunter2", part, "toolName"]).written(&mut masked).unwrap();
        assert_eq!(masked, ToolCallStart { tool_name: "•••".to_owned(), ..start });
    }

    #[test]
    fn what_is_too_short_is_left_alone() {
        let mut text = "a cat sat".to_owned();
        needles(&["cat", "at"]).text(&mut text);
        assert_eq!(text, "a cat sat");
    }

    #[test]
    fn the_end_of_a_text_may_begin_a_secret() {
        let needles = needles(&["hunter2", "ünter"]);
        for (text, held) in [("x hun", 3), ("hunter", 6), ("hunter3", 0), ("", 0), ("x ü", 2), ("hh", 1)] {
            assert_eq!(needles.held(text), held, "{text}");
        }
    }
}
