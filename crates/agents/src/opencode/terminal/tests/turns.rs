//! Turns, as our plugin tells of them.

use super::*;

const WHOLE_TURN: &str = include_str!("../../../../tests/fixtures/opencode/plugin-a-whole-turn.jsonl");
const FROM_ELSEWHERE: &str =
    include_str!("../../../../tests/fixtures/opencode/plugin-a-message-from-elsewhere.jsonl");
const SUBAGENT: &str = include_str!("../../../../tests/fixtures/opencode/plugin-a-subagent.jsonl");
const TWO_ASKS: &str = include_str!("../../../../tests/fixtures/opencode/plugin-two-asks-for-one-call.jsonl");
const IN_THE_MIDDLE: &str =
    include_str!("../../../../tests/fixtures/opencode/plugin-typed-in-the-middle-of-a-turn.jsonl");

/// Hears what the plugin said, decides what was decided then, and says what followed.
fn played(wire: &mut OpencodeTerminal, recording: &str) -> Vec<AgentEvent> {
    let mut all = Vec::new();
    let mut asked = HashMap::new();
    for line in recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let n = line["n"].as_u64().unwrap();
        let effects = match line["src"].as_str().unwrap() {
            "said" => {
                let waits = line["waits"].as_bool().unwrap().then_some(n);
                wire.heard(&line["said"].to_string(), waits, Instant::now())
            }
            "left" => wire.left(n),
            "reply" => {
                let told = wire.told(outgoing(&line["line"], asked.get(&n)));
                let expected = match line["line"].get("say") {
                    Some(words) => {
                        TerminalEffect::Say { waits: n, words: words.as_str().unwrap().to_owned() }
                    }
                    None => answer(n, line["line"]["answer"].clone()),
                };
                // The program was given exactly this, and what it said to it follows.
                assert_eq!(told, [expected]);
                continue;
            }
            other => panic!("{other}"),
        };
        for ask in asks(&effects) {
            asked.insert(n, ask.tool_call_id.clone());
        }
        all.extend(effects);
    }
    let event = |effect| if let TerminalEffect::Event(event) = effect { Some(event) } else { None };
    all.into_iter().filter_map(event).collect()
}

fn outgoing(line: &Value, call: Option<&ToolCallId>) -> Outgoing {
    if let Some(words) = line["say"].as_str() {
        return Outgoing::Message { text: words.to_owned() };
    }
    let (settlement, response) = match line["answer"]["answers"][0][0].as_str() {
        Some(label) => (Settlement::Answered, choose(Some(label), None)),
        None => (Settlement::Approved, approve()),
    };
    let resolution = Resolution::Settled { settlement, response, input: Value::Null };
    Outgoing::Resolve { tool_call_id: call.expect("it was asked").clone(), resolution }
}

/// What happened, in short.
fn brief(events: &[AgentEvent]) -> Vec<String> {
    let word = |event: &AgentEvent| {
        let event = serde_json::to_value(event).unwrap();
        let data = &event["data"];
        let said =
            ["text", "toolName", "output", "reason", "message"].iter().find_map(|key| data[*key].as_str());
        let by = data["parents"][0].as_str().map(|by| format!(" of {by}")).unwrap_or_default();
        let kind = format!("{}{by}", event["type"].as_str().unwrap());
        said.map_or(kind.clone(), |said| format!("{kind}: {said}"))
    };
    events.iter().map(word).collect()
}

#[test]
fn a_whole_turn() {
    let events = played(&mut listening(false), WHOLE_TURN);
    assert_eq!(
        brief(&events),
        [
            "ready",
            "turn_begun: script: …",
            "thinking: Let me think about it, at some length, so that there are pieces.",
            "text: I begin with something that is said in more than one piece. 😀 Good.",
            "tool_call_start: Bash",
            "tool_call_end",
            "ask: Bash",
            "acknowledged",
            "tool_result: (no output)",
            "ask: question",
            "message_end",
            "tool_call_start: question",
            "tool_call_end",
            "acknowledged",
            "tool_result: User has answered your questions: \"Where do the orders go?\"=\"PostgreSQL\". You can now \
             continue with the user's answers in mind.",
            "message_end",
            "text: told: [\"(no output)\",\"User has answered your questions: \\\"Where do the orders \
             go?\\\"=\\\"PostgreSQL\\\". You can now continue with the user's answers in mind.\"]",
            "turn_done: completed",
        ]
    );
    let ask = events.iter().find_map(|event| if let AgentEvent::Ask(ask) = event { Some(ask) } else { None });
    let ask = ask.unwrap();
    // With its call, all is known that a rule has to know.
    assert_eq!(ask.may_allow, MayAllow::RulesOfPeople);
    assert_eq!(ask.agent_says.as_deref(), Some("Makes a file"));
}

#[test]
fn a_message_from_elsewhere_is_not_taken_for_a_persons_there() {
    let mut wire = listening(false);
    let waiter = |idle: bool| {
        json!({ "directory": "/agent-home/project", "conversation": "ses_1", "session": "ses_1",
            "waiter": { "idle": idle } })
        .to_string()
    };
    wire.heard(&waiter(true), Some(24), Instant::now());
    let events = played(&mut wire, FROM_ELSEWHERE);
    assert_eq!(brief(&events), ["text: I heard the phone.", "turn_done: completed"]);

    // Nobody waits for it.
    wire.left(41);
    let message = || Outgoing::Message { text: "hello".to_owned() };
    let failed = wire.told(message());
    assert!(
        matches!(&failed[..], [TerminalEffect::Event(AgentEvent::Error { .. }), over] if *over == done(StopReason::Failed))
    );

    // Whoever waited lost its way before it could pass it on: the next one gets it, once.
    wire.heard(&waiter(true), Some(50), Instant::now());
    let say = |waits| TerminalEffect::Say { waits, words: "hello".to_owned() };
    assert_eq!(wire.told(message()), [say(50)]);
    assert_eq!(wire.heard(&waiter(true), Some(51), Instant::now()), [say(51)]);
    assert_eq!(wire.heard(&waiter(false), Some(52), Instant::now()), []);

    // The program did not take it.
    let posted = waiter(true).replace("\"waiter\":{\"idle\":true}", "\"posted\":{\"status\":500}");
    let failed = wire.heard(&posted, None, Instant::now());
    assert_eq!(failed.last(), Some(&done(StopReason::Failed)), "{failed:?}");
}

#[test]
fn the_turns_end_may_be_said_by_whoever_waits() {
    let mut wire = listening(true);
    let waiter =
        json!({ "directory": "/p", "conversation": "ses_1", "session": "ses_1", "waiter": { "idle": true } });
    let effects = wire.heard(&waiter.to_string(), Some(1), Instant::now());
    assert_eq!(effects.last(), Some(&done(StopReason::Completed)), "{effects:?}");
}

#[test]
fn a_subagent_asks_in_its_own_name() {
    let events = played(&mut listening(false), SUBAGENT);
    let brief = brief(&events);
    let of_child = ["text of general: I look.", "tool_call_start of general: Bash", "ask of general: Bash"];
    let at = |words: &str| {
        brief.iter().position(|said| said == words).unwrap_or_else(|| panic!("{words}: {brief:?}"))
    };
    assert!(of_child.map(at).is_sorted(), "{brief:?}");
    // Its prompt is the model's, and its end is not the turn's.
    assert_eq!(brief.iter().filter(|said| said.starts_with("turn_")).count(), 2, "{brief:?}");
    assert!(at("acknowledged") < at("turn_done: completed"));
    assert_eq!(brief.last().unwrap(), "turn_done: completed");
}

#[test]
fn one_call_may_be_asked_about_twice() {
    let events = played(&mut listening(false), TWO_ASKS);
    let asks =
        events.iter().filter_map(|event| if let AgentEvent::Ask(ask) = event { Some(ask) } else { None });
    let asks: Vec<_> = asks.map(|ask| (ask.tool_call_id.as_str(), ask.tool_name.as_str())).collect();
    assert_eq!(
        asks,
        [
            ("per_1e9c41ada001d1DXMDFQ7ouc8p", "external_directory"),
            ("call_cde42387285745bebe96ffa34796d357", "Bash"),
            ("call_8062c8ffc86a4f77bed00bd6b17ef1b6", "Edit"),
        ]
    );
    let acknowledged = events.iter().filter(|event| matches!(event, AgentEvent::Acknowledged { .. })).count();
    assert_eq!(acknowledged, 3);
    let failed = events.iter().any(|event| matches!(event, AgentEvent::ToolResult { is_error: true, .. }));
    assert!(failed, "a fetch that failed is not shown as one");
}

#[test]
fn what_is_typed_in_the_middle_of_a_turn_begins_its_own_when_it_is_replied_to() {
    let events = played(&mut listening(false), IN_THE_MIDDLE);
    let brief = brief(&events);
    let at = |words: &str| {
        brief.iter().position(|said| said == words).unwrap_or_else(|| panic!("{words}: {brief:?}"))
    };
    // What is asked meanwhile is not lost with it.
    let order = [
        "text: First part of a longer text, which is said before the gate.",
        "text:  And the rest.",
        "ask: Bash",
        "acknowledged",
        "tool_result: (no output)",
        "turn_begun: and another thing",
        "text: told: [\"(no output)\",\"and another thing\"]",
    ];
    assert!(order.map(at).is_sorted(), "{brief:?}");
    assert_eq!(brief.iter().filter(|said| *said == "turn_done: completed").count(), 2, "{brief:?}");
}

#[test]
fn a_failure_is_told_in_words() {
    let mut wire = listening(true);
    let error = json!({ "name": "APIError", "data": { "message": "the script fails here" } });
    let failed = json!({ "type": "session.error", "properties": { "sessionID": "ses_1", "error": error } });
    let effects = wire.heard(&said(&failed, &json!({})), None, Instant::now());
    let words = "opencode could not go on: the script fails here".to_owned();
    assert_eq!(effects[1..], [event(AgentEvent::Error { message: words }), done(StopReason::Failed)]);
    // It says that it rests, too.
    let idle = json!({ "type": "session.idle", "properties": { "sessionID": "ses_1" } });
    assert_eq!(wire.heard(&said(&idle, &json!({})), None, Instant::now()), []);
}

#[test]
fn what_cannot_be_read_is_left_to_the_terminal() {
    let mut wire = listening(false);
    let asked = json!({ "type": "permission.asked", "properties": { "id": "per_1", "permission": "bash" } });
    let twice = r#"{"directory":"/p","conversation":"s","session":"s","event":{"type":"permission.asked","properties":{"id":"per_1","permission":"bash","metadata":{"command":"ls","command":"rm -rf ."}}}}"#;
    let lines = ["", "{}", "[]", "{\"directory\":\"/p\"}", twice];
    for (waits, line) in (1..).zip(lines) {
        assert_eq!(wire.heard(line, Some(waits), Instant::now()), [nothing(waits)], "{line}");
    }
    // Nobody waits for what is said here.
    let around = json!({ "directory": "/p", "conversation": "s", "session": "s", "event": asked });
    assert!(asks(&wire.heard(&around.to_string(), None, Instant::now())).is_empty());
}
