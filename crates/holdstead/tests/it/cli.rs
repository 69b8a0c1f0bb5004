//! The binary as a person in a terminal and a script meet it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

#[cfg(unix)]
use holdstead_client::Http;
#[cfg(unix)]
use holdstead_protocol::SessionId;
#[cfg(unix)]
use holdstead_protocol::api::{OpenSession, SendMessage};
#[cfg(unix)]
use holdstead_protocol::transport::Transport as _;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn holdstead(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdstead"));
    command.arg("--dir").arg(dir).env_remove("HOLDSTEAD_URL").env_remove("HOLDSTEAD_TOKEN");
    if rustix::process::geteuid().is_root() {
        command.env("HOLDSTEAD_AGENTS_USER", "root");
    }
    command
}

pub(crate) struct Gateway {
    child: Child,
    dir: TempDir,
}

impl Gateway {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With more flags than the usual ones.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let dir = TempDir::new().expect("a folder");
        let child = serve_with(dir.path(), flags);
        Self { child, dir }
    }

    /// By this command, which gets the usual flags.
    pub(crate) fn start_by(command: impl FnOnce(&Path) -> Command) -> Self {
        let dir = TempDir::new().expect("a folder");
        let child = serve_by(command(dir.path()), dir.path(), &[]);
        Self { child, dir }
    }

    pub(crate) fn start_in(dir: TempDir) -> Self {
        let child = serve(dir.path());
        Self { child, dir }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it dies");
        self.child.wait().expect("it is gone");
    }

    pub(crate) fn folder(&self) -> std::path::PathBuf {
        self.dir.path().to_owned()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        holdstead(self.dir.path()).args(args).stdin(Stdio::null()).output().expect("it runs")
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Opens an ask as a program would, lists it as a person would, and returns its short id.
    pub(crate) fn ask(&self, key: &str, ask: Value) -> String {
        let asked = self.asked(key, ask);
        self.run(&["inbox"]);
        let id = asked["request"]["interactionId"].as_str().unwrap_or_else(|| panic!("{asked}"));
        id[id.len() - 4..].to_owned()
    }

    /// Opens a session of this title whose agent plays this script, and waits until so many asks are open in all.
    #[cfg(unix)]
    async fn waits(&self, title: &str, script: &str, open: usize) -> SessionId {
        let read = |file: &str| std::fs::read_to_string(self.dir.path().join(file)).expect("a file");
        let running: Value = serde_json::from_str(&read("gateway.json")).expect("JSON");
        let url = running["url"].as_str().expect("an address").to_owned();
        let client = Http::new(url, read("token").trim().to_owned());
        let cwd = Some(std::env::temp_dir().display().to_string());
        let opening = OpenSession { title: Some(title.to_owned()), cwd, ..OpenSession::new("scripted") };
        let session = client.open_session(opening).await.expect("a session").session_id;
        let mut inbox = client.inbox_stream().await.expect("a stream");
        client.message(session, SendMessage::new(script)).await.expect("it is said");
        while client.whole_inbox().await.expect("an inbox").asks.len() != open {
            inbox.next_frame().await.expect("a stream").expect("something happens");
        }
        session
    }

    /// Opens an ask as a program would.
    pub(crate) fn asked(&self, key: &str, ask: Value) -> Value {
        let url = self.json(&["open", "--no-open"])["link"].as_str().expect("a link").to_owned();
        let url = url.split("/login").next().expect("an address").to_owned();
        let token = self.json(&["token", "--role", "agent", "--name", "ci"])["token"]
            .as_str()
            .expect("a token")
            .to_owned();
        let mut call = ask;
        call["key"] = json!(key);
        call["toolName"] = json!("deploy");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let http = holdstead_client::requests_to(&url).build().expect("a client");
            let response =
                http.post(format!("{url}/v1/interactions")).bearer_auth(token).json(&call).send().await;
            response.expect("an answer").json().await.expect("JSON")
        })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn serve(dir: &Path) -> Child {
    serve_with(dir, &[])
}

fn serve_with(dir: &Path, flags: &[&str]) -> Child {
    serve_by(holdstead(dir), dir, flags)
}

fn serve_by(mut command: Command, dir: &Path, flags: &[&str]) -> Child {
    let mut child = command
        .args(["serve", "--listen", "127.0.0.1:0", "--json"])
        .args(flags)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    assert!(said["url"].as_str().expect("an address").starts_with("http://127.0.0.1:"));
    child
}

#[cfg(unix)]
#[test]
fn a_gateway_that_is_stopped_as_soon_as_it_listens_ends_in_good_order() {
    let dir = TempDir::new().expect("a folder");
    for _ in 0..5 {
        let mut child = serve(dir.path());
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn approval() -> Value {
    json!({"kind": "approval", "input": {"command": "rm -rf dist && npm run build"}})
}

fn questions() -> Value {
    let question = |id: &str| json!({"id": id.to_lowercase(), "header": id, "question": format!("Which {id}?"), "options": [{"label": "A"}, {"label": "B"}]});
    json!({"kind": "question", "questions": [question("Store"), question("Deploy")]})
}

#[test]
fn an_ask_is_listed_and_answered_and_a_second_answer_loses() {
    let gateway = Gateway::start();
    assert!(text(&gateway.run(&["inbox"]).stdout).starts_with("Nothing waits for you."));
    let id = gateway.ask("k1", approval());
    let inbox = text(&gateway.run(&["inbox"]).stdout);
    assert!(inbox.contains(&id) && inbox.contains("Program ci wants to run deploy {\"command\":"), "{inbox}");
    assert!(inbox.ends_with(&format!("Next: holdstead answer {id}\n")), "{inbox}");
    let whole = gateway.json(&["inbox"])[0]["request"]["interactionId"].as_str().expect("an id").to_owned();

    let answered = gateway.run(&["answer", &id, "--deny", "use pnpm"]);
    assert!(answered.status.success(), "{}", text(&answered.stderr));
    let words = text(&answered.stdout);
    assert!(words.starts_with("Program ci wants to run deploy {") && words.contains("\n✓ Denied"), "{words}");
    let lost = gateway.run(&["answer", &whole, "--approve"]);
    assert_eq!(lost.status.code(), Some(3));
    assert!(text(&lost.stderr).contains("in a terminal denied this first"), "{}", text(&lost.stderr));
}

#[test]
fn a_missing_or_blank_answer_is_not_sent() {
    let gateway = Gateway::start();
    let id = gateway.ask("k1", questions());
    let partial = gateway.run(&["answer", &id, "--set", "Store=A"]);
    assert_eq!(partial.status.code(), Some(5));
    assert_eq!(text(&partial.stderr), "✕ Not sent: Deploy has no answer. Add --set Deploy=…\n");
    let blank = gateway.run(&["answer", &id, "--set", "Store=A", "--set", "Deploy="]);
    assert_eq!(blank.status.code(), Some(5));
    let nothing = gateway.run(&["answer", &id]);
    assert_eq!(nothing.status.code(), Some(2), "without a terminal nothing is assumed");
    let done = gateway.run(&["answer", &id, "--set", "Store=A", "--set", "Deploy=my own words"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(gateway.run(&["answer", &id, "--decline"]).status.code(), Some(3), "it was answered before");
}

#[test]
fn an_option_is_meant_however_it_is_written_and_a_script_can_read_what_failed() {
    let gateway = Gateway::start();
    let id = gateway.ask("k", questions());
    let refused = gateway.run(&["answer", &id, "--set", "store=a", "--json"]);
    let why: Value = serde_json::from_slice(&refused.stderr).expect("JSON");
    assert_eq!(why["exitCode"], 5);
    assert!(why["error"].as_str().expect("words").contains("Deploy has no answer"), "{why}");
    let answered = gateway.json(&["answer", &id, "--set", "store=a", "--set", "deploy=my own words"]);
    let answers = &answered["response"]["answers"];
    assert_eq!(answers[0]["labels"], json!(["A"]), "{answers}");
    assert_eq!(answers[1]["other"], "my own words", "{answers}");
}

#[test]
fn the_doctor_does_not_mind_that_nothing_was_started_yet() {
    let dir = TempDir::new().expect("a folder");
    let output = holdstead(dir.path()).arg("doctor").output().expect("it runs");
    let words = text(&output.stdout);
    assert!(words.contains("! storage  sqlite:") && words.contains("nothing is kept yet"), "{words}");
}

#[test]
fn a_secret_is_read_from_standard_input_and_never_from_the_command() {
    let gateway = Gateway::start();
    let field = json!({"id": "token", "label": "Token", "type": "secret", "required": true});
    let id = gateway.ask("k", json!({"kind": "form", "form": {"fields": [field]}}));
    let open = gateway.run(&["answer", &id, "--set", "token=hunter2"]);
    assert_eq!(open.status.code(), Some(2), "{}", text(&open.stderr));
    let mut child = holdstead(&gateway.folder())
        .args(["answer", &id, "--set", "token=-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("its input").write_all(b"hunter2\n").expect("it reads");
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success());
    let answered: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(answered["response"]["input"], json!({"token": "(secret)"}));
}

#[test]
fn a_token_from_the_environment_is_named_when_it_is_refused() {
    let gateway = Gateway::start();
    let agents = gateway.json(&["token", "--role", "agent", "--name", "release"])["token"].clone();
    for (token, whose) in [
        (
            agents.as_str().expect("a token"),
            "it is named release and has the role agent: it may ask, not answer",
        ),
        ("hs_nobody", "this gateway does not know it"),
    ] {
        let refused = holdstead(&gateway.folder())
            .arg("inbox")
            .env("HOLDSTEAD_TOKEN", token)
            .output()
            .expect("it runs");
        assert_eq!(refused.status.code(), Some(1));
        let words = text(&refused.stderr);
        assert!(words.contains("came from HOLDSTEAD_TOKEN") && words.contains(whose), "{words}");
        assert!(words.contains("unset HOLDSTEAD_TOKEN"), "{words}");
    }
}

#[test]
fn an_agent_that_is_not_installed_is_said_at_once_and_the_doctor_knows() {
    let dir = TempDir::new().expect("a folder");
    std::fs::write(
        dir.path().join("config.toml"),
        "listen = \"127.0.0.1:0\"\n[agents.claude]\nprogram = \"no-such-claude\"\n",
    )
    .expect("it can be written");
    let run = holdstead(dir.path())
        .args(["run", "claude", "--no-open"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stdout));
    let install = "Claude Code is not installed: `no-such-claude` was not found. Install it: npm install -g @anthropic-ai/claude-code";
    assert!(text(&run.stderr).contains(install), "{}", text(&run.stderr));
    let doctor = holdstead(dir.path()).arg("doctor").output().expect("it runs");
    let words = text(&doctor.stdout);
    assert!(words.contains(&format!("! agent    claude: {install}")), "{words}");
    assert!(words.contains("✓ agent    scripted: part of Holdstead"), "{words}");
}

#[cfg(unix)]
#[test]
fn the_doctor_names_an_agents_version_and_does_not_wait_for_one_that_hangs() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TempDir::new().expect("a folder");
    let program = dir.path().join("claude");
    std::fs::write(dir.path().join("config.toml"), format!("[agents.claude]\nprogram = {:?}\n", program))
        .expect("it can be written");
    let doctor = |script: &str| {
        std::fs::write(&program, script).expect("it can be written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it can be set");
        text(&holdstead(dir.path()).arg("doctor").output().expect("it runs").stdout)
    };
    let words = doctor("#!/bin/sh\necho 9.8.7 '(Claude Code)'\n");
    assert!(
        words.contains(&format!("✓ agent    claude: {}, 9.8.7 (Claude Code)", program.display())),
        "{words}"
    );
    // Longer than this test may take: a doctor that waits for it never says anything.
    let words = doctor("#!/bin/sh\nexec sleep 3600\n");
    assert!(words.contains("no answer to `--version` within 5 s"), "{words}");
}

#[test]
fn an_expired_approval_is_dead() {
    let gateway = Gateway::start();
    let mut ask = approval();
    ask["timeoutMs"] = json!(1);
    gateway.ask("k1", ask);
    // The one timer closes it; until then an answer is too late all the same. Looks are counted, not seconds: they take
    // longer on a busy machine.
    let is_gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        text(&gateway.run(&["inbox"]).stdout).starts_with("Nothing")
    });
    assert!(is_gone, "the ask never expired");
}

#[test]
fn asks_survive_a_killed_gateway() {
    let mut gateway = Gateway::start();
    let id = gateway.ask("k1", approval());
    let before = gateway.json(&["inbox"]);
    gateway.kill();
    let down = gateway.run(&["inbox"]);
    assert_eq!(down.status.code(), Some(1));
    assert!(text(&down.stderr).contains("Start one: holdstead serve"), "{}", text(&down.stderr));
    gateway.child = serve(gateway.dir.path());
    assert_eq!(gateway.json(&["inbox"]), before);
    assert!(gateway.run(&["answer", &id, "--approve"]).status.success());
}

#[cfg(unix)]
#[test]
fn stop_says_which_agents_are_parked_and_names_the_others() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let two = "together\napprove Bash {\"command\":\"one\"}\napprove Bash {\"command\":\"two\"}\nend";
    let mut gateway = Gateway::start();
    let one = runtime.block_on(gateway.waits("Fix the tests", "approve Bash {\"command\":\"zero\"}", 1));
    let more = runtime.block_on(gateway.waits("Tidy \u{1b}[2Jup", two, 3));
    let asks = gateway.json(&["inbox"]);
    let pid = gateway.child.id();
    assert_eq!(
        text(&gateway.run(&["stop"]).stdout),
        format!(
            "The gateway (process {pid}) has ended.\n\
             1 agent is parked: its ask stays open, and it goes on at its call when you answer after `holdstead serve`.\n\
             1 agent waited and could not be parked:\n  \
             Tidy ⟨U+001B⟩[2Jup {}: it waits for more than one answer\n\
             To continue: `holdstead serve`, then answer. The agent is told your answer in words when it starts again, and \
             makes an approved call once more.\n\
             3 asks wait in the journal, to be answered then: holdstead serve\n",
            more.short()
        )
    );
    // The next stop says nothing of the last one.
    gateway.child = serve(gateway.dir.path());
    let (pid, stopped) = (gateway.child.id(), gateway.json(&["stop"]));
    assert_eq!((&stopped["stopped"], &stopped["pid"]), (&json!(true), &json!(pid)));
    for none in ["parked", "notParked", "atWork"] {
        assert_eq!(stopped[none], json!([]), "{stopped}");
    }
    assert_eq!(
        std::fs::read_dir(gateway.dir.path()).expect("a folder").flatten().filter(is_report).count(),
        0
    );

    gateway.child = serve(gateway.dir.path());
    let ids = asks.as_array().expect("asks").iter().filter(|ask| ask["sessionId"] == json!(one));
    let ids: Vec<_> = ids.map(|ask| ask["request"]["interactionId"].as_str().expect("an id")).collect();
    let [id] = ids.as_slice() else { panic!("{asks}") };
    assert!(gateway.run(&["answer", id, "--approve"]).status.success());
    runtime.block_on(gateway.waits("Once more", "approve Bash {\"command\":\"three\"}", 3));
    let stopped = gateway.json(&["stop"]);
    assert_eq!(stopped["parked"][0]["title"], "Once more", "{stopped}");
    assert_eq!(stopped["notParked"], json!([]), "{stopped}");
}

#[cfg(unix)]
fn is_report(file: &std::fs::DirEntry) -> bool {
    file.file_name().to_string_lossy().starts_with("stopped")
}

#[test]
fn two_gateways_do_not_share_a_folder() {
    let gateway = Gateway::start();
    let second = gateway.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(2));
    assert!(
        text(&second.stderr).contains("A gateway runs here already at http://127.0.0.1:"),
        "{}",
        text(&second.stderr)
    );
}

#[test]
fn listening_beyond_this_machine_must_be_said() {
    let dir = TempDir::new().expect("a folder");
    let output = holdstead(dir.path()).args(["serve", "--listen", "0.0.0.0:0"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--allow-remote"), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn the_doctor_finds_a_token_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let gateway = Gateway::start();
    let well = gateway.run(&["doctor"]);
    assert!(well.status.success(), "{}", text(&well.stdout));
    let token = gateway.dir.path().join("token");
    assert_eq!(std::fs::metadata(&token).expect("a token").permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).expect("it can be set");
    let ill = gateway.run(&["doctor"]);
    assert_eq!(ill.status.code(), Some(1));
    assert!(text(&ill.stdout).contains("✕ token    readable by others: chmod 600"), "{}", text(&ill.stdout));
}

#[test]
fn a_reader_that_had_enough_is_no_failure() {
    let dir = TempDir::new().expect("a folder");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output =
        holdstead(dir.path()).arg("config").stdout(writer).stderr(Stdio::piped()).output().expect("it runs");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn settings_come_from_file_and_environment_and_a_typo_is_named() {
    let dir = TempDir::new().expect("a folder");
    std::fs::write(dir.path().join("config.toml"), "name = \"ana\"\n").expect("it can be written");
    let output = holdstead(dir.path())
        .args(["config", "--json"])
        .env("HOLDSTEAD_HOLD_AFTER", "5s")
        .output()
        .expect("it runs");
    let config: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&config["name"], &config["hold"]["after"]), (&json!("ana"), &json!("5s")));
    std::fs::write(dir.path().join("config.toml"), "nmae = \"ana\"\n").expect("it can be written");
    let output = holdstead(dir.path()).args(["config"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nmae"), "{}", text(&output.stderr));
}

#[test]
fn settings_are_printed_without_passwords() {
    let dir = TempDir::new().expect("a folder");
    let settings = "store = \"postgres://ana:s3cret@db.example/holdstead\"\n[cluster]\nnotify_url = \"tls://ana:s3cret@nats.example\"\n";
    std::fs::write(dir.path().join("config.toml"), settings).expect("written");
    for args in [&["config"][..], &["config", "--json"]] {
        let output = holdstead(dir.path()).args(args).output().expect("it runs");
        let printed = text(&output.stdout);
        assert!(printed.contains("db.example") && printed.contains("nats.example"), "{printed}");
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}

#[test]
fn it_does_not_start_while_somebody_else_is_localhost() {
    // Without IPv6 nobody can be.
    let Ok(somebody) = std::net::TcpListener::bind("[::1]:0") else { return };
    let listen = format!("127.0.0.1:{}", somebody.local_addr().expect("an address").port());
    let dir = TempDir::new().expect("a folder");
    let output = holdstead(dir.path()).args(["serve", "--listen", &listen]).output().expect("it runs");
    let words = text(&output.stderr);
    assert!(!output.status.success() && output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(words.contains("is held by another program") && words.contains("--listen"), "{words}");
}

#[test]
fn the_version_names_the_commit_and_its_day() {
    let dir = TempDir::new().expect("a folder");
    let output = holdstead(dir.path()).arg("--version").output().expect("it runs");
    let git = Command::new("git").args(["log", "-1", "--format=%h %cs"]).output();
    // A package has no repository.
    let commit = git.ok().filter(|git| git.status.success()).map(|git| text(&git.stdout));
    let said = commit.map(|commit| format!(" ({})", commit.trim())).unwrap_or_default();
    assert_eq!(text(&output.stdout), format!("holdstead {}{said}\n", env!("CARGO_PKG_VERSION")));
}
