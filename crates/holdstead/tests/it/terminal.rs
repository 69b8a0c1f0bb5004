//! A person at a real terminal: the binary on a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::{Gateway, approval, holdstead, text};

const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal with the binary at it.
struct Terminal {
    child: Child,
    keys: File,
    said: Arc<Mutex<Vec<u8>>>,
    /// How much of it was looked at.
    read: usize,
}

impl Terminal {
    fn start(gateway: &Gateway, args: &[&str]) -> Self {
        Self::start_with(gateway, args, &[])
    }

    fn start_with(gateway: &Gateway, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = holdstead(&gateway.folder());
        command.envs(variables.iter().copied());
        Self::at(command, args)
    }

    fn at(mut command: Command, args: &[&str]) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&control).expect("it is ours");
        unlockpt(&control).expect("it is unlocked");
        let name = ptsname(&control, Vec::new()).expect("it has a name");
        let screen =
            File::options().read(true).write(true).open(name.to_str().expect("a path")).expect("it opens");
        let stdio = || Stdio::from(OwnedFd::from(screen.try_clone().expect("it can be shared")));
        let child = command
            .args(args)
            .env("NO_COLOR", "1")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .expect("it starts");
        let keys = File::from(control);
        let mut screen = keys.try_clone().expect("it can be shared");
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                heard.lock().expect("nobody panicked").extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, said, read: 0 }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it can be typed");
    }

    /// Waits for these words after the ones that were waited for before.
    fn expect(&mut self, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let said = self.said.lock().expect("nobody panicked").clone();
            // A read may end within a character.
            if let Some(at) = said[self.read..].windows(words.len()).position(|part| part == words.as_bytes())
            {
                self.read += at + words.len();
                return;
            }
            assert!(Instant::now() < deadline, "never said `{words}`:\n{}", text(&said));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may be gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const PROMPT: &str = "[a]pprove once";
const ENTER: &str = "\r";
const ESCAPE: &str = "\x1b";
const CTRL_C: &str = "\x03";
const HINT: &str = "Enter sends this to the agent as a message";

/// A folder in which no gateway runs until a command starts one.
struct Folder {
    dir: TempDir,
    work: TempDir,
}

impl Folder {
    fn new() -> Self {
        let (dir, work) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
        std::fs::write(dir.path().join("config.toml"), "listen = \"127.0.0.1:0\"\n").expect("settings");
        Self { dir, work }
    }

    fn command(&self) -> Command {
        let mut command = holdstead(self.dir.path());
        command.current_dir(self.work.path());
        command
    }

    fn run(&self, args: &[&str]) -> String {
        let output = self.command().args(args).stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[args, &["--json"]].concat())).expect("JSON")
    }

    /// How many processes serve this folder, or mean to.
    fn gateways(&self) -> usize {
        let dir = self.dir.path().to_str().expect("UTF-8");
        let serves = |process: &std::path::Path| {
            let [words, variables] = ["cmdline", "environ"]
                .map(|file| std::fs::read(process.join(file)).map(|read| text(&read)).unwrap_or_default());
            words.split('\0').any(|word| word == "serve") && (words.contains(dir) || variables.contains(dir))
        };
        let processes = std::fs::read_dir("/proc").expect("processes");
        processes.flatten().filter(|process| serves(&process.path())).count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may be stopped already.
        drop(self.command().arg("stop").output());
    }
}

#[test]
fn what_was_typed_before_an_ask_could_be_read_does_not_answer_it() {
    let gateway = Gateway::start();
    let script = "approve Bash {\"command\":\"one\"}\napprove Bash {\"command\":\"two\"}\napprove Bash {\"command\":\"three\"}";
    let mut terminal = Terminal::start(&gateway, &["run", "scripted", script, "--no-open"]);
    terminal.expect("Run one");
    terminal.expect(PROMPT);
    // The second line is meant for nothing that can be seen yet: it does not approve what comes next.
    terminal.press("a\ra\r");
    terminal.expect("✓ Approved");
    terminal.expect("Run two");
    // It stands in the message, where it answers nothing.
    terminal.expect(HINT);
    terminal.press(ESCAPE);
    terminal.expect(PROMPT);
    // Denied with no reason, and the beginning of a line behind it that is ended when the next ask is there.
    terminal.press("d\r\ra");
    terminal.expect("✓ Denied");
    terminal.expect("Run three");
    terminal.expect(HINT);
    // Just when it came up, Enter does not even send the message.
    terminal.press(ENTER);
    terminal.press(ESCAPE);
    terminal.expect(PROMPT);
    // Bare Enter, and pasted words, neither.
    terminal.press(ENTER);
    terminal.press("\x1b[200~a\r\x1b[201~");
    terminal.expect("Pasted text decides nothing");
    assert_eq!(gateway.json(&["inbox"])[0]["state"], "open");
    terminal.press("d\r\r");
    terminal.expect("✓ Denied");
}

#[test]
fn answer_reads_only_what_is_typed_after_the_ask_was_shown() {
    let gateway = Gateway::start();
    let digits = gateway.ask("k", approval());
    let mut terminal = Terminal::start(&gateway, &["answer", &digits]);
    terminal.press("a\r");
    terminal.expect("Program ci wants to run deploy");
    terminal.expect(PROMPT);
    terminal.press(ESCAPE);
    terminal.expect("Nothing was decided.");
    assert_eq!(gateway.json(&["inbox"])[0]["state"], "open");
}

#[test]
fn what_is_marked_is_approved_by_its_word_only() {
    let gateway = Gateway::start();
    let script = "approve Bash {\"command\":\"rm -rf dist\"}";
    let mut terminal = Terminal::start(&gateway, &["run", "scripted", script, "--no-open"]);
    terminal.expect("! Look twice. Deletes: rm -rf");
    terminal.expect(PROMPT);
    terminal.press("a\r");
    terminal.expect("Type yes to approve it");
    for no in ["\r", "y\r"] {
        terminal.press(no);
    }
    terminal.expect("Not approved.");
    terminal.expect(PROMPT);
    terminal.press("a\r");
    terminal.expect("Type yes to approve it");
    terminal.press("yes\r");
    terminal.expect("✓ Approved");
}

#[test]
fn an_agent_is_heard_and_talked_to_and_its_words_move_no_cursor() {
    let gateway = Gateway::start();
    let script = "say Good \u{1b}[2Jmorning.\ntool Bash {\"command\":\"npm test\"} =! exit 1";
    let mut terminal = Terminal::start(&gateway, &["run", "scripted", script, "--no-open"]);
    terminal.expect("Good ⟨U+001B⟩[2Jmorning.");
    terminal.expect("Run npm test: exit 1");
    terminal.press("say And a good evening.\r");
    terminal.expect("› say And a good evening.");
    terminal.expect("And a good evening.");
}

#[test]
fn escape_stops_a_turn_that_runs_and_nothing_else() {
    let gateway = Gateway::start();
    let script = "approve Bash {\"command\":\"one\"}\nsay Now I wait.\nwait 10m";
    let mut terminal = Terminal::start(&gateway, &["run", "scripted", script, "--no-open"]);
    terminal.expect("Esc stops a turn");
    terminal.expect(PROMPT);
    std::thread::sleep(Duration::from_millis(500));
    terminal.press(ESCAPE);
    terminal.expect("It stays open.");
    terminal.press(ESCAPE);
    assert_eq!(gateway.json(&["inbox"])[0]["state"], "open", "Esc takes no ask back");
    terminal.press("\t");
    terminal.expect(PROMPT);
    std::thread::sleep(Duration::from_millis(500));
    terminal.press("a\r");
    terminal.expect("Now I wait.");
    terminal.expect("Esc stops it");
    // The first Esc drops what is typed.
    terminal.press("half a line");
    terminal.expect("half a line");
    terminal.press(ESCAPE);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(gateway.json(&["sessions"])[0]["state"], "running");
    terminal.press(ESCAPE);
    terminal.expect("Stopped by ");
    let stopped = || gateway.json(&["sessions"])[0]["lastStop"].clone();
    assert_eq!(stopped(), "interrupted");
    terminal.press("say And on.\r");
    terminal.expect("› say And on.");
    terminal.expect("And on.");
}

#[test]
fn a_command_is_edited_in_the_editor_of_the_person() {
    let gateway = Gateway::start();
    let editor = gateway.folder().join("editor");
    std::fs::write(&editor, "#!/bin/sh\ngrep -qx 'npm test' \"$1\" && echo 'pnpm test' > \"$1\"\n")
        .expect("a script");
    let script = "approve Bash {\"command\":\"npm test\"}";
    let editor = format!("sh {}", editor.display());
    let mut terminal = Terminal::start_with(
        &gateway,
        &["run", "scripted", script, "--no-open"],
        &[("EDITOR", &editor), ("VISUAL", "")],
    );
    terminal.expect(PROMPT);
    terminal.press("e\r");
    terminal.expect("+pnpm test");
    terminal.expect("[a]pprove as edited");
    terminal.press("a\r");
    terminal.expect("✓ Approved");
    let left = std::fs::read_dir(gateway.folder()).expect("a folder").flatten();
    let left: Vec<_> = left.filter(|file| file.file_name().to_string_lossy().starts_with("edit-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_the_agent_running_and_attach_comes_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let script = "say Before you left.\napprove Bash {\"command\":\"one\"}\nsay After you came back.";
    let mut terminal = Terminal::at(folder.command(), &["run", "scripted", script, "--no-open"]);
    terminal.expect("come back: holdstead attach ");
    let log = folder.dir.path().join("gateway.log");
    terminal.expect(&format!("What it has to say is in {}", log.display()));
    assert_eq!(std::fs::metadata(&log).expect("a log").permissions().mode() & 0o777, 0o600);
    terminal.expect(PROMPT);
    terminal.press(CTRL_C);
    terminal.expect("It goes on without you. Come back: holdstead attach ");
    assert!(terminal.child.wait().expect("it ends").success());

    let session = folder.json(&["sessions"])[0]["sessionId"].as_str().expect("a session").to_owned();
    let mut terminal = Terminal::at(folder.command(), &["attach", &session[session.len() - 4..]]);
    terminal.expect("Before you left.");
    terminal.expect("Waiting for you");
    terminal.expect(PROMPT);
    terminal.press("a\r");
    terminal.expect("✓ Approved");
    terminal.expect("After you came back.");
    terminal.press(CTRL_C);
    assert!(terminal.child.wait().expect("it ends").success());

    let log = std::fs::read_to_string(&log).expect("a log");
    assert!(log.contains("Holdstead listens on") && !log.contains("/login"), "{log}");
    assert!(folder.run(&["stop"]).contains("has ended"));
    assert_eq!(folder.run(&["stop"]), "No gateway runs here.\n");
    let mut terminal = Terminal::at(folder.command(), &["attach", &session[session.len() - 4..]]);
    terminal.expect("After you came back.");
}

#[test]
fn an_agent_that_is_not_started_from_here_is_refused_before_anything_is_started() {
    let folder = Folder::new();
    let run = |agent: &str| {
        let output = folder.command().args(["run", agent, "--no-open"]).stdin(Stdio::null()).output();
        let output = output.expect("it runs");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let refused = || {
        for (agent, why) in [
            ("codex", "`codex` is not started from here: say `holdstead connect codex` once"),
            ("opencode", "`opencode` is not started from here"),
            ("gpt", "There is no agent called `gpt`: this gateway hosts claude, scripted."),
        ] {
            let (code, said, failure) = run(agent);
            assert_eq!((code, said.as_str()), (Some(5), ""), "{failure}");
            assert!(failure.contains(why), "{failure}");
        }
    };
    refused();
    assert_eq!(folder.run(&["stop"]), "No gateway runs here.\n");
    folder.json(&["run", "scripted", "say hello", "--no-open"]);
    refused();
    assert_eq!(folder.json(&["sessions"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn run_names_the_machine_it_is_typed_on_where_another_one_is_connected() {
    let gateway = Gateway::start();
    let script = "approve Bash {\"command\":\"one\"}";
    let began = gateway.json(&["run", "scripted", script, "--no-open"]);
    let url = began["url"].as_str().expect("an address").trim_end_matches('/');
    let token = gateway.json(&["token", "--role", "runner", "--name", "laptop"]);
    let home = TempDir::new().expect("a folder");
    let mut laptop = holdstead(home.path());
    laptop
        .args(["runner", "--gateway", url])
        .env("HOLDSTEAD_TOKEN", token["token"].as_str().expect("a token"));
    let mut laptop = laptop.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts");
    let sessions = |name: &str| {
        let machines = gateway.json(&["runners"]);
        let found = machines.as_array().expect("a list").iter().find(|one| one["name"] == name).cloned();
        found.map(|machine| machine["sessions"].clone())
    };
    let until = |name: &str, count: u32| {
        let deadline = Instant::now() + PATIENCE;
        while sessions(name) != Some(json!(count)) {
            assert!(Instant::now() < deadline, "{name} has {:?} agents, and not {count}", sessions(name));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("laptop", 0);
    gateway.json(&["run", "scripted", script, "--no-open"]);
    until("gateway", 2);
    gateway.json(&["run", "scripted", script, "--no-open", "--runner", "laptop"]);
    until("laptop", 1);
    laptop.kill().expect("it dies");
    laptop.wait().expect("it is gone");
}

#[test]
fn stop_ends_whoever_holds_the_folder_and_says_what_was_open() {
    let gateway = Gateway::start();
    gateway.ask("k", approval());
    let stopped = gateway.run(&["stop"]);
    let words = text(&stopped.stdout);
    assert!(words.contains("has ended") && words.contains("1 ask waits in the journal"), "{words}");
    assert_eq!(text(&gateway.run(&["stop"]).stdout), "No gateway runs here.\n");
    let elsewhere = gateway.run(&["stop", "--url", "http://127.0.0.1:1"]);
    assert_eq!(elsewhere.status.code(), Some(2));
}

#[test]
fn commands_at_once_start_one_gateway() {
    let folder = Folder::new();
    let start = || {
        let mut command = folder.command();
        command.args(["run", "scripted", "say hello", "--no-open", "--json"]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let both: Vec<Child> = (0..3).map(|_| start()).collect();
    let urls: Vec<Value> = both
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", text(&output.stderr));
            serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["url"].clone()
        })
        .collect();
    assert!(urls.iter().all(|url| *url == urls[0]), "{urls:?}");
    let sessions = folder.json(&["sessions"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(3), "{sessions}");
    // None of those that lost the race waits to take the folder once the first is stopped: each is gone in a moment.
    let until = Instant::now() + PATIENCE;
    while folder.gateways() != 1 {
        assert!(Instant::now() < until, "{} gateways", folder.gateways());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_form_takes_any_value_and_keeps_it_over_an_error() {
    let gateway = Gateway::start();
    let fields = json!([
        {"id": "version", "label": "Version", "type": "text", "required": true},
        {"id": "mail", "label": "Mail", "type": "text", "format": "email", "required": true},
    ]);
    let digits = gateway.ask("k", json!({"kind": "form", "form": {"fields": fields}}));
    let mut terminal = Terminal::start(&gateway, &["answer", &digits]);
    terminal.expect("Version: ");
    terminal.press("q\r");
    terminal.expect("Mail: ");
    terminal.press("k\r");
    terminal.expect("✕");
    terminal.expect("Mail: k");
    terminal.press("@example.org\r");
    terminal.expect("✓ ");
}
