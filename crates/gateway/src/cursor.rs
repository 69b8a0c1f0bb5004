//! Places in a list, as clients carry them.

use std::fmt::Display;
use std::str::FromStr;

use holdpoint_protocol::{Code, Refusal, Timestamp};

/// `next` of a page.
pub fn place(at: Timestamp, id: impl Display) -> String {
    format!("{}~{id}", at.micros())
}

/// The place that `next` named.
pub fn parse<T: FromStr>(text: &str) -> Result<(Timestamp, T), Refusal> {
    let parsed = text
        .split_once('~')
        .and_then(|(micros, id)| Some((Timestamp::from_micros(micros.parse().ok()?), id.parse().ok()?)));
    parsed.ok_or_else(|| Refusal::new(Code::BadRequest, "The cursor is not one that `next` gave."))
}
