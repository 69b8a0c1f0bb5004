//! An ask as rows: all of it, as it would run.

use std::collections::BTreeSet;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{
    AgentBox, AskBody, Field, FieldKind, FieldOption, InteractionRequest, Origin, Question,
};
use serde_json::Value;

use super::row::{Ink, Row};
use crate::text::{self, safe_line};
use crate::words;

/// Further words with letters of two alphabets make nobody more careful.
const MOST_MIXED: usize = 5;

/// The keys of an edit that a diff shows.
const IN_DIFF: [&str; 5] = ["file_path", "old_string", "new_string", "content", "edits"];

pub(crate) fn rows(ask: &Interaction, boxed: Option<&AgentBox>) -> Vec<Row> {
    let request = &ask.request;
    let mut rows = vec![Row::new(Ink::Dim, &words::asked(request))];
    match &request.body {
        AskBody::Approval { preview, is_plan, .. } => {
            rows.extend(approval(request, preview.as_deref(), *is_plan));
        }
        AskBody::Question { questions } => {
            // One question is its own headline.
            if questions.len() > 1 {
                rows.push(Row::new(Ink::Strong, &words::headline(request)));
            }
            rows.extend(questions.iter().flat_map(question));
        }
        AskBody::Form { form } => {
            rows.push(Row::new(Ink::Strong, &words::headline(request)));
            rows.extend(form.fields.iter().flat_map(field));
        }
    }
    for word in mixed_words(request) {
        rows.push(
            Row::new(Ink::Danger, "! Look twice.")
                .and(Ink::Plain, " One word has letters of two alphabets, which may look alike: ")
                .and(Ink::Danger, &word),
        );
    }
    for mark in &request.marks {
        rows.push(
            Row::new(Ink::Danger, "! Look twice.")
                .and(Ink::Plain, &format!(" {}: {}", words::risk(mark.risk), safe_line(&mark.text))),
        );
    }
    for part in request.verdict.iter().flat_map(|verdict| &verdict.parts) {
        let Some(rule) = &part.rule else { continue };
        let what = part.text.as_deref().unwrap_or("it");
        rows.push(Row::new(Ink::Dim, &format!("  {}s {what} by {}", part.effect, rule.text)));
    }
    if let Some(says) = &request.agent_says {
        rows.push(Row::plain(&format!("{} says: \"{}\"", words::author(request), safe_line(says))));
    }
    if let Some(reason) = &request.decision_reason {
        rows.push(Row::plain(&format!("Asked because: {}", safe_line(reason))));
    }
    if let Some(error) = &request.error {
        rows.push(Row::new(
            Ink::Waiting,
            &format!("Asked again ({}): {}", request.attempt, safe_line(error)),
        ));
    }
    if request.may_have_run {
        rows.push(Row::new(Ink::Danger, "! An approval of this very call may already have run."));
    }
    if let Some(boxed) = boxed.filter(|_| request.body.is_approval()) {
        let ink = match boxed {
            AgentBox::Bubblewrap | AgentBox::Landlock => Ink::Dim,
            AgentBox::None { .. } => Ink::Plain,
        };
        rows.push(Row::new(ink, &words::boxed(boxed)));
    }
    rows.push(Row::new(Ink::Dim, &words::no_answer(request)));
    rows
}

/// Words of the command and of paths in which letters of one alphabet may pass for those of another.
fn mixed_words(request: &InteractionRequest) -> Vec<String> {
    if !request.body.is_approval() {
        return Vec::new();
    }
    let told = ["command", "file_path", "filePath", "path", "url"];
    let told = told.iter().filter_map(|key| request.input.get(key).and_then(Value::as_str));
    let told = told.chain([request.tool_name.as_str()]).chain(request.cwd.as_deref());
    let words: BTreeSet<String> = told.flat_map(text::mixed_words).collect();
    words.into_iter().take(MOST_MIXED).collect()
}

fn approval(request: &InteractionRequest, preview: Option<&str>, is_plan: bool) -> Vec<Row> {
    let text = |key: &str| request.input.get(key).and_then(Value::as_str);
    let mut shown = Vec::new();
    let mut rows = Vec::new();
    match words::line_of(request) {
        Some(command) if command.trim_end().contains('\n') => {
            let last = command.trim_end().lines().last().unwrap_or_default();
            let lines = command.trim_end().lines().count();
            let headline = format!("Run {lines} lines, which end with: {}", safe_line(last));
            rows.push(Row::new(Ink::Strong, &headline));
            rows.extend(Row::block("  ", Ink::Plain, command));
            shown.push("command");
        }
        Some(_) => {
            rows.push(Row::new(Ink::Strong, &words::headline(request)));
            shown.push("command");
        }
        None if is_plan => {
            rows.push(Row::new(Ink::Strong, "The agent has a plan, and would begin"));
            if let Some(plan) = text("plan") {
                rows.extend(Row::block("  ", Ink::Plain, plan));
                shown.push("plan");
            }
        }
        None if request.origin.is_agent() && text("file_path").is_some() => {
            rows.push(Row::new(Ink::Strong, &words::headline(request)));
        }
        None => rows.push(Row::new(Ink::Strong, &safe_line(&request.tool_name))),
    }
    if let Some(preview) = preview {
        match request.origin {
            // Our own driver made the diff of the input.
            Origin::Agent => shown.extend(IN_DIFF),
            Origin::Attached | Origin::Tool | Origin::Caller => {
                let words = format!("The change, as {} describes it:", words::author(request));
                rows.push(Row::new(Ink::Dim, &words));
            }
        }
        rows.extend(preview.lines().map(diff_line));
    }
    // What the agent says about its call stands below, unless a word of it is marked.
    let said = text("description").filter(|words| request.agent_says.as_deref() == Some(words));
    if said.is_some_and(|words| !request.marks.iter().any(|mark| words.contains(&mark.text))) {
        shown.push("description");
    }
    if let Some(rest) = without(&request.input, &shown) {
        rows.extend(Row::block("  ", Ink::Plain, &serde_json::to_string_pretty(&rest).unwrap_or_default()));
    }
    rows
}

/// What of an input stands nowhere else on the card.
fn without(input: &Value, shown: &[&str]) -> Option<Value> {
    let Value::Object(fields) = input else { return Some(input.clone()).filter(|input| !input.is_null()) };
    let mut rest = fields.clone();
    rest.retain(|key, _| !shown.contains(&key.as_str()));
    (!rest.is_empty()).then_some(Value::Object(rest))
}

pub(crate) fn diff_line(line: &str) -> Row {
    let ink = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => Ink::Dim,
        [b'+', ..] => Ink::Added,
        [b'-', ..] => Ink::Removed,
        _ => Ink::Plain,
    };
    Row::plain("  ").and(ink, line)
}

fn question(question: &Question) -> Vec<Row> {
    let head = format!("[{}] ", safe_line(&question.header));
    let mut rows = vec![Row::new(Ink::Waiting, &head).and(Ink::Strong, &question.question)];
    for (number, option) in (1..).zip(&question.options) {
        rows.push(Row::new(Ink::Strong, &format!("  {number}. ")).and(Ink::Plain, &option.label));
        if let Some(words) = &option.description {
            rows.extend(Row::block("     ", Ink::Dim, words));
        }
        if let Some(preview) = &option.preview {
            rows.extend(Row::block("     │ ", Ink::Plain, preview));
        }
    }
    rows
}

fn field(field: &Field) -> Vec<Row> {
    let mark = if field.required { " (required)" } else { "" };
    let note = field.description.as_deref().map(|words| format!(" – {words}")).unwrap_or_default();
    let mut rows = vec![
        Row::new(Ink::Strong, &format!("  {}", safe_line(&field.label)))
            .and(Ink::Dim, mark)
            .and(Ink::Plain, &note),
    ];
    for (number, option) in (1..).zip(options(&field.kind)) {
        let value =
            if option.label == option.value { String::new() } else { format!("  ({})", option.value) };
        rows.push(
            Row::new(Ink::Strong, &format!("     {number}. "))
                .and(Ink::Plain, &option.label)
                .and(Ink::Dim, &value),
        );
    }
    rows.extend(hint(&field.kind).map(|hint| Row::new(Ink::Dim, &format!("     {hint}"))));
    rows
}

/// What may be chosen.
pub(crate) fn options(kind: &FieldKind) -> &[FieldOption] {
    match kind {
        FieldKind::Select { options }
        | FieldKind::Radio { options }
        | FieldKind::Multiselect { options, .. } => options,
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Date { .. }
        | FieldKind::Secret {} => &[],
    }
}

/// What it must look like.
fn hint(kind: &FieldKind) -> Option<&'static str> {
    match kind {
        FieldKind::Multiselect { .. } => Some("numbers with commas"),
        FieldKind::Checkbox {} => Some("yes or no"),
        FieldKind::Date { .. } => Some("a day like 2026-01-31"),
        FieldKind::Text { format, .. } => format.map(|format| format.words()),
        FieldKind::Select { .. }
        | FieldKind::Radio { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Secret {} => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::sample;
    use super::*;

    fn text(ask: &Interaction) -> String {
        rows(ask, None).iter().map(|row| format!("{}\n", row.text())).collect()
    }

    #[test]
    fn every_line_of_a_long_command_is_there_and_its_end_is_said_first() {
        let command: String = (0..400).map(|line| format!("echo {line}\n")).collect();
        let shown = text(&sample::approval(json!({"command": format!("{command}rm -rf build\n")})));
        assert!(
            shown.starts_with("Agent calls Bash\nRun 401 lines, which end with: rm -rf build\n"),
            "{shown}"
        );
        assert!((0..400).all(|line| shown.contains(&format!("\n  echo {line}\n"))));
        assert!(shown.contains("\n  rm -rf build\n"));
    }

    #[test]
    fn a_word_of_two_alphabets_is_told() {
        let shown = text(&sample::command("cat /etc/p\u{430}sswd"));
        assert!(
            shown.contains(
                "! Look twice. One word has letters of two alphabets, which may look alike: p⟨U+0430⟩sswd"
            ),
            "{shown}"
        );
        assert!(!text(&sample::command("cat отчёт.txt")).contains("alphabets"));
    }

    #[test]
    fn what_the_headline_does_not_show_stands_below_it() {
        let shown = text(&sample::approval(json!({"command": "ls", "run_in_background": true})));
        assert!(
            shown.starts_with("Agent calls Bash\nRun ls\n  {\n    \"run_in_background\": true\n  }\n"),
            "{shown}"
        );
        let shown = text(&sample::approval(json!({"to": "production"})));
        assert!(shown.contains("\"to\": \"production\""), "{shown}");
    }

    #[test]
    fn what_the_agent_says_about_a_call_stands_there_once() {
        let mut ask = sample::approval(json!({"command": "ls", "description": "Lists\u{1b}[2J the folder"}));
        assert!(text(&ask).contains("\"description\""), "{}", text(&ask));
        ask.request.agent_says = Some("Lists\u{1b}[2J the folder".to_owned());
        assert!(!text(&ask).contains("\"description\""), "{}", text(&ask));
        assert!(text(&ask).contains("Agent says: \"Lists⟨U+001B⟩[2J the folder\""), "{}", text(&ask));
    }

    #[test]
    fn a_diff_takes_the_place_of_an_input_only_where_it_is_ours() {
        let input = json!({"file_path": "a.txt", "old_string": "OLD", "new_string": "NEW"});
        let mut ask = sample::approval(input);
        let AskBody::Approval { preview, .. } = &mut ask.request.body else { panic!("an approval") };
        *preview = Some("@@ -1 +1 @@\n-one\n+two\n".to_owned());
        assert!(!text(&ask).contains("NEW"), "{}", text(&ask));
        ask.request.origin = Origin::Caller;
        assert!(text(&ask).contains("NEW"), "{}", text(&ask));
        assert!(text(&ask).contains("The change, as A program describes it:"), "{}", text(&ask));
    }

    #[test]
    fn only_an_agents_shell_has_a_shell_line_and_the_tool_is_always_named() {
        let mut ask = sample::approval(json!({"command": "rm -rf /data", "host": "prod"}));
        ask.request.tool_name = "mcp__ssh__run".to_owned();
        ask.request.agent_says = Some("Lists the files".to_owned());
        for (origin, name) in [
            (Origin::Agent, "Agent calls mcp__ssh__run\n"),
            (Origin::Attached, "Agent calls mcp__ssh__run\n"),
            (Origin::Tool, "Agent asks for approval with mcp__ssh__run\n"),
            (Origin::Caller, "A program wants to run mcp__ssh__run\n"),
        ] {
            ask.request.origin = origin;
            let shown = text(&ask);
            assert!(shown.starts_with(name), "{shown}");
            assert!(!shown.contains("Run rm"), "{shown}");
            assert!(shown.contains("\"host\": \"prod\"") && shown.contains("\"rm -rf /data\""), "{shown}");
            let says = format!("{} says: \"Lists the files\"", words::author(&ask.request));
            assert!(shown.contains(&says), "{shown}");
            assert!(!words::headline(&ask.request).contains("Lists"), "{}", words::headline(&ask.request));
        }
    }
}
