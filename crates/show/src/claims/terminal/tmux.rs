//! Terminals that can be typed into and looked at.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tokio::time::sleep;

use crate::{Result, ensure};

const PAUSE: Duration = Duration::from_millis(50);
/// How often it looks before it gives up: 40 s.
const LOOKS: u32 = 800;
/// More than the rest that an ask has after it appears.
const REST: Duration = Duration::from_millis(600);

/// A server of its own, which ends with the show.
#[derive(Debug)]
pub(crate) struct Tmux {
    socket: PathBuf,
    variables: Vec<(&'static str, String)>,
}

impl Tmux {
    pub(crate) fn start(home: &Path, variables: Vec<(&'static str, String)>) -> Result<Self> {
        let tmux = Self { socket: home.join("tmux.socket"), variables };
        // Something has to be open for the options to be kept.
        tmux.run(&["new-session", "-d", "-s", "keep", "-x", "110", "-y", "40", "cat"])?;
        tmux.run(&["set-option", "-g", "remain-on-exit", "on"])?;
        tmux.run(&["set-option", "-g", "escape-time", "0"])?;
        Ok(tmux)
    }

    /// A program at a terminal of this name.
    pub(crate) fn open(&self, name: &str, folder: &Path, program: &[&str]) -> Result<()> {
        let folder = folder.display().to_string();
        let size = ["-x", "110", "-y", "40", "-c", &folder];
        self.run(&[&["new-session", "-d", "-s", name], &size[..], &["--"], program].concat())?;
        Ok(())
    }

    pub(crate) fn close(&self, name: &str) -> Result<()> {
        self.run(&["kill-session", "-t", name]).map(drop)
    }

    /// Letters, as they are.
    pub(crate) fn letters(&self, name: &str, text: &str) -> Result<()> {
        self.run(&["send-keys", "-t", name, "-l", text]).map(drop)
    }

    /// A key by its name: `Enter`, `Escape`, `C-c`.
    pub(crate) fn key(&self, name: &str, key: &str) -> Result<()> {
        self.run(&["send-keys", "-t", name, key]).map(drop)
    }

    /// Letters and Enter, once what is on the screen could be read.
    pub(crate) async fn line(&self, name: &str, text: &str) -> Result<()> {
        sleep(REST).await;
        self.letters(name, text)?;
        self.key(name, "Enter")
    }

    /// The same without Enter.
    pub(crate) async fn press(&self, name: &str, text: &str) -> Result<()> {
        sleep(REST).await;
        self.letters(name, text)
    }

    pub(crate) fn paste(&self, name: &str, text: &str) -> Result<()> {
        self.run(&["set-buffer", "-b", "pasted", text])?;
        self.run(&["paste-buffer", "-p", "-b", "pasted", "-t", name]).map(drop)
    }

    /// All that is and was on the screen.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        self.capture(name, &["-S", "-", "-J"])
    }

    /// What is on the screen now.
    pub(crate) fn screen(&self, name: &str) -> Result<String> {
        self.capture(name, &[])
    }

    fn capture(&self, name: &str, more: &[&str]) -> Result<String> {
        let output = self.run(&[&["capture-pane", "-p", "-t", name], more].concat())?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Waits until these words are or were on the screen, and returns all of it.
    pub(crate) async fn sees(&self, name: &str, words: &str) -> Result<String> {
        self.sees_times(name, words, 1).await
    }

    /// Waits until they were there so many times.
    pub(crate) async fn sees_times(&self, name: &str, words: &str, times: usize) -> Result<String> {
        for _ in 0..LOOKS {
            let text = self.text(name)?;
            if text.matches(words).count() >= times {
                return Ok(text);
            }
            sleep(PAUSE).await;
        }
        Err(format!("`{words}` was not on the screen {times} times:\n{}", self.text(name)?.trim_end()).into())
    }

    /// Waits until these words are on the screen now.
    pub(crate) async fn shows(&self, name: &str, words: &str) -> Result<String> {
        for _ in 0..LOOKS {
            let screen = self.screen(name)?;
            if screen.contains(words) {
                return Ok(screen);
            }
            sleep(PAUSE).await;
        }
        Err(format!("`{words}` is not on the screen:\n{}", self.screen(name)?.trim_end()).into())
    }

    /// Everything in it ends.
    pub(crate) fn end(&self) {
        // It may be gone.
        drop(self.run(&["kill-server"]));
    }

    fn run(&self, args: &[&str]) -> Result<Output> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(args);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().map_err(|error| format!("tmux could not be run: {error}"))?;
        let words = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tmux {args:?}: {words}");
        Ok(output)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Everything that runs in it goes with it; it may be gone already.
        drop(self.run(&["kill-server"]));
    }
}
