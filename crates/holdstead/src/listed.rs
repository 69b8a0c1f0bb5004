//! What this person was shown in a terminal. Short ids mean an ask of that list, as it was shown, and nothing else.
//!
//! An agent chooses the key that its ask's id follows from, so it can make one that ends in any four digits. What counts
//! is therefore what stood in the list, not which open ask happens to end like that.

use holdstead_protocol::{InteractionId, PromptId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::places::Places;

/// Whoever answers by short id has looked at the list within this time.
const KEPT_MICROS: i64 = 7 * 24 * 3600 * 1_000_000;
/// So that the file stays small whatever agents ask.
const MOST: usize = 5_000;
const SHORTEST: usize = 4;

/// One showing of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Showing {
    pub(crate) interaction_id: InteractionId,
    pub(crate) prompt_id: PromptId,
    at_micros: i64,
}

/// All that was shown lately, the newest last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Listed(Vec<Showing>);

impl Listed {
    /// An unreadable file is an empty list: then short ids are refused until the inbox was looked at again.
    pub(crate) fn read(places: &Places) -> Self {
        places.read_listed().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(crate) fn write(&self, places: &Places) -> Result<(), Failure> {
        let text = serde_json::to_string(self).map_err(|error| Failure::Strange(error.to_string()))?;
        places.write_listed(&text)
    }

    pub(crate) fn add(&mut self, interaction_id: InteractionId, prompt_id: PromptId, now: Timestamp) {
        let at_micros = now.micros();
        self.0.retain(|shown| {
            shown.interaction_id != interaction_id && at_micros - shown.at_micros < KEPT_MICROS
        });
        self.0.push(Showing { interaction_id, prompt_id, at_micros });
        let surplus = self.0.len().saturating_sub(MOST);
        self.0.drain(..surplus);
    }

    /// The last digits of an id: as many as tell it from everything else that was shown.
    pub(crate) fn digits(&self, id: InteractionId) -> String {
        let id = id.to_string();
        let others =
            || self.0.iter().map(|shown| shown.interaction_id.to_string()).filter(|other| *other != id);
        let shared = others().map(|other| shared_end(&id, &other)).max().unwrap_or(0);
        id[id.len().saturating_sub(SHORTEST.max(shared + 1))..].to_owned()
    }

    /// How a whole id was shown last.
    pub(crate) fn shown(&self, id: InteractionId) -> Option<Showing> {
        self.0.iter().find(|shown| shown.interaction_id == id).copied()
    }

    /// The one ask that these digits named in a list.
    pub(crate) fn find(&self, digits: &str) -> Result<Showing, Failure> {
        let ends = |shown: &&Showing| shown.interaction_id.to_string().ends_with(digits);
        let found: Vec<&Showing> = self.0.iter().filter(ends).filter(|_| !digits.is_empty()).collect();
        match found.as_slice() {
            [one] => Ok(**one),
            [] => Err(Failure::Usage(format!(
                "`{digits}` was in no list that you were shown here. See what waits: holdstead inbox"
            ))),
            many => Err(Failure::Usage(format!(
                "{} asks that you were shown end in `{digits}`, so nothing was sent. Give more digits of the one you \
                 mean; they are in: holdstead inbox",
                many.len()
            ))),
        }
    }
}

/// How many characters two ids have in common at their ends.
fn shared_end(one: &str, other: &str) -> usize {
    one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{OwnerId, SessionId};

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_micros(1_000_000)
    }

    /// Two asks of one session whose ids end alike, found the way an agent would: by trying keys.
    fn ground() -> (InteractionId, InteractionId) {
        let session = SessionId::derive(&OwnerId::new("local").unwrap(), "x");
        let end = |id: InteractionId| id.short();
        let mut seen = std::collections::HashMap::new();
        for key in 0.. {
            let id = InteractionId::derive(session, &format!("key-{key}"));
            if let Some(first) = seen.insert(end(id), id) {
                return (first, id);
            }
        }
        unreachable!("ids of four digits repeat")
    }

    #[test]
    fn digits_name_what_was_listed_and_not_what_only_ends_alike() {
        let (listed_id, ground_id) = ground();
        let mut listed = Listed::default();
        let prompt = PromptId::generate();
        listed.add(listed_id, prompt, now());
        let digits = listed.digits(listed_id);
        assert_eq!(digits, listed_id.short());
        assert_eq!(listed.find(&digits).unwrap().interaction_id, listed_id);

        listed.add(ground_id, PromptId::generate(), now());
        assert!(listed.find(&digits).unwrap_err().to_string().contains("2 asks"));
        for id in [listed_id, ground_id] {
            let digits = listed.digits(id);
            assert!(digits.len() > 4);
            assert_eq!(listed.find(&digits).unwrap().interaction_id, id);
        }
        assert!(listed.find("").is_err());
    }

    #[test]
    fn what_was_shown_is_forgotten_after_a_week_and_stays_bounded() {
        let session = SessionId::derive(&OwnerId::new("local").unwrap(), "x");
        let id = |key: usize| InteractionId::derive(session, &key.to_string());
        let mut listed = Listed::default();
        listed.add(id(0), PromptId::generate(), now());
        listed.add(id(1), PromptId::generate(), Timestamp::from_micros(now().micros() + KEPT_MICROS));
        assert!(listed.shown(id(0)).is_none());
        for key in 2..MOST + 10 {
            listed.add(id(key), PromptId::generate(), now());
        }
        assert_eq!(listed.0.len(), MOST);
    }
}
