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
    let next =
        |count| words.and_then(|words| if words == 0 && count == 1 { greedy } else { Some(words == count) });
    let facts = match value {
        // Behind `=` a program may take what a table does not: `--colour=true`.
        Value::None | Value::Replaces(_) => {
            let none = if whole { Some(true) } else { is(joined, false) };
            vec![takes(0), is(bare, true), none, is(greedy, false)]
        }
        // No line is allowed with one of these at its end or before an option, so that a program may take that.
        Value::Needed(kinds) => vec![next(kinds.len()), is(joined, kinds.len() == 1)],
        Value::Next(_) => vec![next(1), is(joined, false)],
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
