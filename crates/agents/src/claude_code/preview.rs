//! The diff that an edit would make, for a person to read.

use std::path::PathBuf;

use serde_json::Value;
use similar::TextDiff;

use crate::account::Account;

/// Reads a file that is about to be changed; nothing, if it is not there or not a text to be shown.
/// It knows the gateway's own folders, whose files are not shown.
pub(super) type ReadFile = fn(&str, &[PathBuf], Option<&Account>) -> Option<String>;

/// A unified diff for `Edit`, `MultiEdit` and `Write`.
pub(super) fn preview(tool: &str, input: &Value, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let path = text(input, "file_path")?;
    match tool {
        "Write" => Some(diff(path, &read(path).unwrap_or_default(), text(input, "content")?)),
        "Edit" => edited(path, std::slice::from_ref(input), read),
        "MultiEdit" => edited(path, input.get("edits")?.as_array()?, read),
        _ => None,
    }
}

fn edited(path: &str, edits: &[Value], read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let before = read(path);
    let after = before
        .as_deref()
        .and_then(|before| edits.iter().try_fold(before.to_owned(), |content, edit| apply(&content, edit)));
    if let (Some(before), Some(after)) = (before, after) {
        return Some(diff(path, &before, &after));
    }
    // The file is not as the agent believes: what it would replace is all there is to show.
    let snippets = edits.iter().map(|edit| Some((text(edit, "old_string")?, text(edit, "new_string")?)));
    let snippets: Vec<_> = snippets.collect::<Option<_>>()?;
    Some(snippets.into_iter().map(|(old, new)| diff(path, old, new)).collect())
}

fn apply(content: &str, edit: &Value) -> Option<String> {
    let (old, new) = (text(edit, "old_string")?, text(edit, "new_string")?);
    if old.is_empty() || !content.contains(old) {
        return None;
    }
    let all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    Some(if all { content.replace(old, new) } else { content.replacen(old, new, 1) })
}

fn diff(path: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    diff.unified_diff().context_radius(3).header(path, path).to_string()
}

fn text<'a>(input: &'a Value, key: &str) -> Option<&'a str> {
    input.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(path: &str) -> Option<String> {
        (path == "a.txt").then(|| "one\ntwo\nthree\n".to_owned())
    }

    #[test]
    fn a_diff_for_every_edit() {
        let header = "--- a.txt\n+++ a.txt\n";
        let cases = [
            (
                "Edit",
                json!({"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
                format!("{header}@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"),
            ),
            (
                "MultiEdit",
                json!({"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"},
                    {"old_string": "1\ntwo", "new_string": "2"}]}),
                format!("{header}@@ -1,3 +1,2 @@\n-one\n-two\n+2\n three\n"),
            ),
            (
                "Write",
                json!({"file_path": "b.txt", "content": "new\n"}),
                "--- b.txt\n+++ b.txt\n@@ -0,0 +1 @@\n+new\n".to_owned(),
            ),
            // What it wants to replace is not there.
            (
                "Edit",
                json!({"file_path": "a.txt", "old_string": "four\n", "new_string": "4\n"}),
                format!("{header}@@ -1 +1 @@\n-four\n+4\n"),
            ),
        ];
        for (tool, input, expected) in cases {
            assert_eq!(preview(tool, &input, &read), Some(expected), "{input}");
        }
        assert_eq!(preview("Bash", &json!({"file_path": "a.txt"}), &read), None);
        assert_eq!(preview("Edit", &json!({"file_path": "a.txt"}), &read), None);
        assert_eq!(preview("Write", &json!({"content": "x"}), &read), None);
    }
}
