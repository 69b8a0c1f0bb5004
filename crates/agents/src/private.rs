//! The gateway's own folders: tokens, keys and the journal are never read unasked.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Inputs in which a tool names the file or the folder that it works on.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];
/// How deep an input is searched for words. Nothing that is shown to a person is deeper.
const DEPTH: usize = 128;

#[derive(Debug, Clone, Default)]
pub(crate) struct Private {
    cwd: PathBuf,
    folders: Vec<PathBuf>,
    /// How a command would name them.
    names: Vec<String>,
}

/// What a call looks into, beside the files that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    Nothing,
    /// The folder that it names, or the session's.
    Folder,
    /// Whatever its pattern leads to from there.
    Pattern,
}

/// How a call comes near the gateway's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Near {
    No,
    /// It names something inside of one.
    Inside,
    /// It searches a folder that one of them is in, or its words name one.
    Around,
}

impl Private {
    pub(crate) fn new(folders: &[PathBuf], cwd: &Path, home: Option<&Path>) -> Self {
        let cwd = real(cwd);
        let folders: Vec<_> = folders.iter().map(|folder| real(folder)).collect();
        let below = |folder: &Path, from: &Path| folder.strip_prefix(from).ok().map(Path::to_owned);
        let names = folders.iter().flat_map(|folder| {
            let at_home = home.and_then(|home| below(folder, &real(home)));
            [Some(folder.clone()), at_home, below(folder, &cwd)].into_iter().flatten()
        });
        let names = names.map(|name| name.display().to_string()).filter(|name| !name.is_empty()).collect();
        Self { cwd, folders, names }
    }

    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The session's folder.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Whether this leads to a file of the gateway's.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        is_in(&self.folders, &real(&self.cwd.join(path)))
    }

    /// Paths are compared as they are on the disk: `..` and links lead where they lead.
    pub(crate) fn near(&self, input: &Value, search: Search) -> Near {
        if self.folders.is_empty() {
            return Near::No;
        }
        let named = PATHS.iter().filter_map(|key| input.get(*key).and_then(Value::as_str));
        let named: Vec<_> = named.map(|path| real(&self.cwd.join(path))).collect();
        if named.iter().any(|path| is_in(&self.folders, path)) {
            return Near::Inside;
        }
        let mut searched = if named.is_empty() { vec![self.cwd.clone()] } else { named };
        match search {
            Search::Nothing => searched.clear(),
            Search::Folder => {}
            Search::Pattern => {
                let pattern = input.get("pattern").and_then(Value::as_str).unwrap_or_default();
                searched.iter_mut().for_each(|folder| *folder = real(&folder.join(begins_at(pattern))));
            }
        }
        let meets = |path: &PathBuf| {
            self.folders.iter().any(|folder| folder.starts_with(path) || path.starts_with(folder))
        };
        if searched.iter().any(meets) || self.is_named_in(input, DEPTH) {
            return Near::Around;
        }
        Near::No
    }

    fn is_named_in(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::String(text) => self.names.iter().any(|name| text.contains(name)),
            // Deeper than anything that could be shown: it is not let through unasked.
            Value::Array(_) | Value::Object(_) if depth == 0 => true,
            Value::Array(items) => items.iter().any(|item| self.is_named_in(item, depth - 1)),
            Value::Object(fields) => fields.values().any(|item| self.is_named_in(item, depth - 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Whether a real path is in one of these folders.
pub(crate) fn is_in(folders: &[PathBuf], real: &Path) -> bool {
    folders.iter().any(|folder| real.starts_with(folder))
}

/// The folder below which everything is that a pattern can match.
fn begins_at(pattern: &str) -> &str {
    let (literal, rest) = pattern.split_at(pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len()));
    if rest.contains("..") {
        return "/";
    }
    literal.rfind('/').map_or("", |end| &literal[..=end])
}

/// Without `.` and `..`, as far as the words go.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // A link before the `..` leads elsewhere than the words say.
                plain = resolved(&plain);
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Where a path leads, from the root; of one that is not there yet, as far as it is there.
pub(crate) fn real(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path);
    resolved(&plain(absolute.as_deref().unwrap_or(path)))
}

fn resolved(path: &Path) -> PathBuf {
    let mut rest: Vec<&OsStr> = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return rest.iter().rev().fold(found, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return path.to_owned();
        };
        rest.push(name);
        there = parent;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn however_it_is_named() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let (home, project, ours) =
            (root.join("home"), root.join("home/project"), root.join("home/.data/gateway"));
        for folder in [&project, &ours, &project.join("deep")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(ours.join("token"), "secret").unwrap();
        std::os::unix::fs::symlink(&ours, project.join("link")).unwrap();
        std::os::unix::fs::symlink(ours.join("token"), project.join("notes.txt")).unwrap();
        std::os::unix::fs::symlink(project.join("deep"), root.join("shortcut")).unwrap();
        let private = Private::new(std::slice::from_ref(&ours), &project, Some(&home));
        let file = |path: &str| private.near(&json!({ "file_path": path }), Search::Nothing);
        let within = ours.join("token").display().to_string();
        for path in [
            within.as_str(),
            "../.data/gateway/token",
            "deep/../../.data/gateway/not-there-yet",
            "link/token",
            "./link",
            "notes.txt",
            // The words lead to `root/.data`, the link leads to `home/.data`.
            &format!("{}/../../.data/gateway/token", root.join("shortcut").display()),
        ] {
            assert_eq!(file(path), Near::Inside, "{path}");
        }
        for path in ["main.rs", "../other", "deep/x", "/etc/passwd"] {
            assert_eq!(file(path), Near::No, "{path}");
        }
        let search = |input: Value| private.near(&input, Search::Folder);
        assert_eq!(search(json!({"pattern": "x"})), Near::No);
        assert_eq!(search(json!({"pattern": "x", "path": ".."})), Near::Around);
        assert_eq!(search(json!({"pattern": "x", "path": "/"})), Near::Around);
        assert_eq!(
            Private::new(std::slice::from_ref(&ours), &home, None)
                .near(&json!({"pattern": "x"}), Search::Folder),
            Near::Around
        );
        let pattern = |input: Value| private.near(&input, Search::Pattern);
        assert_eq!(pattern(json!({"pattern": "**/*.rs"})), Near::No);
        assert_eq!(pattern(json!({"pattern": "deep/**"})), Near::No);
        assert_eq!(pattern(json!({"pattern": "../**/tok*"})), Near::Around);
        assert_eq!(pattern(json!({"pattern": "../.data/gate*/*"})), Near::Around);
        assert_eq!(pattern(json!({"pattern": "link/*"})), Near::Around);
        assert_eq!(pattern(json!({"pattern": "*/../../.data/*/*"})), Near::Around);
        assert_eq!(pattern(json!({"pattern": "/**"})), Near::Around);
        assert_eq!(pattern(json!({"pattern": "../**", "path": "deep"})), Near::No);
        let command = |text: &str| private.near(&json!({ "command": text }), Search::Nothing);
        assert_eq!(command(&format!("cat {within}")), Near::Around);
        assert_eq!(command("cat ~/.data/gateway/token"), Near::Around);
        assert_eq!(command("cat main.rs"), Near::No);
        assert_eq!(Private::default().near(&json!({"path": "/"}), Search::Folder), Near::No);
    }
}
