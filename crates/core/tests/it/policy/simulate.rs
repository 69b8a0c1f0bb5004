//! Other rules over past calls.

use holdstead_core::policy::{Call, Decided, NO_VARIABLES, Past, Places, Trust, simulate};
use serde_json::{Value, json};

use super::{SHELL_LINE, facts, rules};

#[test]
fn every_change_is_told_once() {
    let calls: [(&str, Decided); 7] = [
        ("ls a", Decided::Approved),
        ("cat b", Decided::Denied),
        ("git status", Decided::ByNobody),
        ("rm x", Decided::Approved),
        ("wc d", Decided::Denied),
        ("du e", Decided::Approved),
        ("ls f && rm x", Decided::Approved),
    ];
    let inputs: Vec<Value> = calls.iter().map(|(line, _)| json!({"command": line})).collect();
    let places = Places::default();
    let past: Vec<Past<'_>> = calls
        .iter()
        .zip(&inputs)
        .map(|((_, decided), input)| Past {
            call: Call { tool: "Bash", input, meaning: SHELL_LINE },
            facts: facts(&places, Trust::Trusted),
            decided: *decided,
        })
        .collect();
    let before = rules("allow Bash(git status:*)\nallow Bash(wc:*)");
    let after = rules("allow Bash(ls:*)\nallow Bash(cat:*)\nallow Bash(wc:*)\ndeny Bash(rm:*) # no");
    let simulated = simulate(&past, &before, &after, &NO_VARIABLES);
    let places = |changes: &[holdstead_core::policy::Change]| -> Vec<usize> {
        changes.iter().map(|change| change.at).collect()
    };
    assert_eq!(places(&simulated.newly_allowed), [0, 1]);
    assert_eq!(places(&simulated.newly_asked), [2]);
    assert_eq!(places(&simulated.newly_denied), [3, 6]);
    assert_eq!(simulated.newly_denied[0].after.reason.as_deref(), Some("no"));
    // `wc d` was allowed before as well: a person denied it all the same.
    assert_eq!(simulated.allowed_against_people, [1, 4]);
    let same = simulate(&past, &before, &before, &NO_VARIABLES);
    assert_eq!((same.newly_allowed, same.newly_asked, same.newly_denied), (vec![], vec![], vec![]));
}
