//! Forms from JSON Schema: the flat subset that MCP's elicitation hands out.
//!
//! What a person would be asked otherwise than the schema says is refused, never dropped: a keyword that is not listed
//! here would be a rule that nobody checks.

use std::collections::BTreeSet;

use holdstead_protocol::{Field, FieldKind, FieldOption, Form, TextFormat};
use serde_json::{Map, Value};

use crate::{Rejection, form};

/// The form that asks for an object of this schema. Fields stand in the order of its properties.
pub fn form_from_schema(title: Option<String>, schema: &Value) -> Result<Form, Rejection> {
    convert(title, schema)
        .and_then(|form| form::flaw(&form).map_or(Ok(form), Err))
        .map_err(|why| Rejection::BadAsk { why })
}

fn convert(title: Option<String>, schema: &Value) -> Result<Form, String> {
    let schema = schema.as_object().ok_or("the schema must be a JSON object")?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("the schema's type must be `object`".to_owned());
    }
    let known = ["type", "properties", "required", "title", "description", "$schema", "additionalProperties"];
    only(schema, &known).map_err(|why| format!("the schema {why}"))?;
    let properties =
        schema.get("properties").and_then(Value::as_object).ok_or("the schema has no `properties`")?;
    let required = match schema.get("required") {
        None => BTreeSet::new(),
        Some(names) => {
            texts(names).map(BTreeSet::from_iter).ok_or("`required` must be a list of property names")?
        }
    };
    if let Some(name) = required.iter().find(|name| !properties.contains_key(name.as_str())) {
        return Err(format!("`{name}` is required, and no property"));
    }
    let fields = properties.iter().map(|(name, property)| {
        field(name, property, required.contains(name)).map_err(|why| format!("field `{name}` {why}"))
    });
    let title = title.or_else(|| words(schema, "title"));
    Ok(Form { title, fields: fields.collect::<Result<_, _>>()? })
}

fn field(name: &str, property: &Value, required: bool) -> Result<Field, String> {
    let property = property.as_object().ok_or("must be a JSON object")?;
    let kind = match property.get("type").and_then(Value::as_str) {
        Some("string") => string(property)?,
        Some("number") => number(property, false)?,
        Some("integer") => number(property, true)?,
        Some("boolean") => {
            known(property, &[])?;
            FieldKind::Checkbox {}
        }
        Some("array") => array(property)?,
        Some("object") => return Err("is an object in the object: a form is flat".to_owned()),
        Some(other) => return Err(format!("has the type `{other}`, which no form can ask for")),
        None => return Err("must have one `type`: string, number, integer, boolean or array".to_owned()),
    };
    Ok(Field {
        id: name.to_owned(),
        label: words(property, "title").unwrap_or_else(|| name.to_owned()),
        description: words(property, "description"),
        required,
        default: property.get("default").cloned(),
        kind,
    })
}

fn string(property: &Map<String, Value>) -> Result<FieldKind, String> {
    if property.contains_key("enum") {
        known(property, &["enum", "enumNames"])?;
        return Ok(FieldKind::Select { options: named(property)? });
    }
    if let Some(titled) = property.get("oneOf") {
        known(property, &["oneOf"])?;
        return Ok(FieldKind::Select { options: with_titles(titled)? });
    }
    known(property, &["minLength", "maxLength", "format"])?;
    let (min_length, max_length) = (count(property, "minLength")?, count(property, "maxLength")?);
    let format = match property.get("format").map(|format| format.as_str().unwrap_or_default()) {
        None => None,
        Some("email") => Some(TextFormat::Email),
        Some("uri") => Some(TextFormat::Uri),
        Some("date-time") => Some(TextFormat::DateTime),
        Some("date") if min_length.is_none() && max_length.is_none() => {
            return Ok(FieldKind::Date { min: None, max: None });
        }
        Some("date") => return Err("is a day, so it cannot have a length".to_owned()),
        Some(other) => {
            return Err(format!("has the format `{other}`: there are email, uri, date and date-time"));
        }
    };
    Ok(FieldKind::Text { min_length, max_length, format })
}

fn number(property: &Map<String, Value>, integer: bool) -> Result<FieldKind, String> {
    known(property, &["minimum", "maximum"])?;
    let bound = |name: &str| match property.get(name) {
        None => Ok(None),
        Some(value) => value.as_f64().map(Some).ok_or_else(|| format!("has a `{name}` that is no number")),
    };
    Ok(FieldKind::Number { min: bound("minimum")?, max: bound("maximum")?, integer })
}

/// Several of the given texts.
fn array(property: &Map<String, Value>) -> Result<FieldKind, String> {
    known(property, &["items", "minItems", "maxItems", "uniqueItems"])?;
    let items = property.get("items").and_then(Value::as_object).ok_or("is a list without `items`")?;
    let titled = items.get("anyOf").or_else(|| items.get("oneOf"));
    let options = match titled {
        Some(titled) => {
            only(items, &["type", "anyOf", "oneOf"])?;
            with_titles(titled)?
        }
        None if items.contains_key("enum") => {
            only(items, &["type", "enum", "enumNames"])?;
            named(items)?
        }
        None => {
            return Err("is a list of anything: a form offers choices, as an `enum` of its items".to_owned());
        }
    };
    if items.get("type").is_some_and(|kind| kind != "string") {
        return Err("is a list of what is not text".to_owned());
    }
    let (min_items, max_items) = (count(property, "minItems")?, count(property, "maxItems")?);
    Ok(FieldKind::Multiselect { options, min_items, max_items })
}

/// `enum`, with `enumNames` as labels if they are there.
fn named(schema: &Map<String, Value>) -> Result<Vec<FieldOption>, String> {
    let values = schema.get("enum").and_then(texts).ok_or("has an `enum` that is no list of texts")?;
    let labels = match schema.get("enumNames") {
        None => values.clone(),
        Some(names) => texts(names).ok_or("has `enumNames` that are no list of texts")?,
    };
    if labels.len() != values.len() {
        return Err(format!("has {} `enumNames` for {} values", labels.len(), values.len()));
    }
    Ok(values.into_iter().zip(labels).map(|(value, label)| FieldOption { value, label }).collect())
}

/// `[{const, title}]`.
fn with_titles(schemas: &Value) -> Result<Vec<FieldOption>, String> {
    let flaw = || "has choices that are not each `{const, title}` of texts".to_owned();
    let option = |schema: &Value| {
        let schema = schema.as_object().ok_or_else(flaw)?;
        only(schema, &["const", "title", "type"])?;
        let value = words(schema, "const").ok_or_else(flaw)?;
        Ok(FieldOption { label: words(schema, "title").unwrap_or_else(|| value.clone()), value })
    };
    schemas.as_array().ok_or_else(flaw)?.iter().map(option).collect()
}

/// What every property may have, and these.
fn known(property: &Map<String, Value>, more: &[&str]) -> Result<(), String> {
    only(property, &[&["type", "title", "description", "default"], more].concat())
}

fn only(schema: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match schema.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("has `{key}`, which a form cannot keep to")),
    }
}

fn count(property: &Map<String, Value>, name: &str) -> Result<Option<u32>, String> {
    match property.get(name) {
        None => Ok(None),
        Some(value) => match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) => Ok(Some(count)),
            None => Err(format!("has a `{name}` that is no count")),
        },
    }
}

fn words(schema: &Map<String, Value>, name: &str) -> Option<String> {
    schema.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(properties: Value) -> Result<Value, Rejection> {
        let form = form_from_schema(None, &json!({"type": "object", "properties": properties}))?;
        Ok(serde_json::to_value(form.fields).unwrap())
    }

    #[test]
    fn every_shape_of_the_subset_becomes_its_field() {
        let options = json!([{"value": "r", "label": "Red"}, {"value": "g", "label": "Green"}]);
        let plain = json!([{"value": "r", "label": "r"}, {"value": "g", "label": "g"}]);
        let titled = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
        let cases = [
            (json!({"type": "string"}), json!({"type": "text"})),
            (
                json!({"type": "string", "minLength": 2, "maxLength": 9, "format": "email"}),
                json!({"type": "text", "minLength": 2, "maxLength": 9, "format": "email"}),
            ),
            (json!({"type": "string", "format": "uri"}), json!({"type": "text", "format": "uri"})),
            (
                json!({"type": "string", "format": "date-time"}),
                json!({"type": "text", "format": "date-time"}),
            ),
            (json!({"type": "string", "format": "date"}), json!({"type": "date"})),
            (
                json!({"type": "number", "minimum": 0.5, "maximum": 2}),
                json!({"type": "number", "min": 0.5, "max": 2.0, "integer": false}),
            ),
            (
                json!({"type": "integer", "minimum": 1}),
                json!({"type": "number", "min": 1.0, "integer": true}),
            ),
            (json!({"type": "boolean"}), json!({"type": "checkbox"})),
            (json!({"type": "string", "enum": ["r", "g"]}), json!({"type": "select", "options": plain})),
            (
                json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}),
                json!({"type": "select", "options": options}),
            ),
            (json!({"type": "string", "oneOf": titled}), json!({"type": "select", "options": options})),
            (
                json!({"type": "array", "items": {"type": "string", "enum": ["r", "g"]}, "minItems": 1, "maxItems": 2}),
                json!({"type": "multiselect", "options": plain, "minItems": 1, "maxItems": 2}),
            ),
            (
                json!({"type": "array", "items": {"anyOf": titled}}),
                json!({"type": "multiselect", "options": options}),
            ),
        ];
        for (property, mut field) in cases {
            field["id"] = json!("f");
            field["label"] = json!("f");
            field["required"] = json!(false);
            assert_eq!(fields(json!({"f": property})).unwrap()[0], field, "{property}");
        }
    }

    #[test]
    fn order_words_defaults_and_what_is_required_are_kept() {
        let schema = json!({
            "type": "object",
            "title": "You",
            "properties": {
                "zip": {"type": "string", "title": "ZIP code", "description": "Five digits", "default": "00000"},
                "age": {"type": "integer"},
            },
            "required": ["age"],
            "additionalProperties": false,
        });
        let form = form_from_schema(None, &schema).unwrap();
        assert_eq!(form.title.as_deref(), Some("You"));
        let [zip, age] = form.fields.as_slice() else { panic!("two fields") };
        assert_eq!((zip.id.as_str(), zip.label.as_str(), zip.required), ("zip", "ZIP code", false));
        assert_eq!(zip.description.as_deref(), Some("Five digits"));
        assert_eq!(zip.default, Some(json!("00000")));
        assert_eq!((age.id.as_str(), age.label.as_str(), age.required), ("age", "age", true));
        let named = form_from_schema(Some("Who".to_owned()), &schema).unwrap();
        assert_eq!(named.title.as_deref(), Some("Who"));
    }

    #[test]
    fn what_a_form_cannot_ask_is_refused_by_name() {
        let cases = [
            (json!({"type": "object", "properties": {}}), "is an object in the object"),
            (json!({"type": "array", "items": {"type": "object"}}), "list of anything"),
            (json!({"type": "array", "items": {"type": "number", "enum": ["1"]}}), "not text"),
            (json!({"type": ["string", "null"]}), "one `type`"),
            (json!({"$ref": "#/$defs/x"}), "one `type`"),
            (json!({"type": "null"}), "`null`"),
            (json!({"type": "string", "pattern": "^a"}), "`pattern`"),
            (json!({"type": "string", "format": "ipv4"}), "`ipv4`"),
            (json!({"type": "string", "enum": [1]}), "no list of texts"),
            (json!({"type": "string", "enum": []}), "no options"),
            (json!({"type": "string", "enum": ["a", "a"]}), "twice"),
            (json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}), "1 `enumNames` for 2"),
            (json!({"type": "string", "oneOf": [{"type": "object"}]}), "{const, title}"),
            (json!({"type": "string", "minLength": -1}), "`minLength`"),
            (json!({"type": "string", "minLength": 3, "maxLength": 2}), "no value"),
            (json!({"type": "integer", "default": 1.5}), "default"),
            (json!({"type": "number", "exclusiveMinimum": 0}), "`exclusiveMinimum`"),
        ];
        for (property, words) in cases {
            let refused = fields(json!({"f": property})).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("`f`"), "{property}: {refused}");
        }
        for (schema, words) in [
            (json!("text"), "JSON object"),
            (json!({"type": "string"}), "must be `object`"),
            (json!({"type": "object"}), "`properties`"),
            (json!({"type": "object", "properties": {}}), "no fields"),
            (json!({"type": "object", "properties": {}, "required": ["x"]}), "no property"),
            (json!({"type": "object", "properties": {}, "allOf": []}), "`allOf`"),
        ] {
            let refused = form_from_schema(None, &schema).unwrap_err().to_string();
            assert!(refused.contains(words), "{schema}: {refused}");
        }
    }
}
