//! The files of a folder by which Claude Code would run or allow something: found, named, and told apart by a digest.

mod commands;
mod remembered;
mod settings;
mod words;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use holdstead_protocol::Digest;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use self::commands::Named;
pub(super) use self::remembered::Remembered;
use crate::FoundFiles;
use crate::account::{Account, with_rights_of};
use crate::private::is_in;
use crate::regular::{self, Links};

const LABEL: &[u8] = b"holdstead project files 2";
/// More files than this, or more bytes in them, nobody can be said to have looked at.
const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// So many doubts are told, and so much of each.
const MOST_UNRESOLVED: usize = 8;
const MOST_CHARS: usize = 120;
/// How deep a folder is followed. Deeper ones count as too many.
const DEPTH: usize = 12;
/// Whole checkouts, each with files of its own.
const WORKTREES: &str = "worktrees";
const SERVERS: &str = ".mcp.json";
/// Words for the model. They run nothing, but are left out together with the rest.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"];

/// What was found, and every path that it depends on.
#[derive(Debug)]
struct Looked {
    found: Option<FoundFiles>,
    paths: BTreeSet<PathBuf>,
    /// Nothing was left off.
    whole: bool,
}

/// Looks at the folder, and at the folders above it up to its repository's own.
fn look(cwd: &Path, user_folder: Option<&Path>) -> Looked {
    let Ok(folder) = cwd.canonicalize() else {
        return Looked { found: None, paths: BTreeSet::from([cwd.to_owned()]), whole: true };
    };
    let roots = roots(&folder);
    let top = roots.last().cloned().unwrap_or_else(|| folder.clone());
    let mut look = Look::new(&top);
    let own = user_folder.and_then(|folder| folder.canonicalize().ok());
    for root in &roots {
        let claude = root.join(".claude");
        look.looked_at.insert(root.join(".git"));
        // In the home folder this is the user's own.
        if claude.canonicalize().ok() != own || own.is_none() {
            look.add(&claude, DEPTH);
        }
        look.add(&root.join(SERVERS), DEPTH);
    }
    look.add_named(&roots);
    let instructions = roots.iter().flat_map(|root| INSTRUCTIONS.map(|name| root.join(name)));
    let instructions = instructions.filter(|path| path.is_file()).map(|path| shown(&path, &top)).collect();
    let whole = look.whole && look.unresolved.is_empty();
    let digest = if whole { digest(&look.files, &look.absent, &top) } else { None };
    let files = look.files.iter().map(|path| shown(path, &top)).collect();
    let runs = look.files.iter().chain(&look.absent).chain(&look.later).cloned().collect();
    let found = FoundFiles { folder, files, instructions, digest, unresolved: look.unresolved, runs };
    let found = (!found.is_empty() || found.digest.is_none()).then_some(found);
    let paths = look.looked_at.into_iter().chain(look.files).chain(look.absent).chain(look.later).collect();
    Looked { found, paths, whole: look.whole }
}

/// The servers that the folder's own files name.
pub(super) fn servers_of(cwd: &Path) -> Map<String, Value> {
    let folder = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let roots = roots(&folder);
    let top = roots.last().cloned().unwrap_or_default();
    // The nearest one wins.
    let files = roots.into_iter().rev().map(|root| root.join(SERVERS));
    files.flat_map(|file| servers_in(read_below(&file, &top))).collect()
}

/// The servers that the user named for all folders. That file may be a link, as dotfiles are, but not to one of ours.
pub(super) fn user_servers(private: &[PathBuf], account: Option<&Account>) -> Map<String, Value> {
    let set =
        || std::env::var_os("CLAUDE_CONFIG_DIR").or_else(|| std::env::var_os("HOME")).map(PathBuf::from);
    let Some(folder) = account.map_or_else(set, |account| Some(account.home().clone())) else {
        return Map::new();
    };
    let may_be = |real: &Path| !is_in(private, real);
    let file = folder.join(".claude.json");
    let read = || regular::read(&file, Links::Follow, MOST_BYTES, may_be).ok();
    servers_in(with_rights_of(account, read).ok().flatten())
}

fn servers_in(text: Option<Vec<u8>>) -> Map<String, Value> {
    let text = text.unwrap_or_default();
    let mut settings: Value = serde_json::from_slice(&text).unwrap_or_default();
    match settings.get_mut("mcpServers").map(Value::take) {
        Some(Value::Object(servers)) => servers,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | None => {
            Map::new()
        }
    }
}

/// The folder itself, and those above it in its repository.
fn roots(folder: &Path) -> Vec<PathBuf> {
    let repository = folder.ancestors().position(|folder| folder.join(".git").exists());
    folder.ancestors().take(repository.unwrap_or(0) + 1).map(Path::to_owned).collect()
}

#[derive(Debug)]
struct Look {
    top: PathBuf,
    files: BTreeSet<PathBuf>,
    /// Files that a command would run if they were there.
    absent: BTreeSet<PathBuf>,
    /// Files that a command is given and that are not there.
    later: BTreeSet<PathBuf>,
    /// Paths that may come, go or change without a file of `files` being another one.
    looked_at: BTreeSet<PathBuf>,
    /// Nothing had to be left off.
    whole: bool,
    /// What a file names and the project lacks, in words.
    unresolved: Vec<String>,
}

impl Look {
    fn new(top: &Path) -> Self {
        Self {
            top: top.to_owned(),
            files: BTreeSet::new(),
            absent: BTreeSet::new(),
            later: BTreeSet::new(),
            looked_at: BTreeSet::new(),
            whole: true,
            unresolved: Vec::new(),
        }
    }

    fn add(&mut self, path: &Path, depth: usize) {
        // Such a folder cannot be trusted, so the rest of it does not count.
        if !self.whole {
            return;
        }
        self.looked_at.insert(path.to_owned());
        let Ok(meta) = path.symlink_metadata() else { return };
        if self.files.len() >= MOST_FILES || depth == 0 {
            self.whole = false;
        } else if meta.is_file() {
            if meta.nlink() > 1 {
                // Written by its other name, it would change unseen.
                self.unresolve(path, "it has a second name (a hard link)");
            }
            self.files.insert(path.to_owned());
            // A folder on the way may be a link.
            self.files.extend(path.canonicalize().ok().filter(|real| real.starts_with(&self.top)));
        } else if meta.is_dir() {
            let Ok(entries) = path.read_dir() else {
                self.whole = false;
                return;
            };
            for entry in entries.flatten().filter(|entry| entry.file_name() != WORKTREES) {
                self.add(&entry.path(), depth - 1);
            }
        } else {
            // A link to a file of the same repository counts as that file; any other leads where nobody looked.
            self.files.insert(path.to_owned());
            match path.canonicalize() {
                Ok(to) if to.is_file() && to.starts_with(&self.top) => self.add(&to, depth - 1),
                Ok(_) | Err(_) => self.whole = false,
            }
        }
    }

    fn unresolve(&mut self, path: &Path, why: &str) {
        if self.unresolved.len() < MOST_UNRESOLVED {
            self.unresolved.push(format!("`{}`: {why}", shown(path, &self.top)));
        }
    }

    /// Files that the settings, servers and hooks name: what they do is what is trusted.
    fn add_named(&mut self, roots: &[PathBuf]) {
        let mut read = BTreeSet::new();
        // A plugin that a file names has files that name others.
        while let Some(file) = self.files.iter().find(|file| !read.contains(*file)).cloned() {
            read.insert(file.clone());
            let kind = file.extension().and_then(|kind| kind.to_str());
            if !matches!(kind, Some("json" | "md")) {
                continue;
            }
            // One that cannot be read has no digest either.
            let Some(bytes) = read_below(&file, &self.top) else { continue };
            let mut folders = roots.to_vec();
            let around = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.top));
            folders
                .extend(around.filter(|folder| !roots.iter().any(|root| root == folder)).map(Path::to_owned));
            let mut named = Named::new(&self.top, folders);
            settings::read(&file, &bytes, &mut named);
            for path in named.files.iter().chain(&named.folders) {
                self.add(path, DEPTH);
            }
            for word in &named.unresolved {
                self.unresolve(&file, &format!("`{}` in it names no file of the project", clip(word)));
            }
            self.absent.extend(named.absent);
            self.later.extend(named.later);
            self.looked_at.extend(named.watched);
            if self.absent.len() + self.later.len() > MOST_FILES {
                self.whole = false;
                return;
            }
        }
    }
}

fn clip(word: &str) -> String {
    word.chars().take(MOST_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Over all of them, each by its place, its length and its bytes, and over files that are not there and would count.
/// Nothing, if they cannot all be read.
fn digest(files: &BTreeSet<PathBuf>, absent: &BTreeSet<PathBuf>, top: &Path) -> Option<Digest> {
    let mut hash = Sha256::new();
    hash.update(LABEL);
    let mut left = MOST_BYTES;
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    for path in files {
        let bytes = read_below(path, top)?;
        left = left.checked_sub(bytes.len() as u64)?;
        part(shown(path, top).as_bytes());
        part(&bytes);
    }
    for path in absent {
        part(shown(path, top).as_bytes());
    }
    // So that no file can stand for one that is not there.
    hash.update((absent.len() as u64).to_be_bytes());
    Some(Digest::from_bytes(&hash.finalize()))
}

/// A file that is below this folder when it is opened: an agent may have replaced it since it was found.
fn read_below(path: &Path, top: &Path) -> Option<Vec<u8>> {
    regular::read(path, Links::Follow, MOST_BYTES, |real| real.starts_with(top)).ok()
}

fn shown(path: &Path, top: &Path) -> String {
    path.strip_prefix(top).unwrap_or(path).display().to_string()
}

#[cfg(test)]
#[path = "project/tests.rs"]
mod named_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cwd: &Path) -> Option<FoundFiles> {
        look(cwd, None).found
    }

    fn put(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn what_could_run_is_found_and_every_change_is_another_digest() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let project = root.join("repo/sub");
        put(&root, "repo/sub/README.md", "words");
        assert_eq!(found(&project), None, "nothing there");
        put(&root, "repo/sub/CLAUDE.md", "be kind");
        let words = found(&project).unwrap();
        assert_eq!((words.files.len(), words.instructions.as_slice()), (0, &["CLAUDE.md".to_owned()][..]));

        std::fs::create_dir(root.join("repo/.git")).unwrap();
        let hook = r#"{"hooks":{"SessionStart":[{"hooks":[{"command":"sh ./tools/start.sh"}]}]}}"#;
        put(&root, "repo/sub/.claude/settings.json", hook);
        put(&root, "repo/sub/tools/start.sh", "true");
        put(&root, "repo/.mcp.json", r#"{"mcpServers":{"a":{"command":"a"}}}"#);
        put(&root, "repo/sub/.claude/worktrees/w/.claude/settings.json", "{}");
        put(&root, ".mcp.json", "{}");
        let all = found(&project).unwrap();
        assert_eq!(all.files, [".mcp.json", "sub/.claude/settings.json", "sub/tools/start.sh"]);
        assert_eq!(all.instructions, ["sub/CLAUDE.md"]);
        assert_eq!(found(&project), Some(all.clone()), "the same again");
        assert_eq!(servers_of(&project).keys().collect::<Vec<_>>(), ["a"]);

        // Words for the model may change: they run nothing.
        put(&root, "repo/sub/CLAUDE.md", "be quick");
        assert_eq!(found(&project).unwrap().digest, all.digest);
        for (name, text) in [
            ("repo/sub/tools/start.sh", "rm -rf ~"),
            ("repo/.mcp.json", "{}"),
            ("repo/.claude/skills/x/SKILL.md", "new"),
        ] {
            let before = found(&project).unwrap().digest;
            put(&root, name, text);
            let after = found(&project).unwrap().digest;
            assert!(after.is_some() && before != after, "{name}");
        }
    }

    #[test]
    fn what_nobody_can_have_looked_at_has_no_digest() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        put(&project, ".claude/settings.json", "{}");
        put(root.path(), "outside.json", "{}");
        assert!(found(&project).unwrap().digest.is_some());
        let link = project.join(".claude/settings.local.json");
        std::os::unix::fs::symlink(root.path().join("outside.json"), &link).unwrap();
        assert_eq!(found(&project).unwrap().digest, None, "a link out of the folder");
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(project.join(".claude"), project.join(".claude/round")).unwrap();
        assert_eq!(found(&project).unwrap().digest, None, "a link to a folder");
        std::fs::remove_file(project.join(".claude/round")).unwrap();
        for number in 0..MOST_FILES {
            put(&project, &format!(".claude/skills/s{number}"), "");
        }
        assert_eq!(found(&project).unwrap().digest, None, "too many");
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_keeps_nothing_waiting() {
        let root = tempfile::tempdir().unwrap();
        let pipe = |path: &Path| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        for name in [SERVERS, ".claude/settings.json"] {
            let project = root.path().join(name.replace('/', "-"));
            put(&project, "tools/x.sh", "true");
            pipe(&project.join(name));
            assert_eq!(found(&project).unwrap().digest, None, "{name}");
            assert!(servers_of(&project).is_empty(), "{name}");
        }
        // A link to a pipe, and a script that the settings name.
        let project = root.path().join("linked");
        pipe(&project.join("pipe"));
        std::os::unix::fs::symlink("pipe", project.join(SERVERS)).unwrap();
        put(&project, ".claude/settings.json", r#"{"hooks":{"Stop":[{"command":"sh ./pipe"}]}}"#);
        assert_eq!(found(&project).unwrap().digest, None);
        assert!(servers_of(&project).is_empty());
    }
}
