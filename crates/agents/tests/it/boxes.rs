//! Boxes around a real process: what it can reach of the gateway's own, and what it still needs.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use holdstead_agents::claude_code::ClaudeCodeDriver;
use holdstead_agents::host::Host;
use holdstead_agents::{Agent, AgentEvent, BoxSetting, Boxes, Driver as _, StartError};
use holdstead_protocol::AgentBox;
use tempfile::TempDir;

use crate::{PATIENCE, launch};

const SECRET: &str = "hs_secret";
const BOXES: [(BoxSetting, AgentBox); 2] =
    [(BoxSetting::Bubblewrap, AgentBox::Bubblewrap), (BoxSetting::Landlock, AgentBox::Landlock)];

/// A home with a project and the gateway's folders in it, and a database elsewhere.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        for folder in [".config/holdstead", ".local/share/holdstead", ".local/share/other", "db", "project"] {
            std::fs::create_dir_all(home.at(folder)).expect("a folder");
        }
        for file in [".config/holdstead/token", ".local/share/holdstead/holdstead.db", "db/own.db"] {
            std::fs::write(home.at(file), SECRET).expect("a file");
        }
        std::fs::write(home.at("project/notes"), "notes").expect("a file");
        std::fs::write(home.at("profile"), "profile").expect("a file");
        home
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// An agent that runs this script in place of Claude Code, in the project.
    async fn start(&self, setting: BoxSetting, script: &str) -> Result<Agent, StartError> {
        let program = self.at("project/agent");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a script");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("it can be run");
        let private = [".config/holdstead", ".local/share/holdstead", "db/own.db", "db/own.db-wal"];
        let boxes = Boxes::new(setting, &private.map(|path| self.at(path)));
        let host = env!("CARGO_BIN_EXE_holdstead-scripted-agent").to_owned();
        let host = Host::new(vec![host, "agent-host".to_owned()], boxes);
        let launches = self.at(".local/share/holdstead/launches");
        let driver = ClaudeCodeDriver::new(
            host,
            program.display().to_string(),
            launches,
            self.at(".local/share/holdstead/kept"),
        );
        driver.start(launch(&self.at("project"))).await
    }

    /// What the script wrote to its stderr, and its exit code.
    async fn run(&self, setting: BoxSetting, script: &str) -> (String, Option<i32>) {
        let mut agent = self.start(setting, script).await.expect("it starts");
        loop {
            let event = tokio::time::timeout(PATIENCE, agent.events.recv()).await.expect("it ends in time");
            if let AgentEvent::Exited(exit) = event.expect("its exit comes last") {
                return (exit.stderr, exit.code);
            }
        }
    }
}

/// Another process of this account, with a secret in its environment and an open file.
struct Other(std::process::Child);

impl Other {
    fn new() -> Self {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(SECRET.as_bytes()).expect("a secret");
        let mut command = Command::new("sleep");
        Self(command.arg("60").env("OTHERS", SECRET).stdin(file).spawn().expect("it starts"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test]
async fn the_gateways_files_and_memory_are_out_of_reach() {
    let other = Other::new();
    let pid = other.0.id();
    let attempts = [
        "cat ../.config/holdstead/token",
        "cat ../.local/share/holdstead/holdstead.db",
        "cat ../db/own.db",
        "cat ../db/own.db-wal",
        "cat /proc/self/root$PWD/../.config/holdstead/token",
        "mv ../.config/holdstead/token stolen && cat stolen",
        "ln ../.config/holdstead/token stolen && cat stolen",
        "ln -s ../.config/holdstead/token stolen; cat stolen",
        &format!("cat /proc/{pid}/environ"),
        &format!("exec 3< /proc/{pid}/mem && echo {SECRET}"),
        &format!("cat /proc/{pid}/fd/0"),
        &format!("kill -9 {pid} && echo {SECRET}"),
        &format!("echo mine > ../.config/holdstead/token && echo {SECRET}"),
        &format!("echo mine > ../.config/holdstead/new && echo {SECRET}"),
        &format!("rm ../.config/holdstead/token && echo {SECRET}"),
        &format!("truncate -s 0 ../db/own.db && echo {SECRET}"),
        &format!("mv ../db/own.db ../db/other.db && echo {SECRET}"),
        // What an agent with namespaces of its own could try.
        "unshare -Urm sh -c 'umount $PWD/../.config/holdstead; cat ../.config/holdstead/token'",
        "umount $PWD/../.config/holdstead; cat ../.config/holdstead/token",
    ];
    for (setting, _) in &BOXES {
        for attempt in attempts {
            let home = Home::new();
            std::fs::write(home.at("db/own.db-wal"), SECRET).expect("a file");
            let (said, _) = home.run(*setting, &format!("({attempt}) >&2")).await;
            assert!(!said.contains(SECRET), "{setting:?}: `{attempt}` said {said}");
            for file in [".config/holdstead/token", "db/own.db"] {
                let now = std::fs::read_to_string(home.at(file)).expect("it is still there");
                assert_eq!(now, SECRET, "{setting:?}: `{attempt}` changed {file}");
            }
            assert!(!home.at(".config/holdstead/new").exists(), "{setting:?}: `{attempt}`");
        }
    }
    // Without a box the same account reads all of it: the attempts are real.
    for attempt in &attempts[..11] {
        let home = Home::new();
        std::fs::write(home.at("db/own.db-wal"), SECRET).expect("a file");
        let (said, _) = home.run(BoxSetting::None, &format!("({attempt}) >&2")).await;
        assert!(said.contains(SECRET), "`{attempt}` said {said}");
    }
}

/// Each writes back what it read, and no other value.
#[tokio::test]
async fn the_kernels_settings_cannot_be_written() {
    let files = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/vm/swappiness",
        "/proc/self/../sys/kernel/core_pattern",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/module/kernel/parameters/panic",
    ];
    for (setting, _) in &BOXES {
        for file in files.iter().filter(|file| std::path::Path::new(file).exists()) {
            let write_back = format!("cp {file} now && (cat now > {file}) 2> /dev/null && echo written >&2");
            let (said, _) = Home::new().run(*setting, &write_back).await;
            assert!(!said.contains("written"), "{setting:?}: {file}: {said}");
        }
    }
}

#[tokio::test]
async fn an_agent_has_all_that_it_needs() {
    // The settings it was started with, its project, its home, other programs' data, its own children.
    let script = r#"set -e
        while [ "$1" != --settings ]; do shift; done
        grep -q deny "$2"
        grep -q notes notes
        echo new > made; mkdir deep; mv made deep/made; grep -q new deep/made
        grep -q profile ../profile
        echo more >> ../profile
        echo data > ../.local/share/other/data
        ls .. > /dev/null
        echo x > /dev/null
        sleep 60 & kill $!
        test "$(cat /proc/self/comm)" = cat
        echo all well >&2
        exit 7"#;
    for (setting, expected) in BOXES {
        let home = Home::new();
        assert_eq!(home.run(setting, script).await, ("all well".to_owned(), Some(7)), "{setting:?}");
        let agent = home.start(setting, "sleep 60").await.expect("it starts");
        assert_eq!(agent.boxed, expected);
    }
    let agent = Home::new().start(BoxSetting::None, "sleep 60").await.expect("it starts");
    assert!(matches!(&agent.boxed, AgentBox::None { why } if why.contains("settings")), "{:?}", agent.boxed);
}

#[tokio::test]
async fn an_agent_has_no_terminal_but_its_own() {
    for setting in [BoxSetting::Bubblewrap, BoxSetting::Landlock, BoxSetting::None] {
        let (said, _) = Home::new().run(setting, "(echo x > /dev/tty) 2> /dev/null || echo none >&2").await;
        assert_eq!(said, "none", "{setting:?}");
    }
}

/// A process that leaves the agent's group stays in its namespace, and goes with it.
#[tokio::test]
async fn in_bubblewrap_nothing_outlives_the_agent() {
    let home = Home::new();
    let pipe = home.at("project/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let script = "setsid sh -c 'echo up; sleep 3600' > pipe & cat > /dev/null";
    let mut agent = home.start(BoxSetting::Bubblewrap, script).await.expect("it starts");
    let up = in_time(move || {
        let mut pipe = BufReader::new(File::open(pipe).expect("a pipe"));
        pipe.read_line(&mut String::new()).expect("a line");
        pipe
    });
    let mut pipe = up.await;
    agent.input.kill();
    while agent.events.recv().await.is_some() {}
    // It ends when no process has it open any more.
    in_time(move || pipe.read_to_end(&mut Vec::new()).expect("its end")).await;
}

async fn in_time<T: Send + 'static>(blocks: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(blocks);
    tokio::time::timeout(PATIENCE, done).await.expect("it comes in time").expect("it does not panic")
}
