//! Whether hooks that are not ours may decide about a call, too. They run beside ours, and a refusal of theirs counts.

use std::path::Path;

use serde_json::Value;

use super::PLUGIN;
use crate::ProjectFiles;
use crate::regular::{Links, NotRead, read};

const LONGEST: u64 = 1024 * 1024;
/// The organisation's settings, which the program reads for everybody.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// Files in these may bring hooks of their own.
const FOLDERS: [&str; 3] = ["agents", "commands", "skills"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OtherHooks {
    None,
    MayRun,
}

/// `user` is where the program keeps what is its user's. Looked at once, before the program starts, as the program does.
pub(super) fn other_hooks(project_files: ProjectFiles, cwd: &Path, user: Option<&Path>) -> OtherHooks {
    let of_project = match project_files {
        ProjectFiles::Closed => false,
        // Settings, plugins, skills: any of them can bring hooks.
        ProjectFiles::Trusted => cwd.join(".claude").exists(),
    };
    let of_user = user.is_some_and(|user| {
        FOLDERS.iter().any(|folder| user.join(folder).exists()) || names_hooks(&user.join("settings.json"))
    });
    match of_project || of_user || names_hooks(Path::new(MANAGED)) {
        true => OtherHooks::MayRun,
        false => OtherHooks::None,
    }
}

/// What cannot be read may name some.
fn names_hooks(settings: &Path) -> bool {
    let bytes = match read(settings, Links::Follow, LONGEST, |_| true) {
        Ok(bytes) => bytes,
        Err(NotRead::Missing) => return false,
        Err(NotRead::NotRegular | NotRead::Elsewhere | NotRead::TooLong { .. } | NotRead::Failed(_)) => {
            return true;
        }
    };
    let Ok(settings) = serde_json::from_slice::<Value>(&bytes) else { return true };
    let before_calls = settings.pointer("/hooks/PreToolUse").and_then(Value::as_array);
    let plugins = settings.get("enabledPlugins").and_then(Value::as_object);
    before_calls.is_some_and(|hooks| !hooks.is_empty())
        || plugins.is_some_and(|plugins| plugins.iter().any(|(name, on)| name != PLUGIN && on != false))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn hooks_are_found_wherever_the_program_would_find_them() {
        let named = |settings: &str| {
            let user = TempDir::new().unwrap();
            std::fs::write(user.path().join("settings.json"), settings).unwrap();
            other_hooks(ProjectFiles::Closed, Path::new("/nowhere"), Some(user.path()))
        };
        for none in [
            "{}",
            r#"{"hooks":{"PreToolUse":[],"Stop":[{}]}}"#,
            r#"{"enabledPlugins":{"holdstead@holdstead":true}}"#,
        ] {
            assert_eq!(named(none), OtherHooks::None, "{none}");
        }
        for some in [r#"{"hooks":{"PreToolUse":[{}]}}"#, r#"{"enabledPlugins":{"a@b":true}}"#, "no JSON"] {
            assert_eq!(named(some), OtherHooks::MayRun, "{some}");
        }
        let (project, user) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let found = |files| other_hooks(files, project.path(), Some(user.path()));
        assert_eq!(found(ProjectFiles::Trusted), OtherHooks::None);
        std::fs::create_dir(project.path().join(".claude")).unwrap();
        assert_eq!(
            (found(ProjectFiles::Trusted), found(ProjectFiles::Closed)),
            (OtherHooks::MayRun, OtherHooks::None)
        );
        std::fs::create_dir(user.path().join("skills")).unwrap();
        assert_eq!(found(ProjectFiles::Closed), OtherHooks::MayRun);
    }
}
