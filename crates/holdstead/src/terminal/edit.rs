//! What of a call's input a person edits, as text, and what becomes of it.

use holdstead_protocol::InteractionRequest;
use serde_json::Value;

/// An input on its way through an editor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Editing {
    input: Value,
    part: Part,
    /// What the editor is given: what was typed before, where that would not do.
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// One text of the input, by its key.
    Text(&'static str),
    /// All of it, as JSON.
    Whole,
}

/// What came out of the editor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edited {
    Same,
    Changed(Value),
}

impl Editing {
    /// The new text of an edited file and a command are edited as what they are, other inputs as JSON.
    pub(crate) fn of(request: &InteractionRequest) -> Self {
        let input = request.input.clone();
        let is_text = |key: &str| input.get(key).is_some_and(Value::is_string);
        let file = is_text("file_path");
        let part = match () {
            () if file && is_text("new_string") => Part::Text("new_string"),
            () if file && is_text("content") => Part::Text("content"),
            () if is_text("command") => Part::Text("command"),
            () => Part::Whole,
        };
        let text = match part {
            Part::Text(key) => input.get(key).and_then(Value::as_str).unwrap_or_default().to_owned(),
            Part::Whole => serde_json::to_string_pretty(&input).unwrap_or_default(),
        };
        Self { input, part, text }
    }

    /// How the file for the editor is to end, for its colours.
    pub(crate) fn ending(&self) -> String {
        match self.part {
            Part::Whole => ".json".to_owned(),
            Part::Text("command") => ".sh".to_owned(),
            Part::Text(_) => {
                let path = self.input.get("file_path").and_then(Value::as_str).unwrap_or_default();
                let ending = std::path::Path::new(path).extension().and_then(|ending| ending.to_str());
                // It becomes a part of a file's name: what an agent wrote is not trusted with more than letters.
                match ending.filter(|ending| ending.chars().all(|letter| letter.is_ascii_alphanumeric())) {
                    Some(ending) if (1..=8).contains(&ending.len()) => format!(".{ending}"),
                    Some(_) | None => ".txt".to_owned(),
                }
            }
        }
    }

    /// What the person wrote, as the input it stands for. What is wrong is said, and what was written is kept.
    pub(crate) fn take(&mut self, written: String) -> Result<Edited, String> {
        self.text = written;
        let edited = match self.part {
            Part::Whole => {
                serde_json::from_str(&self.text).map_err(|error| format!("That is not JSON: {error}."))?
            }
            Part::Text(key) => {
                let before = self.input.get(key).and_then(Value::as_str).unwrap_or_default();
                // Editors end a file with a line break that nobody typed.
                let text = match self.text.strip_suffix('\n') {
                    Some(text) if !before.ends_with('\n') => text,
                    Some(_) | None => &self.text,
                };
                if key == "command" && text.trim().is_empty() {
                    return Err("The command is empty. To run nothing, deny it.".to_owned());
                }
                let mut edited = self.input.clone();
                edited[key] = Value::from(text);
                edited
            }
        };
        Ok(if edited == self.input { Edited::Same } else { Edited::Changed(edited) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::sample;
    use super::*;

    fn editing(input: Value) -> Editing {
        Editing::of(&sample::approval(input).request)
    }

    #[test]
    fn the_new_text_of_a_file_is_edited_as_text() {
        let input = json!({"file_path": "src/a.rs", "old_string": "a", "new_string": "fn b() {}", "replace_all": true});
        let mut edit = editing(input.clone());
        assert_eq!((edit.text.as_str(), edit.ending().as_str()), ("fn b() {}", ".rs"));
        assert_eq!(edit.take("fn b() {}\n".to_owned()), Ok(Edited::Same));
        let mut expected = input;
        expected["new_string"] = json!("fn b() {\n}");
        assert_eq!(edit.take("fn b() {\n}\n".to_owned()), Ok(Edited::Changed(expected)));
        let mut whole = editing(json!({"file_path": "a", "content": "one\n"}));
        let expected = json!({"file_path": "a", "content": "two\n"});
        assert_eq!(whole.take("two\n".to_owned()), Ok(Edited::Changed(expected)));
    }

    #[test]
    fn a_command_is_edited_as_it_would_run() {
        let mut edit = editing(json!({"command": "npm test\nnpm run build", "timeout": 5}));
        assert_eq!(edit.text, "npm test\nnpm run build");
        let expected = json!({"command": "npm test", "timeout": 5});
        assert_eq!(edit.take("npm test\n".to_owned()), Ok(Edited::Changed(expected)));
        assert!(edit.take(" \n".to_owned()).unwrap_err().contains("empty"));
    }

    #[test]
    fn other_inputs_are_json_and_what_was_written_is_kept_when_it_is_not() {
        let mut edit = editing(json!({"to": "production"}));
        assert_eq!(edit.text, "{\n  \"to\": \"production\"\n}");
        assert!(edit.take("{\"to\": staging}".to_owned()).unwrap_err().starts_with("That is not JSON"));
        assert_eq!(edit.text, "{\"to\": staging}");
        let expected = json!({"to": "staging"});
        assert_eq!(edit.take("{\"to\": \"staging\"}\n".to_owned()), Ok(Edited::Changed(expected)));
    }

    #[test]
    fn a_file_of_a_strange_kind_is_text() {
        for path in ["a", "a.", "a.x/../../y", "a.;rm", "a.verylongending"] {
            assert_eq!(editing(json!({"file_path": path, "content": ""})).ending(), ".txt", "{path}");
        }
    }
}
