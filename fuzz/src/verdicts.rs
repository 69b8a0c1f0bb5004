//! Any rules and any line: more allows never allow less, an offer allows what it was made for, and marks stand in the line.

use holdstead_core::policy::rule::{Effect, RuleFile};
use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{
    Call, Facts, Meaning, NO_VARIABLES, Places, Rules, Source, Subject, Trust, decide, marks, offers,
};
use holdstead_protocol::PermissionMode;
use serde_json::json;

use super::text;

const FOLDER: &str = "/project";

fn facts(places: &Places) -> Facts<'_> {
    Facts {
        agent: "a",
        mode: PermissionMode::Default,
        depth: Some(0),
        folder: FOLDER,
        cwd: Some(FOLDER),
        home: None,
        trust: Trust::Trusted,
        runs: &[],
        places,
        variables: &NO_VARIABLES,
    }
}

fn effect(call: &Call<'_>, rules: &Rules) -> Effect {
    let unresolved = decide(call, rules, &facts(&Places::default())).unresolved;
    decide(call, rules, &facts(&Places::without_links(FOLDER, &unresolved))).effect
}

pub fn run(bytes: &[u8]) {
    let text = text(bytes);
    // The first line is what is called, the others are rules.
    let (line, file) = text.split_once('\0').unwrap_or((text, "allow Bash(ls:*)"));
    let Ok(file) = RuleFile::parse(file) else { return };
    let mut rules = Rules::default();
    rules.add(Source::Person, file);
    let input = json!({"command": line});
    let subject = Subject::Shell { field: "command", shell: Shell::Bash };
    let call = Call { tool: "Bash", input: &input, meaning: Meaning { subject, harmless: &[] } };
    let decided = effect(&call, &rules);
    let mut more = rules.clone();
    more.add(Source::Session, RuleFile::parse("allow Bash(git status:*)\nallow Bash(ls:*)").expect("rules"));
    assert!(effect(&call, &more) <= decided, "an allow made it stricter");
    let unresolved = offers(&call, &rules, &facts(&Places::default()), &[]).unresolved;
    let places = Places::without_links(FOLDER, &unresolved);
    for offer in offers(&call, &rules, &facts(&places), &[]).offers {
        let saved: Vec<String> = offer.rules.into_iter().map(|rule| rule.text).collect();
        let mut with = rules.clone();
        with.add(Source::Session, RuleFile::parse(&saved.join("\n")).expect("an offer that can be read"));
        assert_eq!(effect(&call, &with), Effect::Allow, "{saved:?}");
    }
    for mark in marks(&call, &facts(&places), &["x".to_owned()]) {
        assert!(line.get(mark.span).is_some(), "a mark outside the line");
    }
}
