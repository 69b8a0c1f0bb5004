//! The gateway's own folders: tokens, keys and the journal are never read unasked.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// Inputs in which a tool names the file or the folder that it works on.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];
/// How deep an input is searched for words. Nothing that is shown to a person is deeper.
const DEPTH: usize = 128;

#[derive(Debug, Clone, Default)]
pub(super) struct Private {
    cwd: PathBuf,
    folders: Vec<PathBuf>,
    /// How a command would name them.
    names: Vec<String>,
}

/// How a call comes near the gateway's folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    No,
    /// It names something inside of one.
    Inside,
    /// It searches a folder that one of them is in, or its words name one.
    Around,
}

impl Private {
    pub(super) fn new(folders: &[PathBuf], cwd: &Path, home: Option<&Path>) -> Self {
        let cwd = real(&plain(cwd));
        let folders: Vec<_> = folders.iter().map(|folder| real(&plain(folder))).collect();
        let below = |folder: &Path, from: &Path| folder.strip_prefix(from).ok().map(Path::to_owned);
        let names = folders.iter().flat_map(|folder| {
            let at_home = home.and_then(|home| below(folder, &real(home)));
            [Some(folder.clone()), at_home, below(folder, &cwd)].into_iter().flatten()
        });
        let names = names.map(|name| name.display().to_string()).filter(|name| !name.is_empty()).collect();
        Self { cwd, folders, names }
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Paths are compared as they are on the disk: `..` and links lead where they lead.
    pub(super) fn near(&self, input: &Value, searches: bool) -> Near {
        if self.folders.is_empty() {
            return Near::No;
        }
        let named = PATHS.iter().filter_map(|key| input.get(*key).and_then(Value::as_str));
        let named: Vec<_> = named.map(|path| real(&plain(&self.cwd.join(path)))).collect();
        let inside = |path: &PathBuf| self.folders.iter().any(|folder| path.starts_with(folder));
        if named.iter().any(inside) {
            return Near::Inside;
        }
        let searched = if named.is_empty() { std::slice::from_ref(&self.cwd) } else { &named };
        let around = |path: &PathBuf| self.folders.iter().any(|folder| folder.starts_with(path));
        if (searches && searched.iter().any(around)) || self.is_named_in(input, DEPTH) {
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

/// Without `.` and `..`, as far as the words go.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // A link before the `..` leads elsewhere than the words say.
                plain = real(&plain);
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Where a path leads; of one that is not there yet, as far as it is there.
fn real(path: &Path) -> PathBuf {
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
        let file = |path: &str| private.near(&json!({ "file_path": path }), false);
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
        let search = |input: Value| private.near(&input, true);
        assert_eq!(search(json!({"pattern": "x"})), Near::No);
        assert_eq!(search(json!({"pattern": "x", "path": ".."})), Near::Around);
        assert_eq!(search(json!({"pattern": "x", "path": "/"})), Near::Around);
        assert_eq!(
            Private::new(std::slice::from_ref(&ours), &home, None).near(&json!({"pattern": "x"}), true),
            Near::Around
        );
        let command = |text: &str| private.near(&json!({ "command": text }), false);
        assert_eq!(command(&format!("cat {within}")), Near::Around);
        assert_eq!(command("cat ~/.data/gateway/token"), Near::Around);
        assert_eq!(command("cat main.rs"), Near::No);
        assert_eq!(Private::default().near(&json!({"path": "/"}), true), Near::No);
    }
}
