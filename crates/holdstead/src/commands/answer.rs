//! Answer one ask: by flags, or by being asked in the terminal.

use std::io::IsTerminal as _;
use std::time::Duration;

use holdstead_client::Http;
use holdstead_protocol::api::{Interaction, Receipt};
use holdstead_protocol::transport::Transport as _;
use holdstead_protocol::{AgentBox, Delivery, Origin, ResponseDraft, Scope};

use super::{find_ask, new_key, print_json, respond};
use crate::answer_flags::AnswerFlags;
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::{card, once, screen};
use crate::text::safe_line;
use crate::words;

/// How long we wait for the agent to say that it has the answer.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn run(common: &Common, flags: &AnswerFlags) -> Result<(), Failure> {
    let client = connect(common)?;
    let places = Places::new(common.dir.as_deref())?;
    let ask = find_ask(&client, &places, &flags.id).await?;
    let receipt = match flags.response(&ask.request)? {
        Some(response) => {
            if !common.json {
                tell(&ask, &response, box_of(&client, &ask).await?.as_ref());
            }
            respond(&client, &ask, response, new_key()).await?
        }
        None if common.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() => {
            return Err(Failure::Usage(
                "Say what to answer: --approve, --deny \"…\", --set NAME=VALUE or --decline".to_owned(),
            ));
        }
        None => {
            screen::print(&card::rows(&ask, box_of(&client, &ask).await?.as_ref()));
            match once::ask(&client, &places, ask.clone()).await? {
                Some(receipt) => receipt,
                None => {
                    println!("Nothing was decided.");
                    return Ok(());
                }
            }
        }
    };
    let after = confirmed(&client, &ask).await?;
    if common.json {
        return print_json(&after);
    }
    println!("✓ {}", receipt_words(&receipt, &after));
    Ok(())
}

/// What is being answered: an approval whole, as it is what will run.
fn tell(ask: &Interaction, response: &ResponseDraft, boxed: Option<&AgentBox>) {
    match response {
        ResponseDraft::Approve { scope, lines, .. } => {
            screen::print(&card::rows(ask, boxed));
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
async fn confirmed(client: &Http, ask: &Interaction) -> Result<Interaction, Failure> {
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

fn receipt_words(receipt: &Receipt, after: &Interaction) -> String {
    let words =
        words::receipt(&Receipt { state: after.state.clone(), ..receipt.clone() }, after.request.origin);
    let waits = after.request.origin == Origin::Caller && after.delivery == Some(Delivery::Accepted);
    match (receipt.late, waits) {
        (true, _) => words,
        (false, true) => format!("{words}, kept until the program that asked fetches it"),
        (false, false) => format!("{words}, {}", words::delivery(after.delivery.as_ref())),
    }
}

/// The box of the agent that asks.
async fn box_of(client: &Http, ask: &Interaction) -> Result<Option<AgentBox>, Failure> {
    Ok(client.session(ask.session_id).await?.boxed)
}
