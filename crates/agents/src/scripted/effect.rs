//! What happens when an approval was given: a file is edited, or a command is only named.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use similar::TextDiff;

use super::script::{AskKind, Edit};
use crate::private::{Private, real};

/// Does what was approved and says so. Nothing but an edit touches the world.
pub(super) fn run(kind: &AskKind, input: &Value, private: &Private) -> String {
    match kind {
        AskKind::Edit => edit(input, private),
        AskKind::Approval | AskKind::Questions(_) | AskKind::Form(_) => format!("ran: {input}"),
    }
}

fn edit(input: &Value, private: &Private) -> String {
    let Ok(edit) = serde_json::from_value::<Edit>(input.clone()) else {
        return "not edited: the input has no file_path, old_string and new_string".to_owned();
    };
    match edited(&edit, private) {
        Ok((path, _, new)) => match fs::write(path, new) {
            Ok(()) => format!("edited: {}", edit.file_path),
            Err(error) => format!("not edited: {}: {error}", edit.file_path),
        },
        Err(why) => format!("not edited: {}: {why}", edit.file_path),
    }
}

/// The file with its text before and after the edit.
fn edited(edit: &Edit, private: &Private) -> Result<(PathBuf, String, String), String> {
    let path = within(&edit.file_path, private)?;
    let old = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    if edit.old_string.is_empty() || !old.contains(&edit.old_string) {
        return Err("the old text is not in it".to_owned());
    }
    let new = old.replacen(&edit.old_string, &edit.new_string, 1);
    Ok((path, old, new))
}

/// A file of the session's folder, wherever links lead, and none of the gateway's.
pub(super) fn within(file: &str, private: &Private) -> Result<PathBuf, &'static str> {
    let path = real(&private.cwd().join(file));
    if !path.starts_with(private.cwd()) {
        return Err("it lies outside the session's folder");
    }
    if private.holds(&path) {
        return Err("it is the gateway's own");
    }
    Ok(path)
}

/// What the edit would change, as a unified diff.
pub(super) fn preview(input: &Value, private: &Private) -> Option<String> {
    let edit: Edit = serde_json::from_value(input.clone()).ok()?;
    let (old, new) = match edited(&edit, private) {
        Ok((_, old, new)) => (old, new),
        // Without the file, the text of the edit is all there is to show.
        Err(_) => (format!("{}\n", edit.old_string), format!("{}\n", edit.new_string)),
    };
    let (from, to) = (format!("a/{}", edit.file_path), format!("b/{}", edit.file_path));
    let diff = TextDiff::from_lines(&old, &new);
    Some(diff.unified_diff().context_radius(3).header(&from, &to).to_string())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn at(folder: &Path) -> Private {
        Private::new(&[folder.join("gateway")], folder, None)
    }

    fn input(path: &str) -> Value {
        json!({"file_path": path, "old_string": "two", "new_string": "2"})
    }

    #[test]
    fn an_edit_changes_what_its_preview_showed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        fs::write(&file, "one\ntwo\nthree\n").unwrap();
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
        assert_eq!(preview(&input("a.txt"), &at(folder.path())).as_deref(), Some(diff));
        assert_eq!(run(&AskKind::Edit, &input("a.txt"), &at(folder.path())), "edited: a.txt");
        assert_eq!(fs::read_to_string(&file).unwrap(), "one\n2\nthree\n");
        let again = run(&AskKind::Edit, &input("a.txt"), &at(folder.path()));
        assert_eq!(again, "not edited: a.txt: the old text is not in it");
    }

    #[test]
    fn an_edit_never_leaves_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("a.txt");
        fs::write(&outside, "two").unwrap();
        let cwd = folder.path().join("inner");
        fs::create_dir(&cwd).unwrap();
        std::os::unix::fs::symlink(&outside, cwd.join("link.txt")).unwrap();
        for path in ["../a.txt", outside.to_str().unwrap(), "./../a.txt", "link.txt"] {
            assert!(run(&AskKind::Edit, &input(path), &at(&cwd)).starts_with("not edited"), "{path}");
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "two");
    }

    #[test]
    fn the_gateways_own_files_are_neither_shown_nor_edited() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("gateway/token");
        fs::create_dir(folder.path().join("gateway")).unwrap();
        fs::write(&token, "one\ntwo\nthree\n").unwrap();
        std::os::unix::fs::symlink(folder.path().join("gateway"), folder.path().join("link")).unwrap();
        for path in ["gateway/token", "link/token", "x/../gateway/token"] {
            let shown = preview(&input(path), &at(folder.path())).unwrap();
            assert!(!shown.contains("three"), "{path}: {shown}");
            assert!(
                run(&AskKind::Edit, &input(path), &at(folder.path())).starts_with("not edited"),
                "{path}"
            );
        }
        assert_eq!(fs::read_to_string(&token).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn a_preview_needs_no_file() {
        let diff = "--- a/gone.txt\n+++ b/gone.txt\n@@ -1 +1 @@\n-two\n+2\n";
        assert_eq!(preview(&input("gone.txt"), &at(Path::new("/nowhere"))).as_deref(), Some(diff));
    }

    #[test]
    fn a_command_is_only_named() {
        let effect = run(&AskKind::Approval, &json!({"command": "rm -rf dist"}), &at(Path::new("/nowhere")));
        assert_eq!(effect, r#"ran: {"command":"rm -rf dist"}"#);
    }
}
