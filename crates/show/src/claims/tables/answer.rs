//! What a program says of its options, held against what a table says.

use std::collections::{BTreeMap, HashMap};

use holdstead_core::policy::programs::Value;
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Answer {
    pub(super) installed: bool,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default)]
    pub(super) options: HashMap<String, Facts>,
    /// What holds for the form: `dashes` end the options, a `response_file` is read, and so on.
    #[serde(flatten)]
    pub(super) facts: BTreeMap<String, Option<bool>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Facts {
    pub(super) known: bool,
    words: Option<usize>,
    joined: Option<bool>,
    bare: Option<bool>,
    greedy: Option<bool>,
    pub(super) said: String,
}

/// Whether the option takes what the table says; none where the program did not tell.
pub(super) fn is_as(value: &Value, facts: &Facts, whole: bool) -> Option<bool> {
    let &Facts { known, words, joined, bare, greedy, .. } = facts;
    let is = |fact: Option<bool>, value| fact.map(|fact| fact == value);
    let takes = |count| words.map(|words| words == count);
    let facts = match value {
        // Behind `=` a program may take what a table does not: `--colour=true`.
        Value::None | Value::Replaces(_) => {
            let none = if whole { Some(true) } else { is(joined, false) };
            vec![takes(0), is(bare, true), none, is(greedy, false)]
        }
        // No table takes it without a value, or with one that is an option, so that a program may take it so.
        Value::Needed(kinds) => {
            let one = kinds.len() == 1;
            let next =
                words.and_then(|words| if one && words == 0 { greedy } else { Some(words == kinds.len()) });
            vec![next, is(joined, one)]
        }
        Value::Next(_) => vec![takes(1), is(bare, false), is(joined, false)],
        Value::Joined(_) => vec![takes(0), is(bare, false), is(joined, true)],
        Value::Attached(_) => vec![takes(0), is(bare, true), is(joined, true), is(greedy, false)],
        Value::Optional(_) => {
            let next = words.zip(greedy).map(|(words, greedy)| words == 1 || (words == 0 && greedy));
            vec![next, is(bare, true), is(joined, true)]
        }
    };
    if !known || facts.contains(&Some(false)) {
        return Some(false);
    }
    facts.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
}
