//! Finds a program as the shell would.

use std::path::{Path, PathBuf};

/// The program an agent needs on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What people call it.
    pub product: &'static str,
    /// A name to be looked for on the PATH, or a path.
    pub name: String,
    /// The line that installs it.
    pub install: &'static str,
}

impl Program {
    pub fn find(&self) -> Option<PathBuf> {
        find_program(&self.name)
    }

    /// What to say where it is not found.
    pub fn missing(&self) -> String {
        format!(
            "{} is not installed: `{}` was not found. Install it: {}",
            self.product, self.name, self.install
        )
    }
}

/// Where a program lies, by its name on the PATH or by its path; nothing if it cannot be run.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find(name, std::env::split_paths(&path))
}

fn find(name: &str, folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    if name.contains(std::path::MAIN_SEPARATOR) {
        return Some(PathBuf::from(name)).filter(|path| can_run(path));
    }
    folders.map(|folder| folder.join(name)).find(|path| can_run(path))
}

/// Whether only root may change this file, or put another one in its place.
#[cfg(unix)]
pub fn is_protected(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    path.ancestors().all(|path| path.metadata().is_ok_and(|it| it.uid() == 0 && it.mode() & 0o022 == 0))
}

#[cfg(not(unix))]
pub const fn is_protected(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn can_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn can_run(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_a_file_that_can_be_run() {
        let [first, second] = [(); 2].map(|()| tempfile::TempDir::new().unwrap());
        let folders = || [first.path(), second.path()].map(Path::to_owned).into_iter();
        std::fs::write(first.path().join("claude"), "").unwrap();
        assert_eq!(find("claude", folders()), None);
        let program = second.path().join("claude");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("claude", folders()), Some(program.clone()));
        assert_eq!(find(program.to_str().unwrap(), std::iter::empty()), Some(program));
        assert_eq!(find("/nowhere/claude", folders()), None);
    }
}
