//! Whether a JSON value has the shape that a schema describes, in words for whoever sent it.
//!
//! The schemas are those of the OpenAPI document, which are derived from the very types that are read afterwards, and
//! those of tools. So a field that is read is known here, and every other one is refused by its name: also where serde
//! cannot refuse it, in flattened and tagged types. What a schema does not describe is left to the reader.

use serde_json::{Map, Value};

use crate::FieldErrors;

/// How many faults are told at once.
const MOST: usize = 16;

/// What a schema's references lead to, by name.
pub type Schemas = Map<String, Value>;

/// What is wrong, by the path of the field; nothing if the value fits. `null` is no value: a field that may be left out
/// is left out.
pub fn faults(value: &Value, schema: &Value, schemas: &Schemas) -> FieldErrors {
    let mut check = Check { schemas, found: FieldErrors::new() };
    check.value(value, schema, "");
    check.found
}

/// All faults in one sentence each.
pub fn words(faults: &FieldErrors) -> String {
    let each = faults.iter().map(|(path, why)| match path.as_str() {
        "" => format!("It {why}."),
        _ => format!("`{path}` {why}."),
    });
    each.collect::<Vec<_>>().join(" ")
}

struct Check<'s> {
    schemas: &'s Schemas,
    found: FieldErrors,
}

/// An object as its schema has it, all parts put together.
#[derive(Default)]
struct Fields<'s> {
    known: Vec<(&'s str, &'s Value)>,
    required: Vec<&'s str>,
    /// What any other field must be, if there may be others.
    others: Option<&'s Value>,
    /// What tells the alternatives apart is missing or unknown: nothing more can be said.
    undecided: bool,
}

impl<'s> Check<'s> {
    fn fault(&mut self, path: &str, why: impl Into<String>) {
        if self.found.len() < MOST {
            self.found.entry(path.to_owned()).or_insert(why.into());
        }
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        // A chain of references has an end, and the document is ours; this only makes sure.
        for _ in 0..16 {
            let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
            match name.and_then(|name| self.schemas.get(name)) {
                Some(found) => schema = found,
                None => return schema,
            }
        }
        schema
    }

    fn value(&mut self, value: &Value, schema: &'s Value, path: &str) {
        let schema = self.resolved(schema);
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
            if !allowed.contains(value) {
                self.fault(path, format!("must be {}", either(allowed.iter())));
            }
            return;
        }
        if let Some(choices) = alternatives(schema) {
            let some: Vec<_> = choices.iter().map(|choice| self.resolved(choice)).collect();
            let some: Vec<_> = some.into_iter().filter(|choice| !is_null(choice)).collect();
            if let [only] = some[..] {
                return self.value(value, only, path);
            }
            // Several words, each with its description.
            let words: Option<Vec<_>> =
                some.iter().map(|choice| choice["enum"].as_array().filter(|list| list.len() == 1)).collect();
            if let Some(words) = words {
                let words: Vec<_> = words.into_iter().flatten().collect();
                if !words.contains(&value) {
                    self.fault(path, format!("must be {}", either(words.into_iter())));
                }
                return;
            }
            let plain: Vec<_> = some.iter().filter(|choice| !is_object(choice)).copied().collect();
            if !value.is_object() && !plain.is_empty() {
                if !plain.iter().any(|choice| faults(value, choice, self.schemas).is_empty()) {
                    let kinds: Vec<_> = some.iter().flat_map(|choice| types(choice)).map(article).collect();
                    self.fault(path, format!("must be {}, not {}", kinds.join(" or "), kind(value)));
                }
                return;
            }
        }
        if is_object(schema) {
            match value {
                Value::Object(map) => self.object(map, schema, path),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    self.fault(path, format!("must be an object, not {}", kind(value)));
                }
            }
            return;
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|name| is_a(value, name)) {
            let wanted: Vec<_> =
                types.iter().filter(|name| **name != "null").map(|name| article(name)).collect();
            self.fault(path, format!("must be {}, not {}", wanted.join(" or "), kind(value)));
            return;
        }
        match value {
            Value::Array(items) => {
                if let Some(schema) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.value(item, schema, &format!("{path}[{index}]"));
                    }
                }
            }
            Value::Number(number) if types.contains(&"integer") => {
                if let Some((least, most)) = range(schema)
                    && !number.as_i128().is_some_and(|number| (least..=most).contains(&number))
                {
                    self.fault(path, format!("must be a whole number from {least} to {most}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
        }
    }

    fn object(&mut self, map: &Map<String, Value>, schema: &'s Value, path: &str) {
        let mut fields = Fields::default();
        self.gather(map, schema, path, &mut fields);
        if fields.undecided {
            return;
        }
        for name in &fields.required {
            if !map.contains_key(*name) {
                self.fault(&inside(path, name), "is missing");
            }
        }
        for (name, value) in map {
            let place = inside(path, name);
            match (fields.known.iter().find(|(known, _)| known == name), fields.others) {
                (Some(_), _) if value.is_null() && !fields.required.contains(&name.as_str()) => {
                    self.fault(&place, "is null: leave it out, or give it a value");
                }
                (Some((_, schema)), _) => self.value(value, schema, &place),
                (None, Some(schema)) => self.value(value, schema, &place),
                (None, None) => {
                    let known: Vec<_> = fields.known.iter().map(|(name, _)| *name).collect();
                    self.fault(&place, unknown(&known));
                }
            }
        }
    }

    /// The fields of all parts of a schema that concern this object.
    fn gather(&mut self, map: &Map<String, Value>, schema: &'s Value, path: &str, into: &mut Fields<'s>) {
        let schema = self.resolved(schema);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            into.known.extend(properties.iter().map(|(name, schema)| (name.as_str(), schema)));
        }
        if let Some(Value::Array(required)) = schema.get("required") {
            into.required.extend(required.iter().filter_map(Value::as_str));
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(others) => into.others = Some(others),
            // An object of which nothing is said may have anything.
            None if schema.get("properties").is_none() && types(schema).contains(&"object") => {
                into.others = Some(&Value::Null);
            }
            None => {}
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.gather(map, part, path, into);
        }
        let choices = alternatives(schema).into_iter().flatten().map(|choice| self.resolved(choice));
        let choices: Vec<_> = choices.filter(|choice| is_object(choice)).collect();
        if choices.is_empty() {
            return;
        }
        match self.chosen(map, &choices) {
            Ok(choice) => self.gather(map, choice, path, into),
            Err((tag, why)) => {
                into.undecided = true;
                self.fault(&inside(path, tag), why);
            }
        }
    }

    /// The one alternative whose tag the object has.
    fn chosen(
        &self,
        map: &Map<String, Value>,
        choices: &[&'s Value],
    ) -> Result<&'s Value, (&'s str, String)> {
        let tags: Vec<_> =
            choices.iter().filter_map(|choice| self.tag(choice).map(|tag| (tag, *choice))).collect();
        // Alternatives without a tag: whoever reads it finds out.
        let Some(((name, _), _)) = tags.first() else { return Ok(choices[0]) };
        let found = map.get(*name).filter(|value| !value.is_null());
        let words = || either(tags.iter().map(|((_, word), _)| *word));
        match found {
            None => Err((name, format!("is missing: it must be {}", words()))),
            Some(found) => match tags.iter().find(|((_, word), _)| *word == found) {
                Some((_, choice)) => Ok(choice),
                None => Err((name, format!("must be {}", words()))),
            },
        }
    }

    /// The field that has only one value in this alternative, and that value.
    fn tag(&self, choice: &'s Value) -> Option<(&'s str, &'s Value)> {
        let choice = self.resolved(choice);
        let own = choice.get("properties").and_then(Value::as_object).into_iter().flatten().find_map(
            |(name, schema)| match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
                Some([word]) => Some((name.as_str(), word)),
                Some(_) | None => None,
            },
        );
        let parts = choice.get("allOf").and_then(Value::as_array);
        own.or_else(|| parts.into_iter().flatten().find_map(|part| self.tag(part)))
    }
}

fn alternatives(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array)
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => Vec::new(),
    }
}

fn is_null(schema: &Value) -> bool {
    types(schema) == ["null"]
}

fn is_object(schema: &Value) -> bool {
    types(schema).contains(&"object")
        || ["properties", "allOf", "oneOf", "anyOf"].iter().any(|key| schema.get(*key).is_some())
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // A value that is null is no value, whatever the schema says of it.
        _ => false,
    }
}

/// What a number of this format can be.
fn range(schema: &Value) -> Option<(i128, i128)> {
    let unsigned = schema.get("minimum").is_some_and(|least| least.as_f64() == Some(0.0));
    match (schema.get("format").and_then(Value::as_str)?, unsigned) {
        ("int32", true) => Some((0, u32::MAX.into())),
        ("int32", false) => Some((i32::MIN.into(), i32::MAX.into())),
        ("int64", true) => Some((0, u64::MAX.into())),
        (_, _) => None,
    }
}

fn inside(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn unknown(known: &[&str]) -> String {
    if known.is_empty() {
        return "is not known: nothing is expected here".to_owned();
    }
    format!("is not known here: known are {}", known.join(", "))
}

fn either<'v>(words: impl Iterator<Item = &'v Value>) -> String {
    let words: Vec<_> = words
        .map(|word| word.as_str().map_or_else(|| word.to_string(), |word| format!("`{word}`")))
        .collect();
    match &words[..] {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn article(name: &str) -> &'static str {
    match name {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        _ => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schemas() -> Schemas {
        let schemas = json!({
            "Body": {"oneOf": [
                {"type": "object", "required": ["text", "kind"],
                 "properties": {"text": {"type": "string"}, "kind": {"type": "string", "enum": ["say"]}}},
                {"type": "object", "required": ["items", "kind"],
                 "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/Item"}},
                                "kind": {"type": "string", "enum": ["list"]}}}]},
            "Item": {"type": "object", "required": ["label"],
                     "properties": {"label": {"type": "string"}, "size": {"type": ["integer", "null"], "format": "int32", "minimum": 0}}},
            "Call": {"allOf": [{"$ref": "#/components/schemas/Body"},
                {"type": "object", "required": ["key"], "properties": {
                    "key": {"type": "string"}, "input": {}, "free": {"type": "object"},
                    "either": {"anyOf": [{"type": "string"}, {"$ref": "#/components/schemas/Item"}]},
                    "scope": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Scope"}]}}}]},
            "Scope": {"type": "string", "enum": ["once", "session"]},
        });
        schemas.as_object().unwrap().clone()
    }

    fn found(value: Value) -> Vec<(String, String)> {
        let schemas = schemas();
        faults(&value, &schemas["Call"], &schemas).into_iter().collect()
    }

    fn fault(value: Value) -> (String, String) {
        let found = found(value);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }

    #[test]
    fn what_fits_has_no_faults() {
        for value in [
            json!({"key": "k", "kind": "say", "text": "hi"}),
            json!({"key": "k", "kind": "say", "text": "hi", "either": "a"}),
            json!({"key": "k", "kind": "say", "text": "hi", "either": {"label": "a"}}),
            json!({"key": "k", "kind": "list", "items": [{"label": "a", "size": 3}, {"label": "b"}]}),
            json!({"key": "k", "kind": "say", "text": "", "input": [1, null], "free": {"any": null}, "scope": "once"}),
        ] {
            assert_eq!(found(value), []);
        }
    }

    #[test]
    fn every_fault_is_named_by_its_path() {
        let cases = [
            (
                json!({"key": "k", "kind": "say", "text": "hi", "txt": 1}),
                "txt",
                "is not known here: known are",
            ),
            (json!({"key": "k", "kind": "say", "text": "hi", "items": []}), "items", "is not known"),
            (
                json!({"key": "k", "kind": "list", "items": [{"label": "a", "lable": 1}]}),
                "items[0].lable",
                "known are label, size",
            ),
            (json!({"kind": "say", "text": "hi"}), "key", "is missing"),
            (json!({"key": "k", "text": "hi"}), "kind", "is missing: it must be `say` or `list`"),
            (json!({"key": "k", "kind": "sing"}), "kind", "must be `say` or `list`"),
            (json!({"key": 7, "kind": "say", "text": "hi"}), "key", "must be text, not a number"),
            (json!({"key": "k", "kind": "list", "items": {}}), "items", "must be a list, not an object"),
            (json!({"key": "k", "kind": "list", "items": ["a"]}), "items[0]", "must be an object, not text"),
            (
                json!({"key": "k", "kind": "list", "items": [{"label": "a", "size": -1}]}),
                "items[0].size",
                "from 0 to 4294967295",
            ),
            (
                json!({"key": "k", "kind": "list", "items": [{"label": "a", "size": 1.5}]}),
                "items[0].size",
                "must be a whole number",
            ),
            (
                json!({"key": "k", "kind": "list", "items": [{"label": "a", "size": null}]}),
                "items[0].size",
                "is null",
            ),
            (
                json!({"key": "k", "kind": "say", "text": "hi", "scope": "forever"}),
                "scope",
                "must be `once` or `session`",
            ),
            (
                json!({"key": "k", "kind": "say", "text": "hi", "scope": null}),
                "scope",
                "is null: leave it out",
            ),
            (json!({"key": "k", "kind": "say", "text": "hi", "input": null}), "input", "is null"),
            (
                json!({"key": "k", "kind": "say", "text": "hi", "either": 7}),
                "either",
                "must be text or an object",
            ),
            (
                json!({"key": "k", "kind": "say", "text": "hi", "either": {"label": "a", "x": 1}}),
                "either.x",
                "not known",
            ),
            (json!([]), "", "must be an object, not a list"),
        ];
        for (value, path, words) in cases {
            let (place, why) = fault(value);
            assert_eq!(place, path);
            assert!(why.contains(words), "{path}: {why}");
        }
    }

    #[test]
    fn all_faults_are_told_and_not_endlessly_many() {
        let many: Map<_, _> = (0..100).map(|n| (format!("f{n}"), json!(1))).collect();
        assert_eq!(
            found(Value::Object(
                [many, json!({"kind": "say", "key": "k", "text": "t"}).as_object().unwrap().clone()]
                    .into_iter()
                    .flatten()
                    .collect()
            ))
            .len(),
            MOST
        );
        let errors = [("a".to_owned(), "is missing".to_owned()), (String::new(), "must be text".to_owned())];
        assert_eq!(words(&errors.into_iter().collect()), "It must be text. `a` is missing.");
    }
}
