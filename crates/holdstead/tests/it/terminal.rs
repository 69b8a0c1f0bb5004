//! A person at a real terminal: the binary on a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::cli::{Gateway, approval, holdstead};

const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal with the binary at it.
struct Terminal {
    child: Child,
    keys: File,
    said: Arc<Mutex<String>>,
    /// How much of it was looked at.
    read: usize,
}

impl Terminal {
    fn start(gateway: &Gateway, args: &[&str]) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&control).expect("it is ours");
        unlockpt(&control).expect("it is unlocked");
        let name = ptsname(&control, Vec::new()).expect("it has a name");
        let screen =
            File::options().read(true).write(true).open(name.to_str().expect("a path")).expect("it opens");
        let stdio = || Stdio::from(OwnedFd::from(screen.try_clone().expect("it can be shared")));
        let child = holdstead(&gateway.folder())
            .args(args)
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .expect("it starts");
        let keys = File::from(control);
        let mut screen = keys.try_clone().expect("it can be shared");
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                heard.lock().expect("nobody panicked").push_str(&String::from_utf8_lossy(&bytes[..count]));
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
            if let Some(at) = said[self.read..].find(words) {
                self.read += at + words.len();
                return;
            }
            assert!(Instant::now() < deadline, "never said `{words}`:\n{said}");
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

const PROMPT: &str = "(no default; q leaves): ";

#[test]
fn what_was_typed_before_an_ask_could_be_read_does_not_answer_it() {
    let gateway = Gateway::start();
    let script = "approve Bash {\"command\":\"one\"}\napprove Bash {\"command\":\"two\"}\napprove Bash {\"command\":\"three\"}";
    let mut terminal = Terminal::start(&gateway, &["run", "scripted", script, "--no-open"]);
    terminal.expect("Run one");
    terminal.expect(PROMPT);
    // The second line is meant for nothing that can be seen yet: it does not approve what comes next.
    terminal.press("a\na\n");
    terminal.expect("✓ Approved");
    terminal.expect("Run two");
    terminal.expect(PROMPT);
    // Denied with no reason, and the beginning of a line behind it that is ended when the next ask is there.
    terminal.press("d\n\na");
    terminal.expect("✓ Denied");
    terminal.expect("Run three");
    terminal.expect(PROMPT);
    terminal.press("\n");
    terminal.expect(PROMPT);
    terminal.press("d\n\n");
    terminal.expect("✓ Denied");
}

#[test]
fn answer_reads_only_what_is_typed_after_the_ask_was_shown() {
    let gateway = Gateway::start();
    let digits = gateway.ask("k", approval());
    let mut terminal = Terminal::start(&gateway, &["answer", &digits]);
    terminal.press("a\n");
    terminal.expect("Run rm -rf dist");
    terminal.expect(PROMPT);
    terminal.press("q\n");
    terminal.expect("Nothing was decided.");
    assert_eq!(gateway.json(&["inbox"])[0]["state"], "open");
}
