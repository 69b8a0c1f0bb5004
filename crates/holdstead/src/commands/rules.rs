//! Rules: what is decided without asking.

use holdstead_client::Http;
use holdstead_protocol::api::{ListedRule, NewRule};
use holdstead_protocol::{Layer, Scope};

use super::{explain, print_json, simulate};
use crate::cli::{Common, Rules};
use crate::connect::connect;
use crate::failure::Failure;
use crate::text::safe_line;
use crate::words;

pub(super) async fn run(common: &Common, command: Rules) -> Result<(), Failure> {
    let client = connect(common)?;
    match command {
        Rules::List => list(common, &client).await,
        Rules::Add { line } => {
            let saved = client.add_rule(&NewRule { line }).await?;
            if common.json {
                return print_json(&saved);
            }
            println!("Saved for all your sessions, from the next call on.");
            println!("Take it back: holdstead rules revoke {}", saved.grant_id);
            Ok(())
        }
        Rules::Explain { call, session } => explain::run(common, &client, &call, session.as_deref()).await,
        Rules::Simulate { file } => simulate::simulate(common, &client, &file).await,
        Rules::Suggest => simulate::suggest(common, &client).await,
        Rules::Revoke { id } => revoke(&client, &id).await,
    }
}

async fn list(common: &Common, client: &Http) -> Result<(), Failure> {
    let page = client.rules().await?;
    if common.json {
        return print_json(&page);
    }
    for rule in &page.rules {
        println!("{}", words::rule(&rule.rule));
        println!("    {}", origin(rule));
    }
    if page.rules.iter().all(|rule| rule.grant_id.is_none()) {
        println!(
            "You have saved no rules. Choose to remember when you approve, or: holdstead rules add LINE"
        );
    }
    Ok(())
}

fn origin(rule: &ListedRule) -> String {
    let place = match rule.layer {
        Layer::BuiltIn => format!("built in for {}", rule.agent.as_deref().unwrap_or("every agent")),
        Layer::Organisation => format!("your organisation's file, line {}", rule.line.unwrap_or_default()),
        Layer::Person => match rule.scope {
            Some(Scope::Hour) => "in all your sessions, for an hour".to_owned(),
            Some(Scope::Once | Scope::Session | Scope::Always) | None => "in all your sessions".to_owned(),
        },
        Layer::Project => "this folder's file".to_owned(),
        Layer::Session => match rule.session_title.as_deref() {
            Some(title) => format!("until the session “{}” ends", safe_line(title)),
            None => "until its session ends".to_owned(),
        },
    };
    let by = rule.given_by.as_deref().map(|name| format!(", saved by {}", safe_line(name)));
    let used = match rule.uses {
        0 => ", never used".to_owned(),
        1 => ", used once".to_owned(),
        uses => format!(", used {uses} times"),
    };
    let id = rule.grant_id.map(|id| format!("  {id}"));
    format!("{place}{}{used}{}", by.unwrap_or_default(), id.unwrap_or_default())
}

async fn revoke(client: &Http, given: &str) -> Result<(), Failure> {
    let page = client.rules().await?;
    let is_meant = |rule: &&ListedRule| rule.grant_id.is_some_and(|id| id.to_string().ends_with(given));
    let mut found = page.rules.iter().filter(|rule| !given.is_empty() && is_meant(rule));
    let (Some(rule), None) = (found.next(), found.next()) else {
        return Err(Failure::Usage(format!(
            "No single rule ends in {}. See: holdstead rules",
            safe_line(given)
        )));
    };
    if let Some(id) = rule.grant_id {
        client.revoke_rule(id, rule.session_id).await?;
    }
    println!("Taken back: {}. The next call it covered asks you again.", words::rule(&rule.rule));
    Ok(())
}
