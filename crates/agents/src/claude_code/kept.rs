//! Our own copy of each hosted conversation. Claude Code deletes its transcripts after a while (`cleanupPeriodDays`), and
//! every program of the same user can change them. The copy is made when a process has ended, and put back before the
//! next one starts.
//!
//! A session's folder has the newest copy in `copy`, and files that were changed in `replaced`. Below `copy/projects` are
//! the paths that the program's own files have below its folder `projects`: the transcript, and a folder beside it with
//! long results and the transcripts of subagents.

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
use crate::account::{Account, with_rights_of};
use crate::beneath::{Beneath, Entry};
use crate::private::is_in;

/// The most that is kept of one conversation, and the most that is read of a transcript.
pub(super) const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// What each file and folder counts beside its bytes, so that many empty ones are bounded, too.
const EACH: u64 = 16 * 1024;
/// The longest file that is kept because it was changed.
const MOST_REPLACED: u64 = 64 * 1024 * 1024;
/// How deep the folder beside a transcript is.
const DEPTH: usize = 6;
/// In a copy: the number of the process that had ended when it was made.
const LIFE: &str = "life";

#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) copies: PathBuf,
    /// The program's own.
    pub(super) projects: Option<PathBuf>,
    /// The gateway's own folders, where the program's cannot be.
    pub(super) private: Vec<PathBuf>,
    /// Whose the program's files are, if not this process's.
    pub(super) account: Option<Account>,
}

/// The process that has ended, or that is about to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Life {
    pub(super) session: SessionId,
    pub(super) number: u32,
}

/// What was found when a conversation was to be put back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing that the program had not written, whether its files were there or deleted.
    AsItWas,
    /// A file with other words. It is kept there, unless it was too long.
    Changed(Option<PathBuf>),
    /// Its files were gone, and the copy was made before its last process.
    Older,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    /// The last process ended at a call, and nothing may have been said since.
    Equal,
    /// More may have been said since.
    BeginsWith,
}

impl Kept {
    fn folder_of(&self, session: SessionId) -> PathBuf {
        self.copies.join(session.to_string())
    }

    fn copy_of(&self, session: SessionId) -> PathBuf {
        self.folder_of(session).join("copy")
    }

    /// The sessions that it has copies of.
    pub(super) fn sessions(&self) -> Vec<SessionId> {
        let names = std::fs::read_dir(&self.copies).into_iter().flatten().flatten();
        names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// Deletes all that is kept of a session.
    pub(super) fn discard(&self, session: SessionId) -> io::Result<()> {
        remove(&self.folder_of(session))
    }

    /// The program's folder, opened once: where it really is decides.
    fn projects(&self) -> io::Result<Option<Beneath>> {
        let Some(path) = &self.projects else { return Ok(None) };
        let opened = match Beneath::open_of(path, self.account.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let really = opened.path(path)?;
        if is_in(&self.private, &really) {
            return Err(io::Error::other(format!(
                "{} leads into a folder of Holdstead's own",
                path.display()
            )));
        }
        Ok(Some(opened))
    }

    /// Copies a conversation whose process has ended. An older copy stays if that fails.
    pub(super) fn keep(&self, life: &Life, conversation: &str) -> io::Result<()> {
        let copy = self.copy_of(life.session);
        let theirs = self.folders_with(conversation)?;
        let ours = open_if_there(&copy.join("projects"))?;
        if let Some(ours) = &ours
            && !has_all_of(&theirs, ours, conversation)?
        {
            return Err(io::Error::other("its transcript has no longer what was said before"));
        }
        if theirs.is_empty() {
            return Ok(());
        }
        let next = self.folder_of(life.session).join(format!("next-{}", Uuid::new_v4()));
        DirBuilder::new().recursive(true).mode(0o700).create(&next)?;
        let made = copy_to(&theirs, &Beneath::open(&next)?, life, conversation);
        let made = made.and_then(|()| {
            let old = self.folder_of(life.session).join(format!("old-{}", Uuid::new_v4()));
            match std::fs::rename(&copy, &old) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved?,
            }
            std::fs::rename(&next, &copy)?;
            remove(&old)
        });
        if made.is_err() {
            // What cannot be removed now goes before the next process starts.
            drop(remove(&next));
        }
        made
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
        let Some(projects) = self.projects()? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, entry) in projects.entries()? {
            // A folder that cannot be opened is another project's: this one's program has written to its own.
            if entry == Entry::Folder
                && let Ok(Some(folder)) = projects.folder(&name)
                && let Ok(Some(_)) = folder.file(&transcript(conversation))
            {
                found.push((name, folder));
            }
        }
        Ok(found)
    }

    /// Makes the program's files what they were when its last process ended, before this one is started.
    pub(super) fn put_back(&self, life: &Life, conversation: &str, at: ResumeAt) -> io::Result<Found> {
        self.clean_up(life.session)?;
        let mut found = Found::AsItWas;
        let copy = self.copy_of(life.session);
        if let Some(projects) = &self.projects
            && let Some(ours) = open_if_there(&copy.join("projects"))?
        {
            let make = || DirBuilder::new().recursive(true).mode(0o700).create(projects);
            with_rights_of(self.account.as_ref(), make).flatten()?;
            let theirs = self.projects()?.ok_or(io::ErrorKind::NotFound)?;
            let kept = std::fs::read_to_string(copy.join(LIFE)).ok().and_then(|number| number.parse().ok());
            let newest = kept.and_then(|kept: u32| kept.checked_add(1)) == Some(life.number);
            let compare = match at {
                ResumeAt::OpenAsks if newest => Compare::Equal,
                ResumeAt::OpenAsks | ResumeAt::NextMessage => Compare::BeginsWith,
            };
            let replaced = self.folder_of(life.session).join("replaced").join(life.number.to_string());
            let mut putting = PutBack { compare, newest, replaced, found };
            putting.all(&ours, &theirs, Path::new(""), DEPTH + 2)?;
            found = putting.found;
        }
        for (_, folder) in self.folders_with(conversation)? {
            newest_row::choose(&folder, &transcript(conversation))?;
        }
        Ok(found)
    }

    /// Removes what a gateway left that was killed while it copied.
    fn clean_up(&self, session: SessionId) -> io::Result<()> {
        for entry in std::fs::read_dir(self.folder_of(session)).into_iter().flatten() {
            let entry = entry?;
            if entry.file_name() != "copy" && entry.file_name() != "replaced" {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

struct PutBack {
    compare: Compare,
    /// The copy was made after the last process.
    newest: bool,
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
                // The program deletes what is old when it starts. Where that cannot be changed, our copy is left.
                drop(file.set_modified(SystemTime::now()));
                return Ok(());
            }
            Some(file) if file.metadata()?.len() > MOST_REPLACED => self.found = Found::Changed(None),
            Some(file) => {
                let folder = self.replaced.join(path);
                DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
                Beneath::open(&folder)?.replace(name, file.take(MOST_REPLACED))?;
                self.found = Found::Changed(Some(folder.join(name)));
            }
            None if !self.newest && self.found == Found::AsItWas => self.found = Found::Older,
            None => {}
        }
        theirs.replace(name, ours)
    }
}

fn transcript(conversation: &str) -> OsString {
    format!("{conversation}.jsonl").into()
}

/// Whether the program's transcripts begin with those that were copied before: it only adds to them.
fn has_all_of(theirs: &[(OsString, Beneath)], ours: &Beneath, conversation: &str) -> io::Result<bool> {
    for (name, entry) in ours.entries()? {
        if entry != Entry::Folder {
            continue;
        }
        let before = ours.folder(&name)?.map(|folder| folder.file(&transcript(conversation)));
        let Some(before) = before.transpose()?.flatten() else { continue };
        let now = theirs.iter().find(|(their_name, _)| *their_name == name);
        let now = now.map(|(_, folder)| folder.file(&transcript(conversation))).transpose()?.flatten();
        match now {
            Some(now) if is_as_kept(&now, &before, Compare::BeginsWith)? => {}
            Some(_) | None => return Ok(false),
        }
    }
    Ok(true)
}

fn copy_to(
    theirs: &[(OsString, Beneath)],
    next: &Beneath,
    life: &Life,
    conversation: &str,
) -> io::Result<()> {
    let mut budget = MOST_BYTES;
    next.replace(OsStr::new(LIFE), life.number.to_string().as_bytes())?;
    let projects = next.make_folder(OsStr::new("projects"))?;
    for (name, folder) in theirs {
        let to = projects.make_folder(name)?;
        let transcript = transcript(conversation);
        if let Some(file) = folder.file(&transcript)? {
            copy_file(&file, &to, &transcript, &mut budget)?;
        }
        if let Some(beside) = folder.folder(OsStr::new(conversation))? {
            copy_all(&beside, &to.make_folder(OsStr::new(conversation))?, &mut budget, DEPTH)?;
        }
    }
    Ok(())
}

fn copy_all(from: &Beneath, to: &Beneath, budget: &mut u64, depth: usize) -> io::Result<()> {
    for (name, entry) in from.entries()? {
        match entry {
            Entry::Folder if depth == 0 => return Err(too_much("deeper than Claude Code makes it")),
            Entry::Folder => {
                charge(budget, 0)?;
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
    charge(budget, length)?;
    // One that grows meanwhile ends where it ended.
    to.replace(name, file.take(length))
}

fn charge(budget: &mut u64, bytes: u64) -> io::Result<()> {
    *budget = budget.checked_sub(bytes.saturating_add(EACH)).ok_or_else(|| too_much("larger than 512 MB"))?;
    Ok(())
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
