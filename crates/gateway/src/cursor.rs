//! Places in lists and journals, as clients carry them.

use std::fmt::Display;
use std::str::FromStr;

use holdstead_protocol::api::{Resume, ResumeKind, Session};
use holdstead_protocol::{Code, Refusal, Seq, Timestamp};
use holdstead_store::FoundPlace;

/// How many sessions or asks a page has where the client does not say, and at most.
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

/// The size of a page of sessions or asks, on every transport.
pub fn page_size(wanted: Option<u32>) -> u32 {
    wanted.unwrap_or(PAGE).clamp(1, LARGEST_PAGE)
}

/// Where a stream of this session begins. A cursor beyond the end is not of this journal: start with what there is.
pub fn resume(after: Seq, now: Session) -> (Seq, Resume) {
    let head = now.seq;
    if after <= head {
        (after, Resume { resume: ResumeKind::Ok, head, snapshot: None })
    } else {
        (head, Resume { resume: ResumeKind::Gap, head, snapshot: Some(now) })
    }
}

/// `next` of a page.
pub fn place(at: Timestamp, id: impl Display) -> String {
    format!("{}~{id}", at.micros())
}

/// `next` of a page of what was found.
pub fn found(place: FoundPlace) -> String {
    format!("{}~{}~{}", place.at.micros(), place.session, place.seq)
}

/// The place that it named.
pub fn parse_found(text: &str) -> Result<FoundPlace, Refusal> {
    let parsed = text.rsplit_once('~').and_then(|(place, seq)| {
        let (at, session) = parse(place).ok()?;
        Some(FoundPlace { at, session, seq: Seq(seq.parse().ok()?) })
    });
    parsed.ok_or_else(not_given)
}

/// The place that `next` named.
pub fn parse<T: FromStr>(text: &str) -> Result<(Timestamp, T), Refusal> {
    let parsed = text
        .split_once('~')
        .and_then(|(micros, id)| Some((Timestamp::from_micros(micros.parse().ok()?), id.parse().ok()?)));
    parsed.ok_or_else(not_given)
}

fn not_given() -> Refusal {
    Refusal::new(Code::BadRequest, "The cursor is not one that `next` gave.")
}
