//! Decisions as rows of a table, by RFC 4180.
//!
//! What an agent or a person wrote may begin like a formula, and spreadsheets run those: such a field gets an apostrophe
//! before it, which they take for "this is text".

use holdstead_protocol::api::{Decision, DecisionBy};
use serde::Serialize;
use serde_json::Value;

pub(crate) const HEADER: &str = "decidedAt,openedAt,waitedMs,outcome,by,decider,surface,kind,toolName,text,ran,tooLate,words,\
remembered,marks,agent,cwd,sessionTitle,sessionId,interactionId\r\n";

pub(crate) fn row(decision: &Decision) -> String {
    let (by, decider) = named(decision.by.as_ref());
    let too_late = decision.too_late.as_ref().map(|answer| {
        let (by, decider) = named(answer.by.as_ref());
        let surface = answer.surface.map(|surface| word(&surface)).unwrap_or_default();
        [word(&answer.settlement), by.to_owned(), decider, surface].join(" ").trim_end().to_owned()
    });
    let marks: Vec<_> =
        decision.marks.iter().map(|mark| format!("{}: {}", word(&mark.risk), mark.text)).collect();
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let fields = [
        decision.decided_at.to_string(),
        decision.opened_at.to_string(),
        decision.waited_ms.to_string(),
        word(&decision.outcome),
        by.to_owned(),
        decider,
        decision.surface.map(|surface| word(&surface)).unwrap_or_default(),
        decision.kind.clone(),
        decision.tool_name.clone(),
        decision.text.clone(),
        optional(&decision.ran),
        too_late.unwrap_or_default(),
        optional(&decision.words),
        decision.remembered.join("\n"),
        marks.join("\n"),
        decision.agent.clone(),
        optional(&decision.cwd),
        optional(&decision.session_title),
        decision.session_id.to_string(),
        decision.interaction_id.to_string(),
    ];
    fields.iter().map(|text| field(text)).collect::<Vec<_>>().join(",") + "\r\n"
}

fn named(by: Option<&DecisionBy>) -> (&'static str, String) {
    match by {
        Some(DecisionBy::Person { name }) => ("person", name.clone()),
        Some(DecisionBy::PersonInTerminal {}) => ("person_in_terminal", String::new()),
        Some(DecisionBy::AgentSettings {}) => ("agent_settings", String::new()),
        Some(DecisionBy::Rule { text, .. }) => ("rule", text.clone()),
        Some(DecisionBy::Grant { grant_id }) => ("grant", grant_id.to_string()),
        Some(DecisionBy::Earlier { interaction_id }) => ("earlier", interaction_id.to_string()),
        None => ("", String::new()),
    }
}

/// As it is written in JSON.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_no_formulas() {
        for (text, written) in [
            ("ls -l", "ls -l"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("one\r\ntwo", "\"one\r\ntwo\""),
            ("=1+1", "'=1+1"),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("+1", "'+1"),
            ("-rf", "'-rf"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
        ] {
            assert_eq!(field(text), written);
        }
    }
}
