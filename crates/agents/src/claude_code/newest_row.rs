//! Where Claude Code goes on when it resumes a conversation.
//!
//! Its transcript is a tree: each row names its parent. Now and then the program writes a checkpoint (`last-prompt`), and
//! when it resumes it goes on at the newest one, unless later rows descend from it. A parked call breaks that: the
//! checkpoint is written behind the note that the call was deferred, and the call's result is attached to the call itself,
//! beside that note. So a conversation that was parked once would go back to that call, and forget all since. We add a
//! checkpoint at the newest row.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _};

use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::MOST_BYTES;
use crate::beneath::Beneath;

/// The longest row. Longer ones hold whole files.
const LONGEST: u64 = 32 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    /// Of a checkpoint.
    leaf_uuid: Option<String>,
    /// Of a checkpoint: the program was told to go there.
    #[serde(default)]
    explicit: bool,
    #[serde(default)]
    is_sidechain: bool,
    session_id: Option<String>,
    last_prompt: Option<Value>,
}

/// Adds a checkpoint to this transcript if the program would go on elsewhere than at its newest row.
pub(super) fn choose(folder: &Beneath, name: &OsStr) -> io::Result<()> {
    let Some(file) = folder.file(name)? else { return Ok(()) };
    if file.metadata()?.len() > MOST_BYTES {
        return Err(io::Error::other("its transcript is larger than 512 MB"));
    }
    let mut added = Vec::new();
    let mut tree = Tree::default();
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        // Of a longer line each part is read by itself, and is no row.
        if lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        // A process that was killed leaves half a line.
        added = if line.ends_with(b"\n") { Vec::new() } else { b"\n".to_vec() };
        if let Ok(row) = serde_json::from_slice(&line) {
            tree.add(row);
        }
    }
    let Some(checkpoint) = tree.missing_checkpoint() else { return Ok(()) };
    added.extend(checkpoint.to_string().into_bytes());
    added.push(b'\n');
    folder.append(name, &added)
}

#[derive(Default)]
struct Tree {
    parents: HashMap<String, Option<String>>,
    /// The newest row of the conversation itself.
    newest: Option<Row>,
    checkpoint: Option<Row>,
    /// Rows came after the checkpoint.
    grew: bool,
}

impl Tree {
    fn add(&mut self, row: Row) {
        match row.kind.as_str() {
            "last-prompt" if row.leaf_uuid.is_some() => {
                self.checkpoint = Some(row);
                self.grew = false;
            }
            // A person took all of it back.
            "last-prompt" if row.explicit => self.checkpoint = None,
            "user" | "assistant" | "attachment" | "system" if !row.is_sidechain => {
                let Some(uuid) = row.uuid.clone() else { return };
                self.parents.insert(uuid, row.parent_uuid.clone());
                self.newest = Some(row);
                self.grew = true;
            }
            _ => {}
        }
    }

    fn missing_checkpoint(self) -> Option<Value> {
        let (checkpoint, newest) = (self.checkpoint.as_ref()?, self.newest.as_ref()?);
        let leaf = checkpoint.leaf_uuid.as_deref()?;
        if !self.grew || self.descends(newest.uuid.as_deref(), leaf) {
            return None;
        }
        Some(json!({
            "type": "last-prompt",
            "lastPrompt": checkpoint.last_prompt,
            "leafUuid": newest.uuid,
            "sessionId": newest.session_id,
        }))
    }

    fn descends<'a>(&'a self, mut row: Option<&'a str>, from: &str) -> bool {
        // A row that names itself as its parent's parent does not keep us for ever.
        for _ in 0..=self.parents.len() {
            match row {
                Some(uuid) if uuid == from => return true,
                Some(uuid) => row = self.parents.get(uuid).and_then(|parent| parent.as_deref()),
                None => return false,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, uuid: &str, parent: Option<&str>) -> Value {
        json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s" })
    }

    fn checkpoint(leaf: &str) -> Value {
        json!({ "type": "last-prompt", "lastPrompt": "Begin", "leafUuid": leaf, "sessionId": "s" })
    }

    /// A call that was parked: behind it are the note that it was deferred, and a checkpoint at the end.
    fn parked() -> Vec<Value> {
        vec![
            row("user", "prompt", None),
            row("assistant", "call", Some("prompt")),
            checkpoint("call"),
            row("attachment", "deferred", Some("call")),
            row("attachment", "snapshot", Some("deferred")),
            checkpoint("snapshot"),
            json!({ "type": "cost-state" }),
        ]
    }

    /// The lines that are added to a transcript of these rows, with this at its end.
    fn added(rows: &[Value], end: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.jsonl");
        let lines = rows.iter().map(|row| format!("{row}\n")).collect::<String>() + end;
        std::fs::write(&file, &lines).unwrap();
        choose(&Beneath::open(folder.path()).unwrap(), OsStr::new("s.jsonl")).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        text.strip_prefix(&lines).expect("what was there stays").lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_conversation_goes_on_behind_the_call_that_was_parked() {
        assert_eq!(added(&parked(), ""), [""; 0], "parked, it goes on at the call");
        let mut rows = parked();
        rows.extend([
            row("user", "result", Some("call")),
            row("assistant", "done", Some("result")),
            row("user", "later", Some("done")),
        ]);
        let found = added(&rows, "");
        assert_eq!(found, [checkpoint("later").to_string()]);
        // Once it is there, nothing is added a second time, and what follows it needs nothing.
        rows.extend([checkpoint("later"), row("assistant", "reply", Some("later"))]);
        assert_eq!(added(&rows, ""), [""; 0]);
        // Parked again, and answered again.
        rows.extend(parked().split_off(3));
        rows.push(row("user", "second result", Some("reply")));
        assert_eq!(added(&rows, ""), [checkpoint("second result").to_string()]);
    }

    #[test]
    fn half_a_line_and_rows_that_belong_elsewhere_do_no_harm() {
        let mut rows = parked();
        rows.push(row("user", "result", Some("call")));
        let found = added(&rows, "{\"type\":\"assistant\",\"uuid\":\"hal");
        assert_eq!(found, ["", &checkpoint("result").to_string()], "a line of its own");
        let mut side = row("assistant", "side", Some("elsewhere"));
        side["isSidechain"] = json!(true);
        assert_eq!(added(&[rows, vec![side]].concat(), ""), [checkpoint("result").to_string()]);
        for rows in [vec![], vec![checkpoint("call")], vec![row("user", "prompt", None)]] {
            assert_eq!(added(&rows, "no JSON\n"), [""; 0]);
        }
        let ring = [checkpoint("a"), row("user", "b", Some("c")), row("user", "c", Some("b"))];
        assert_eq!(added(&ring, ""), [checkpoint("c").to_string()]);
    }
}
