//! The program's own transcripts: what happens to them, and the words of what reaches the model.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::Result;

/// What happens to the program's own transcript while the conversation is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    None,
    Deleted,
    OtherWords,
    MoreWords,
    /// Older than the program keeps a transcript.
    Aged,
}

/// Does it to the transcript of the session of this name, which is the only one of its folder.
pub(super) fn harm(harm: Harm, home: &Path, name: &str) -> Result<()> {
    let ending = format!("-{}", name.replace(' ', "-"));
    for project in std::fs::read_dir(home.join(".claude/projects"))? {
        let project = project?.path();
        if !project.to_string_lossy().ends_with(&ending) {
            continue;
        }
        for file in std::fs::read_dir(&project)? {
            let file = file?.path();
            if file.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            let text = std::fs::read_to_string(&file)?;
            match harm {
                Harm::None => {}
                Harm::Deleted => std::fs::remove_file(file)?,
                Harm::OtherWords => std::fs::write(file, text.replace("plum", "pear"))?,
                Harm::MoreWords => {
                    let row = text.lines().find(|line| line.contains("plum")).ok_or("no words are there")?;
                    std::fs::write(&file, format!("{text}{}\n", row.replace("plum", "pear")))?;
                }
                Harm::Aged => {
                    let old = SystemTime::now() - Duration::from_secs(40 * 24 * 60 * 60);
                    File::options().write(true).open(file)?.set_modified(old)?;
                }
            }
        }
    }
    Ok(())
}

/// What a person, the model and its calls said, in order, without what the program adds on its own.
pub(super) fn words(body: &Value) -> Vec<String> {
    let mut words = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        let one = [json!({ "type": "text", "text": message["content"] })];
        let blocks = message["content"].as_array().map_or(&one[..], Vec::as_slice);
        for block in blocks.iter().filter(|_| role != "system") {
            let said =
                ["text", "input", "content"].iter().map(|field| &block[field]).find(|said| !said.is_null());
            let said = said.map_or_else(String::new, |said| {
                said.as_str().map_or_else(|| said.to_string(), str::to_owned)
            });
            if !said.starts_with("<system-reminder>") {
                words.push(format!("{role} {}: {said}", block["type"].as_str().unwrap_or_default()));
            }
        }
    }
    words
}
