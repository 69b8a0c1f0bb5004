//! A program's own record of its conversation: a file of lines that grows.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

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
        if length(path) <= self.at {
            return Vec::new();
        }
        let Some(bytes) = read(path, self.at, AT_ONCE) else { return Vec::new() };
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
        if self.at == 0 {
            // Nothing, or no file: whoever opened that could wait for ever.
            return Vec::new();
        }
        let from = self.at.saturating_sub(TAIL);
        let Some(mut bytes) = read(path, from, self.at - from) else { return Vec::new() };
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
    std::fs::metadata(path).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
}

fn read(path: &Path, from: u64, most: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
