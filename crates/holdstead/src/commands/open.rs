//! Open the page in a browser.

use std::process::{Command, Stdio};

use holdstead_client::Http;
use holdstead_protocol::SessionId;
use serde_json::json;

use crate::cli::Common;
use crate::connect::{connect, url};
use crate::failure::Failure;

pub(super) async fn run(common: &Common, no_open: bool) -> Result<(), Failure> {
    let page = url(common)?;
    let link = link(&connect(common)?, &page).await?;
    if common.json {
        return super::print_json(&json!({ "link": link }));
    }
    println!("{link}");
    println!("It works once, for 10 minutes.");
    if !no_open {
        browse(&link);
    }
    Ok(())
}

/// A fresh single-use link. Its code is behind the `#`: browsers keep that to themselves.
pub(super) async fn link(client: &Http, page: &str) -> Result<String, Failure> {
    let link = client.login_link().await?;
    Ok(format!("{page}/login#{}", link.code))
}

/// A link that leads to one session.
pub(super) async fn link_to(client: &Http, page: &str, session: SessionId) -> Result<String, Failure> {
    let link = client.login_link().await?;
    Ok(format!("{page}/login?session={session}#{}", link.code))
}

/// Tries to open a browser; the link was printed, so nothing is lost if there is none.
pub(super) fn browse(link: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = Command::new(opener)
        .arg(link)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        tracing::debug!(%error, "no browser was opened");
    }
}
