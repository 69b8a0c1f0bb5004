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
use crate::words::{self, capital};

/// How long we wait for the agent to say that it has the answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Where a person in the agent's own terminal may have been faster, the program may tell it only when the command has ended.
const PATIENCE_IN_TERMINAL: Duration = Duration::from_secs(10 * 60);

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
    let after = confirmed(&client, &ask, common.json).await?;
    if common.json {
        print_json(&after)?;
    }
    if after.counted_in_terminal().is_some() {
        return Err(Failure::Changed(capital(words::delivery(after.delivery.as_ref()))));
    }
    if is_unknown(&after) {
        return Err(Failure::NotDone(
            "Your answer was sent. The agent's own terminal may have been faster: what counted is not known yet."
                .to_owned(),
        ));
    }
    if !common.json {
        println!("✓ {}", receipt_words(&receipt, &after));
    }
    Ok(())
}

/// Only its program's record says whether an answer counted, and it has not said so.
fn is_unknown(after: &Interaction) -> bool {
    let sent = matches!(after.delivery, Some(Delivery::Delivering { .. } | Delivery::Delivered { .. }));
    after.request.origin == Origin::Attached && sent
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
async fn confirmed(client: &Http, ask: &Interaction, quiet: bool) -> Result<Interaction, Failure> {
    let start = tokio::time::Instant::now();
    let (mut look, mut told) = (Duration::from_millis(50), quiet);
    loop {
        let now = client.interaction(ask.request.interaction_id).await?;
        if now.delivery.as_ref().is_none_or(Delivery::is_final) {
            return Ok(now);
        }
        let waited = start.elapsed();
        let patience = if is_unknown(&now) { PATIENCE_IN_TERMINAL } else { PATIENCE };
        if waited >= patience {
            return Ok(now);
        }
        if waited >= PATIENCE {
            look = Duration::from_secs(1);
            if !std::mem::replace(&mut told, true) {
                println!(
                    "Sent. The agent's own terminal may have been faster, and its program tells that when the command has \
                     ended. Ctrl-C stops waiting for that."
                );
            }
        }
        tokio::time::sleep(look).await;
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
