//! What the real program's hooks and transcripts mean, from recordings of it.

use std::path::PathBuf;
use std::time::Duration;

use holdstead_protocol::{MayAllow, Response, Scope, Settlement, json};
use serde_json::json;

use super::super::other_hooks::OtherHooks;
use super::*;
use crate::Outgoing;
use crate::private::Private;

fn terminal() -> ClaudeTerminal {
    let terms = Terms {
        own_tools: Vec::new(),
        private: Private::default(),
        plans: None,
        read: |_, _, _| None,
        is_written: |_| true,
        other_hooks: OtherHooks::None,
        account: None,
    };
    ClaudeTerminal::new(terms, false)
}

/// Plays a recording of the program, and answers each ask by a card.
fn played(recording: &str, card: Option<Resolution>) -> Vec<TerminalEffect> {
    let mut terminal = terminal();
    let mut effects = Vec::new();
    let begin = Instant::now();
    for line in recording.lines() {
        let (line, _) = json::read_flawed(line.as_bytes()).unwrap();
        let now = begin + Duration::from_secs_f64(line["t"].as_f64().unwrap_or_default());
        effects.extend(terminal.passed(now));
        let number = line["n"].as_u64();
        let told = match line["src"].as_str().unwrap_or_default() {
            "hook>" => {
                let waits = number.filter(|_| line["event"] == "PermissionRequest");
                terminal.heard(&line["body"].to_string(), waits, now)
            }
            "hook!" => terminal.left(number.unwrap_or_default()),
            "transcript" => terminal.recorded(&line["line"].to_string()),
            _ => Vec::new(),
        };
        for effect in &told {
            if let (TerminalEffect::Event(AgentEvent::Ask(ask)), Some(card)) = (effect, &card) {
                let tool_call_id = ask.tool_call_id.clone();
                let resolve = Outgoing::Resolve { tool_call_id, resolution: card.clone() };
                effects.extend(terminal.told(resolve));
            }
        }
        effects.extend(told);
    }
    effects
}

fn approved() -> Resolution {
    let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
    Resolution::Settled { settlement: Settlement::Approved, response, input: json!({ "command": "touch x" }) }
}

fn count(effects: &[TerminalEffect], find: impl Fn(&AgentEvent) -> bool) -> usize {
    effects.iter().filter(|effect| matches!(effect, TerminalEffect::Event(event) if find(event))).count()
}

#[test]
fn a_conversation_with_approvals_by_cards_is_heard_once_and_in_order() {
    let recording = include_str!("../../../tests/fixtures/claude-code/terminal/transcript.jsonl");
    let effects = played(recording, Some(approved()));
    let asks = count(&effects, |event| matches!(event, AgentEvent::Ask(_)));
    let begun = recording.matches("\"event\":\"PermissionRequest\",\"method\"").count();
    assert!(begun > 3);
    assert_eq!(asks, begun, "each is asked once");
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::Acknowledged { .. })), begun);
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::ToolCallStart { .. })), begun);
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::TurnBegun { .. })), 1);
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::AnsweredInTerminal { .. })), 0);
    let place = |find: &dyn Fn(&AgentEvent) -> bool| {
        effects
            .iter()
            .position(|effect| matches!(effect, TerminalEffect::Event(event) if find(event)))
            .unwrap()
    };
    let words = place(&|event| matches!(event, AgentEvent::Text { text, .. } if text == "Step 0."));
    assert!(words < place(&|event| matches!(event, AgentEvent::Ask(_))), "its words stand before its ask");
}

#[test]
fn a_yes_in_the_terminal_is_known_when_the_command_has_ended() {
    let recording = include_str!("../../../tests/fixtures/claude-code/terminal/yes-in-terminal.jsonl");
    let effects = played(recording, None);
    let how = InTerminal { answer: TerminalAnswer::Allowed, known_by: KnownBy::Record };
    assert_eq!(
        count(
            &effects,
            |event| matches!(event, AgentEvent::AnsweredInTerminal { how: said, .. } if *said == how)
        ),
        1
    );
    let released =
        effects.iter().filter(|effect| matches!(effect, TerminalEffect::Answer { answer: None, .. }));
    assert_eq!(released.count(), 1, "nobody waits any more");
    // The same with an answer that came while it ran.
    let effects = played(recording, Some(approved()));
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::AnsweredInTerminal { .. })), 1);
    assert_eq!(
        count(&effects, |event| matches!(event, AgentEvent::Acknowledged { .. })),
        0,
        "the terminal was faster"
    );
}

#[test]
fn a_hook_that_goes_away_closes_the_request_and_is_no_refusal() {
    let recording = include_str!("../../../tests/fixtures/claude-code/terminal/no-in-terminal.jsonl");
    let effects = played(recording, None);
    let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Withdrawn };
    assert_eq!(
        count(
            &effects,
            |event| matches!(event, AgentEvent::AnsweredInTerminal { how: said, .. } if *said == how)
        ),
        1
    );
}

#[test]
fn in_a_subagent_nobody_is_kept_from_the_dialog_for_long() {
    let recording = include_str!("../../../tests/fixtures/claude-code/terminal/subagents.jsonl");
    let mut terminal = terminal();
    let begin = Instant::now();
    let mut asked = 0;
    for line in recording.lines().filter(|line| line.contains("\"src\":\"hook>\"")) {
        let (line, _) = json::read_flawed(line.as_bytes()).unwrap();
        let waits = line["n"].as_u64().filter(|_| line["event"] == "PermissionRequest");
        asked += usize::from(waits.is_some());
        terminal.heard(&line["body"].to_string(), waits, begin);
        // The main turn stops meanwhile: it is not over.
        if line["event"] == "Stop" {
            break;
        }
    }
    assert!(asked > 0);
    let effects = terminal.passed(begin + Duration::from_secs(1));
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::Ask(_))), asked);
    assert_eq!(terminal.passed(begin + Duration::from_secs(19)), Vec::new());
    let effects = terminal.passed(begin + Duration::from_secs(21));
    let released =
        effects.iter().filter(|effect| matches!(effect, TerminalEffect::Answer { answer: None, .. }));
    assert_eq!(released.count(), asked);
    let left = |event: &AgentEvent| matches!(event, AgentEvent::AnsweredInTerminal { how, .. } if how.known_by == KnownBy::LeftToTerminal);
    assert_eq!(count(&effects, left), asked);
}

#[test]
fn a_request_whose_call_never_shows_itself_is_left_to_the_terminal() {
    let mut terminal = terminal();
    let begin = Instant::now();
    let asked = json!({ "session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": { "command": "ls" } });
    terminal.heard(&asked.to_string(), Some(7), begin);
    let effects = terminal.passed(begin + Duration::from_secs(3));
    assert_eq!(effects, [TerminalEffect::Answer { waits: 7, answer: None }]);
}

#[test]
fn of_calls_that_are_alike_the_first_is_asked_about() {
    let mut terminal = terminal();
    let now = Instant::now();
    let block = |number: usize| json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": "Bash", "input": { "command": "ls" } });
    let blocks: Vec<_> = (0..20).map(block).collect();
    terminal
        .recorded(&json!({ "type": "assistant", "message": { "id": "m", "content": blocks } }).to_string());
    let asked = json!({ "session_id": "s", "hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": { "command": "ls" } });
    for number in 0..20 {
        let effects = terminal.heard(&asked.to_string(), Some(number), now);
        let about = effects.iter().find_map(|effect| {
            let TerminalEffect::Event(AgentEvent::Ask(ask)) = effect else { return None };
            Some(ask.tool_call_id.as_str().to_owned())
        });
        assert_eq!(about, Some(format!("toolu_{number}")));
    }
}

#[test]
fn nobody_names_any_file_as_a_record() {
    let said =
        |path: &str| json!({ "session_id": "abc", "cwd": "/src", "transcript_path": path }).to_string();
    let record = |path: &str| introduced(&said(path)).unwrap().record;
    assert_eq!(
        record("/agent-home/.claude/projects/x/abc.jsonl"),
        Some(PathBuf::from("/agent-home/.claude/projects/x/abc.jsonl"))
    );
    for other in ["/etc/passwd", "abc.jsonl", "/agent-home/other.jsonl", ""] {
        assert_eq!(record(other), None, "{other}");
    }
    assert_eq!(record_of("/agent-home/x/abc.jsonl".to_owned(), "abc", "../../etc"), None);
    assert_eq!(record_of("/etc/other.jsonl".to_owned(), "abc", "a1"), None);
    let own = record_of("/agent-home/x/abc.jsonl".to_owned(), "abc", "a1");
    assert_eq!(own, Some(PathBuf::from("/agent-home/x/abc/subagents/agent-a1.jsonl")));
    assert_eq!(introduced("{}"), None);
    assert_eq!(introduced("nonsense"), None);
}

/// A turn in which it asks about one call, which was answered here.
fn replied(terminal: &mut ClaudeTerminal) -> Vec<TerminalEffect> {
    let now = Instant::now();
    let step = |name: &str, more: &str| format!(r#"{{"session_id":"s","hook_event_name":"{name}",{more}}}"#);
    let call = r#""tool_name":"Bash","tool_input":{"command":"touch x"}"#;
    terminal.heard(&step("UserPromptSubmit", r#""prompt":"go""#), None, now);
    terminal.heard(&step("PreToolUse", &format!(r#""tool_use_id":"toolu_1",{call}"#)), None, now);
    terminal.heard(&step("PermissionRequest", call), Some(1), now);
    terminal.passed(now + Duration::from_secs(1));
    let tool_call_id = call_id("toolu_1").unwrap();
    terminal.told(Outgoing::Resolve { tool_call_id, resolution: approved() })
}

#[test]
fn who_was_faster_is_not_guessed_where_nothing_says_it() {
    let stopped = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1",
        "content":"The user doesn't want to proceed","is_error":true}]}}"#;
    let mut terminal = terminal();
    assert_eq!(replied(&mut terminal).len(), 1, "it was answered");
    let told = terminal.recorded(stopped);
    assert_eq!(
        count(&told, |event| matches!(
            event,
            AgentEvent::AnsweredInTerminal { .. } | AgentEvent::Acknowledged { .. }
        )),
        0
    );
    // Unless the program says that a hook decided.
    let mut terminal = self::terminal();
    replied(&mut terminal);
    let hook = r#"{"type":"attachment","attachment":{"type":"hook_permission_decision","decision":"allow","toolUseID":"toolu_1"}}"#;
    assert_eq!(count(&terminal.recorded(hook), |event| matches!(event, AgentEvent::Acknowledged { .. })), 1);
    let told = terminal.recorded(stopped);
    assert_eq!(count(&told, |event| matches!(event, AgentEvent::AnsweredInTerminal { .. })), 0);
}

#[test]
fn a_turn_without_its_model_is_over() {
    let mut terminal = terminal();
    terminal.heard(
        r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"go"}"#,
        None,
        Instant::now(),
    );
    let line = r#"{"type":"assistant","isApiErrorMessage":true,"message":{"id":"m","content":[{"type":"text","text":"API Error"}]}}"#;
    let told = terminal.recorded(line);
    assert_eq!(
        count(&told, |event| matches!(event, AgentEvent::TurnDone { reason: StopReason::Failed, .. })),
        1
    );
}

#[test]
fn a_turn_that_ended_while_nothing_listened_is_over() {
    let ends = |lines: &[&str]| {
        let mut terminal = ClaudeTerminal { turn: TurnHere::Given, ..terminal() };
        let mut effects: Vec<_> = lines.iter().flat_map(|line| terminal.missed(line)).collect();
        effects.extend(terminal.passed(Instant::now() + LAST_WORDS));
        count(&effects, |event| matches!(event, AgentEvent::TurnDone { reason: StopReason::Completed, .. }))
    };
    let prompt = r#"{"type":"user","message":{"role":"user","content":"go on"}}"#;
    let said = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Done."}]}}"#;
    let ended = r#"{"type":"system","subtype":"stop_hook_summary"}"#;
    let took = r#"{"type":"system","subtype":"turn_duration"}"#;
    assert_eq!(ends(&[prompt, said, ended, took]), 1);
    assert_eq!(ends(&[prompt, said]), 0);
    assert_eq!(ends(&[prompt, said, ended, prompt]), 0, "another turn goes on");
    assert_eq!(ends(&[prompt, said, ended, prompt, said, ended]), 1);
}

fn asks_in_main(terminal: &mut ClaudeTerminal, now: Instant) {
    let step = |name: &str, more: &str| {
        let around = r#""session_id":"s","transcript_path":"/agent-home/.claude/projects/x/s.jsonl""#;
        format!(r#"{{{around},"hook_event_name":"{name}",{more}}}"#)
    };
    let call = r#""tool_name":"Bash","tool_input":{"command":"sleep 15"}"#;
    terminal.heard(&step("UserPromptSubmit", r#""prompt":"go""#), None, now);
    terminal.heard(&step("PreToolUse", &format!(r#""tool_use_id":"toolu_1",{call}"#)), None, now);
    terminal.heard(&step("PermissionRequest", call), Some(1), now);
    let asked = terminal.passed(now + Duration::from_secs(1));
    assert_eq!(count(&asked, |event| matches!(event, AgentEvent::Ask(_))), 1);
}

#[test]
fn a_dialog_that_is_over_closes_its_card_and_the_record_says_what_was_answered() {
    let (mut terminal, begin) = (terminal(), Instant::now());
    assert_eq!(terminal.status_file(7), None, "nothing waits");
    asks_in_main(&mut terminal, begin);
    let file = PathBuf::from("/agent-home/.claude/sessions/7.json");
    assert_eq!(terminal.status_file(7), Some(file));
    let (busy, waiting) =
        (r#"{"status":"busy"}"#, r#"{"status":"waiting","waitingFor":"permission prompt"}"#);
    let at = |seconds: u64| begin + Duration::from_secs(seconds);
    for (said, second) in [(busy, 2), (busy, 10), (waiting, 11), (busy, 12), (waiting, 20), (busy, 30)] {
        assert_eq!(terminal.status(said, at(second)), Vec::new(), "{said} at {second}");
    }
    let over = terminal.status(busy, at(31));
    let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Program };
    let said = |effects: &[TerminalEffect], how: InTerminal| {
        count(
            effects,
            |event| matches!(event, AgentEvent::AnsweredInTerminal { how: said, .. } if *said == how),
        )
    };
    assert_eq!(said(&over, how), 1);
    assert!(over.contains(&TerminalEffect::Answer { waits: 1, answer: None }), "nothing is decided here");
    let ran = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"",
        "is_error":false}]},"permissionDecision":{"decision":"accept","source":"user_temporary"}}"#;
    let how = InTerminal { answer: TerminalAnswer::Allowed, known_by: KnownBy::Record };
    assert_eq!(said(&terminal.recorded(ran), how), 1);
}

fn before_a_call(terminal: &mut ClaudeTerminal, waits: u64) -> Vec<TerminalEffect> {
    let said = json!({ "session_id": "s", "cwd": "/project", "hook_event_name": "PreToolUse", "tool_use_id": "toolu_1",
        "tool_name": "Bash", "tool_input": { "command": "ls" } });
    terminal.heard(&said.to_string(), Some(waits), Instant::now())
}

fn asks(effects: &[TerminalEffect]) -> Vec<MayAllow> {
    let asks = effects.iter().filter_map(|effect| {
        if let TerminalEffect::Event(AgentEvent::Ask(ask)) = effect { Some(ask.may_allow) } else { None }
    });
    asks.collect()
}

fn resolved(terminal: &mut ClaudeTerminal, resolution: Resolution) -> Vec<TerminalEffect> {
    terminal.told(Outgoing::Resolve { tool_call_id: call_id("toolu_1").unwrap(), resolution })
}

fn denied() -> Resolution {
    let response = Response::Deny { reason: Some("not here".to_owned()) };
    Resolution::Settled { settlement: Settlement::Denied, response, input: json!({ "command": "ls" }) }
}

#[test]
fn a_rule_denies_a_call_that_the_program_would_make_by_itself() {
    let mut terminal = terminal();
    let effects = before_a_call(&mut terminal, 7);
    assert_eq!(asks(&effects), [MayAllow::RulesMayDeny], "nothing is shown or written down yet");
    assert_eq!(count(&effects, |event| matches!(event, AgentEvent::ToolCallStart { .. })), 0);
    let effects = resolved(&mut terminal, denied());
    assert_eq!(asks(&effects), [MayAllow::AgentsOwn]);
    assert_eq!(
        count(&effects, |event| matches!(event, AgentEvent::ToolCallEnd { .. })),
        1,
        "people see the call"
    );
    let effects = resolved(&mut terminal, denied());
    let [TerminalEffect::Answer { waits: 7, answer: Some(answer) }] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn a_call_that_no_rule_denies_goes_by_the_programs_own_rules() {
    let mut terminal = terminal();
    before_a_call(&mut terminal, 7);
    let effects = resolved(&mut terminal, Resolution::LeftToAgent { input: json!({ "command": "ls" }) });
    assert_eq!(effects, [TerminalEffect::Answer { waits: 7, answer: None }]);
}

#[test]
fn a_denial_that_comes_too_late_is_told_to_people() {
    for late_at in [0, 1] {
        let mut terminal = terminal();
        before_a_call(&mut terminal, 7);
        for _ in 0..late_at {
            resolved(&mut terminal, denied());
        }
        terminal.gone(7);
        let effects = resolved(&mut terminal, denied());
        assert_eq!(count(&effects, |event| matches!(event, AgentEvent::Error { .. })), 1, "{effects:?}");
    }
}

#[test]
fn a_flaw_in_a_call_keeps_no_rule_from_denying_it() {
    let said = |event: &str| {
        format!(
            r#"{{"session_id":"s","hook_event_name":"{event}","tool_use_id":"toolu_1","tool_name":"Bash",
                "tool_input":{{"command":"ls","description":"\ud800"}}}}"#
        )
    };
    let mut terminal = terminal();
    let effects = terminal.heard(&said("PreToolUse"), Some(7), Instant::now());
    assert_eq!(asks(&effects), [MayAllow::RulesMayDeny]);
    // No person is shown it: the terminal asks alone.
    let effects = terminal.heard(&said("PermissionRequest"), Some(8), Instant::now());
    assert_eq!(effects, [TerminalEffect::Answer { waits: 8, answer: None }]);
}
