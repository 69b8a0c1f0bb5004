//! A person's own editor.

use std::io::{Read as _, Seek as _, Write as _};
use std::process::Command;

use super::edit::Editing;
use crate::failure::Failure;
use crate::places::Places;

/// More than this was not typed by hand.
const MOST: u64 = 8 * 1024 * 1024;

/// Opens it, and returns what was written. The file lies among the gateway's own, which no agent in a box can reach.
pub(crate) fn open(places: &Places, editing: &Editing) -> Result<String, Failure> {
    places.make()?;
    let mut file = tempfile::Builder::new()
        .prefix("edit-")
        .suffix(&editing.ending())
        .tempfile_in(places.data())
        .map_err(io("make a file for the editor"))?;
    file.write_all(editing.text.as_bytes()).map_err(io("write the file for the editor"))?;
    let editor = editor();
    // As git does it: the variable may hold a program with its flags.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$@\""))
        .arg(&editor)
        .arg(file.path())
        .status()
        .map_err(io("start the editor"))?;
    if !status.success() {
        return Err(Failure::NotDone(format!(
            "The editor `{editor}` ended with {status}, so nothing was changed. Set EDITOR to the one you use."
        )));
    }
    // Many editors write another file and give it the old name.
    let mut written = std::fs::File::open(file.path()).map_err(io("read what the editor wrote"))?;
    let length = written.seek(std::io::SeekFrom::End(0)).map_err(io("read what the editor wrote"))?;
    if length > MOST {
        return Err(Failure::NotDone("What the editor wrote is too large to be sent.".to_owned()));
    }
    written.rewind().map_err(io("read what the editor wrote"))?;
    let mut text = String::new();
    written.read_to_string(&mut text).map_err(io("read what the editor wrote"))?;
    Ok(text)
}

fn editor() -> String {
    let set = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

fn io(what: &'static str) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Io { what: what.to_owned(), source }
}
