//! A pipe where an agent's file is expected: nothing waits for its writer.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::{Gateway, holdstead};

/// Far longer than an answer takes; only a test that fails waits for it.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// `~/.claude.json` is read at each start of Claude Code. An approved command can put a pipe there.
#[test]
fn agents_whose_file_is_a_pipe_start_and_the_gateway_goes_on_with_one_worker() {
    let home = TempDir::new().expect("a folder");
    let at = |name: &str| home.path().join(name);
    assert!(Command::new("mkfifo").arg(at(".claude.json")).status().expect("it runs").success());
    let program = at("claude");
    std::fs::write(&program, "#!/bin/sh\ntouch \"$HOME/started-$$\"\nexec cat > /dev/null\n")
        .expect("a script");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("it can be run");
    let gateway = Gateway::start_by(|dir| {
        let mut command = holdstead(dir);
        command.env("HOME", home.path()).env_remove("CLAUDE_CONFIG_DIR").env("TOKIO_WORKER_THREADS", "1");
        command.env("HOLDSTEAD_AGENTS_CLAUDE_PROGRAM", &program).env("HOLDSTEAD_AGENTS_BOX", "none");
        command.stderr(Stdio::null());
        command
    });
    let url = gateway.json(&["open", "--no-open"])["link"].as_str().expect("a link").to_owned();
    let url = url.split("/login").next().expect("an address").to_owned();
    let token = std::fs::read_to_string(gateway.folder().join("token")).expect("a token");
    tokio::runtime::Runtime::new().expect("a runtime").block_on(async {
        let http = holdstead_client::requests_to(&url).timeout(PATIENCE).build().expect("a client");
        let post = async |path: &str, body: Value| {
            let request = http.post(format!("{url}{path}")).bearer_auth(token.trim()).json(&body);
            let response = request.send().await.expect("it answers").error_for_status().expect("it takes it");
            response.json::<Value>().await.unwrap_or_default()
        };
        for number in 0..3 {
            let open = json!({ "agent": "claude", "cwd": home.path(), "title": number.to_string() });
            let session = post("/v1/sessions", open).await;
            let id = session["sessionId"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned();
            post(&format!("/v1/sessions/{id}/messages"), json!({ "text": "go" })).await;
        }
        let begin = std::time::Instant::now();
        let started = || {
            let entries = home.path().read_dir().expect("a folder").flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("started-")).count()
        };
        // It answers all the while.
        while started() < 3 {
            assert!(begin.elapsed() < PATIENCE, "{} of 3 started", started());
            let me = http.get(format!("{url}/v1/me")).bearer_auth(token.trim()).send().await;
            assert!(me.expect("it answers").status().is_success());
            tokio::time::sleep(LOOK).await;
        }
    });
}
