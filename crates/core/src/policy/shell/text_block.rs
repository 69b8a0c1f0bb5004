//! `"$(cat <<'EOF' … EOF )"`: how agents write messages of several lines. Nothing in it is expanded, so it is text.

use super::reader::Reader;
use super::{Shell, Unclear};

impl Reader<'_> {
    /// Reads the block that begins at this `$(`, inside double quotes.
    pub(super) fn text_block(&mut self, text: &mut String) -> Result<(), Unclear> {
        let Some((body, length)) = block(&self.line[self.at..]) else {
            return self.unclear("a command inside a word");
        };
        // Version 3 of bash looks for the end of `$(` in the text, too. Where that bash may run the line, quotes may hide the
        // end; elsewhere a person may still copy the line into one.
        let hides = self.shell == Shell::Bash3 && body.contains(['(', '\'', '"', '`', '\\', '#', '$']);
        if hides || closes_early(body) {
            return self.unclear("a text block that an old bash may misread");
        }
        // A shell drops the newlines at the end of what a command printed.
        text.push_str(body.trim_end_matches('\n'));
        self.at += length;
        Ok(())
    }
}

/// Whether a parenthesis closes in this text that did not open in it.
fn closes_early(body: &str) -> bool {
    let mut open = 0_usize;
    body.bytes().any(|byte| {
        match byte {
            b'(' => open += 1,
            b')' if open == 0 => return true,
            b')' => open -= 1,
            _ => {}
        }
        false
    })
}

/// The text of the block at the start of this, and how long the whole block is.
fn block(rest: &str) -> Option<(&str, usize)> {
    let opened = rest.strip_prefix("$(cat <<")?;
    let (mark, after_mark) = opened.trim_start_matches(' ').strip_prefix('\'')?.split_once('\'')?;
    if mark.is_empty() || !mark.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let body = after_mark.strip_prefix('\n')?;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.strip_suffix('\n') == Some(mark) {
            let closed = body[at + line.len()..].trim_start_matches([' ', '\t', '\n']).strip_prefix(')')?;
            return Some((&body[..at], rest.len() - closed.len()));
        }
        // Older shells end the block at `EOF)`.
        if line.trim_start_matches([' ', '\t']).starts_with(mark) {
            return None;
        }
        at += line.len();
    }
    None
}
