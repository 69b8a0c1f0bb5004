//! Examples that a rule carries: what it decides by itself, in a trusted folder without symbolic links.

use holdstead_protocol::PermissionMode;
use serde_json::{Value, json};

use super::{Example, Expect, FileRule, Rule, RuleFile, SHELL, Target, Wrong};
use crate::policy::shell::Shell;
use crate::policy::{
    Call, Facts, Meaning, NO_VARIABLES, Places, Rules, Source, Subject, Trust, Verdict, decide,
};

const FOLDER: &str = "/folder";

/// A mistake for each example that the rule decides otherwise.
pub(super) fn check(rule: &FileRule) -> Vec<Wrong> {
    // Conditions are about sessions, of which an example says nothing.
    let alone = Rule { when: Vec::new(), ..rule.rule.clone() };
    let mut rules = Rules::default();
    rules.add(
        Source::Person,
        RuleFile {
            rules: vec![FileRule { rule: alone, line: rule.line, examples: Vec::new() }],
            ..RuleFile::default()
        },
    );
    rule.examples.iter().filter_map(|example| mistake(example, &rule.rule, &rules)).collect()
}

fn mistake(example: &Example, rule: &Rule, rules: &Rules) -> Option<Wrong> {
    let verdict = decided(&example.text, &rule.target, rules);
    let by_rule = verdict.effect == rule.effect && verdict.parts.iter().any(|part| part.by.is_some());
    let what = match (example.expect, by_rule) {
        (Expect::Yes, true) | (Expect::No, false) => return None,
        (Expect::Yes, false) => format!("the rule does not {} this", rule.effect),
        (Expect::No, true) => format!("the rule does {} this", rule.effect),
    };
    let hint = verdict.reason.unwrap_or_else(|| "every command of it is covered".to_owned());
    Some(Wrong { line: example.line, column: example.column, what, hint })
}

/// Reads an example as the call it stands for.
fn decided(text: &str, target: &Target, rules: &Rules) -> Verdict {
    let (tool, subject, input) = match target {
        Target::Command(_) => (SHELL, Subject::Shell { field: "x", shell: Shell::Bash }, json!({"x": text})),
        Target::Tool(tool) if tool == SHELL => {
            (SHELL, Subject::Shell { field: "x", shell: Shell::Bash }, json!({"x": text}))
        }
        Target::Path { tool, .. }
            if matches!(tool.as_str(), "Edit" | "Write" | "MultiEdit" | "NotebookEdit") =>
        {
            (tool.as_str(), Subject::Edits { field: "x" }, json!({"x": text}))
        }
        Target::Path { tool, .. } => (tool.as_str(), Subject::Reads { field: "x" }, json!({"x": text})),
        Target::Domain { .. } => (super::FETCH, Subject::Fetches { field: "x" }, json!({"x": text})),
        // A turn's end is no call, and no example of one.
        Target::Tool(_) | Target::Server(_) | Target::Everything | Target::Stop => {
            (text, Subject::Whole, Value::Null)
        }
    };
    let call = Call { tool, input: &input, meaning: Meaning { subject, harmless: &[] } };
    let none = Places::default();
    let facts = |places| Facts {
        agent: "",
        mode: PermissionMode::Default,
        depth: Some(0),
        folder: FOLDER,
        cwd: Some(FOLDER),
        home: None,
        trust: Trust::Trusted,
        runs: &[],
        places,
        variables: &NO_VARIABLES,
    };
    let unresolved = decide(&call, rules, &facts(&none)).unresolved;
    decide(&call, rules, &facts(&Places::without_links(FOLDER, &unresolved)))
}
