//! A short id means what this person was shown, whatever else ends in the same digits.

use holdstead_protocol::{InteractionId, SessionId};
use serde_json::{Value, json};

use crate::cli::{Gateway, approval, text};

fn command(words: &str) -> Value {
    json!({"kind": "approval", "input": {"command": words}})
}

/// A key whose ask ends in these digits. An agent finds one in a moment.
fn ground(session: SessionId, digits: &str, not: &str) -> String {
    (0..)
        .map(|number| format!("ground-{number}"))
        .find(|key| key != not && InteractionId::derive(session, &format!("key\n{key}")).short() == digits)
        .expect("one is found")
}

#[test]
fn an_ask_that_ends_in_the_same_digits_is_not_answered_in_place_of_the_listed_one() {
    let gateway = Gateway::start();
    let asked = gateway.asked("harmless", command("ls"));
    let session: SessionId = serde_json::from_value(asked["sessionId"].clone()).expect("a session");
    let whole = asked["request"]["interactionId"].as_str().expect("an id").to_owned();
    let digits = whole[whole.len() - 4..].to_owned();

    let unseen = gateway.run(&["answer", &digits, "--approve"]);
    assert_eq!(unseen.status.code(), Some(2), "{}", text(&unseen.stderr));
    assert!(text(&unseen.stderr).contains("holdstead inbox"), "{}", text(&unseen.stderr));

    assert!(text(&gateway.run(&["inbox"]).stdout).contains(&digits));
    assert!(gateway.run(&["answer", &whole, "--deny"]).status.success());
    let other = gateway.asked(&ground(session, &digits, "harmless"), command("rm -rf /"));
    let other = other["request"]["interactionId"].as_str().expect("an id").to_owned();
    assert!(other.ends_with(&digits));

    let answered = gateway.run(&["answer", &digits, "--approve"]);
    assert_eq!(answered.status.code(), Some(3), "{}", text(&answered.stderr));
    let still = gateway.json(&["inbox"]);
    assert_eq!(still[0]["request"]["interactionId"], json!(other), "{still}");

    // Once it was listed, too, the digits are not enough for either; the inbox shows how many are.
    let inbox = text(&gateway.run(&["inbox"]).stdout);
    let listed = inbox.lines().nth(1).and_then(|row| row.split(' ').next()).expect("a row").to_owned();
    assert!(listed.len() > 4 && other.ends_with(&listed), "{inbox}");
    let two = gateway.run(&["answer", &digits, "--approve"]);
    assert_eq!(two.status.code(), Some(2));
    assert!(text(&two.stderr).contains("2 asks that you were shown end in"), "{}", text(&two.stderr));
    let approved = gateway.run(&["answer", &listed, "--approve"]);
    assert!(approved.status.success(), "{}", text(&approved.stderr));
    assert!(text(&approved.stdout).starts_with("Program ci wants to run deploy\n"), "{}", text(&approved.stdout));
}

#[test]
fn what_was_asked_again_since_it_was_listed_is_not_answered() {
    let gateway = Gateway::start();
    let digits = gateway.ask("k", approval());
    let file = gateway.folder().join("listed.json");
    let mut listed: Value =
        serde_json::from_slice(&std::fs::read(&file).expect("a list")).expect("a list as JSON");
    listed[0]["promptId"] = json!(holdstead_protocol::PromptId::generate());
    std::fs::write(&file, listed.to_string()).expect("it can be written");
    let answered = gateway.run(&["answer", &digits, "--approve"]);
    assert_eq!(answered.status.code(), Some(3));
    assert!(
        text(&answered.stderr).contains("asked again since you were shown it"),
        "{}",
        text(&answered.stderr)
    );
    gateway.run(&["inbox"]);
    assert!(gateway.run(&["answer", &digits, "--approve"]).status.success());
}

#[cfg(unix)]
#[test]
fn the_list_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = Gateway::start();
    gateway.ask("k", approval());
    let mode = std::fs::metadata(gateway.folder().join("listed.json")).expect("a list").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
