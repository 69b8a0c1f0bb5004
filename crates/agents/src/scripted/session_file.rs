//! What the agent itself remembers of a conversation, like any agent that can be resumed.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use holdstead_protocol::ToolCallId;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Conversation {
    pub(super) id: String,
    /// How many messages it got. Part of every tool call's id, so that none is used twice.
    pub(super) turn: u64,
    /// Where it is in the turn; nothing between turns.
    pub(super) place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Place {
    pub(super) script: String,
    /// The step to take next, or the one whose asks are open.
    pub(super) step: usize,
    /// The asks of this step were announced.
    pub(super) asked: bool,
    /// Those of them that are resolved.
    pub(super) resolved: Vec<ToolCallId>,
}

#[derive(Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
    pub(super) conversation: Conversation,
}

impl SessionFile {
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let id = format!("conv_{}", uuid::Uuid::new_v4().simple());
        let file = Self { path: path(folder, &id)?, conversation: Conversation { id, turn: 0, place: None } };
        file.save()?;
        Ok(file)
    }

    pub(super) fn load(folder: &Path, id: &str) -> io::Result<Self> {
        let path = path(folder, id)?;
        let conversation = serde_json::from_slice(&fs::read(&path)?)?;
        Ok(Self { path, conversation })
    }

    /// Replaces the file as a whole: whoever dies meanwhile leaves the old one or the new one.
    pub(super) fn save(&self) -> io::Result<()> {
        let new = self.path.with_extension("json.new");
        fs::write(&new, serde_json::to_vec(&self.conversation)?)?;
        fs::rename(new, &self.path)
    }
}

/// The id comes from a command line: it must not lead out of the folder.
fn path(folder: &Path, id: &str) -> io::Result<PathBuf> {
    if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a conversation"));
    }
    Ok(folder.join(format!("{id}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = SessionFile::create(&folder.path().join("new")).unwrap();
        file.conversation.turn = 3;
        file.conversation.place = Some(Place {
            script: "say a".into(),
            step: 2,
            asked: true,
            resolved: vec![ToolCallId::new("call_3_3_1").unwrap()],
        });
        file.save().unwrap();
        let loaded = SessionFile::load(&folder.path().join("new"), &file.conversation.id).unwrap();
        assert_eq!(loaded.conversation, file.conversation);
    }

    #[test]
    fn a_name_never_leads_out_of_the_folder() {
        for id in ["", "../x", "/etc/passwd", "a/b", "a.b"] {
            assert!(SessionFile::load(Path::new("/tmp"), id).is_err(), "{id}");
        }
    }
}
