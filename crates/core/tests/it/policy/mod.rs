//! Rules against calls.

mod calls;
mod commands;
mod corpus;
mod denies;
mod guide;
mod lifecycle;
mod marks;
mod offers;
mod simulate;
mod suggest;
mod verified;

use holdstead_core::policy::rule::{Effect, RuleFile};
use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{
    Call, Facts, Meaning, NO_VARIABLES, Places, Rules, Source, Subject, Trust, Verdict, decide,
};
use holdstead_protocol::PermissionMode;
use serde_json::json;

pub(crate) const FOLDER: &str = "/project";

pub(crate) fn rules(text: &str) -> Rules {
    let mut rules = Rules::default();
    let file = RuleFile::parse(text).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    rules.add(Source::Person, file);
    rules
}

/// The field of a shell line, as a driver names it.
pub(crate) const SHELL_LINE: Meaning<'static> =
    Meaning { subject: Subject::Shell { field: "command", shell: Shell::Bash }, harmless: &["description"] };

pub(crate) fn facts(places: &Places, trust: Trust) -> Facts<'_> {
    Facts {
        agent: "claude-code",
        mode: PermissionMode::Default,
        depth: Some(0),
        folder: FOLDER,
        cwd: Some(FOLDER),
        home: Some("/people/u"),
        trust,
        runs: &[],
        places,
        variables: &NO_VARIABLES,
    }
}

/// Decides as if there were no symbolic links.
pub(crate) fn decided(call: &Call<'_>, rules: &Rules, trust: Trust) -> Verdict {
    let none = Places::default();
    let unresolved = decide(call, rules, &facts(&none, trust)).unresolved;
    let places = Places::without_links(FOLDER, &unresolved);
    let verdict = decide(call, rules, &facts(&places, trust));
    assert!(verdict.unresolved.is_empty(), "{:?}", verdict.unresolved);
    verdict
}

pub(crate) fn shell(line: &str, rules: &Rules, trust: Trust) -> Verdict {
    in_shell(Shell::Bash, line, rules, trust)
}

pub(crate) fn in_shell(shell: Shell, line: &str, rules: &Rules, trust: Trust) -> Verdict {
    let input = json!({"command": line, "description": "x"});
    let meaning = Meaning { subject: Subject::Shell { field: "command", shell }, ..SHELL_LINE };
    decided(&Call { tool: "Bash", input: &input, meaning }, rules, trust)
}

pub(crate) fn effect(line: &str, text: &str) -> Effect {
    shell(line, &rules(text), Trust::Trusted).effect
}
