//! Forms: values checked against their fields on the server, before anything is won.

use std::collections::BTreeSet;

use holdstead_protocol::{Field, FieldErrors, FieldKind, FieldOption, Form};
use serde_json::{Map, Value};

use crate::shape;

mod format;

/// The values of the form's fields, or what is wrong with each. A field left out gets its default.
pub(crate) fn check(form: &Form, given: &Map<String, Value>) -> Result<Map<String, Value>, FieldErrors> {
    let mut errors = FieldErrors::new();
    let mut values = Map::new();
    if let Some(why) = shape::too_many_keys(given, form.fields.len(), "fields") {
        return Err(FieldErrors::from([("input".to_owned(), why)]));
    }
    let known: BTreeSet<&str> = form.fields.iter().map(|field| field.id.as_str()).collect();
    for key in given.keys() {
        if !known.contains(key.as_str()) {
            errors.insert(key.clone(), "there is no such field".to_owned());
        }
    }
    for field in &form.fields {
        let given = given.get(&field.id).or(field.default.as_ref()).filter(|value| !is_blank(value));
        match given {
            None if field.required => {
                errors.insert(field.id.clone(), "is required".to_owned());
            }
            None => {}
            Some(value) => match check_field(&field.kind, value) {
                Ok(()) => {
                    values.insert(field.id.clone(), value.clone());
                }
                Err(why) => {
                    errors.insert(field.id.clone(), why);
                }
            },
        }
    }
    if errors.is_empty() { Ok(values) } else { Err(errors) }
}

/// An empty text box, list or nothing at all: not a value.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn check_field(kind: &FieldKind, value: &Value) -> Result<(), String> {
    match kind {
        FieldKind::Text { min_length, max_length, format } => {
            check_length(text(value)?, *min_length, *max_length)?;
            match format {
                Some(format) if !format::fits(*format, text(value)?) => {
                    Err(format!("must be {}", format.words()))
                }
                Some(_) | None => Ok(()),
            }
        }
        FieldKind::Textarea { min_length, max_length } => {
            check_length(text(value)?, *min_length, *max_length)
        }
        FieldKind::Number { min, max, integer } => check_number(value, *min, *max, *integer),
        FieldKind::Select { options } | FieldKind::Radio { options } => check_option(options, text(value)?),
        FieldKind::Multiselect { options, min_items, max_items } => {
            check_items(options, value, *min_items, *max_items)
        }
        FieldKind::Checkbox {} => match value {
            Value::Bool(_) => Ok(()),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                Err("must be true or false".to_owned())
            }
        },
        FieldKind::Date { min, max } => check_date(text(value)?, min.as_deref(), max.as_deref()),
        FieldKind::Secret {} => text(value).map(|_| ()),
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "must be text".to_owned())
}

fn check_length(text: &str, min: Option<u32>, max: Option<u32>) -> Result<(), String> {
    let length = text.chars().count();
    if let Some(min) = min.filter(|min| length < *min as usize) {
        return Err(format!("must have at least {min} characters"));
    }
    if let Some(max) = max.filter(|max| length > *max as usize) {
        return Err(format!("must have at most {max} characters"));
    }
    Ok(())
}

fn check_number(value: &Value, min: Option<f64>, max: Option<f64>, integer: bool) -> Result<(), String> {
    let number = value.as_f64().ok_or_else(|| "must be a number".to_owned())?;
    if integer && number.fract() != 0.0 {
        return Err("must be a whole number".to_owned());
    }
    if let Some(min) = min.filter(|min| number < *min) {
        return Err(format!("must be at least {min}"));
    }
    if let Some(max) = max.filter(|max| number > *max) {
        return Err(format!("must be at most {max}"));
    }
    Ok(())
}

fn check_option(options: &[FieldOption], value: &str) -> Result<(), String> {
    if options.iter().any(|option| option.value == value) {
        Ok(())
    } else {
        Err(format!("`{value}` is none of the options"))
    }
}

fn check_items(
    options: &[FieldOption],
    value: &Value,
    min: Option<u32>,
    max: Option<u32>,
) -> Result<(), String> {
    let items = value.as_array().ok_or_else(|| "must be a list".to_owned())?;
    let mut left: BTreeSet<&str> = options.iter().map(|option| option.value.as_str()).collect();
    for item in items {
        let item = text(item)?;
        if !left.remove(item) {
            check_option(options, item)?;
            return Err("must not have a choice twice".to_owned());
        }
    }
    if let Some(min) = min.filter(|min| items.len() < *min as usize) {
        return Err(format!("must have at least {min} choices"));
    }
    if let Some(max) = max.filter(|max| items.len() > *max as usize) {
        return Err(format!("must have at most {max} choices"));
    }
    Ok(())
}

fn check_date(value: &str, min: Option<&str>, max: Option<&str>) -> Result<(), String> {
    let day = value.parse::<jiff::civil::Date>().ok();
    // The parser takes other spellings too, and times.
    let day = day
        .filter(|day| day.to_string() == value)
        .ok_or_else(|| "must be a day like 2026-01-31".to_owned())?;
    let bound = |text: Option<&str>| text.and_then(|text| text.parse::<jiff::civil::Date>().ok());
    if let Some(min) = bound(min).filter(|min| day < *min) {
        return Err(format!("must not be before {min}"));
    }
    if let Some(max) = bound(max).filter(|max| day > *max) {
        return Err(format!("must not be after {max}"));
    }
    Ok(())
}

/// Why a form cannot be shown at all, if it cannot.
pub(crate) fn flaw(form: &Form) -> Option<String> {
    if form.fields.is_empty() {
        return Some("the form has no fields".to_owned());
    }
    if let Some(why) = shape::form_flaw(form) {
        return Some(why);
    }
    let mut ids = BTreeSet::new();
    for field in &form.fields {
        if field.id.is_empty() || !ids.insert(&field.id) {
            return Some(format!("field id `{}` is empty or used twice", field.id));
        }
        if let Some(why) = field_flaw(field) {
            return Some(format!("field `{}`: {why}", field.id));
        }
    }
    None
}

fn field_flaw(field: &Field) -> Option<String> {
    let flaw = match &field.kind {
        FieldKind::Select { options } | FieldKind::Radio { options } => options_flaw(options),
        FieldKind::Multiselect { options, min_items, max_items } => {
            let most = max_items.unwrap_or(u32::MAX).min(u32::try_from(options.len()).unwrap_or(u32::MAX));
            options_flaw(options).or_else(|| no_value(*min_items, Some(most)))
        }
        // It would lie in the journal, and on every screen.
        FieldKind::Secret {} => field.default.is_some().then(|| "a secret cannot have a default".to_owned()),
        FieldKind::Text { min_length, max_length, .. } | FieldKind::Textarea { min_length, max_length } => {
            no_value(*min_length, *max_length)
        }
        FieldKind::Number { min, max, .. } => no_value(*min, *max),
        FieldKind::Checkbox {} | FieldKind::Date { .. } => None,
    };
    flaw.or_else(|| {
        let default = field.default.as_ref().filter(|default| !is_blank(default))?;
        check_field(&field.kind, default).err().map(|why| format!("its default {why}"))
    })
}

fn options_flaw(options: &[FieldOption]) -> Option<String> {
    if options.is_empty() {
        return Some("has no options".to_owned());
    }
    let twice = shape::first_double(options.iter().map(|option| &option.value));
    twice.map(|value| format!("has the option `{value}` twice"))
}

fn no_value<T: PartialOrd>(min: Option<T>, max: Option<T>) -> Option<String> {
    min.zip(max).is_some_and(|(min, max)| min > max).then(|| "its bounds allow no value".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form(fields: Value) -> Form {
        serde_json::from_value(json!({ "fields": fields })).unwrap()
    }

    fn checked(form: &Form, given: Value) -> Result<Value, FieldErrors> {
        let Value::Object(map) = given else { panic!("give an object") };
        check(form, &map).map(Value::Object)
    }

    #[test]
    fn every_kind_of_field_takes_its_own_values_and_refuses_others() {
        let options = json!([{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]);
        let cases = [
            (
                json!({"type": "text", "minLength": 2, "maxLength": 3}),
                json!("abc"),
                vec![json!("a"), json!("abcd"), json!(1)],
            ),
            (json!({"type": "textarea"}), json!("many\nlines"), vec![json!(true)]),
            (json!({"type": "text", "format": "email"}), json!("ana@example.org"), vec![json!("ana")]),
            (
                json!({"type": "number", "min": 1.0, "max": 5.0, "integer": true}),
                json!(5),
                vec![json!(0), json!(6), json!(1.5), json!("5")],
            ),
            (json!({"type": "select", "options": options}), json!("a"), vec![json!("z"), json!(["a"])]),
            (
                json!({"type": "multiselect", "options": options, "minItems": 2}),
                json!(["a", "b"]),
                vec![json!(["a"]), json!(["a", "z"]), json!(["a", "a"]), json!("a")],
            ),
            (json!({"type": "checkbox"}), json!(false), vec![json!("false"), json!(0)]),
            (json!({"type": "radio", "options": options}), json!("b"), vec![json!("B")]),
            (
                json!({"type": "date", "min": "2026-01-01"}),
                json!("2026-01-31"),
                vec![json!("2025-12-31"), json!("2026-02-30"), json!("2026-01-31T10:00"), json!("soon")],
            ),
            (json!({"type": "secret", "required": true}), json!(" hunter2 "), vec![json!(" "), json!(7)]),
        ];
        for (kind, good, bad) in cases {
            let mut field = kind;
            field["id"] = json!("f");
            field["label"] = json!("F");
            let form = form(json!([field]));
            assert_eq!(flaw(&form), None);
            assert_eq!(checked(&form, json!({"f": good})), Ok(json!({"f": good})), "{field}");
            for value in bad {
                assert!(checked(&form, json!({"f": value})).is_err(), "{field} took {value}");
            }
        }
    }

    #[test]
    fn required_blank_unknown_and_default() {
        let form = form(json!([
            {"id": "name", "label": "Name", "type": "text", "required": true},
            {"id": "channel", "label": "Channel", "type": "text", "default": "stable"},
        ]));
        assert_eq!(checked(&form, json!({"name": "x"})), Ok(json!({"name": "x", "channel": "stable"})));
        assert!(checked(&form, json!({"name": "  "})).is_err());
        assert!(checked(&form, json!({})).is_err());
        assert!(checked(&form, json!({"name": "x", "extra": 1})).is_err());
    }

    #[test]
    fn a_form_that_cannot_be_answered_is_not_shown() {
        assert!(flaw(&form(json!([]))).is_some());
        assert!(flaw(&form(json!([{"id": "a", "label": "A", "type": "select", "options": []}]))).is_some());
        assert!(flaw(&form(json!([{"id": "a", "label": "A", "type": "checkbox"}, {"id": "a", "label": "B", "type": "checkbox"}]))).is_some());
        assert!(flaw(&form(json!([{"id": "a", "label": "A", "type": "number", "default": "x"}]))).is_some());
        assert!(
            flaw(&form(json!([{"id": "a", "label": "A", "type": "number", "min": 2.0, "max": 1.0}])))
                .is_some()
        );
        let few = json!([{"id": "a", "label": "A", "type": "multiselect", "minItems": 2, "options": [{"value": "x", "label": "X"}]}]);
        assert!(flaw(&form(few)).is_some());
        assert!(flaw(&form(json!([{"id": "a", "label": "A", "type": "secret", "default": "x"}]))).is_some());
    }
}
