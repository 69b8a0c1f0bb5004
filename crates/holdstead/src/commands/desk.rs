//! `holdstead inbox --watch`: what waits, on the whole screen.

use std::io::IsTerminal as _;

use super::attach;
use super::serve::stop_signal;
use crate::cli::Common;
use crate::connect::connect;
use crate::failure::Failure;
use crate::places::Places;
use crate::terminal::desk::run::{Left, watch};
use crate::terminal::talk::From;

pub(super) async fn run(common: &Common) -> Result<(), Failure> {
    if common.json || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "`inbox --watch` needs a terminal. For a program: holdstead watch --json".to_owned(),
        ));
    }
    let client = connect(common)?;
    client.ready().await?;
    let places = Places::new(common.dir.as_deref())?;
    let left = tokio::select! {
        left = watch(&client, &places) => left?,
        () = stop_signal() => Left::Done,
    };
    match left {
        Left::Done => Ok(()),
        Left::Opened(session) => attach::talk(common, client, places, session, From::Now).await,
    }
}
