//! Which calls of Claude Code go to a person.

use std::path::Path;

use holdstead_protocol::PermissionMode;
use serde_json::Value;

use super::terms::Terms;
use crate::private::{Near, Search};

/// Tools that look and do not touch, or only keep the agent's own notes. The program's own rules still hold for
/// them: it asks by itself for a file outside its folder.
const READ_ONLY: [&str; 19] = [
    "Agent",
    "BashOutput",
    "EnterPlanMode",
    "Glob",
    "Grep",
    "LS",
    "ListMcpResourcesTool",
    "NotebookRead",
    "Read",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "ReadMcpResourceTool",
];
/// The name of our own MCP server in the program.
pub(super) const OWN_SERVER: &str = "holdstead";
const EDITS: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// We do not decide: the program does, by its own rules.
    Pass,
    Question,
    Plan,
    Approval,
    /// It comes near the gateway's own folders: no rule and no grant stands in for a person.
    Private,
    /// It is a file of the gateway's own: nobody is asked, because the program would refuse it anyway.
    Forbidden,
    /// Its session was opened with this tool allowed.
    Allowed,
}

/// What becomes of a call. `current_mode` is the program's own, which ends plan mode by itself.
pub(super) fn verdict(tool: &str, input: &Value, current_mode: &str, terms: &Terms) -> Verdict {
    let edits = EDITS.contains(&tool);
    match tool {
        "AskUserQuestion" | "AskFollowupQuestion" => return Verdict::Question,
        "ExitPlanMode" => return Verdict::Plan,
        _ => {}
    }
    match terms.private.near(input, search(tool)) {
        Near::Inside => return Verdict::Forbidden,
        Near::Around => return Verdict::Private,
        Near::No => {}
    }
    match tool {
        _ if READ_ONLY.contains(&tool) => Verdict::Pass,
        _ if edits && terms.mode == PermissionMode::AcceptEdits && current_mode == "acceptEdits" => {
            Verdict::Pass
        }
        _ if edits && current_mode == "plan" && is_plan_file(input, terms.plans.as_deref()) => Verdict::Pass,
        _ if terms.allowed.iter().any(|name| name == tool) => Verdict::Allowed,
        _ => Verdict::Approval,
    }
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
    use crate::ProjectFiles;
    use crate::private::Private;

    fn of(tool: &str, input: &Value, mode: PermissionMode, current: &str) -> Verdict {
        let gateway = PathBuf::from("/nowhere/gateway");
        let terms = Terms {
            mode,
            allowed: vec!["WebSearch".to_owned()],
            own_tools: vec![own_tool("ask_user")],
            project_files: ProjectFiles::Closed,
            private: Private::new(&[gateway], Path::new("/nowhere/project"), None),
            plans: Some("/people/ada/.claude/plans".into()),
            read: |_| None,
        };
        verdict(tool, input, current, &terms)
    }

    #[test]
    fn who_decides() {
        use PermissionMode::{AcceptEdits, Auto, Default, Plan};
        let none = json!({});
        let plan = json!({"file_path": "/people/ada/.claude/plans/a.md"});
        let elsewhere = json!({"file_path": "/people/ada/.claude/plans/../settings.json"});
        let projects = json!({"file_path": "/nowhere/project/.claude/plans/a.md"});
        let token = json!({"file_path": "/nowhere/gateway/token"});
        let above = json!({"pattern": "hs_", "path": "/nowhere"});
        let upward = json!({"pattern": "../**/tok*"});
        let command = json!({"command": "cat /nowhere/gateway/token"});
        let cases = [
            ("Read", &none, Default, "default", Verdict::Pass),
            ("Bash", &none, Default, "default", Verdict::Approval),
            ("Bash", &none, AcceptEdits, "acceptEdits", Verdict::Approval),
            ("Bash", &none, Auto, "default", Verdict::Approval),
            ("Write", &none, Default, "default", Verdict::Approval),
            ("Write", &none, AcceptEdits, "acceptEdits", Verdict::Pass),
            // The program left the mode by itself: that is nothing we were asked for.
            ("Write", &none, Default, "acceptEdits", Verdict::Approval),
            ("Write", &plan, Plan, "plan", Verdict::Pass),
            ("Write", &elsewhere, Plan, "plan", Verdict::Approval),
            ("Write", &projects, Plan, "plan", Verdict::Approval),
            ("Write", &plan, Plan, "default", Verdict::Approval),
            // The gateway's own folder, in any mode.
            ("Read", &token, Default, "default", Verdict::Forbidden),
            ("Write", &token, AcceptEdits, "acceptEdits", Verdict::Forbidden),
            ("Grep", &above, Auto, "default", Verdict::Private),
            ("Glob", &upward, Default, "default", Verdict::Private),
            // Grep's pattern is none of paths.
            ("Grep", &upward, Default, "default", Verdict::Pass),
            ("Bash", &command, Auto, "default", Verdict::Private),
            ("WebSearch", &command, Default, "default", Verdict::Private),
            ("AskUserQuestion", &none, Auto, "default", Verdict::Question),
            ("AskFollowupQuestion", &none, Default, "default", Verdict::Question),
            ("ExitPlanMode", &none, Auto, "plan", Verdict::Plan),
            ("WebSearch", &none, Default, "default", Verdict::Allowed),
            // Whoever serves it: ours are known by more than their name.
            ("mcp__holdstead__ask_user", &none, Default, "default", Verdict::Approval),
            ("mcp__any__thing", &none, Default, "default", Verdict::Approval),
            ("SomethingNew", &none, Default, "default", Verdict::Approval),
            ("", &none, Default, "default", Verdict::Approval),
        ];
        for (tool, input, mode, current, expected) in cases {
            assert_eq!(of(tool, input, mode, current), expected, "{tool} {input} {mode:?} {current}");
        }
    }
}
