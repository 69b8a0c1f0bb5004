//! What is asked in a turn, and how people answer. All of it follows from the seed.

use std::time::Duration;

use holdstead_protocol::{InteractionRequest, ResponseDraft};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;

/// The choices that belong to one thing, whatever happens elsewhere.
pub(crate) fn choices(seed: u64, of: &[u64]) -> StdRng {
    let mixed =
        of.iter().fold(seed, |seed, part| (seed ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    StdRng::seed_from_u64(mixed)
}

/// The file that an approved edit changes, and the line that stays in it.
pub(super) const LAST_LINE: &str = "END";

pub(super) fn file_of(tag: &str) -> String {
    format!("{tag}.txt")
}

/// A question, an approval, both at once, or one after the other. The agent works on a little after them.
pub(super) fn script(rng: &mut StdRng, tag: &str) -> String {
    let question = format!("ask Way: Which way does {tag} go? | left | right");
    let approval = format!("edit {}\n-{LAST_LINE}\n+{tag}\n+{LAST_LINE}\nend", file_of(tag));
    let asks = match rng.random_range(0..10) {
        0..=2 => question,
        3..=6 => approval,
        7..=8 => format!("together\n{question}\n{approval}\nend"),
        _ => format!("{question}\n{approval}"),
    };
    format!("say Now {tag}.\n{asks}\nwait 15ms\nsay That was {tag}.")
}

/// What one person does about an ask, and how long they think.
#[derive(Debug, Clone)]
pub(super) struct Reaction {
    pub(super) draft: ResponseDraft,
    pub(super) after: Duration,
}

/// One reaction, or two at the same moment. An input that was asked about before is approved with a mark of its own,
/// so that what happens on disk tells which approval it was.
pub(super) fn reactions(rng: &mut StdRng, request: &InteractionRequest, earlier: usize) -> Vec<Reaction> {
    let slow = rng.random_bool(0.25);
    let thinks = if slow { 40..150 } else { 0..12 };
    let after = Duration::from_millis(rng.random_range(thinks));
    let mut drafts = if request.body.is_approval() {
        let edited = (earlier > 0).then(|| remarked(request, earlier));
        vec![
            ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input: edited },
            ResponseDraft::Deny { reason: Some("not today".to_owned()) },
        ]
    } else {
        let label = if rng.random_bool(0.5) { "left" } else { "right" };
        let answers = json!({ "way": label });
        vec![
            ResponseDraft::Submit { answers: answers.as_object().cloned(), input: None },
            ResponseDraft::Cancel { reason: None },
        ]
    };
    if rng.random_bool(0.25) {
        drafts.reverse();
    }
    if !rng.random_bool(0.35) {
        drafts.truncate(1);
    }
    drafts.into_iter().map(|draft| Reaction { draft, after }).collect()
}

fn remarked(request: &InteractionRequest, earlier: usize) -> serde_json::Value {
    let mut edited = request.input.clone();
    let tag = super::history::mark(&request.input).unwrap_or_default();
    edited["new_string"] = json!(format!("{tag}, time {}\n{LAST_LINE}", earlier + 1));
    edited
}
