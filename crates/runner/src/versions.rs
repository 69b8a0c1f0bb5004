//! Asks a program for its version.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use holdstead_core::policy::programs::{Installed, KeptBy};

/// A program has so long to say its version.
const PATIENCE: Duration = Duration::from_secs(2);
/// So much of what it prints is read.
const PRINTED: u64 = 4_096;

/// Programs that were asked, each with its name and as it was then. One name may be a link to a program of many names.
type Asked = HashMap<(String, PathBuf, Option<SystemTime>), Installed>;
static ASKED: LazyLock<Mutex<Asked>> = LazyLock::new(Mutex::default);

/// `program` is a binary that only an administrator can change.
pub(crate) fn ask(name: &str, program: &Path) -> Installed {
    let changed = program.metadata().and_then(|meta| meta.modified()).ok();
    let key = (name.to_owned(), program.to_owned(), changed);
    if let Some(known) = ASKED.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return known.clone();
    }
    // One that did not answer in time may do so the next time.
    let Some(printed) = start(name, program) else { return Installed::Unknown };
    let installed = installed(name, &printed);
    ASKED.lock().unwrap_or_else(PoisonError::into_inner).insert(key, installed.clone());
    installed
}

/// ELF, and the two forms of macOS.
pub(crate) fn is_binary(program: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok()
        && matches!(magic, [0x7f, b'E', b'L', b'F'] | [0xcf, 0xfa, 0xed, 0xfe] | [0xca, 0xfe, 0xba, 0xbe])
}

/// What it prints.
fn start(name: &str, program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.args(question(name, program)).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    let mut child = command.spawn().ok()?;
    let (send, printed) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            drop(output.take(PRINTED).read_to_end(&mut text));
            drop(send.send(String::from_utf8_lossy(&text).into_owned()));
        });
    }
    let printed = printed.recv_timeout(PATIENCE).ok();
    drop(child.kill());
    drop(child.wait());
    printed
}

fn installed(name: &str, printed: &str) -> Installed {
    match read(name, printed) {
        Some((implementation, _)) if implementation.starts_with("bsd") => Installed::Bsd,
        Some((implementation, version)) => {
            Installed::Known { implementation, version, kept_by: KeptBy::Administrator }
        }
        None if cfg!(any(
            target_os = "macos",
            target_os = "freebsd",
            target_os = "openbsd",
            target_os = "netbsd"
        )) =>
        {
            Installed::Bsd
        }
        None => Installed::Unknown,
    }
}

fn question(name: &str, program: &Path) -> &'static [&'static str] {
    match program.file_name().and_then(std::ffi::OsStr::to_str) {
        _ if name == "go" => &["version"],
        Some("mawk") => &["-W", "version"],
        Some(_) | None => &["--version"],
    }
}

/// The implementation and the version that the first line tells: `ls (GNU coreutils) 9.1`, `git version 2.39.5`,
/// `jq-1.6`. One without a name has its program's.
fn read(name: &str, printed: &str) -> Option<(String, String)> {
    let line = printed.lines().find(|line| !line.trim().is_empty())?.replace("version go", "version ");
    let is_start = |at: usize| {
        let before = line[..at].trim_end_matches(['v', 'V']);
        line[at..].starts_with(|c: char| c.is_ascii_digit())
            && (before.is_empty() || before.ends_with([' ', '-', '\t']))
    };
    let at = line.char_indices().map(|(at, _)| at).find(|at| is_start(*at))?;
    let version = line[at..].split([' ', ',', '\t']).next().unwrap_or_default();
    let said = line[..at].trim_end_matches(['v', 'V', ' ', '-', '\t']);
    let said = match said.split_once('(') {
        Some((_, inner)) => inner.trim_end_matches([')', ' ']),
        None => said.rsplit_once(" from ").map_or(said, |(_, package)| package),
    };
    let said = said.to_ascii_lowercase();
    let said = said.trim_start_matches("gnu ").trim_end_matches("version").trim();
    // `GNU Binutils for Ubuntu`
    let said = said.split_once(" for ").map_or(said, |(package, _)| package);
    let implementation = if said.is_empty() { name.to_owned() } else { said.replace(' ', "-") };
    Some((implementation, version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print() {
        for (name, printed, expected) in [
            ("ls", "ls (GNU coreutils) 9.1\nCopyright", Some(("coreutils", "9.1"))),
            ("ls", "ls 0.0.17\n", Some(("ls", "0.0.17"))),
            ("ls", "ls (uutils coreutils) 0.1.0", Some(("uutils-coreutils", "0.1.0"))),
            ("git", "git version 2.39.5 (Apple Git-154)", Some(("git", "2.39.5"))),
            ("rg", "ripgrep 13.0.0\n-SIMD", Some(("ripgrep", "13.0.0"))),
            ("gawk", "GNU Awk 5.2.1, API 3.2", Some(("awk", "5.2.1"))),
            ("awk", "awk version 20220122", Some(("awk", "20220122"))),
            ("mawk", "mawk 1.3.4 20200120", Some(("mawk", "1.3.4"))),
            ("tree", "tree v2.1.0 © 1996 - 2022", Some(("tree", "2.1.0"))),
            ("jq", "jq-1.6", Some(("jq", "1.6"))),
            ("file", "file-5.44\nmagic file from /etc/magic", Some(("file", "5.44"))),
            ("column", "column from util-linux 2.38.1", Some(("util-linux", "2.38.1"))),
            ("go", "go version go1.19.8 linux/amd64", Some(("go", "1.19.8"))),
            ("strings", "GNU strings (GNU Binutils for Debian) 2.40", Some(("binutils", "2.40"))),
            ("strings", "GNU strings version 2.41-32.fc42", Some(("strings", "2.41-32.fc42"))),
            ("npm", "10.8.2", Some(("npm", "10.8.2"))),
            ("tsc", "Version 5.9.3", Some(("tsc", "5.9.3"))),
            (
                "grep",
                "grep (BSD grep, GNU compatible) 2.6.0-FreeBSD",
                Some(("bsd-grep,-gnu-compatible", "2.6.0-FreeBSD")),
            ),
            ("nothing", "usage: nothing", None),
            ("nothing", "", None),
        ] {
            let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
            assert_eq!(read(name, printed), expected, "{printed}");
        }
    }
}
