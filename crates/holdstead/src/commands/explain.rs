//! What rules would make of a call, without one.

use holdstead_client::Http;
use holdstead_core::CALLER;
use holdstead_protocol::api::{CallToExplain, ExplainedCall, SessionFilter};
use holdstead_protocol::{CallPart, Effect, SessionId};
use serde_json::{Value, json};

use super::print_json;
use crate::cli::Common;
use crate::failure::Failure;
use crate::text::safe_line;
use crate::words;

pub(super) async fn run(
    common: &Common,
    client: &Http,
    call: &str,
    session: Option<&str>,
) -> Result<(), Failure> {
    let (tool_name, input) = read(call)?;
    let session_id = match session {
        Some(id) => {
            id.parse().map_err(|error| Failure::Usage(format!("{error}. See: holdstead sessions")))?
        }
        None => newest(client).await?,
    };
    let said = client.explain(&CallToExplain { session_id, tool_name, input }).await?;
    if common.json {
        return print_json(&said);
    }
    print(&said);
    println!("As if the agent of session {session_id} made this call now.");
    Ok(())
}

/// Rules count in a session: in its folder, for its agent.
async fn newest(client: &Http) -> Result<SessionId, Failure> {
    let sessions = client.sessions(SessionFilter::All).await?.sessions;
    let hosted = sessions.iter().find(|session| session.agent != CALLER);
    hosted.map(|session| session.session_id).ok_or_else(|| {
        Failure::NotDone(
            "There is no session yet whose agent could make this call. Start one: holdstead run".to_owned(),
        )
    })
}

/// `Bash(LINE)`, or a tool's name and its input as JSON.
fn read(call: &str) -> Result<(String, Value), Failure> {
    let usage = |why: &str| {
        Failure::Usage(format!(
            "{why}. Write 'Bash(git status)', or the tool and its input: 'Edit {{\"file_path\":\"a.rs\"}}'"
        ))
    };
    let call = call.trim();
    let end = call.find(|c: char| c == '(' || c == '{' || c.is_whitespace()).unwrap_or(call.len());
    let (tool, rest) = (&call[..end], call[end..].trim());
    if tool.is_empty() {
        return Err(usage("It names no tool"));
    }
    if let Some(line) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        // Other tools have fields that each agent names in its own way.
        return match tool {
            "Bash" => Ok((tool.to_owned(), json!({ "command": line }))),
            _ => Err(usage("Only Bash can be written like this")),
        };
    }
    match serde_json::from_str(rest) {
        Ok(input @ Value::Object(_)) => Ok((tool.to_owned(), input)),
        Ok(_) => Err(usage("An input is an object")),
        Err(error) => Err(usage(&format!("Its input cannot be read: {error}"))),
    }
}

fn print(said: &ExplainedCall) {
    println!(
        "{}",
        match (&said.decided_by, said.verdict.effect) {
            (None, _) => "Asks you.",
            (Some(_), Effect::Deny) => "Denied without asking.",
            (Some(_), Effect::Allow | Effect::Ask) => "Not asked about.",
        }
    );
    for part in &said.verdict.parts {
        println!("  {}", part_words(part));
    }
    for mark in &said.marks {
        println!("  ! {}: {}", words::risk(mark.risk), safe_line(&mark.text));
    }
    for lines in &said.offers {
        let lines: Vec<_> = lines.iter().map(|line| safe_line(line)).collect();
        println!("  Could be saved: {}", lines.join("; "));
    }
}

fn part_words(part: &CallPart) -> String {
    let text = part.text.as_deref().map(|text| format!("{}: ", safe_line(text))).unwrap_or_default();
    let rule = part.rule.as_ref().map(|rule| format!(", {} ({})", safe_line(&rule.text), rule.layer));
    format!("{text}{}{}; {}", part.effect, rule.unwrap_or_default(), safe_line(&part.why))
}
