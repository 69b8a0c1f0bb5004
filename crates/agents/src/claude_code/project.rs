//! The files of a folder by which Claude Code would run or allow something: found, named, and told apart by a digest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use holdstead_protocol::Digest;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::driver::user_folder;
use crate::FoundFiles;
use crate::private::is_in;
use crate::regular::{self, Links};

const LABEL: &[u8] = b"holdstead project files 1";
/// More files than this, or more bytes in them, nobody can be said to have looked at.
const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 8 * 1024 * 1024;
/// How deep a folder is followed. Deeper ones count as too many.
const DEPTH: usize = 12;
/// Whole checkouts, each with files of its own.
const WORKTREES: &str = "worktrees";
const SERVERS: &str = ".mcp.json";
/// Words for the model. They run nothing, but are left out together with the rest.
const INSTRUCTIONS: [&str; 3] = ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"];

/// Those of the folder, and of the folders above it up to its repository's own.
pub(super) fn found(cwd: &Path) -> Option<FoundFiles> {
    let folder = cwd.canonicalize().ok()?;
    let roots = roots(&folder);
    let top = roots.last()?.clone();
    let mut look = Look { top: top.clone(), files: BTreeSet::new(), whole: true };
    let own = user_folder().and_then(|folder| folder.canonicalize().ok());
    for root in &roots {
        let claude = root.join(".claude");
        // In the home folder this is the user's own.
        if claude.canonicalize().ok() != own || own.is_none() {
            look.add(&claude, DEPTH);
        }
        look.add(&root.join(SERVERS), DEPTH);
    }
    for file in look.files.clone() {
        look.add_named_in(&file);
    }
    let instructions = roots.iter().flat_map(|root| INSTRUCTIONS.map(|name| root.join(name)));
    let instructions = instructions.filter(|path| path.is_file()).map(|path| shown(&path, &top)).collect();
    let digest = if look.whole { digest(&look.files, &top) } else { None };
    let files = look.files.iter().map(|path| shown(path, &top)).collect();
    let found = FoundFiles { folder, files, instructions, digest };
    (!found.is_empty() || found.digest.is_none()).then_some(found)
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
pub(super) fn user_servers(private: &[PathBuf]) -> Map<String, Value> {
    let set = std::env::var_os("CLAUDE_CONFIG_DIR").or_else(|| std::env::var_os("HOME"));
    let Some(folder) = set else { return Map::new() };
    let may_be = |real: &Path| !is_in(private, real);
    let file = Path::new(&folder).join(".claude.json");
    servers_in(regular::read(&file, Links::Follow, MOST_BYTES, may_be).ok())
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
    /// Nothing had to be left off.
    whole: bool,
}

impl Look {
    fn add(&mut self, path: &Path, depth: usize) {
        let Ok(meta) = path.symlink_metadata() else { return };
        if self.files.len() >= MOST_FILES || depth == 0 {
            self.whole = false;
        } else if meta.is_file() {
            self.files.insert(path.to_owned());
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
            match path.canonicalize() {
                Ok(to) if to.is_file() && to.starts_with(&self.top) => {
                    self.files.insert(path.to_owned());
                    self.files.insert(to);
                }
                Ok(_) | Err(_) => {
                    self.files.insert(path.to_owned());
                    self.whole = false;
                }
            }
        }
    }

    /// Scripts that the settings or servers name: what they do is what is trusted.
    fn add_named_in(&mut self, file: &Path) {
        if file.extension().is_none_or(|kind| kind != "json") {
            return;
        }
        let Some(root) =
            file.ancestors().find(|folder| folder.join(SERVERS).is_file() || folder.join(".claude").is_dir())
        else {
            return;
        };
        let settings: Value = read_below(file, &self.top)
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let mut words = BTreeSet::new();
        gather(&settings, &mut words);
        for word in words {
            let word = word.trim_start_matches("$CLAUDE_PROJECT_DIR/");
            let word = word.trim_start_matches("${CLAUDE_PROJECT_DIR}/");
            let Ok(named) = root.join(word).canonicalize() else { continue };
            if named.is_file() && named.starts_with(&self.top) {
                self.add(&named, DEPTH);
            }
        }
    }
}

fn gather(value: &Value, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let ends = |at: char| at.is_whitespace() || "'\"`;&|()<>=".contains(at);
            words.extend(text.split(ends).filter(|word| !word.is_empty()).map(str::to_owned));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        Value::Object(fields) => fields.values().for_each(|item| gather(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Over all of them, each by its place, its length and its bytes. Nothing, if they cannot all be read.
fn digest(files: &BTreeSet<PathBuf>, top: &Path) -> Option<Digest> {
    let mut hash = Sha256::new();
    hash.update(LABEL);
    let mut left = MOST_BYTES;
    for path in files {
        let bytes = read_below(path, top)?;
        left = left.checked_sub(bytes.len() as u64)?;
        for part in [shown(path, top).as_bytes(), &bytes] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
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
mod tests {
    use super::*;

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
