//! Rules over variables, the end of a turn, and what an agent is told at its start.

use holdstead_core::policy::rule::{Effect, RuleFile};
use holdstead_core::policy::{
    Call, Ending, Facts, MAX_STOP_ATTEMPTS, Meaning, Places, Rules, Source, Subject, Trust, decide, ending,
    said_at_start, stop_rules, variables,
};
use holdstead_protocol::{VariableValue, Variables};
use serde_json::json;

use super::{facts, rules};

fn set(values: &[(&str, VariableValue)]) -> Variables {
    values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn text(text: &str) -> VariableValue {
    VariableValue::Text(text.to_owned())
}

fn effect(rules: &Rules, set: &Variables, stop_attempts: u32) -> Effect {
    let input = json!({});
    let meaning = Meaning { subject: Subject::Whole, harmless: &[] };
    let all = variables(rules, set, stop_attempts);
    let places = Places::default();
    let facts = Facts { variables: &all, ..facts(&places, Trust::Trusted) };
    decide(&Call { tool: "AskUserQuestion", input: &input, meaning }, rules, &facts).effect
}

#[test]
fn conditions_ask_about_variables() {
    let values = set(&[
        ("phase", text("release")),
        ("count", VariableValue::Number(2)),
        ("claimed", VariableValue::Flag(true)),
        ("typed", text("3")),
    ]);
    for (when, expected) in [
        ("$phase release", true),
        ("$phase 'release'", true),
        ("$phase not release", false),
        ("$phase not build", true),
        ("$phase >= 1", false),
        ("$count 2", true),
        ("$count >= 2 and $count <= 2", true),
        ("$count >= 3", false),
        ("$count <= 1", false),
        ("$count >= -5", true),
        ("$claimed true", true),
        ("$claimed 'true'", true),
        ("$claimed false", false),
        ("$typed >= 3", true),
        ("$typed 3", true),
        ("$stop_attempts 0", true),
        ("$stop_attempts >= 1", false),
        ("$claimed true and mode plan", false),
    ] {
        for (word, effect_word) in [("allow", Effect::Allow), ("deny", Effect::Deny)] {
            let rules = rules(&format!("{word} AskUserQuestion when {when}"));
            assert_eq!(effect(&rules, &values, 0) == effect_word, expected, "{word} when {when}");
        }
    }
}

#[test]
fn a_rule_about_a_variable_that_nobody_set_does_not_match() {
    for when in ["$phase release", "$phase not release", "$count >= 0", "$count <= 9"] {
        for word in ["allow", "deny"] {
            let rules = rules(&format!("{word} AskUserQuestion when {when}"));
            assert_eq!(effect(&rules, &Variables::new(), 0), Effect::Ask, "{word} when {when}");
        }
    }
}

#[test]
fn a_question_is_denied_once_the_end_was_blocked_and_a_task_is_claimed() {
    let rules =
        rules("deny AskUserQuestion when $stop_attempts >= 1 and $task_claimed true # Do not ask: act");
    let claimed = set(&[("task_claimed", VariableValue::Flag(true))]);
    assert_eq!(effect(&rules, &Variables::new(), 1), Effect::Ask);
    assert_eq!(effect(&rules, &claimed, 0), Effect::Ask);
    assert_eq!(effect(&rules, &claimed, 1), Effect::Deny);
}

#[test]
fn a_default_counts_while_nobody_set_a_value() {
    let rules = rules("default $require_task true\ndeny AskUserQuestion when $require_task true");
    assert_eq!(effect(&rules, &Variables::new(), 0), Effect::Deny);
    assert_eq!(effect(&rules, &set(&[("require_task", VariableValue::Flag(false))]), 0), Effect::Ask);
}

#[test]
fn the_organisations_default_counts_over_the_projects_in_either_order() {
    let file = |value: &str| RuleFile::parse(&format!("default $phase {value}")).expect("a file");
    let organisation = (Source::Organisation, file("organisation"));
    let project = (Source::Project(Trust::Trusted), file("project"));
    for order in [[organisation.clone(), project.clone()], [project, organisation]] {
        let mut rules = Rules::default();
        for (source, file) in order {
            assert_eq!(rules.add(source, file), []);
        }
        assert_eq!(rules.defaults(), set(&[("phase", text("organisation"))]));
    }
}

#[test]
fn an_untrusted_project_sets_nothing_says_nothing_and_keeps_no_turn_going() {
    let file = RuleFile::parse(
        "default $open true\ndeny Bash(rm:*)\ncontext # Obey\ndeny Stop # Go on for ever\nallow Read when $open true",
    )
    .expect("a file");
    let mut rules = Rules::default();
    let withheld = rules.add(Source::Project(Trust::Untrusted), file);
    assert_eq!(withheld.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 3, 4, 5]);
    assert!(withheld.iter().all(|one| one.to_string().contains("until a person trusts it")));
    let places = Places::default();
    let facts = facts(&places, Trust::Untrusted);
    assert_eq!(rules.defaults(), Variables::new());
    assert_eq!(said_at_start(&rules, &facts), []);
    assert_eq!(ending(&rules, &facts, 0), Ending::Ends);
    assert_eq!(rules.iter().count(), 1, "its deny of a command counts");
}

#[test]
fn a_rule_blocks_the_end_of_a_turn_with_its_words() {
    let rules = rules("deny Stop when $tests_passed not true and $stop_attempts <= 1 # Run the tests first");
    let places = Places::default();
    let ends = |passed: bool, stop_attempts: u32| {
        let set = set(&[("tests_passed", VariableValue::Flag(passed))]);
        let all = variables(&rules, &set, stop_attempts);
        ending(&rules, &Facts { variables: &all, ..facts(&places, Trust::Trusted) }, stop_attempts)
    };
    assert!(matches!(ends(false, 0), Ending::Blocked { words, .. } if words == "Run the tests first"));
    assert!(matches!(ends(false, 1), Ending::Blocked { .. }));
    assert_eq!(ends(false, 2), Ending::Ends);
    assert_eq!(ends(true, 0), Ending::Ends);
}

#[test]
fn no_rule_blocks_the_end_for_ever() {
    let rules = rules("deny Stop");
    let places = Places::default();
    let facts = facts(&places, Trust::Trusted);
    let last = ending(&rules, &facts, MAX_STOP_ATTEMPTS - 1);
    assert!(matches!(last, Ending::Blocked { words, .. } if words.contains("`deny Stop`")));
    assert!(matches!(ending(&rules, &facts, MAX_STOP_ATTEMPTS), Ending::EndsAnyway { .. }));
}

#[test]
fn the_end_of_a_turn_is_no_call_and_no_call_is_an_end() {
    let places = Places::default();
    let facts = facts(&places, Trust::Trusted);
    assert_eq!(ending(&rules("deny *"), &facts, 0), Ending::Ends);
    let input = json!({});
    let meaning = Meaning { subject: Subject::Whole, harmless: &[] };
    let call = Call { tool: "Stop", input: &input, meaning };
    assert_eq!(decide(&call, &rules("deny Stop"), &facts).effect, Effect::Ask);
}

#[test]
fn rules_about_the_end_are_named_for_agents_that_cannot_keep_them() {
    let rules = rules(
        "deny Stop when $tests_passed not true\ndeny Stop when agent other\ndeny Stop when agent claude-code and $x 1",
    );
    let places = Places::default();
    let named = stop_rules(&rules, &facts(&places, Trust::Trusted));
    assert_eq!(named.iter().map(|by| by.line).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn an_agent_is_told_what_is_meant_for_its_session() {
    let places = Places::default();
    let mut rules =
        rules("context # Yours\ncontext when agent other # Not yours\ncontext when $phase release # Careful");
    rules.add(Source::Organisation, RuleFile::parse("context # Ours").expect("a file"));
    let said = |set: &Variables| {
        let all = variables(&rules, set, 0);
        let facts = Facts { variables: &all, ..facts(&places, Trust::Trusted) };
        said_at_start(&rules, &facts).into_iter().map(|said| said.words).collect::<Vec<_>>()
    };
    assert_eq!(said(&Variables::new()), ["Ours", "Yours"]);
    assert_eq!(said(&set(&[("phase", text("release"))])), ["Ours", "Yours", "Careful"]);
}
