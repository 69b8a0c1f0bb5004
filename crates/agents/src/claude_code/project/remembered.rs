//! What was found in a folder, kept while every file that it depends on is the same one, unchanged. So a call in a trusted
//! folder costs a look at each file and reads none.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{look, roots};
use crate::FoundFiles;

/// Folders that are kept.
const MOST: usize = 64;
/// A file that changed so short a time ago may change again without another time.
const SETTLED: Duration = Duration::from_secs(1);

/// Which file it is, and when it changed last. Only the kernel sets the last of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    names: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

#[derive(Debug)]
struct Kept {
    roots: Vec<PathBuf>,
    stamps: Vec<(PathBuf, Option<Stamp>)>,
    found: Option<FoundFiles>,
}

#[derive(Debug, Default)]
pub(in crate::claude_code) struct Remembered(Mutex<HashMap<PathBuf, Kept>>);

impl Remembered {
    /// What the folder brings now. Reads files only if something changed.
    pub(in crate::claude_code) fn found(&self, cwd: &Path, user_folder: Option<&Path>) -> Option<FoundFiles> {
        let Ok(folder) = cwd.canonicalize() else { return look(cwd, user_folder).found };
        let roots_now = roots(&folder);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.get(&folder)
            && kept.roots == roots_now
            && kept.stamps.iter().all(|(path, stamp)| stamp_of(path) == *stamp)
        {
            return kept.found.clone();
        }
        all.remove(&folder);
        let begun = SystemTime::now();
        let looked = look(&folder, user_folder);
        let stamps: Vec<_> = looked.paths.into_iter().map(|path| (stamp_of(&path), path)).collect();
        let settled = begun.checked_sub(SETTLED).and_then(|then| then.duration_since(UNIX_EPOCH).ok());
        let settled = settled.map_or(0, |then| i64::try_from(then.as_secs()).unwrap_or(0));
        // What was left off has no stamp by which a change would be seen.
        if looked.whole && stamps.iter().all(|(stamp, _)| stamp.is_none_or(|stamp| stamp.changed.0 < settled))
        {
            if all.len() >= MOST {
                all.clear();
            }
            let stamps = stamps.into_iter().map(|(stamp, path)| (path, stamp)).collect();
            all.insert(folder, Kept { roots: roots_now, stamps, found: looked.found.clone() });
        }
        looked.found
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    let is = path.symlink_metadata().ok()?;
    Some(Stamp {
        file: (is.dev(), is.ino()),
        names: is.nlink(),
        size: is.size(),
        modified: (is.mtime(), is.mtime_nsec()),
        changed: (is.ctime(), is.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_seen_however_it_is_made() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        std::fs::create_dir_all(at(".claude")).unwrap();
        std::fs::create_dir_all(at("scripts")).unwrap();
        let hooks = r#"{"hooks":{"Stop":[{"hooks":[{"command":"\"$CLAUDE_PROJECT_DIR\"/scripts/x.sh"}]}]}}"#;
        std::fs::write(at(".claude/settings.json"), hooks).unwrap();
        std::fs::write(at("scripts/x.sh"), "true ").unwrap();
        let remembered = Remembered::default();
        let digest = || remembered.found(&root, None).unwrap().digest;
        let first = digest();
        assert!(first.is_some());
        assert_eq!(digest(), first);
        let time = std::fs::metadata(at("scripts/x.sh")).unwrap().modified().unwrap();
        // As many bytes, at the same time.
        std::fs::write(at("scripts/x.sh"), "false").unwrap();
        std::fs::File::options().write(true).open(at("scripts/x.sh")).unwrap().set_modified(time).unwrap();
        let second = digest();
        assert!(second.is_some() && second != first);
        std::fs::write(at("scripts/y.sh"), "true ").unwrap();
        std::fs::rename(at("scripts/y.sh"), at("scripts/x.sh")).unwrap();
        assert_eq!(digest(), first, "another file with the bytes that were trusted");
        std::fs::hard_link(at("scripts/x.sh"), at("scripts/z.sh")).unwrap();
        assert_eq!(digest(), None, "a second name");
        std::fs::remove_file(at("scripts/z.sh")).unwrap();
        assert_eq!(digest(), first);
        std::fs::rename(at("scripts"), at("old")).unwrap();
        assert_eq!(digest(), None, "it is gone");
        std::os::unix::fs::symlink("old", at("scripts")).unwrap();
        let linked = remembered.found(&root, None).unwrap();
        assert!(linked.digest.is_some() && linked.runs.contains(&at("old/x.sh")), "{linked:?}");
        std::fs::create_dir(at(".claude/skills")).unwrap();
        std::fs::write(at(".claude/skills/new"), "").unwrap();
        assert_ne!(digest(), linked.digest);
    }

    #[test]
    fn a_file_that_a_command_is_given_is_seen_when_it_appears() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".claude")).unwrap();
        std::fs::write(root.join("check.js"), "true").unwrap();
        for (command, appears) in
            [("node check.js rules.js", "rules.js"), ("unheard-of ./later.sh", "later.sh")]
        {
            let hooks = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"command":"{command}"}}]}}]}}}}"#);
            std::fs::write(root.join(".claude/settings.json"), hooks).unwrap();
            let remembered = Remembered::default();
            let digest = || remembered.found(&root, None).unwrap().digest;
            // It is kept only once its files have been left alone for a while.
            let mut all = remembered.0.lock().unwrap();
            let looked = look(&root, None);
            let stamps = looked.paths.into_iter().map(|path| (path.clone(), stamp_of(&path))).collect();
            all.insert(root.clone(), Kept { roots: roots(&root), stamps, found: looked.found });
            drop(all);
            let before = digest();
            assert!(before.is_some(), "{command}");
            std::fs::write(root.join(appears), "true").unwrap();
            assert_ne!(digest(), before, "{command}");
        }
    }
}
