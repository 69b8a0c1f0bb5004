//! The diff of what a patch would do to files, for a person to read.

use serde_json::Value;
use similar::TextDiff;

/// One unified diff of all of them; nothing, if one cannot be shown.
pub(super) fn preview(changes: &[Value]) -> Option<String> {
    if changes.is_empty() {
        return None;
    }
    changes.iter().map(diff).collect()
}

/// Of a file that comes or goes the program tells the content, of others the hunks.
fn diff(change: &Value) -> Option<String> {
    let path = change.get("path")?.as_str()?;
    let text = change.get("diff")?.as_str()?;
    let kind = change.get("kind")?;
    let whole = |before: &str, after: &str| {
        TextDiff::from_lines(before, after).unified_diff().context_radius(3).header(path, path).to_string()
    };
    match kind.get("type")?.as_str()? {
        "add" => Some(whole("", text)),
        "delete" => Some(whole(text, "")),
        "update" => {
            let moved = ["movePath", "move_path"].iter().find_map(|key| kind.get(*key)?.as_str());
            let end = if text.ends_with('\n') { "" } else { "\n" };
            Some(format!("--- {path}\n+++ {}\n{text}{end}", moved.unwrap_or(path)))
        }
        _ => None,
    }
}

/// What was done, for the transcript.
pub(super) fn done(changes: &[Value]) -> String {
    let line = |change: &Value| {
        let kind = change.get("kind").and_then(|kind| kind.get("type")).and_then(Value::as_str);
        let path = change.get("path").and_then(Value::as_str);
        Some(format!("{} {}", kind?, path?))
    };
    changes.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_diff_for_every_kind() {
        let change = |kind: Value, diff: &str| json!({"path": "/project/a.txt", "kind": kind, "diff": diff});
        let header = "--- /project/a.txt\n+++ /project/a.txt\n";
        let hunk = "@@ -1 +1 @@\n-one\n+two\n";
        let cases = [
            (change(json!({"type": "add"}), "one\n"), format!("{header}@@ -0,0 +1 @@\n+one\n")),
            (change(json!({"type": "delete"}), "one\n"), format!("{header}@@ -1 +0,0 @@\n-one\n")),
            (change(json!({"type": "update", "move_path": null}), hunk), format!("{header}{hunk}")),
            (
                change(json!({"type": "update", "move_path": "/project/b.txt"}), hunk),
                format!("--- /project/a.txt\n+++ /project/b.txt\n{hunk}"),
            ),
        ];
        for (change, expected) in &cases {
            assert_eq!(preview(std::slice::from_ref(change)).as_ref(), Some(expected), "{change}");
        }
        let all: Vec<_> = cases.iter().map(|(change, _)| change.clone()).collect();
        assert_eq!(preview(&all), Some(cases.iter().map(|(_, diff)| diff.as_str()).collect()));
        assert_eq!(done(&all[..2]), "add /project/a.txt\ndelete /project/a.txt");
        for unclear in [json!({}), change(json!({"type": "other"}), ""), change(json!("add"), "")] {
            assert_eq!(preview(&[all[0].clone(), unclear.clone()]), None, "{unclear}");
        }
        assert_eq!(preview(&[]), None);
    }
}
