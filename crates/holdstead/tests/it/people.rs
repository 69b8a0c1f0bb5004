//! People, their tokens, and the way back in, from a terminal.

use serde_json::Value;

use crate::cli::{Gateway, text};

fn rows(gateway: &Gateway, of: &str) -> Vec<Value> {
    gateway.json(&[of, "list"]).as_array().expect("a list").clone()
}

#[test]
fn whose_terminal_was_revoked_is_told_the_way_back_in() {
    let gateway = Gateway::start();
    let devices = rows(&gateway, "token");
    let terminal = devices.iter().find(|device| device["kind"] == "terminal").expect("it is listed");
    let id = terminal["deviceId"].as_str().expect("an id");
    assert_eq!(gateway.json(&["token", "revoke", &id[id.len() - 8..]])["revoked"], 1);
    let refused = gateway.run(&["inbox"]);
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("holdstead login"), "{}", text(&refused.stderr));

    let again = gateway.json(&["login"]);
    assert_eq!(again["newToken"], true, "{again}");
    assert!(again["link"].as_str().is_some_and(|link| link.contains("/login#")), "{again}");
    assert!(gateway.run(&["inbox"]).status.success());
    assert_eq!(gateway.json(&["login"])["newToken"], false, "the token was good");
}

#[test]
fn tokens_expire_and_can_be_revoked_by_name() {
    let gateway = Gateway::start();
    let new = |expires: &str| {
        gateway.run(&["token", "--role", "agent", "--name", "ci", "--json", "--expires", expires])
    };
    assert_eq!(new("soon").status.code(), Some(2));
    assert!(new("0s").status.success());
    assert!(new("1h").status.success());
    let of_ci =
        || rows(&gateway, "token").into_iter().filter(|device| device["name"] == "ci").collect::<Vec<_>>();
    let [one] = &of_ci()[..] else { panic!("{:?}", of_ci()) };
    assert!(one["expiresAt"].is_string() && one["role"] == "agent" && one["lastUsedAt"].is_null(), "{one}");
    assert!(gateway.run(&["token", "revoke", "--name", "ci"]).status.success());
    assert_eq!(of_ci(), Vec::<Value>::new());
    assert_eq!(gateway.run(&["token", "revoke", "0000"]).status.code(), Some(2));
    assert_eq!(gateway.run(&["token"]).status.code(), Some(2), "it says what is missing");
}

#[test]
fn people_come_get_roles_and_go() {
    let mut gateway = Gateway::start();
    assert_eq!(gateway.json(&["people", "add", "Ana"])["role"], "person");
    assert_eq!(gateway.json(&["people"]), gateway.json(&["people", "list"]));
    assert_eq!(gateway.json(&["login", "ana"])["name"], "Ana");
    assert_eq!(gateway.json(&["people", "role", "ANA", "viewer"])["role"], "viewer");
    let named = |name: &str| rows(&gateway, "people").into_iter().find(|person| person["name"] == name);
    assert_eq!(named("Ana").expect("she is listed")["role"], "viewer");

    assert!(gateway.run(&["token", "--role", "agent", "--name", "ci"]).status.success());
    let own =
        rows(&gateway, "people").into_iter().find(|person| person["role"] == "admin").expect("an admin");
    let own = own["name"].as_str().expect("a name");
    for (args, why) in [
        (vec!["people", "role", "ci", "person"], "programs stay programs"),
        (vec!["people", "remove", own], "only admin"),
        (vec!["people", "role", own, "person"], "only admin"),
        (vec!["login", "ci"], "is a program"),
        (vec!["people", "remove", "nobody"], "Nobody is called"),
    ] {
        let refused = gateway.run(&args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(text(&refused.stderr).contains(why), "{args:?}: {}", text(&refused.stderr));
    }

    assert!(gateway.run(&["people", "remove", "Ana"]).status.success());
    assert_eq!(named("Ana"), None);
    assert!(!gateway.run(&["people", "add", "Ana"]).status.success(), "the name stays hers");
    gateway.kill();
    assert!(gateway.run(&["people", "list"]).status.success(), "it needs no gateway");
}

#[test]
fn no_agent_works_in_the_gateways_own_folder() {
    let gateway = Gateway::start();
    let inside = gateway.folder().join("inside");
    std::fs::create_dir(&inside).expect("a folder");
    for folder in [gateway.folder(), inside] {
        let mut run = crate::cli::holdstead(&gateway.folder());
        let run = run.args(["run", "scripted", "say hello", "--no-open"]).current_dir(folder);
        let refused = run.stdin(std::process::Stdio::null()).output().expect("it runs");
        assert!(!refused.status.success());
        let words = text(&refused.stderr);
        assert!(words.contains("the gateway's own"), "{words}");
    }
    assert_eq!(gateway.json(&["sessions", "--all"]), serde_json::json!([]), "none was opened");
}
