use super::*;
use serde_json::json;

fn refused(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn plain_json_is_read_as_it_is() {
    let text = r#" {"a":[1,-2,3.5,1e3,true,false,null,"x\n\u00e9\ud83d\ude00 é"],"b":{},"c":[]} "#;
    assert_eq!(
        read(text.as_bytes()).unwrap(),
        json!({"a": [1, -2, 3.5, 1000.0, true, false, null, "x\né😀 é"], "b": {}, "c": []})
    );
    assert_eq!(read(b"7").unwrap(), json!(7));
    assert_eq!(read(b"-0").unwrap().to_string(), "-0.0");
}

#[test]
fn the_keys_keep_their_order() {
    let text = r#"{"b":1,"a":2,"c":3}"#;
    assert_eq!(read(text.as_bytes()).unwrap().to_string(), text);
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for text in [
        "{",
        "[",
        "\"",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "- 1",
        "nul",
        "[1 2]",
        "{\"a\" 1}",
        "1 2",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "\"\0\"",
        "\0",
        "'a'",
        "[1]]",
        "NaN",
        "Infinity",
        "\"\\",
        "\"\\u",
        "{\"a\":}",
        "/**/1",
    ] {
        assert!(refused(text).starts_with("it is not JSON: "), "{text}: {}", refused(text));
    }
    assert_eq!(refused("[1,\n  é]"), "it is not JSON: a value was expected at line 2, column 3");
    assert_eq!(refused(" \n"), "it is empty: send a JSON value");
    assert_eq!(refused("\u{feff}{}"), "it begins with a byte order mark: leave that out");
    assert_eq!(read(b"\"a\xff\"").unwrap_err(), BadJson::NotUtf8 { at: 2 });
}

#[test]
fn depth_has_a_limit() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(refused(&nested(MAX_DEPTH + 1)).contains("more than 64 deep"));
    // However deep it is, nothing is built of it and no stack is used.
    assert!(refused(&"[".repeat(1_000_000)).contains("more than 64 deep"));
    let objects = format!("{}1{}", "{\"a\":".repeat(MAX_DEPTH + 1), "}".repeat(MAX_DEPTH + 1));
    assert!(refused(&objects).contains("more than 64 deep"));
}

/// Both texts mean the same number of ours, which is written as one of them.
#[test]
fn what_is_taken_is_written_as_it_was_and_can_be_read_again() {
    let (kept, other) = ("666000000000000.2", "666000000000000.3");
    let value = read(kept.as_bytes()).unwrap();
    assert_eq!(value.to_string(), kept);
    assert_eq!(read(value.to_string().as_bytes()).unwrap(), value);
    assert!(refused(other).contains("cannot be kept exactly"));
}

#[test]
fn the_number_of_values_has_a_limit() {
    let list = |items: usize| format!("[{}]", vec!["0"; items].join(","));
    assert!(read(list(MAX_VALUES - 1).as_bytes()).is_ok());
    assert!(refused(&list(MAX_VALUES)).contains("more than 100000 values"));
}

#[test]
fn keys_that_serde_json_has_for_itself_are_refused_by_name() {
    for key in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
        let words = refused(&format!(r#"{{"input":{{"{key}":"1"}}}}"#));
        assert!(words.contains(key), "{words}");
    }
    // Also when it is spelled otherwise.
    assert!(refused(r#"{"\u0024serde_json::private::RawValue":"1"}"#).contains("reserved"));
}

#[test]
fn a_key_that_stands_twice_is_refused_by_name() {
    assert!(refused(r#"{"command":"ls","command":"rm"}"#).contains("`command` stands twice"));
    assert!(refused(r#"{"a":1,"\u0061":2}"#).contains("`a` stands twice"));
    assert!(read(br#"[{"a":1},{"a":2}]"#).is_ok());
}

#[test]
fn numbers_that_would_not_stay_what_they_are_are_refused() {
    for exact in [
        "18446744073709551615",
        "-9223372036854775808",
        "0.1",
        "0.10",
        "1e20",
        "100000000000000000000",
        "5e-324",
        "1.7976931348623157e308",
        "123456789.125",
        "-0.0",
        "0e0",
        "0.000001",
        "1E+2",
    ] {
        assert!(read(exact.as_bytes()).is_ok(), "{exact}");
    }
    for inexact in [
        "18446744073709551617",
        "-9223372036854775809",
        "100000000000000000001",
        "0.10000000000000001",
        "1e999",
        "-1e999",
        "1e-999",
        "0.1000000000000000000000001",
        "1e99999999999999999999",
    ] {
        let words = refused(inexact);
        assert!(words.contains("cannot be kept exactly"), "{inexact}: {words}");
    }
}

#[test]
fn half_a_character_is_refused() {
    for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800x""#, r#""\ud800\u0041""#, r#""\udc00\ud800""#] {
        assert!(refused(text).contains("half a character"), "{text}");
    }
}

#[test]
fn a_flawed_text_can_be_read_for_the_answer_in_words() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let text = format!(
        r#"{{"id":"r1","input":{{"$serde_json::private::RawValue":"7","x":{deep}}},"t":"a\ud800b","n":1e999}}"#
    );
    let (value, flaw) = read_flawed(text.as_bytes()).unwrap();
    assert_eq!(value["id"], "r1");
    assert_eq!(value["t"], "a\u{fffd}b");
    assert_eq!(value["input"].as_object().unwrap().len(), 1, "the reserved key is left out");
    assert!(matches!(flaw, Some(Flaw::ReservedKey { .. })));
    assert_eq!(read_flawed(b"{}").unwrap(), (json!({}), None));
    assert!(read_flawed(b"{").is_err());
    let many = format!("[{},{{\"a\":[1]}}]", vec!["0"; MAX_VALUES].join(","));
    assert_eq!(read_flawed(many.as_bytes()).unwrap().1, Some(Flaw::TooMany));
}

#[test]
fn a_value_that_could_not_be_read_again_is_found_before_it_is_written() {
    let deep = (0..MAX_DEPTH + 1).fold(json!(1), |inner, _| json!([inner]));
    assert!(matches!(unreadable(&deep), Some(BadJson::Flaw(Flaw::TooDeep(_)))));
    let reserved = json!({"$serde_json::private::RawValue": "1"});
    assert!(matches!(unreadable(&reserved), Some(BadJson::Flaw(Flaw::ReservedKey { .. }))));
    assert_eq!(unreadable(&json!({"a": [1.5, "x", null]})), None);
}

#[test]
fn the_first_value_is_told_from_what_follows() {
    let (value, rest) = read_first(r#"{"a":1} because of it"#).unwrap();
    assert_eq!((value, rest), (json!({"a": 1}), " because of it"));
    assert_eq!(read_first("  ").unwrap_err(), BadJson::Empty);
}

#[test]
fn whatever_is_read_reads_the_same_when_written() {
    for text in ["0.1", "5e-324", "1.7976931348623157e308", "[1e20,-0.0,123456.789]", r#"{"a":"\u0000"}"#] {
        let value = read(text.as_bytes()).unwrap();
        assert_eq!(read(value.to_string().as_bytes()).unwrap(), value);
        assert_eq!(serde_json::from_str::<Value>(&value.to_string()).unwrap(), value, "{text}");
    }
}
