//! The OpenAPI document: what clients are generated from.

use std::collections::BTreeSet;

use holdstead_protocol::EventType;
use serde_json::Value;

fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str, &'a Value)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                visit(key, value);
                walk(value, visit);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = holdstead_server::openapi();
    let mut missing = Vec::new();
    walk(&document, &mut |key, value| {
        if let ("$ref", Some(path)) = (key, value.as_str())
            && document.pointer(path.trim_start_matches('#')).is_none()
        {
            missing.push(path);
        }
    });
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = holdstead_server::openapi();
    let mut names = BTreeSet::new();
    walk(&document, &mut |key, value| {
        if let ("operationId", Some(name)) = (key, value.as_str()) {
            assert!(names.insert(name), "`{name}` names two operations");
        }
    });
    assert!(names.len() > 20, "{names:?}");
}

#[test]
fn fields_are_named_as_they_are_written() {
    let document = holdstead_server::openapi();
    let mut wrong = BTreeSet::new();
    walk(&document, &mut |key, value| {
        if let ("properties", Value::Object(properties)) = (key, value) {
            wrong.extend(properties.keys().filter(|name| name.contains('_')).cloned());
        }
    });
    assert_eq!(wrong, BTreeSet::new());
    let draft = &document["components"]["schemas"]["ResponseDraft"];
    assert!(draft.to_string().contains("\"editedInput\""), "{draft}");
}

#[test]
fn every_operation_says_what_it_does() {
    let document = holdstead_server::openapi();
    let mut silent = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let summary = operation["summary"].as_str().unwrap_or_default();
            if summary.is_empty() || !summary.ends_with('.') {
                silent.push(format!("{method} {path}: {summary}"));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}

#[test]
fn every_operation_says_in_a_line_what_it_does() {
    let document = holdstead_server::openapi();
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.values().filter_map(Value::as_object).flat_map(|methods| methods.values());
    let silent: Vec<_> = operations
        .filter(|one| !one["operationId"].is_null() && one["summary"].as_str().unwrap_or_default().is_empty())
        .map(|one| &one["operationId"])
        .collect();
    assert_eq!(silent, Vec::<&Value>::new());
}

#[test]
fn every_error_code_says_what_happened_and_what_to_do() {
    let document = holdstead_server::openapi();
    let schema = &document["components"]["schemas"]["Code"];
    let codes = schema["enum"].as_array().expect("codes");
    let told = schema["x-codes"].as_array().expect("what they mean");
    assert_eq!(told.iter().map(|one| &one["code"]).collect::<Vec<_>>(), codes.iter().collect::<Vec<_>>());
    for one in told {
        assert!((400..600).contains(&one["status"].as_u64().expect("a status")), "{one}");
        for words in [&one["happened"], &one["toDo"]] {
            assert!(words.as_str().is_some_and(|words| words.ends_with('.')), "{one}");
        }
    }
}

#[test]
fn every_event_says_what_it_means() {
    let document = holdstead_server::openapi();
    let events = document["components"]["schemas"]["EventBody"]["oneOf"].as_array().expect("events");
    assert_eq!(events.len(), EventType::ALL.len());
    let silent: Vec<_> = events
        .iter()
        .filter(|event| !event["description"].as_str().is_some_and(|words| words.ends_with('.')))
        .map(|event| &event["properties"]["type"])
        .collect();
    assert_eq!(silent, Vec::<&Value>::new());
}

/// `just show-routes` tries each of them with tokens of all roles.
#[test]
fn every_operation_says_who_may_call_it() {
    let document = holdstead_server::openapi();
    let roles = document["components"]["schemas"]["Role"]["enum"].as_array().expect("roles");
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let may = operation["security"].as_array().and_then(|all| all.last()).map(|one| &one["bearer"]);
            let may = may.and_then(Value::as_array).unwrap_or_else(|| panic!("{method} {path} says nothing"));
            assert!(may.iter().all(|role| roles.contains(role)), "{method} {path}: {may:?}");
            assert_eq!(
                may.is_empty(),
                ["/v1/login", "/v1/login/exchange"].contains(&path.as_str()),
                "{method} {path}"
            );
        }
    }
}
