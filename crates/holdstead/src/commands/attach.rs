//! Come back to a session.

use std::io::IsTerminal as _;

use holdstead_client::Http;
use holdstead_protocol::SessionId;
use holdstead_protocol::transport::Transport as _;

use super::serve::stop_signal;
use super::{background, find_session};
use crate::cli::Common;
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::talk::{From, Leaving, Play, Talk};
use crate::text::safe_line;

pub(super) async fn run(common: &Common, given: &str) -> Result<(), Failure> {
    if common.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "To attach needs a terminal. For a program: holdstead watch SESSION --json".to_owned(),
        ));
    }
    let places = Places::new(common.dir.as_deref())?;
    let client = background::ensure(common, &places).await?;
    let session = find_session(&client, given).await?;
    let shown = client.session(session).await?;
    let title = safe_line(shown.title.as_deref().unwrap_or(&shown.agent));
    println!("{title} ({}). Esc stops a turn, Ctrl-C leaves it running.", safe_line(&shown.agent));
    talk(common, client, places, session, From::Now).await
}

/// Talks until the person leaves, and says how to come back.
pub(super) async fn talk(
    common: &Common,
    client: Http,
    places: Places,
    session: SessionId,
    from: From,
) -> Result<(), Failure> {
    let mut talk = Talk::new(client, places, session, Play::Work, from).await?;
    let leaving = tokio::select! {
        leaving = talk.run() => leaving?,
        () = stop_signal() => Leaving::Detached,
    };
    let back = background::again(common, &format!("attach {}", session.short()));
    match leaving {
        Leaving::Detached | Leaving::Kill => {
            println!("It goes on without you. Come back: {back}");
            println!("What waits for you: {}", background::again(common, "inbox"));
        }
        Leaving::Ended => println!("The session has ended."),
        Leaving::Gone => {
            println!(
                "The gateway is gone; what was asked is still asked. Start it again and come back: {back}"
            );
        }
    }
    Ok(())
}
