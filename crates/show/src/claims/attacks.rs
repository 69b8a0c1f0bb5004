//! Attacks on the gateway's tokens, keys and decisions. Each attempt is played as its attacker would play it, and the show
//! fails if one of them succeeds. Beside an older binary it counts how many succeeded before.

mod approvals;
mod hook_socket;
mod leftovers;
mod preview;
mod root;
mod terminal_token;
mod trust;

use crate::{Result, ensure};

/// What an attacker got.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing, and how the attempt ended.
    Held(String),
    /// What it was after.
    Succeeded(String),
}

/// All attempts of a run, in their order.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    played: usize,
    succeeded: Vec<String>,
    broken: Vec<String>,
}

impl Attempts {
    /// Records an attempt. One that could not be played proves nothing, so it fails the show, too.
    pub(crate) fn record(&mut self, topic: &str, name: &str, outcome: Result<Outcome>) {
        self.played += 1;
        let name = format!("{topic}: {name}");
        match outcome {
            Ok(Outcome::Held(seen)) => println!("✓ {name}: held: {seen}"),
            Ok(Outcome::Succeeded(got)) => {
                println!("✕ {name}: SUCCEEDED: {got}");
                self.succeeded.push(name);
            }
            Err(error) => {
                println!("? {name}: not played: {error}");
                self.broken.push(name);
            }
        }
    }

    fn end(self) -> Result<String> {
        let Self { played, succeeded, broken } = self;
        ensure!(
            broken.is_empty(),
            "{} of {played} attempts were not played: {}",
            broken.len(),
            broken.join("; ")
        );
        ensure!(
            succeeded.is_empty(),
            "{} of {played} attempts succeeded: {}",
            succeeded.len(),
            succeeded.join("; ")
        );
        Ok(format!("0 of {played} attempts succeeded"))
    }
}

/// `holdstead-show attacks CLAUDE TOPIC|all SECONDS`, with the seconds that each race for a file lasts.
pub(crate) async fn show() -> Result<String> {
    let mut arguments = std::env::args().skip(3);
    let wanted = arguments.next().unwrap_or_else(|| "all".to_owned());
    let seconds = arguments.next().map_or(Ok(2), |seconds| seconds.parse())?;
    let wants = |topic: &str| wanted == "all" || wanted == topic;
    let mut attempts = Attempts::default();
    if wants("preview") {
        preview::play(&mut attempts, seconds).await?;
    }
    if wants("terminal-token") {
        terminal_token::play(&mut attempts).await?;
    }
    if wants("leftovers") {
        leftovers::play(&mut attempts).await?;
    }
    if wants("hook-socket") {
        hook_socket::play(&mut attempts).await?;
    }
    if wants("trust") {
        trust::play(&mut attempts).await?;
    }
    if wants("approvals") {
        approvals::play(&mut attempts).await?;
    }
    if wants("root") {
        root::play(&mut attempts).await?;
    }
    attempts.end()
}
