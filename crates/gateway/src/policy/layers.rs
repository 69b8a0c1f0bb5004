//! The rules of a session, from every layer but the project's.

use std::collections::BTreeMap;

use holdstead_core::policy::rule::{FileRule, RuleFile, parse};
use holdstead_core::policy::{Rules, Source};
use holdstead_protocol::{Grant, GrantId, Rule, Scope, Timestamp};

/// What is the same in every session of an agent.
pub(super) fn add_constant(rules: &mut Rules, built_in: &str, organisation: &RuleFile) {
    // Tests read every one of them.
    if let Ok(file) = RuleFile::parse(built_in) {
        rules.add(Source::BuiltIn, file);
    }
    rules.add(Source::Organisation, organisation.clone());
}

/// What counts in every session of an owner, whatever its agent.
pub(crate) fn of_all_sessions(organisation: &RuleFile, owners: &[Grant], now: Timestamp) -> Rules {
    let mut rules = Rules::default();
    add_constant(&mut rules, "", organisation);
    add_granted(&mut rules, owners, &BTreeMap::new(), &[], now);
    rules
}

/// What people allowed by their answers, and what the session was opened with.
pub(super) fn add_granted(
    rules: &mut Rules,
    owners: &[Grant],
    session: &BTreeMap<GrantId, Grant>,
    allowed_tools: &[String],
    now: Timestamp,
) {
    rules.add(Source::Person, file(lines(owners.iter(), now)));
    let tools = allowed_tools.iter().map(|tool| format!("allow {tool}"));
    rules.add(Source::Session, file(tools.chain(lines(session.values(), now))));
}

fn lines<'a>(grants: impl Iterator<Item = &'a Grant>, now: Timestamp) -> impl Iterator<Item = String> {
    grants.filter(move |grant| grant.expires_at.is_none_or(|expiry| now < expiry)).flat_map(lines_of)
}

/// The rules that a grant stands for; none for one of the very same input.
pub(crate) fn lines_of(grant: &Grant) -> Vec<String> {
    match (&grant.rule, grant.scope) {
        (Rule::Lines { lines }, Scope::Session | Scope::Hour | Scope::Always) => lines.clone(),
        (Rule::Lines { .. }, Scope::Once) | (Rule::ExactInput { .. } | Rule::Key { .. }, _) => Vec::new(),
    }
}

/// A line that is not understood any more does not count: it asks.
fn file(lines: impl Iterator<Item = String>) -> RuleFile {
    let rules = (1..).zip(lines).filter_map(|(line, text)| {
        let rule = parse(&text).ok()?;
        Some(FileRule { rule, line, examples: Vec::new() })
    });
    RuleFile { rules: rules.collect(), ..RuleFile::default() }
}

#[cfg(test)]
mod tests {
    use holdstead_agents::Driver;
    use holdstead_agents::claude_code::ClaudeCodeDriver;
    use holdstead_agents::host::Host;
    use holdstead_agents::{BoxSetting, Boxes};
    use holdstead_core::policy::rule::Effect;

    use super::*;

    #[test]
    fn what_is_built_in_can_be_read_and_only_allows() {
        let host = Host::new(vec!["host".to_owned()], Boxes::new(BoxSetting::None, &[]));
        let claude = ClaudeCodeDriver::new(host, "claude".to_owned(), "/nowhere".into(), "/nowhere".into());
        let file = RuleFile::parse(claude.built_in_rules()).expect("rules");
        assert!(file.rules.len() > 10 && file.rules.iter().all(|rule| rule.rule.effect == Effect::Allow));
    }

    #[test]
    fn an_hour_ends() {
        let given_at = Timestamp::from_micros(1_000_000);
        let grant = |scope: Scope| Grant {
            grant_id: GrantId::of_line(&holdstead_protocol::OwnerId::new("ana").expect("a name"), "x"),
            rule: Rule::Lines { lines: vec!["allow Bash(ls)".to_owned()] },
            scope,
            given_by: "ana".to_owned(),
            interaction_id: None,
            given_at,
            expires_at: scope.expires_at(given_at),
        };
        let counted = |scope: Scope, minutes: u64| {
            let now = given_at.after(std::time::Duration::from_secs(minutes * 60));
            let mut rules = Rules::default();
            add_granted(&mut rules, &[grant(scope)], &BTreeMap::new(), &[], now);
            rules.iter().count()
        };
        assert_eq!([counted(Scope::Hour, 59), counted(Scope::Hour, 60)], [1, 0]);
        assert_eq!([counted(Scope::Always, 60), counted(Scope::Once, 0)], [1, 0]);
    }
}
