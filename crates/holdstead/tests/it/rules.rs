//! Rules from the terminal.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::{Gateway, text};

/// A session in which a person denied this line.
fn denied(gateway: &Gateway, folder: &Path, line: &str) {
    let link = gateway.json(&["open", "--no-open"])["link"].as_str().expect("a link").to_owned();
    let url = link.split("/login").next().expect("an address").to_owned();
    let token = gateway.json(&["token", "--role", "person", "--name", "ana"])["token"].clone();
    let token = token.as_str().expect("a token");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let http = holdstead_client::requests_to(&url).build().expect("a client");
        let post = async |path: &str, body: Value| -> Value {
            let sent = http.post(format!("{url}{path}")).bearer_auth(token).json(&body).send().await;
            sent.expect("an answer").json().await.expect("JSON")
        };
        let session = post("/v1/sessions", json!({"agent": "scripted", "cwd": folder})).await;
        let id = session["sessionId"].as_str().unwrap_or_else(|| panic!("{session}"));
        let script = format!("approve Bash {}", json!({"command": line}));
        post(&format!("/v1/sessions/{id}/messages"), json!({"text": script})).await;
    });
    let begin = Instant::now();
    let ask = loop {
        let asks = gateway.json(&["inbox"]);
        if let Some(id) = asks[0]["request"]["interactionId"].as_str() {
            break id.to_owned();
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "nothing was asked");
        std::thread::sleep(Duration::from_millis(50));
    };
    let answered = gateway.run(&["answer", &ask, "--deny"]);
    assert!(answered.status.success(), "{}", text(&answered.stderr));
}

#[test]
fn rules_are_explained_simulated_and_suggested() {
    let gateway = Gateway::start();
    let none = gateway.run(&["rules", "explain", "Bash(ls)"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("no session yet"), "{}", text(&none.stderr));
    let work = TempDir::new().expect("a folder");
    denied(&gateway, work.path(), "cat notes.md");

    assert!(gateway.run(&["rules", "add", "deny Bash(rm:*) # Not here"]).status.success());
    let said = text(&gateway.run(&["rules", "explain", "Bash(ls && rm x)"]).stdout);
    assert!(said.starts_with("Denied without asking."), "{said}");
    assert!(said.contains("rm x: deny, deny Bash(rm:*) # Not here (person)"), "{said}");
    assert!(said.contains("! Deletes: rm x"), "{said}");
    let said = gateway.json(&["rules", "explain", r#"Bash {"command":"ls"}"#]);
    assert_eq!(said["verdict"]["effect"], "ask", "{said}");
    for wrong in ["(ls)", "Bash", "Bash [1]", "Edit(a.rs)"] {
        assert_eq!(gateway.run(&["rules", "explain", wrong]).status.code(), Some(2), "{wrong}");
    }

    let file = gateway.folder().join("other");
    let simulate = |rules: &str| {
        std::fs::write(&file, rules).expect("a file");
        gateway.run(&["rules", "simulate", &file.display().to_string()])
    };
    let fine = simulate("deny Bash(cat:*)\n");
    assert_eq!(fine.status.code(), Some(0), "{}", text(&fine.stderr));
    assert!(text(&fine.stdout).contains("1 newly denied\n    Bash: cat notes.md"), "{}", text(&fine.stdout));
    let against = simulate("allow Bash(cat:*)\n");
    assert_eq!(against.status.code(), Some(1));
    assert!(text(&against.stderr).contains("1 calls that a person denied"), "{}", text(&against.stderr));
    let wrong = simulate("alow Bash(cat:*)\n");
    assert_eq!(wrong.status.code(), Some(5));
    assert!(text(&wrong.stderr).contains("line 1"), "{}", text(&wrong.stderr));

    let said = text(&gateway.run(&["rules", "suggest"]).stdout);
    assert!(said.starts_with("1 calls of 1 sessions.\nNothing to suggest"), "{said}");
}
