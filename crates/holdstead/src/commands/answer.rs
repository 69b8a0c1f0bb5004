//! Answer one ask: by flags, or by being asked in the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::api::{Interaction, Receipt};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{
    AgentBox, AskBody, AskState, Delivery, Field, FieldKind, OfferedScope, Origin, Question, ResponseDraft,
    Rule, Scope,
};
use serde_json::Value;

use super::{find_ask, print_json, respond, rules};
use crate::answer_flags::{AnswerFlags, submit};
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::{safe_block, safe_line};
use crate::{typeahead, unseen, words};

/// How long we wait for the agent to say that it has the answer.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn run(common: &Common, flags: &AnswerFlags) -> Result<(), Failure> {
    let client = connect(common)?;
    let places = Places::new(common.dir.as_deref())?;
    let ask = find_ask(&client, &places, &flags.id).await?;
    let response = match flags.response(&ask.request)? {
        Some(response) => {
            if !common.json {
                tell(&ask, &response, box_of(&client, &ask).await?.as_ref());
            }
            response
        }
        None if common.json || !std::io::stdin().is_terminal() => {
            return Err(Failure::Usage(
                "Say what to answer: --approve, --deny \"…\", --set NAME=VALUE or --decline".to_owned(),
            ));
        }
        None => {
            show(&ask, box_of(&client, &ask).await?.as_ref());
            tokio::time::sleep(typeahead::REST).await;
            typeahead::discard();
            match ask_person(&ask, &mut std::io::stdin().lock().lines())? {
                Some(response) => response,
                None => {
                    println!("Nothing was decided.");
                    return Ok(());
                }
            }
        }
    };
    let receipt = respond(&client, &ask, response).await?;
    let after = confirmed(&client, &ask).await?;
    if common.json {
        return print_json(&after);
    }
    println!("{}", receipt_words(&receipt, &after));
    Ok(())
}

/// What is being answered: an approval whole, as it is what will run.
fn tell(ask: &Interaction, response: &ResponseDraft, boxed: Option<&AgentBox>) {
    match response {
        ResponseDraft::Approve { scope, lines, .. } => {
            show(ask, boxed);
            if *scope == Some(Scope::Session) {
                let saved = if lines.is_empty() {
                    "this very input".to_owned()
                } else {
                    safe_line(&lines.join("; "))
                };
                println!("Saves for this session: {saved}");
            }
        }
        ResponseDraft::Deny { .. } | ResponseDraft::Submit { .. } | ResponseDraft::Cancel { .. } => {
            println!("{}", words::headline(&ask.request));
        }
    }
}

/// The ask after the agent confirmed it, or after a while.
pub(super) async fn confirmed(client: &Http, ask: &Interaction) -> Result<Interaction, Failure> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now = client.interaction(ask.request.interaction_id).await?;
        let over = now.delivery.as_ref().is_none_or(Delivery::is_final);
        if over || tokio::time::Instant::now() >= deadline {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub(super) fn receipt_words(receipt: &Receipt, after: &Interaction) -> String {
    if receipt.late {
        return match after.request.origin {
            Origin::Caller => "✓ Too late to settle it: your answer is kept for the program that asked.",
            Origin::Agent | Origin::Tool => {
                "✓ Too late to settle it: your answer goes to the agent as a message."
            }
        }
        .to_owned();
    }
    let did = match &after.state {
        AskState::Settled { settlement } => capital(words::settled(*settlement)),
        AskState::Open | AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => {
            "Sent".to_owned()
        }
    };
    format!("✓ {did}, {}", words::delivery(after.delivery.as_ref()))
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The whole ask, raw.
pub(super) fn show(ask: &Interaction, boxed: Option<&AgentBox>) {
    let request = &ask.request;
    println!("{}", words::headline(request));
    match &request.body {
        AskBody::Approval { preview, .. } => {
            let input = serde_json::to_string_pretty(&request.input).unwrap_or_default();
            println!("{}", safe_block(&input));
            if let Some(preview) = preview {
                println!("{}", safe_block(preview));
            }
        }
        AskBody::Question { questions } => questions.iter().for_each(show_question),
        AskBody::Form { form } => {
            for field in &form.fields {
                let mark = if field.required { " (required)" } else { "" };
                let note = field.description.as_deref().map(|words| format!(" – {}", safe_line(words)));
                println!("  {}{mark}{}", safe_line(&field.label), note.unwrap_or_default());
                if let Some(hint) = hint(&field.kind) {
                    println!("     {hint}");
                }
            }
        }
    }
    for mark in &request.marks {
        println!("! Look twice. {}: {}", words::risk(mark.risk), safe_line(&mark.text));
    }
    for part in request.verdict.iter().flat_map(|verdict| &verdict.parts).filter(|part| part.rule.is_some()) {
        let rule = part.rule.as_ref().map_or_else(String::new, |rule| safe_line(&rule.text));
        println!("  {}s {} by {rule}", part.effect, part.text.as_deref().map_or("it".to_owned(), safe_line));
    }
    if let Some(says) = &request.agent_says {
        println!("Agent says: \"{}\"", safe_line(says));
    }
    if let Some(reason) = &request.decision_reason {
        println!("Asked because: {}", safe_line(reason));
    }
    if let Some(error) = &request.error {
        println!("Asked again ({}): {}", request.attempt, safe_line(error));
    }
    if request.may_have_run {
        println!("! An approval of this very call may already have run.");
    }
    if let Some(boxed) = boxed.filter(|_| request.body.is_approval()) {
        println!("{}", words::boxed(boxed));
    }
    println!("{}", words::no_answer(request));
}

/// The box of the agent that asks.
pub(super) async fn box_of(client: &Http, ask: &Interaction) -> Result<Option<AgentBox>, Failure> {
    Ok(client.session(ask.session_id).await?.boxed)
}

/// What may be chosen, by the values that are sent, or what it must look like.
fn hint(kind: &FieldKind) -> Option<String> {
    match kind {
        FieldKind::Select { options }
        | FieldKind::Radio { options }
        | FieldKind::Multiselect { options, .. } => {
            let values: Vec<String> = options.iter().map(|option| safe_line(&option.value)).collect();
            Some(format!("one of: {}", values.join(", ")))
        }
        FieldKind::Checkbox {} => Some("yes or no".to_owned()),
        FieldKind::Date { .. } => Some("a day like 2026-01-31".to_owned()),
        FieldKind::Text { format, .. } => format.map(|format| format.words().to_owned()),
        FieldKind::Textarea { .. } | FieldKind::Number { .. } | FieldKind::Secret {} => None,
    }
}

fn show_question(question: &Question) {
    println!("[{}] {}", safe_line(&question.header), safe_line(&question.question));
    for (index, option) in question.options.iter().enumerate() {
        println!("  {}. {}", index + 1, safe_line(&option.label));
        if let Some(words) = &option.description {
            println!("     {}", safe_line(words));
        }
    }
}

/// What the person says, line by line. Nothing is the default: an empty line asks again, `q` leaves.
pub(super) fn ask_person(
    ask: &Interaction,
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<Option<ResponseDraft>, Failure> {
    match &ask.request.body {
        AskBody::Approval { .. } => approval(ask, lines),
        AskBody::Question { questions } => {
            let mut pairs = Vec::new();
            for question in questions {
                if question.secret {
                    let Some(secret) = secret_prompt(&question.header, lines)? else { return Ok(None) };
                    pairs.push(format!("{}={secret}", question.id));
                    continue;
                }
                let words = if question.multi_select {
                    "numbers with commas, or your own words"
                } else {
                    "a number, or your own words"
                };
                let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
                let words = format!("{} ({words}; q leaves): ", safe_line(&question.header));
                let line = loop {
                    let Some(line) = prompt(&words, lines)? else { return Ok(None) };
                    // A slip of the finger is not what somebody wants to say.
                    let Some(number) = beyond(&labels, &line) else { break line };
                    println!(
                        "There is no option {number}. To answer with the number itself, put words around it."
                    );
                };
                let values = chosen(&labels, question.multi_select, &line);
                pairs.extend(values.into_iter().map(|value| format!("{}={value}", question.id)));
            }
            submit(&ask.request, &pairs).map(Some)
        }
        AskBody::Form { form } => {
            let mut pairs = Vec::new();
            for field in &form.fields {
                match fill(field, lines)? {
                    Filled::Left => return Ok(None),
                    Filled::Nothing => {}
                    Filled::With(value) => pairs.push(format!("{}={value}", field.id)),
                }
            }
            submit(&ask.request, &pairs).map(Some)
        }
    }
}

/// What a person did about one field.
enum Filled {
    With(String),
    /// An empty line: the default, if there is one.
    Nothing,
    Left,
}

fn fill(field: &Field, lines: &mut dyn Iterator<Item = std::io::Result<String>>) -> Result<Filled, Failure> {
    if matches!(field.kind, FieldKind::Secret {}) && field.required {
        return Ok(secret_prompt(&field.label, lines)?.map_or(Filled::Left, Filled::With));
    }
    let default = field.default.as_ref().map(|value| format!(" [{}]", plain(value))).unwrap_or_default();
    let words = format!("{}{default} (q leaves): ", safe_line(&field.label));
    // Only a field that must be filled, and has nothing to fall back on, is asked for again.
    if field.required && field.default.is_none() {
        return Ok(prompt(&words, lines)?.map_or(Filled::Left, Filled::With));
    }
    print!("{words}");
    flush();
    let line = match field.kind {
        FieldKind::Secret {} => unseen::line(lines),
        FieldKind::Text { .. }
        | FieldKind::Textarea { .. }
        | FieldKind::Number { .. }
        | FieldKind::Select { .. }
        | FieldKind::Multiselect { .. }
        | FieldKind::Checkbox {}
        | FieldKind::Radio { .. }
        | FieldKind::Date { .. } => lines.next(),
    };
    match line.transpose().map_err(terminal)? {
        None => Ok(Filled::Left),
        Some(line) if line.trim() == "q" => Ok(Filled::Left),
        Some(line) if line.trim().is_empty() => Ok(Filled::Nothing),
        Some(line) => Ok(Filled::With(line.trim().to_owned())),
    }
}

fn approval(
    ask: &Interaction,
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<Option<ResponseDraft>, Failure> {
    let capabilities = ask.request.capabilities;
    let mut choices = "[a]pprove once [d]eny".to_owned();
    if capabilities.edit_input {
        choices.push_str(" [e]dit");
    }
    let offers = further(ask);
    if !offers.is_empty() {
        choices.push_str(" [r]emember");
    }
    loop {
        let Some(line) = prompt(&format!("{choices} (no default; q leaves): "), lines)? else {
            return Ok(None);
        };
        match line.as_str() {
            "a" => {
                return Ok(Some(ResponseDraft::Approve {
                    scope: None,
                    lines: Vec::new(),
                    edited_input: None,
                }));
            }
            "r" if !offers.is_empty() => {
                if let Some(draft) = remember(&offers, lines)? {
                    return Ok(Some(draft));
                }
            }
            "d" => {
                print!("What should it do instead? The agent reads this word for word (empty is fine): ");
                flush();
                let reason = lines.next().transpose().map_err(terminal)?.unwrap_or_default();
                return Ok(Some(ResponseDraft::Deny { reason: Some(reason) }));
            }
            "e" if capabilities.edit_input => {
                let Some(json) = prompt("The new input, as JSON on one line: ", lines)? else {
                    return Ok(None);
                };
                match serde_json::from_str(&json) {
                    Ok(edited) => {
                        return Ok(Some(ResponseDraft::Approve {
                            scope: None,
                            lines: Vec::new(),
                            edited_input: Some(edited),
                        }));
                    }
                    Err(error) => println!("That is not JSON: {error}"),
                }
            }
            _ => println!("Type a, d, e or r."),
        }
    }
}

/// How far an approval may reach besides once.
fn further(ask: &Interaction) -> Vec<&OfferedScope> {
    let AskBody::Approval { offered_scopes, .. } = &ask.request.body else { return Vec::new() };
    let carried = offered_scopes.iter().filter(|_| ask.request.capabilities.scopes);
    carried.filter(|offer| offer.scope != Scope::Once).collect()
}

/// Saved is what was shown: each offer stands with its literal rules and its reach.
fn remember(
    offers: &[&OfferedScope],
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<Option<ResponseDraft>, Failure> {
    for (number, offer) in (1..).zip(offers) {
        let reach = match offer.scope {
            Scope::Once => "once",
            Scope::Session => "in this session",
            Scope::Hour => "in all your sessions, for an hour",
            Scope::Always => "in all your sessions, until you take it back",
        };
        println!("  {number}  {}  ({reach})", rules::words(&offer.rule));
    }
    let Some(chosen) = prompt("Approve and save which? Its number, or b to go back: ", lines)? else {
        return Ok(None);
    };
    let offer = chosen.parse::<usize>().ok().and_then(|number| offers.get(number.checked_sub(1)?));
    Ok(offer.map(|offer| ResponseDraft::Approve {
        scope: Some(offer.scope),
        lines: match &offer.rule {
            Rule::Lines { lines } => lines.clone(),
            Rule::ExactInput { .. } | Rule::Key { .. } => Vec::new(),
        },
        edited_input: None,
    }))
}

/// A line with something in it, or nothing if the person leaves.
fn prompt(
    words: &str,
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<Option<String>, Failure> {
    loop {
        print!("{words}");
        flush();
        match lines.next().transpose().map_err(terminal)? {
            None => return Ok(None),
            Some(line) if line.trim() == "q" => return Ok(None),
            Some(line) if line.trim().is_empty() => {}
            Some(line) => return Ok(Some(line.trim().to_owned())),
        }
    }
}

/// A secret, as it was typed; it is not shown.
fn secret_prompt(
    name: &str,
    lines: &mut dyn Iterator<Item = std::io::Result<String>>,
) -> Result<Option<String>, Failure> {
    loop {
        print!("{} (not shown; q leaves): ", safe_line(name));
        flush();
        match unseen::line(lines).transpose().map_err(terminal)? {
            None => return Ok(None),
            Some(line) if line == "q" => return Ok(None),
            Some(line) if line.trim().is_empty() => {}
            Some(line) => return Ok(Some(line)),
        }
    }
}

/// The first of these numbers that is no option's, where all of them are numbers.
fn beyond(labels: &[&str], line: &str) -> Option<usize> {
    if labels.is_empty() || labels.contains(&line) {
        return None;
    }
    let numbers: Option<Vec<usize>> = line.split(',').map(|part| part.trim().parse().ok()).collect();
    numbers?.into_iter().find(|number| !(1..=labels.len()).contains(number))
}

/// The labels behind the numbers, or the words as they are.
fn chosen(labels: &[&str], many: bool, line: &str) -> Vec<String> {
    let label = |text: &str| {
        let index: usize = text.trim().parse().ok()?;
        labels.get(index.checked_sub(1)?).map(|label| (*label).to_owned())
    };
    if many {
        let picked: Option<Vec<String>> = line.split(',').map(label).collect();
        if let Some(picked) = picked {
            return picked;
        }
    }
    vec![label(line).unwrap_or_else(|| line.to_owned())]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| safe_line(&value.to_string()), safe_line)
}

fn flush() {
    // A terminal that is gone will show itself at the next read.
    drop(std::io::stdout().flush());
}

fn terminal(source: std::io::Error) -> Failure {
    Failure::Io { what: "read from the terminal".to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_an_option_is_asked_again_and_words_are_words() {
        let labels = ["SQLite", "PostgreSQL", "7"];
        for (line, number) in [
            ("4", Some(4)),
            ("0", Some(0)),
            ("1, 9", Some(9)),
            ("1,2", None),
            ("7", None),
            ("7 shards", None),
        ] {
            assert_eq!(beyond(&labels, line), number, "{line}");
        }
        assert_eq!(beyond(&[], "4"), None, "without options a number is an answer");
    }
}
