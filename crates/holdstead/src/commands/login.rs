//! The way back in, for whoever has this machine's account: a link for a browser, and a token for this terminal where its
//! own is good no longer.

use holdstead_client::is_loopback;
use holdstead_protocol::api::Role;
use serde_json::json;

use super::{open, people, print_json};
use crate::cli::Common;
use crate::connect;
use crate::failure::Failure;
use crate::own_person;
use crate::places::Places;
use crate::text::safe_line;

pub(super) async fn run(common: &Common, name: Option<&str>, no_open: bool) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let (journal, config) = people::open(common).await?;
    // Somebody else opens their link in a browser of their own.
    let for_another = name.is_some();
    let opens = !for_another && !no_open;
    let (person, renewed) = match name {
        Some(name) => (people::find(&journal.people(&config.owner).await?, name)?.clone(), false),
        None => own_person::log_in(&places, &config, journal.as_ref()).await?,
    };
    let name = safe_line(&person.name);
    match person.role {
        Role::Person | Role::Viewer | Role::Admin => {}
        Role::Agent | Role::Runner | Role::Metrics => {
            let words = format!(
                "{name} is a program. It gets in with a token: holdstead token --role agent --name '{name}'"
            );
            return Err(Failure::Usage(words));
        }
    }
    let link = holdstead_server::issue_link(journal.as_ref(), person.id).await?;
    journal.close().await;
    let link = format!("{}/login#{}", connect::url(common)?, link.code);
    if common.json {
        return print_json(&json!({ "name": person.name, "link": link, "newToken": renewed }));
    }
    if renewed {
        println!("✓ This terminal has a new token.");
    }
    println!("{link}");
    println!("It logs one browser in as {name}, once, within 10 minutes.");
    if for_another && is_loopback(&link) {
        println!("Only a browser on this machine reaches that address. From elsewhere: docs/guides/phone.md");
    }
    if !places.is_locked() {
        println!("No gateway runs here now. Start it first: holdstead serve");
    } else if opens {
        open::browse(&link);
    }
    Ok(())
}
