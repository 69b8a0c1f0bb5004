//! Which calls of Claude Code are a person's alone, and which are the program's own. All others are for rules.

use std::path::Path;

use holdstead_protocol::MayAllow;
use serde_json::Value;

use super::terms::Terms;
use crate::private::{Near, Search};

/// The name of our own MCP server in the program.
pub(super) const OWN_SERVER: &str = "holdstead";
/// What it may do unasked in any session.
pub(super) const BUILT_IN: &str = include_str!("built_in.rules");
const EDITS: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Question,
    Plan,
    /// An approval, unless one of these decides.
    Approval(MayAllow),
    /// It is a file of the gateway's own: nobody is asked, because the program would refuse it anyway.
    Forbidden,
}

/// What a call is. `current_mode` is the program's own, which ends plan mode by itself.
pub(super) fn verdict(tool: &str, input: &Value, current_mode: &str, terms: &Terms) -> Verdict {
    match tool {
        "AskUserQuestion" | "AskFollowupQuestion" => return Verdict::Question,
        "ExitPlanMode" => return Verdict::Plan,
        _ => {}
    }
    // Nobody is asked whether somebody may be asked.
    if terms.own_tools.iter().any(|own| own == tool) {
        return Verdict::Approval(MayAllow::AgentsOwn);
    }
    match terms.private.near(input, search(tool)) {
        Near::Inside => return Verdict::Forbidden,
        // No rule and no grant stands in for a person near the gateway's own folders.
        Near::Around => return Verdict::Approval(MayAllow::PersonOnly),
        Near::No => {}
    }
    let plan = EDITS.contains(&tool) && current_mode == "plan" && is_plan_file(input, terms.plans.as_deref());
    Verdict::Approval(if plan { MayAllow::AgentsOwn } else { MayAllow::Rules })
}

fn search(tool: &str) -> Search {
    match tool {
        "Glob" => Search::Pattern,
        "Grep" | "LS" => Search::Folder,
        _ => Search::Nothing,
    }
}

/// The name of one of our own tools in the program.
pub(super) fn own_tool(tool: &str) -> String {
    format!("mcp__{OWN_SERVER}__{tool}")
}

/// A file in the folder where the program keeps plans. Which of them belongs to this session it does not tell us before
/// it was written: it lets its own one pass, and asks by itself for any other.
fn is_plan_file(input: &Value, plans: Option<&Path>) -> bool {
    let path = Path::new(input.get("file_path").and_then(Value::as_str).unwrap_or_default());
    // With nothing in between: `..` and folders within are not where plans are.
    plans.is_some_and(|plans| path.parent() == Some(plans)) && path.file_name().is_some()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::private::Private;

    fn of(tool: &str, input: &Value, current: &str) -> Verdict {
        let gateway = PathBuf::from("/nowhere/gateway");
        let terms = Terms {
            own_tools: vec![own_tool("ask_user")],
            private: Private::new(&[gateway], Path::new("/nowhere/project"), None),
            plans: Some("/people/ada/.claude/plans".into()),
            read: |_, _, _| None,
            is_written: |_| true,
            other_hooks: super::super::other_hooks::OtherHooks::None,
            account: None,
        };
        verdict(tool, input, current, &terms)
    }

    #[test]
    fn who_decides() {
        use MayAllow::{AgentsOwn, PersonOnly, Rules};
        let none = json!({});
        let plan = json!({"file_path": "/people/ada/.claude/plans/a.md"});
        let elsewhere = json!({"file_path": "/people/ada/.claude/plans/../settings.json"});
        let projects = json!({"file_path": "/nowhere/project/.claude/plans/a.md"});
        let token = json!({"file_path": "/nowhere/gateway/token"});
        let above = json!({"pattern": "hs_", "path": "/nowhere"});
        let upward = json!({"pattern": "../**/tok*"});
        let command = json!({"command": "cat /nowhere/gateway/token"});
        let cases = [
            ("Read", &none, "default", Verdict::Approval(Rules)),
            ("Bash", &none, "default", Verdict::Approval(Rules)),
            ("Write", &none, "acceptEdits", Verdict::Approval(Rules)),
            ("Write", &plan, "plan", Verdict::Approval(AgentsOwn)),
            ("Write", &elsewhere, "plan", Verdict::Approval(Rules)),
            ("Write", &projects, "plan", Verdict::Approval(Rules)),
            ("Write", &plan, "default", Verdict::Approval(Rules)),
            // The gateway's own folder, in any mode.
            ("Read", &token, "default", Verdict::Forbidden),
            ("Write", &token, "acceptEdits", Verdict::Forbidden),
            ("Grep", &above, "default", Verdict::Approval(PersonOnly)),
            ("Glob", &upward, "default", Verdict::Approval(PersonOnly)),
            // Grep's pattern is none of paths.
            ("Grep", &upward, "default", Verdict::Approval(Rules)),
            ("Bash", &command, "default", Verdict::Approval(PersonOnly)),
            ("WebSearch", &command, "default", Verdict::Approval(PersonOnly)),
            ("AskUserQuestion", &none, "default", Verdict::Question),
            ("AskFollowupQuestion", &none, "default", Verdict::Question),
            ("ExitPlanMode", &none, "plan", Verdict::Plan),
            ("mcp__holdstead__ask_user", &none, "default", Verdict::Approval(AgentsOwn)),
            ("mcp__holdstead__x__run", &none, "default", Verdict::Approval(Rules)),
            ("mcp__any__thing", &none, "default", Verdict::Approval(Rules)),
            ("SomethingNew", &none, "default", Verdict::Approval(Rules)),
            ("", &none, "default", Verdict::Approval(Rules)),
        ];
        for (tool, input, current, expected) in cases {
            assert_eq!(of(tool, input, current), expected, "{tool} {input} {current}");
        }
    }
}
