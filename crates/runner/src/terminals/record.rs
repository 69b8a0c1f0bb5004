//! A program's own record of its conversation: a file of lines that grows.

use std::path::{Path, PathBuf};

use holdstead_agents::regular::{Links, NotRead, Regular};

/// The longest line that is read. Longer ones hold whole files, for the program alone.
const LONGEST: usize = 16 * 1024 * 1024;
/// So much is read at once.
const AT_ONCE: u64 = 1024 * 1024;
/// So much of the end is looked through for what was missed.
const TAIL: u64 = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Record {
    path: Option<PathBuf>,
    /// What was read, up to here.
    at: u64,
    /// A line that is not complete.
    rest: Vec<u8>,
}

impl Record {
    /// One that is listened to from its first line on.
    pub(super) fn from_its_beginning(path: PathBuf) -> Self {
        Self { path: Some(path), ..Self::default() }
    }

    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path.as_deref() == Some(path)
    }

    /// It is there. Of one that is new, what stands there was said before anybody listened.
    pub(super) fn is_at(&mut self, path: Option<PathBuf>) {
        if let Some(path) = path.filter(|path| self.path.as_ref() != Some(path)) {
            self.at = length(&path);
            self.rest.clear();
            self.path = Some(path);
        }
    }

    /// The complete lines since the last time, of about a megabyte.
    pub(super) fn new_lines(&mut self) -> Vec<String> {
        let Some(path) = &self.path else { return Vec::new() };
        let Ok(file) = open(path) else { return Vec::new() };
        let Ok(bytes) = file.read(self.at, AT_ONCE) else { return Vec::new() };
        self.at += bytes.len() as u64;
        self.rest.extend_from_slice(&bytes);
        let lines = whole_lines(&mut self.rest);
        if self.rest.len() > LONGEST {
            self.rest.clear();
        }
        lines
    }

    /// The last lines before those.
    pub(super) fn last_lines(&self) -> Vec<String> {
        let Some(path) = &self.path else { return Vec::new() };
        let from = self.at.saturating_sub(TAIL);
        let Ok(file) = open(path) else { return Vec::new() };
        let Ok(mut bytes) = file.read(from, self.at - from) else { return Vec::new() };
        let mut lines = whole_lines(&mut bytes);
        if from > 0 && !lines.is_empty() {
            // Its beginning is missing.
            lines.remove(0);
        }
        lines
    }
}

fn whole_lines(bytes: &mut Vec<u8>) -> Vec<String> {
    let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
    let rest = bytes.split_off(end + 1);
    let whole = std::mem::replace(bytes, rest);
    let lines = whole.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

fn length(path: &Path) -> u64 {
    open(path).map_or(0, |file| file.length())
}

/// A link may lead there, but not to a file of another name: it is called as its conversation is.
fn open(path: &Path) -> Result<Regular, NotRead> {
    Regular::open(path, Links::Follow, |real| real.file_name() == path.file_name())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_record_grows_and_a_pipe_in_its_place_keeps_nothing_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc.jsonl");
        let says = |words: &str| {
            let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
            file.write_all(words.as_bytes()).unwrap();
        };
        says("before\n");
        let mut record = Record::default();
        record.is_at(Some(path.clone()));
        assert_eq!(record.last_lines(), ["before"]);
        assert_eq!(record.new_lines(), Vec::<String>::new());
        says("one\ntw");
        assert_eq!(record.new_lines(), ["one"]);
        says("o\n");
        assert_eq!(record.new_lines(), ["two"]);

        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let link = folder.path().join("link.jsonl");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(record.new_lines(), Vec::<String>::new());
        assert_eq!(record.last_lines(), Vec::<String>::new());
        for other in [path, link, folder.path().to_owned(), "/dev/zero".into()] {
            let mut record = Record::default();
            record.is_at(Some(other.clone()));
            assert_eq!(record.new_lines(), Vec::<String>::new(), "{}", other.display());
            let mut record = Record::from_its_beginning(other.clone());
            assert_eq!(record.new_lines(), Vec::<String>::new(), "{}", other.display());
        }
    }
}
