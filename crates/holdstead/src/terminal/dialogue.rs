//! What a person is asked about one ask, line by line, and what they answer. Nothing is the default, and nothing that was
//! typed is lost: not by an error, not by going back.

mod fields;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AskBody, OfferedScope, Refusal, ResponseDraft, Rule, Scope};
use serde_json::Value;
use similar::TextDiff;

use self::fields::Filling;
use super::card::diff_line;
use super::edit::{Edited, Editing};
use super::line::Seen;
use super::row::{Ink, Row};
use crate::text::safe_line;
use crate::words;

/// The word that approves what is marked.
const WORD: &str = "yes";

#[derive(Debug)]
pub(crate) struct Dialogue {
    ask: Interaction,
    step: Step,
    filling: Filling,
    editing: Editing,
    /// What the editor made of the input.
    edited: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// Approve, deny, edit, remember.
    Choose,
    Why,
    Remember,
    /// It is marked: one key does not approve it.
    Confirm(ResponseDraft),
    /// A question or a field, by its place.
    Fill(usize),
}

/// What the line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) label: Row,
    pub(crate) seen: Seen,
    /// What stands in the line already.
    pub(crate) prefill: String,
    pub(crate) paste: Paste,
}

/// Whether pasted text may stand in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paste {
    Taken,
    /// It would decide.
    Refused,
}

/// What follows from a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    /// These words, and the next prompt.
    More(Vec<Row>),
    /// The same, and what is new has to be read first.
    Read(Vec<Row>),
    Answer(ResponseDraft),
    Edit,
    /// It stays open.
    Leave,
}

impl Dialogue {
    pub(crate) fn new(ask: Interaction) -> Self {
        let filling = Filling::new(&ask.request);
        let step = match &ask.request.body {
            AskBody::Approval { .. } => Step::Choose,
            AskBody::Question { .. } | AskBody::Form { .. } => Step::Fill(0),
        };
        let editing = Editing::of(&ask.request);
        Self { ask, step, filling, editing, edited: None }
    }

    pub(crate) fn ask(&self) -> &Interaction {
        &self.ask
    }

    pub(crate) fn editing(&self) -> &Editing {
        &self.editing
    }

    pub(crate) fn prompt(&self) -> Prompt {
        let deciding =
            |label: Row| Prompt { label, seen: Seen::Open, prefill: String::new(), paste: Paste::Refused };
        match &self.step {
            Step::Choose => deciding(self.choices()),
            Step::Remember => deciding(Row::new(Ink::Waiting, "Approve and save which? Its number: ")),
            Step::Confirm(_) => deciding(Row::new(Ink::Waiting, &format!("Type {WORD} to approve it: "))),
            Step::Why => Prompt {
                label: Row::new(Ink::Waiting, "Why? The agent reads it (empty is fine): "),
                seen: Seen::Open,
                prefill: String::new(),
                paste: Paste::Taken,
            },
            Step::Fill(place) => self.filling.prompt(*place),
        }
    }

    fn choices(&self) -> Row {
        let mut choices = match &self.edited {
            None => vec!["[a]pprove once", "[d]eny"],
            Some(_) => vec!["[a]pprove as edited", "[d]eny", "[u]ndo the edit"],
        };
        if self.ask.request.capabilities.edit_input {
            choices.push("[e]dit");
        }
        if self.edited.is_none() && !self.offers().is_empty() {
            choices.push("[r]emember");
        }
        Row::new(Ink::Waiting, &format!("{}: ", choices.join(" ")))
    }

    /// How far an approval may reach besides once.
    fn offers(&self) -> Vec<OfferedScope> {
        let AskBody::Approval { offered_scopes, .. } = &self.ask.request.body else { return Vec::new() };
        let carried = offered_scopes.iter().filter(|_| self.ask.request.capabilities.scopes);
        carried.filter(|offer| offer.scope != Scope::Once).cloned().collect()
    }

    /// A line that was ended with Enter.
    pub(crate) fn line(&mut self, line: &str) -> Next {
        match self.step.clone() {
            Step::Choose => self.chosen(line.trim()),
            Step::Why => {
                let reason = Some(line.trim().to_owned()).filter(|reason| !reason.is_empty());
                Next::Answer(ResponseDraft::Deny { reason })
            }
            Step::Remember => self.remembered(line.trim()),
            Step::Confirm(draft) => {
                if line.trim() == WORD {
                    return Next::Answer(draft);
                }
                if line.trim().is_empty() {
                    return Next::More(Vec::new());
                }
                self.step = Step::Choose;
                Next::More(vec![Row::plain("Not approved.")])
            }
            Step::Fill(place) => match self.filling.fill(place, line) {
                Err(words) => Next::More(vec![Row::plain(&words)]),
                Ok(()) => self.after(place),
            },
        }
    }

    fn after(&mut self, place: usize) -> Next {
        if place + 1 < self.filling.len() {
            self.step = Step::Fill(place + 1);
            return Next::More(Vec::new());
        }
        match self.filling.submit(&self.ask.request) {
            Ok(draft) => Next::Answer(draft),
            Err(failure) => Next::More(vec![Row::new(Ink::Danger, &format!("✕ {failure}"))]),
        }
    }

    fn chosen(&mut self, line: &str) -> Next {
        match line {
            "" => Next::More(Vec::new()),
            "a" => self.approve(ResponseDraft::Approve {
                scope: None,
                lines: Vec::new(),
                edited_input: self.edited.clone(),
            }),
            "d" => {
                self.step = Step::Why;
                Next::More(Vec::new())
            }
            "e" if self.ask.request.capabilities.edit_input => Next::Edit,
            "u" if self.edited.is_some() => {
                self.edited = None;
                self.editing = Editing::of(&self.ask.request);
                Next::More(vec![Row::plain("It is as the agent asked for it.")])
            }
            "r" if self.edited.is_none() && !self.offers().is_empty() => {
                self.step = Step::Remember;
                Next::More(
                    (1..).zip(self.offers()).map(|(number, offer)| offer_row(number, &offer)).collect(),
                )
            }
            _ => Next::More(vec![Row::plain(
                "Nothing was decided. Type one of the letters in brackets, then Enter; Esc leaves it for later.",
            )]),
        }
    }

    /// Saved is what was shown: each offer stands with its literal rules and its reach.
    fn remembered(&mut self, line: &str) -> Next {
        let offers = self.offers();
        let offer = line.parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
        let Some(offer) = offer else {
            if line.is_empty() {
                return Next::More(Vec::new());
            }
            self.step = Step::Choose;
            return Next::More(vec![Row::plain("Nothing was saved or approved.")]);
        };
        let lines = match &offer.rule {
            Rule::Lines { lines } => lines.clone(),
            Rule::ExactInput { .. } | Rule::Key { .. } => Vec::new(),
        };
        self.approve(ResponseDraft::Approve { scope: Some(offer.scope), lines, edited_input: None })
    }

    fn approve(&mut self, draft: ResponseDraft) -> Next {
        if self.ask.request.marks.is_empty() {
            return Next::Answer(draft);
        }
        self.step = Step::Confirm(draft);
        Next::Read(
            self.ask
                .request
                .marks
                .iter()
                .map(|mark| {
                    Row::new(Ink::Danger, &format!("! {}:", words::risk(mark.risk)))
                        .and(Ink::Strong, &format!(" {}", safe_line(&mark.text)))
                })
                .collect(),
        )
    }

    /// One step back.
    pub(crate) fn back(&mut self) -> Next {
        match self.step {
            Step::Choose | Step::Fill(0) => return Next::Leave,
            Step::Fill(place) => self.step = Step::Fill(place - 1),
            Step::Why | Step::Remember | Step::Confirm(_) => self.step = Step::Choose,
        }
        Next::More(Vec::new())
    }

    /// What came out of the editor. It approves nothing.
    pub(crate) fn written(&mut self, text: String) -> Vec<Row> {
        let before = Editing::of(&self.ask.request).text;
        match self.editing.take(text) {
            Err(words) => {
                let again = " It is kept: e opens the editor again.";
                vec![Row::new(Ink::Danger, &format!("✕ {words}")).and(Ink::Plain, again)]
            }
            Ok(Edited::Same) => {
                self.edited = None;
                vec![Row::plain("Nothing was changed.")]
            }
            Ok(Edited::Changed(input)) => {
                self.edited = Some(input);
                let diff = TextDiff::from_lines(&before, &self.editing.text);
                let diff = diff.unified_diff().context_radius(2).to_string();
                let mut rows = vec![Row::new(Ink::Strong, "What you changed")];
                rows.extend(diff.lines().map(diff_line));
                rows
            }
        }
    }

    /// The gateway did not take the answer: what was typed stays, and what was wrong is asked for again.
    pub(crate) fn refused(&mut self, refusal: &Refusal) -> Vec<Row> {
        let mut rows = vec![Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &refusal.detail)];
        for (name, why) in &refusal.field_errors {
            let label = self.filling.label(name).unwrap_or(name);
            rows.push(Row::plain(&format!("  {}: {}", safe_line(label), safe_line(why))));
        }
        let wrong = refusal.field_errors.keys().filter_map(|name| self.filling.place(name)).min();
        self.step = match &self.ask.request.body {
            AskBody::Approval { .. } => Step::Choose,
            AskBody::Question { .. } | AskBody::Form { .. } => Step::Fill(wrong.unwrap_or(0)),
        };
        rows
    }
}

fn offer_row(number: usize, offer: &OfferedScope) -> Row {
    let reach = match offer.scope {
        Scope::Once => "once",
        Scope::Session => "in this session",
        Scope::Hour => "in all your sessions, for an hour",
        Scope::Always => "in all your sessions, until you take it back",
    };
    Row::new(Ink::Strong, &format!("  {number}. "))
        .and(Ink::Plain, &words::rule(&offer.rule))
        .and(Ink::Dim, &format!("  ({reach})"))
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::Code;
    use serde_json::json;

    use super::super::sample;
    use super::*;

    fn approve(edited_input: Option<Value>) -> Next {
        Next::Answer(ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input })
    }

    #[test]
    fn nothing_is_the_default() {
        for line in ["", " ", "ja", "y", "yes", "A!", "aa", "q", "k", "1", "r2"] {
            let mut dialogue = Dialogue::new(sample::command("ls"));
            assert!(matches!(dialogue.line(line), Next::More(_)), "{line}");
            assert_eq!(dialogue.step, Step::Choose, "{line}");
        }
        assert_eq!(Dialogue::new(sample::command("ls")).line("a"), approve(None));
        assert_eq!(Dialogue::new(sample::command("ls")).prompt().paste, Paste::Refused);
    }

    #[test]
    fn what_is_marked_wants_its_word() {
        for line in ["", "y", "a", "YES", "yes please"] {
            let mut dialogue = Dialogue::new(sample::marked("rm -rf dist"));
            let Next::Read(rows) = dialogue.line("a") else { panic!("it is marked") };
            assert_eq!(rows[0].text(), "! Deletes: rm -rf dist");
            assert!(matches!(dialogue.line(line), Next::More(_)), "{line}");
        }
        let mut dialogue = Dialogue::new(sample::marked("rm -rf dist"));
        dialogue.line("a");
        assert_eq!(dialogue.prompt().paste, Paste::Refused);
        assert_eq!(dialogue.line("yes"), approve(None));
        // An edit and a rule do not lead around it.
        dialogue = Dialogue::new(sample::marked("rm -rf dist"));
        dialogue.line("r");
        assert!(matches!(dialogue.line("1"), Next::Read(_)));
    }

    #[test]
    fn a_refusal_has_words_or_none() {
        let mut dialogue = Dialogue::new(sample::command("ls"));
        dialogue.line("d");
        let reason = Some("use pnpm".to_owned());
        assert_eq!(dialogue.line("use pnpm"), Next::Answer(ResponseDraft::Deny { reason }));
        assert_eq!(dialogue.line(""), Next::Answer(ResponseDraft::Deny { reason: None }));
        assert_eq!(dialogue.back(), Next::More(Vec::new()));
        assert_eq!(dialogue.back(), Next::Leave);
    }

    #[test]
    fn what_is_remembered_stands_there_word_for_word() {
        let mut dialogue = Dialogue::new(sample::command("ls"));
        let Next::More(rows) = dialogue.line("r") else { panic!("offers") };
        assert_eq!(rows[0].text(), "  1. allow Bash(ls:*)  (in this session)");
        let lines = vec!["allow Bash(ls:*)".to_owned()];
        let saved = ResponseDraft::Approve { scope: Some(Scope::Session), lines, edited_input: None };
        assert_eq!(dialogue.line("1"), Next::Answer(saved));
    }

    #[test]
    fn an_edit_is_shown_and_approved_on_its_own() {
        let mut dialogue = Dialogue::new(sample::command("npm test"));
        assert_eq!(dialogue.line("e"), Next::Edit);
        let rows = dialogue.written("pnpm test\n".to_owned());
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert!(
            shown.contains(&"  -npm test".to_owned()) && shown.contains(&"  +pnpm test".to_owned()),
            "{shown:?}"
        );
        assert!(dialogue.prompt().label.text().contains("[a]pprove as edited"));
        assert_eq!(dialogue.line("a"), approve(Some(json!({"command": "pnpm test"}))));
        dialogue.line("u");
        assert_eq!(dialogue.line("a"), approve(None));
    }

    #[test]
    fn what_was_written_badly_is_there_when_the_editor_opens_again() {
        let mut dialogue = Dialogue::new(sample::approval(json!({"to": "production"})));
        let rows = dialogue.written("{\"to\": staging".to_owned());
        assert!(rows[0].text().contains("not JSON") && rows[0].text().contains("e opens the editor"));
        assert_eq!(dialogue.editing().text, "{\"to\": staging");
        assert_eq!(dialogue.line("a"), approve(None), "what was not JSON changes nothing");
    }

    #[test]
    fn an_answer_that_was_refused_is_still_there() {
        let mut dialogue = Dialogue::new(sample::form(json!([
            {"id": "version", "label": "Version", "type": "text", "required": true},
            {"id": "mail", "label": "Mail", "type": "text", "format": "email", "required": true},
        ])));
        dialogue.line("q");
        let Next::Answer(_) = dialogue.line("k") else { panic!("it is complete") };
        let mut refusal = Refusal::new(Code::Invalid, "The answer does not fit.");
        refusal.field_errors.insert("mail".to_owned(), "is no email address".to_owned());
        let rows = dialogue.refused(&refusal);
        assert_eq!(rows[1].text(), "  Mail: is no email address");
        assert_eq!(dialogue.prompt().prefill, "k");
        let input = json!({"version": "q", "mail": "k@example.org"}).as_object().cloned();
        let sent = ResponseDraft::Submit { answers: None, input };
        assert_eq!(dialogue.line("k@example.org"), Next::Answer(sent));
        dialogue.back();
        assert_eq!(dialogue.prompt().prefill, "q");
    }
}
