//! Rules held against calls of before.

use std::path::Path;

use holdstead_client::Http;
use holdstead_protocol::api::{PastCall, PastCalls, PastRead, RulesToSimulate};

use super::{io, print_json};
use crate::cli::Common;
use crate::failure::Failure;
use crate::text::{safe_line, shortened};

const CALL_WIDTH: usize = 100;

/// Fails where something would be allowed that a person denied.
pub(super) async fn simulate(common: &Common, client: &Http, file: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file).map_err(io("read the rules"))?;
    let said = client.simulate(&RulesToSimulate { text }).await?;
    if common.json {
        print_json(&said)?;
    } else {
        print_read(said.read);
        print_calls("newly allowed", &said.newly_allowed);
        print_calls("newly asked", &said.newly_asked);
        print_calls("newly denied", &said.newly_denied);
        print_calls("allowed although a person denied it", &said.allowed_against_people);
    }
    match said.allowed_against_people.count {
        0 => Ok(()),
        count => Err(Failure::NotDone(format!(
            "With these rules, {count} calls that a person denied would be allowed."
        ))),
    }
}

pub(super) async fn suggest(common: &Common, client: &Http) -> Result<(), Failure> {
    let said = client.suggestions().await?;
    if common.json {
        return print_json(&said);
    }
    print_read(said.read);
    if said.suggestions.is_empty() {
        println!("Nothing to suggest: no rule that could be offered would have saved you an ask.");
    }
    for one in &said.suggestions {
        let lines: Vec<_> = one.lines.iter().map(|line| safe_line(line)).collect();
        println!("{}", lines.join("; "));
        println!("    would have saved {} {}", one.saves, if one.saves == 1 { "ask" } else { "asks" });
        for call in &one.examples {
            println!("    such as {}", words(call));
        }
        for sentence in &one.reach {
            println!("    {}", safe_line(sentence));
        }
        if one.unapproved.count > 0 {
            println!("    {} past calls that nobody approved would be allowed too:", one.unapproved.count);
            one.unapproved.calls.iter().for_each(|call| println!("      {}", words(call)));
        }
    }
    if !said.suggestions.is_empty() {
        println!("Save one: holdstead rules add LINE");
    }
    Ok(())
}

fn print_read(read: PastRead) {
    let more = if read.is_all { "" } else { "; there are more that were not read" };
    println!("{} calls of {} sessions{more}.", read.calls, read.sessions);
}

fn print_calls(what: &str, calls: &PastCalls) {
    println!("{} {what}", calls.count);
    calls.calls.iter().for_each(|call| println!("    {}", words(call)));
    if calls.count > calls.calls.len() {
        println!("    and {} more", calls.count - calls.calls.len());
    }
}

fn words(call: &PastCall) -> String {
    format!("{}: {}", safe_line(&call.tool_name), shortened(&call.text, CALL_WIDTH))
}
