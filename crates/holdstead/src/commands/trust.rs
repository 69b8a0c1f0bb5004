//! Folders whose own files may run and allow things: trusted as they are, listed, and taken back.

use std::io::IsTerminal as _;

use holdstead_client::Http;
use holdstead_protocol::api::{FolderFiles, TrustFolder};
use holdstead_protocol::{Trust, TrustId};

use super::{io, print_json};
use crate::cli::{Common, TrustFlags};
use crate::connect::connect;
use crate::failure::Failure;
use crate::text::safe_line;

pub(super) async fn run(common: &Common, flags: &TrustFlags) -> Result<(), Failure> {
    let client = connect(common)?;
    match &flags.revoke {
        Some(id) => revoke(&client, id).await,
        None if flags.list => list(common, &client).await,
        None => trust(common, &client, flags).await,
    }
}

async fn trust(common: &Common, client: &Http, flags: &TrustFlags) -> Result<(), Failure> {
    let folder = flags.folder.clone().unwrap_or_else(|| ".".into());
    let folder = folder.canonicalize().map_err(io("find the folder"))?;
    let files = client.folder_files(&flags.agent, &folder.display().to_string()).await?;
    if let Some(id) = files.trust_id {
        println!("Trusted already, as it is now: {id}");
        return Ok(());
    }
    let Some(digest) = files.digest.clone() else {
        return Err(Failure::Usage(match files.files.is_empty() {
            true => {
                "This folder has no files of its own that the agent would run: there is nothing to trust."
                    .to_owned()
            }
            false if files.unresolved.is_empty() => {
                "These files cannot be trusted: they are too many, too large, or lead out of the folder."
                    .to_owned()
            }
            false => {
                let named: Vec<_> =
                    files.unresolved.iter().map(|named| format!("\n  {}", safe_line(named))).collect();
                format!(
                    "These files cannot be trusted, because nobody can tell what they run. Name each file in full, or \
                     remove what names it:{}",
                    named.concat()
                )
            }
        }));
    };
    if !common.json {
        print_files(&files);
    }
    if !flags.yes && !confirmed()? {
        println!("Nothing was trusted.");
        return Ok(());
    }
    let trust =
        client.trust(&TrustFolder { agent: files.agent, folder: files.folder, digest, runner: None }).await?;
    if common.json {
        return print_json(&trust);
    }
    println!("Trusted as they are now. The next agent that starts here has them.");
    println!("Take it back: holdstead trust --revoke {}", trust.trust_id);
    Ok(())
}

fn print_files(files: &FolderFiles) {
    println!("In {}, these could run or allow something for {}:", safe_line(&files.folder), files.agent);
    for file in &files.files {
        println!("  {}", safe_line(file));
    }
    if !files.instructions.is_empty() {
        let names: Vec<_> = files.instructions.iter().map(|name| safe_line(name)).collect();
        println!("The agent would read these too: {}", names.join(", "));
    }
}

/// Nothing but a plain yes is one.
fn confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Usage("Look at the files first, then say --yes.".to_owned()));
    }
    println!("Trust them exactly as they are now? Type yes:");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(io("read your answer"))?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

async fn list(common: &Common, client: &Http) -> Result<(), Failure> {
    let trusts = client.trusts().await?.trusts;
    if common.json {
        return print_json(&trusts);
    }
    if trusts.is_empty() {
        println!("No folder is trusted.");
    }
    for Trust { trust_id, agent, folder, files, given_by, .. } in &trusts {
        println!(
            "{trust_id}  {agent}  {}  {} files, by {}",
            safe_line(folder),
            files.len(),
            safe_line(given_by)
        );
    }
    Ok(())
}

async fn revoke(client: &Http, id: &str) -> Result<(), Failure> {
    let id: TrustId =
        id.parse().map_err(|error| Failure::Usage(format!("{error}. See: holdstead trust --list")))?;
    client.revoke_trust(id).await?;
    println!("Taken back. The next agent that starts there is without the folder's own files.");
    Ok(())
}
