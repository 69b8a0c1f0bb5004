//! Which calls of Claude Code go to a person.

use holdstead_protocol::PermissionMode;
use serde_json::Value;

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
    /// Its session was opened with this tool allowed.
    Allowed,
}

/// What becomes of a call. `current_mode` is the program's own, which ends plan mode by itself.
pub(super) fn verdict(
    tool: &str,
    input: &Value,
    mode: PermissionMode,
    current_mode: &str,
    allowed: &[String],
) -> Verdict {
    let edits = EDITS.contains(&tool);
    match tool {
        "AskUserQuestion" | "AskFollowupQuestion" => Verdict::Question,
        "ExitPlanMode" => Verdict::Plan,
        _ if READ_ONLY.contains(&tool) => Verdict::Pass,
        _ if edits && mode == PermissionMode::AcceptEdits && current_mode == "acceptEdits" => Verdict::Pass,
        _ if edits && current_mode == "plan" && is_plan_file(input) => Verdict::Pass,
        _ if allowed.iter().any(|name| name == tool) => Verdict::Allowed,
        _ => Verdict::Approval,
    }
}

/// Whether it is one of our own tools: they ask by themselves.
pub(super) fn is_own(tool: &str) -> bool {
    let server = tool.strip_prefix("mcp__").and_then(|tool| tool.strip_prefix(OWN_SERVER));
    server.is_some_and(|tool| tool.starts_with("__"))
}

/// The file that the program tells its model to write the plan to. It lets no other be written in plan mode.
fn is_plan_file(input: &Value) -> bool {
    let path = input.get("file_path").and_then(Value::as_str).unwrap_or_default();
    path.contains("/.claude/plans/") && !path.contains("..")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tool: &str, input: &Value, mode: PermissionMode, current: &str) -> Verdict {
        verdict(tool, input, mode, current, &["WebSearch".to_owned()])
    }

    #[test]
    fn who_decides() {
        use PermissionMode::{AcceptEdits, Auto, Default, Plan};
        let none = json!({});
        let plan = json!({"file_path": "/project/.claude/plans/a.md"});
        let elsewhere = json!({"file_path": "/project/.claude/plans/../settings.json"});
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
            ("Write", &plan, Plan, "default", Verdict::Approval),
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

    #[test]
    fn our_own_tools_are_known_by_their_server() {
        assert!(is_own("mcp__holdstead__ask_user"));
        for other in
            ["mcp__holdstead2__ask_user", "mcp__holdstead", "holdstead__ask_user", "mcp__x__holdstead__y"]
        {
            assert!(!is_own(other), "{other}");
        }
    }
}
