//! What is true on the machine where agents run: rules are decided with it, and never here.

use std::path::Path;

use holdstead_agents::FoundFiles;
use holdstead_agents::regular::{self, Links, NotRead};
use holdstead_protocol::Digest;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Where a project keeps its rules.
pub const RULES_FILE: &str = ".holdstead/rules";
/// The longest file that is read.
pub const MAX_RULES: u64 = 64 * 1024;
/// So many trusted folders above and below a session's are looked at for each of its calls.
const MOST_TRUSTED: usize = 32;

/// Whether an agent can work in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderIs {
    There,
    Missing,
    /// It is Holdstead's own, or in it.
    Private,
}

/// What rules need to know of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ground {
    /// With nothing in it that leads elsewhere; as it was given, if it is not there.
    pub folder: String,
    pub home: Option<String>,
    pub rules: RulesFile,
    /// What the folders bring now that a person trusted for an agent, as far as they have to do with this one.
    pub trusted: Vec<TrustedNow>,
}

/// A folder whose files a person trusted for a kind of agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedFolder {
    pub agent: String,
    pub folder: String,
}

/// The same folder as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustedNow {
    pub of: TrustedFolder,
    pub digest: Option<Digest>,
    /// Files that run there, or would if they were there, relative to the session's folder.
    pub runs: Vec<String>,
}

impl Ground {
    /// Of a machine that nobody can ask now: no rules of the project, and no home.
    pub fn unknown(cwd: &Path) -> Self {
        Self { folder: cwd.display().to_string(), home: None, rules: RulesFile::None, trusted: Vec::new() }
    }
}

/// A project's own rules as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RulesFile {
    None,
    Text {
        text: String,
    },
    /// It is there and cannot be read.
    Wrong {
        why: String,
    },
}

/// Reads files. `look` says what a folder brings for an agent.
pub(crate) fn ground(
    cwd: &Path,
    home: Option<String>,
    trusted: &[TrustedFolder],
    look: impl Fn(&str, &Path) -> Option<FoundFiles>,
) -> Ground {
    let folder = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    Ground {
        rules: find_rules(&folder),
        trusted: trusted_now(&folder, trusted, look),
        folder: folder.to_string_lossy().into_owned(),
        home,
    }
}

fn trusted_now(
    folder: &Path,
    trusted: &[TrustedFolder],
    look: impl Fn(&str, &Path) -> Option<FoundFiles>,
) -> Vec<TrustedNow> {
    // Files of a folder may lie above it in its repository, so one beside this one has nothing to do with it.
    let around = trusted.iter().filter(|of| {
        let other = Path::new(&of.folder);
        other.starts_with(folder) || folder.starts_with(other)
    });
    let now = around.take(MOST_TRUSTED).map(|of| {
        let found = look(&of.agent, Path::new(&of.folder));
        let (digest, runs) = found.map_or_else(Default::default, |found| (found.digest, found.runs));
        let inside = runs.iter().filter_map(|file| file.strip_prefix(folder).ok());
        let runs = inside.map(|file| file.to_string_lossy().into_owned()).collect();
        TrustedNow { of: of.clone(), digest, runs }
    });
    now.collect()
}

/// Follows no link: it could lead to a file that nobody showed.
pub fn find_rules(folder: &Path) -> RulesFile {
    let wrong = |why: &str| RulesFile::Wrong { why: why.to_owned() };
    let path = folder.join(RULES_FILE);
    let Some(parent) = path.parent() else { return RulesFile::None };
    match parent.symlink_metadata() {
        Err(_) => return RulesFile::None,
        Ok(meta) if !meta.is_dir() => return wrong("`.holdstead` is no folder, or a link to one"),
        Ok(_) => {}
    }
    // The folder that it is in may have become a link since.
    let bytes = match regular::read(&path, Links::Refuse, MAX_RULES, |real| real == path) {
        Ok(bytes) => bytes,
        Err(NotRead::Missing) => return RulesFile::None,
        Err(NotRead::TooLong { .. }) => return wrong("it is longer than 64 KB"),
        Err(other @ (NotRead::NotRegular | NotRead::Elsewhere | NotRead::Failed(_))) => {
            return wrong(&other.to_string());
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => RulesFile::Text { text },
        Err(_) => wrong("it is not written in UTF-8"),
    }
}

/// Names a file of rules as it is; also where there is none, by no bytes.
pub fn rules_digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_a_regular_file_or_they_are_wrong_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(RULES_FILE);
        let found = || ground(folder.path(), None, &[], |_, _| None).rules;
        let wrong = |why: &str| RulesFile::Wrong { why: why.to_owned() };
        let no_file = || wrong("it is no file, or a link to one");
        assert_eq!(found(), RulesFile::None);
        std::fs::create_dir_all(&file).unwrap();
        assert_eq!(found(), no_file(), "a folder");
        std::fs::remove_dir(&file).unwrap();
        assert_eq!(found(), RulesFile::None);
        let pipe = folder.path().join("pipe");
        for path in [&file, &pipe] {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }
        assert_eq!(found(), no_file(), "a pipe");
        for target in [pipe.as_path(), Path::new("/dev/zero"), Path::new("/nowhere")] {
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(target, &file).unwrap();
            assert_eq!(found(), no_file(), "a link to {}", target.display());
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::File::create(&file).unwrap().set_len(MAX_RULES + 1).unwrap();
        assert_eq!(found(), wrong("it is longer than 64 KB"));
        std::fs::write(&file, "allow Read").unwrap();
        assert_eq!(found(), RulesFile::Text { text: "allow Read".to_owned() });
    }
}
