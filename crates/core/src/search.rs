//! What can be found again: of each event a bounded text, and the words in it.
//!
//! Titles, people's messages, calls, and what was decided. What agents write and tools return is not among it, and neither
//! is a secret: none is in an event.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use holdstead_protocol::api::FoundKind;
use holdstead_protocol::{Event, EventBody, InteractionId, InteractionRequest, Origin, Response, SECRET};
use serde_json::Value;

use crate::Session;
use crate::policy::shell::is_hidden;

/// Of one event, in bytes. An agent may write a thousand calls of a megabyte each.
const TEXT: usize = 2_000;
/// What an ask keeps of it until it is decided.
const ASKED: usize = 1_000;
/// Of one value in an input: those beside it have to fit, too.
const VALUE: usize = 500;
/// Different words of one text that it is found by.
const WORDS: usize = 250;
const WORD: usize = 64;
const LEVELS: usize = 6;
/// Shorter ones would be the beginning of half of all words.
const PREFIX: usize = 2;
/// Around the first hit, in characters.
const BEFORE: usize = 40;
const SNIPPET: usize = 200;

/// What an event is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findable {
    pub kind: FoundKind,
    pub interaction_id: Option<InteractionId>,
    pub text: String,
}

/// What can be found of this event. The session has it already.
pub fn findable(session: &Session, event: &Event) -> Option<Findable> {
    let of = |kind, interaction_id, text: Text| {
        (!text.0.is_empty()).then_some(Findable { kind, interaction_id, text: text.0 })
    };
    let decided = |id: InteractionId, response: Option<&Response>| {
        let asked = session.asks.get(&id)?;
        let text = Text::of(&asked.tool_name, VALUE).and(&asked.asked_text, TEXT);
        let text = response.map_or_else(|| text.clone(), |response| text.clone().and_said(response));
        of(FoundKind::Decision, Some(id), text)
    };
    match &event.body {
        EventBody::SessionOpened(opened) => {
            of(FoundKind::Session, None, Text::of(opened.title.as_deref()?, TEXT))
        }
        EventBody::UserMessage(message) => of(FoundKind::Message, None, Text::of(&message.text, TEXT)),
        EventBody::ToolCallEnd(end) => {
            let name = end.tool_name.as_deref().unwrap_or_default();
            of(FoundKind::Call, None, Text::of(name, VALUE).and_value(&end.input, LEVELS))
        }
        // The call of an agent has an event of its own.
        EventBody::InteractionRequest(request) => match request.origin {
            Origin::Caller => {
                let text = Text::of(&request.tool_name, VALUE).and(&asked_text(request), TEXT);
                of(FoundKind::Call, Some(request.interaction_id), text)
            }
            Origin::Agent | Origin::Attached | Origin::Tool => None,
        },
        EventBody::InteractionResponse(response) => {
            decided(response.interaction_id, Some(&response.response))
        }
        EventBody::LateAnswer(late) => decided(late.interaction_id, Some(&late.response)),
        EventBody::InteractionClosed(closed) => decided(closed.interaction_id, None),
        EventBody::SessionArchived(_)
        | EventBody::SessionUnarchived(_)
        | EventBody::TextDelta(_)
        | EventBody::ThinkingDelta(_)
        | EventBody::ToolCallStart(_)
        | EventBody::ToolCallDelta(_)
        | EventBody::ToolResult(_)
        | EventBody::InteractionUpdate(_)
        | EventBody::InteractionSnoozed(_)
        | EventBody::InteractionUnsnoozed(_)
        | EventBody::GrantAdded(_)
        | EventBody::GrantRevoked(_)
        | EventBody::TrustAdded(_)
        | EventBody::TrustRevoked(_)
        | EventBody::RulesFileChanged(_)
        | EventBody::VariablesSet(_)
        | EventBody::SessionInitialised(_)
        | EventBody::TurnEndBlocked(_)
        | EventBody::SessionStatus(_)
        | EventBody::Error(_)
        | EventBody::Done(_) => None,
    }
}

/// What was asked, as far as it can be found by it.
pub(crate) fn asked_text(request: &InteractionRequest) -> String {
    let none = Text(String::new());
    let text = if request.body.is_approval() {
        none.and_value(&request.input, LEVELS)
    } else {
        let shown = RefCell::new(Vec::new());
        request.body.clone().for_each_shown(|text| shown.borrow_mut().push(std::mem::take(text)), |_| {});
        shown.into_inner().iter().fold(none, |text, one| text.and(one, VALUE))
    };
    cut(&text.0, ASKED).to_owned()
}

/// A text that grows to a bound, without what a database may not take and nobody can see.
#[derive(Debug, Clone)]
struct Text(String);

impl Text {
    fn of(text: &str, most: usize) -> Self {
        Self(String::new()).and(text, most)
    }

    fn and(mut self, text: &str, most: usize) -> Self {
        let room = TEXT.saturating_sub(self.0.len() + 1).min(most);
        let seen = |c: char| if c.is_control() { ' ' } else { c };
        let added: String = cut(text.trim(), room).chars().map(seen).filter(|c| !is_hidden(*c)).collect();
        if !added.trim().is_empty() {
            if !self.0.is_empty() {
                self.0.push(' ');
            }
            self.0.push_str(&added);
        }
        self
    }

    /// The texts in a value: those that stand before all others first.
    fn and_value(self, value: &Value, levels: usize) -> Self {
        let items: Vec<&Value> = match value {
            Value::String(text) if text == SECRET => return self,
            Value::String(text) => return self.and(text, VALUE),
            Value::Array(items) => items.iter().collect(),
            Value::Object(map) => map.values().collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => return self,
        };
        if levels == 0 || self.0.len() + 1 >= TEXT {
            return self;
        }
        let (texts, others): (Vec<&Value>, Vec<&Value>) =
            items.into_iter().partition(|item| item.is_string());
        texts.into_iter().chain(others).fold(self, |text, item| text.and_value(item, levels - 1))
    }

    fn and_said(self, response: &Response) -> Self {
        match response {
            Response::Approve { lines, edited_input, .. } => {
                let text = lines.iter().fold(self, |text, line| text.and(line, VALUE));
                edited_input.iter().fold(text, |text, input| text.and_value(input, LEVELS))
            }
            Response::Deny { reason } | Response::Cancel { reason } => {
                self.and(reason.as_deref().unwrap_or_default(), VALUE)
            }
            Response::Answer { answers } => {
                let said = answers.iter().flat_map(|answer| answer.values()).filter(|said| *said != SECRET);
                said.fold(self, |text, said| text.and(said, VALUE))
            }
            Response::Submit { input } => {
                input.values().fold(self, |text, value| text.and_value(value, LEVELS))
            }
        }
    }
}

/// Its beginning, of at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The words that a text is found by.
pub fn words_of(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for (_, word) in tokens(text) {
        if words.len() == WORDS {
            break;
        }
        words.insert(word);
    }
    words
}

/// What to look for: all of these words, and one that begins so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchWords {
    pub whole: BTreeSet<String>,
    pub beginning: Option<String>,
}

impl SearchWords {
    /// `None` where there is no word in it.
    pub fn of(query: &str) -> Option<Self> {
        let mut words: Vec<String> = tokens(query).map(|(_, word)| word).collect();
        let last = words.pop()?;
        let (beginning, exact) =
            if last.chars().count() < PREFIX { (None, Some(last)) } else { (Some(last), None) };
        Some(Self { whole: words.into_iter().chain(exact).collect(), beginning })
    }

    fn has(&self, word: &str) -> bool {
        self.whole.contains(word)
            || self.beginning.as_ref().is_some_and(|beginning| word.starts_with(beginning.as_str()))
    }

    /// A part of the text, with the first of the words in it.
    pub fn snippet(&self, text: &str) -> String {
        let hit = tokens(text).find(|(_, word)| self.has(word)).map_or(0, |(place, _)| place.start);
        let before = text[..hit].char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
        let mut shown: String = text[before..].chars().take(SNIPPET).collect();
        if text[before..].chars().nth(SNIPPET).is_some() {
            shown.push('…');
        }
        if before > 0 { format!("…{shown}") } else { shown }
    }
}

/// Runs of letters and digits in small letters, each with its place. Scripts without blanks are found by each character.
fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = rest.by_ref().find(|(_, c)| c.is_alphanumeric())?;
        let mut end = start + first.len_utf8();
        while let Some((at, next)) =
            rest.next_if(|(_, next)| next.is_alphanumeric() && !alone(first) && !alone(*next))
        {
            end = at + next.len_utf8();
        }
        let word = text[start..end].to_lowercase();
        Some((start..end, cut(&word, WORD).to_owned()))
    })
}

/// A character of a script that writes no blanks between words.
const fn alone(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        words_of(text).into_iter().collect()
    }

    #[test]
    fn words_are_letters_and_digits() {
        assert_eq!(words("terraform destroy -auto-approve"), ["approve", "auto", "destroy", "terraform"]);
        assert_eq!(words("src/Main.rs snake_case Größe"), ["case", "größe", "main", "rs", "snake", "src"]);
        assert_eq!(words("删除 DB2"), ["db2", "删", "除"]);
        assert_eq!(words("\" OR 1=1; -- \u{0} * ( ^ { near"), ["1", "near", "or"]);
        assert_eq!(words(&"x".repeat(500)), ["x".repeat(64)]);
        let many: String = (0..10_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(words(&many).len(), 250);
    }

    #[test]
    fn the_last_word_may_be_a_beginning() {
        let query = SearchWords::of("Terraform  dest").unwrap();
        assert_eq!(query.whole.iter().collect::<Vec<_>>(), ["terraform"]);
        assert_eq!(query.beginning.as_deref(), Some("dest"));
        let short = SearchWords::of("a").unwrap();
        assert_eq!((short.whole.len(), short.beginning), (1, None));
        assert_eq!(SearchWords::of(" \"*-() \u{0}"), None);
    }

    #[test]
    fn a_snippet_shows_the_first_hit() {
        let text = format!("{} terraform destroy {}", "ä ".repeat(300), "ö ".repeat(300));
        let snippet = SearchWords::of("destr").unwrap().snippet(&text);
        assert!(
            snippet.starts_with('…') && snippet.ends_with('…') && snippet.contains("destroy"),
            "{snippet}"
        );
        assert!(snippet.chars().count() <= SNIPPET + 2);
        assert_eq!(SearchWords::of("ls").unwrap().snippet("Bash ls"), "Bash ls");
    }

    #[test]
    fn a_text_is_bounded_and_has_what_stands_beside_a_large_value() {
        let input =
            json!({"content": "c".repeat(1_000_000), "deep": {"path": "inner"}, "file_path": "/etc/hosts"});
        let text = Text::of("Write", VALUE).and_value(&input, LEVELS).0;
        assert!(
            text.len() <= TEXT && text.contains("/etc/hosts") && text.contains("inner"),
            "{}",
            text.len()
        );
        let many: Vec<_> = (0..100_000).map(|n| format!("{n} words")).collect();
        assert!(Text::of("", 0).and_value(&json!(many), LEVELS).0.len() <= TEXT);
        assert_eq!(Text::of("a\u{0}b\n\u{202e}c", VALUE).0, "a b c");
        assert_eq!(Text::of("", 0).and_value(&json!({"token": SECRET}), LEVELS).0, "");
    }
}
