//! Which version of bash a program is: version 3, which macOS has, reads text blocks otherwise than later ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use holdstead_protocol::Shell;

use crate::program::{find_program, is_protected};

/// The versions that were asked for. An administrator who replaces bash restarts the gateway.
static KNOWN: LazyLock<Mutex<HashMap<PathBuf, Shell>>> = LazyLock::new(Mutex::default);

/// The bash that is called like this. One whose version is not known counts as the old one.
pub(crate) fn bash(name: &str) -> Shell {
    let Some(path) = find_program(name).and_then(|path| path.canonicalize().ok()) else {
        return Shell::Bash3;
    };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(path).or_insert_with_key(|path| match is_protected(path) {
        true => version(path),
        // An agent may have written it: it is not started.
        false => Shell::Bash3,
    })
}

fn version(path: &Path) -> Shell {
    let asked = Command::new(path).args(["-c", "echo ${BASH_VERSINFO[0]}"]).env_clear().output();
    let printed = asked.ok().and_then(|asked| String::from_utf8(asked.stdout).ok());
    match printed.and_then(|major| major.trim().parse::<u32>().ok()) {
        Some(4..) => Shell::Bash,
        Some(_) | None => Shell::Bash3,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_bash_that_others_may_write_is_not_started() {
        assert_eq!(bash("/bin/bash"), version(Path::new("/bin/bash")));
        let folder = tempfile::tempdir().expect("a folder");
        let fake = folder.path().join("bash");
        let ran = folder.path().join("ran");
        std::fs::write(&fake, format!("#!/bin/sh\n> {}\necho 5\n", ran.display())).expect("written");
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).expect("executable");
        assert_eq!(bash(fake.to_str().expect("a name")), Shell::Bash3);
        assert!(!ran.exists());
        assert_eq!(bash("no-such-bash"), Shell::Bash3);
    }
}
