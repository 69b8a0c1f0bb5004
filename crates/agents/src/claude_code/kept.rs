//! Our own copy of each hosted conversation. Claude Code deletes its transcripts after a while (`cleanupPeriodDays`), and
//! every program of the same user can change them. The copy is made when a process has ended, and put back before the
//! next one starts.
//!
//! A copy has the paths that the program's own files have below its folder `projects`: the transcript, and a folder beside
//! it with long results and the transcripts of subagents.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, remove_dir_all};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use holdstead_protocol::SessionId;
use uuid::Uuid;

use super::newest_row;
use crate::ResumeAt;
use crate::beneath::{Beneath, Entry};

/// The most that is kept of one conversation.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// How deep the folder beside a transcript is.
const DEPTH: usize = 6;
/// In a copy: a process was started since, so the program's own files may have grown.
const STARTED: &str = "started";

#[derive(Debug, Clone)]
pub(super) struct Kept {
    copies: PathBuf,
    /// The program's own.
    projects: Option<PathBuf>,
}

/// What was found when a conversation was to be put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that the program had not written, whether its files were there or deleted.
    AsItWas,
    /// A file with other words, which is kept there.
    Changed(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    /// The process ended at a call, and nothing may have been said since.
    Equal,
    /// More may have been said since.
    BeginsWith,
}

impl Kept {
    pub(super) const fn new(copies: PathBuf, projects: Option<PathBuf>) -> Self {
        Self { copies, projects }
    }

    fn copy_of(&self, session: SessionId, which: &str) -> PathBuf {
        self.copies.join(format!("{session}{which}"))
    }

    /// The sessions that it has copies of.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        let names = std::fs::read_dir(&self.copies).into_iter().flatten().flatten();
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Deletes all that is kept of a session.
    pub(super) fn discard(&self, session: SessionId) -> io::Result<()> {
        ["", ".next", ".replaced"].iter().try_for_each(|which| remove(&self.copy_of(session, which)))
    }

    /// Copies a conversation whose process has ended. Says whether there was one.
    pub(super) fn keep(&self, session: SessionId, conversation: &str) -> io::Result<bool> {
        let next = self.copy_of(session, ".next");
        remove(&next)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&next)?;
        let copied = self.copy_to(&Beneath::open(&next)?, conversation);
        // An older copy would be put back in place of what was said since.
        remove(&self.copy_of(session, ""))?;
        match copied {
            Ok(true) => std::fs::rename(next, self.copy_of(session, "")).map(|()| true),
            Ok(false) => remove(&next).map(|()| false),
            Err(error) => remove(&next).and(Err(error)),
        }
    }

    fn copy_to(&self, to: &Beneath, conversation: &str) -> io::Result<bool> {
        let mut found = false;
        let mut budget = MOST_BYTES;
        for (name, folder) in self.folders_with(conversation)? {
            found = true;
            let to = to.make_folder(&name)?;
            let transcript = transcript(conversation);
            if let Some(file) = folder.file(&transcript)? {
                copy_file(&file, &to, &transcript, &mut budget)?;
            }
            if let Some(beside) = folder.folder(OsStr::new(conversation))? {
                copy_all(&beside, &to.make_folder(OsStr::new(conversation))?, &mut budget, DEPTH)?;
            }
        }
        Ok(found)
    }

    /// The program's folders that have a transcript of this conversation.
    fn folders_with(&self, conversation: &str) -> io::Result<Vec<(OsString, Beneath)>> {
        // It becomes a part of paths, and an agent says it.
        if Uuid::parse_str(conversation).is_err() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "its name for the conversation is no UUID",
            ));
        }
        let projects = match self.projects.as_deref().map(Beneath::open) {
            Some(Ok(projects)) => projects,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Some(Err(_)) | None => return Ok(Vec::new()),
        };
        let mut found = Vec::new();
        for (name, entry) in projects.entries()? {
            if entry == Entry::Folder
                && let Some(folder) = projects.folder(&name)?
                && folder.file(&transcript(conversation))?.is_some()
            {
                found.push((name, folder));
            }
        }
        Ok(found)
    }

    /// Makes the program's files what they were when its last process ended, before another one is started.
    pub(super) fn put_back(&self, session: SessionId, conversation: &str, at: ResumeAt) -> io::Result<Found> {
        let mut found = Found::AsItWas;
        if let Some(projects) = &self.projects
            && let Some(ours) = open_if_there(&self.copy_of(session, ""))?
        {
            let compare = match at {
                ResumeAt::OpenAsks if ours.file(OsStr::new(STARTED))?.is_none() => Compare::Equal,
                ResumeAt::OpenAsks | ResumeAt::NextMessage => Compare::BeginsWith,
            };
            ours.replace(OsStr::new(STARTED), io::empty())?;
            DirBuilder::new().recursive(true).mode(0o700).create(projects)?;
            let mut putting = PutBack { compare, replaced: self.copy_of(session, ".replaced"), found };
            for (name, entry) in ours.entries()? {
                if entry == Entry::Folder
                    && let Some(folder) = ours.folder(&name)?
                {
                    let theirs = Beneath::open(projects)?.make_folder(&name)?;
                    putting.all(&folder, &theirs, Path::new(&name), DEPTH + 1)?;
                }
            }
            found = putting.found;
        }
        for (_, folder) in self.folders_with(conversation)? {
            newest_row::choose(&folder, &transcript(conversation))?;
        }
        Ok(found)
    }
}

struct PutBack {
    compare: Compare,
    /// Where files go that had other words.
    replaced: PathBuf,
    found: Found,
}

impl PutBack {
    fn all(&mut self, ours: &Beneath, theirs: &Beneath, path: &Path, depth: usize) -> io::Result<()> {
        for (name, entry) in ours.entries()? {
            match entry {
                Entry::Folder if depth == 0 => {}
                Entry::Folder => {
                    if let Some(folder) = ours.folder(&name)? {
                        self.all(&folder, &theirs.make_folder(&name)?, &path.join(&name), depth - 1)?;
                    }
                }
                Entry::File => {
                    if let Some(file) = ours.file(&name)? {
                        self.file(&file, theirs, &name, path)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, ours: &File, theirs: &Beneath, name: &OsStr, path: &Path) -> io::Result<()> {
        match theirs.file(name)? {
            Some(file) if is_as_kept(&file, ours, self.compare)? => {
                // The program deletes what is old when it starts.
                return file.set_modified(SystemTime::now());
            }
            Some(file) => {
                let folder = self.replaced.join(path);
                DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
                Beneath::open(&folder)?.replace(name, &file)?;
                self.found = Found::Changed(folder.join(name));
            }
            None => {}
        }
        theirs.replace(name, ours)
    }
}

fn transcript(conversation: &str) -> OsString {
    format!("{conversation}.jsonl").into()
}

fn copy_all(from: &Beneath, to: &Beneath, budget: &mut u64, depth: usize) -> io::Result<()> {
    for (name, entry) in from.entries()? {
        match entry {
            Entry::Folder if depth == 0 => return Err(too_much("deeper than Claude Code makes it")),
            Entry::Folder => {
                if let Some(folder) = from.folder(&name)? {
                    copy_all(&folder, &to.make_folder(&name)?, budget, depth - 1)?;
                }
            }
            Entry::File => {
                if let Some(file) = from.file(&name)? {
                    copy_file(&file, to, &name, budget)?;
                }
            }
        }
    }
    Ok(())
}

fn copy_file(file: &File, to: &Beneath, name: &OsStr, budget: &mut u64) -> io::Result<()> {
    let length = file.metadata()?.len();
    *budget = budget.checked_sub(length).ok_or_else(|| too_much("larger than 512 MB"))?;
    // One that grows meanwhile ends where it ended.
    to.replace(name, file.take(length))
}

fn too_much(what: &str) -> io::Error {
    io::Error::other(format!("it is {what}"))
}

fn is_as_kept(theirs: &File, ours: &File, compare: Compare) -> io::Result<bool> {
    let (length, kept) = (theirs.metadata()?.len(), ours.metadata()?.len());
    let fits = match compare {
        Compare::Equal => length == kept,
        Compare::BeginsWith => length >= kept,
    };
    if !fits {
        return Ok(false);
    }
    // Neither file's position is moved: both may be copied after this.
    let (mut one, mut other) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut at = 0;
    loop {
        let read = ours.read_at(&mut one, at)?;
        if read == 0 {
            return Ok(true);
        }
        match theirs.read_exact_at(&mut other[..read], at) {
            Ok(()) if one[..read] == other[..read] => at += read as u64,
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

fn open_if_there(folder: &Path) -> io::Result<Option<Beneath>> {
    match Beneath::open(folder) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
