use std::path::PathBuf;

use holdstead_protocol::MayAllow;
use holdstead_protocol::{
    Answer, AskBody, NotRun, Question, QuestionOption, Response, Scope, Settlement, StopReason, Usage,
};
use serde_json::json;

use super::super::asks::{NO_PLAN, ONCE_AS_IT_IS, OTHERS, approval};
use super::super::other_hooks::OtherHooks;
use super::*;
use crate::private::Private;
use crate::{Ask, Resolution};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/claude-code")
}

/// The lines of a recording: what the program said, and what it was told.
fn recorded(name: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(fixtures().join(name)).expect("the recording is there");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter_map(|line| Some((line.get("dir")?.as_str()?.to_owned(), line.get("msg")?.clone()))).collect()
}

fn no_file(_: &str, _: &[std::path::PathBuf], _: Option<&crate::account::Account>) -> Option<String> {
    None
}

fn conversation() -> Conversation {
    conversation_beside(OtherHooks::None)
}

fn conversation_beside(other_hooks: OtherHooks) -> Conversation {
    Conversation::new(Terms {
        own_tools: vec!["mcp__holdstead__ask_user".to_owned()],
        private: Private::default(),
        plans: Some("/agent-home/.claude/plans".into()),
        read: no_file,
        is_written: |_| true,
        other_hooks,
        account: None,
    })
}

fn id(text: &str) -> ToolCallId {
    ToolCallId::new(text).unwrap()
}

fn text(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.to_owned(), parents: Vec::new() }
}

/// All that the program said, up to its `stop`th turn's end. Events only: lines are left out.
fn events(conversation: &mut Conversation, lines: &[(String, Value)]) -> Vec<AgentEvent> {
    let said = lines.iter().filter(|(dir, _)| dir == "agent->gateway");
    let said = said.flat_map(|(_, line)| conversation.hear(&line.to_string()));
    said.filter_map(|said| match said {
        Effect::Event(event) => Some(event),
        Effect::Write(_) | Effect::Parked | Effect::End => None,
    })
    .collect()
}

fn asks(heard: &[AgentEvent]) -> Vec<&Ask> {
    heard
        .iter()
        .filter_map(|event| if let AgentEvent::Ask(ask) = event { Some(&**ask) } else { None })
        .collect()
}

fn told(said: &[Effect]) -> Vec<Value> {
    let lines = said.iter().filter_map(|said| match said {
        Effect::Write(line) => Some(serde_json::from_str(line).expect("what we say is JSON")),
        Effect::Event(_) | Effect::Parked | Effect::End => None,
    });
    lines.collect()
}

/// The first line that a recording's gateway sent after the program's `control_request` of this kind.
fn recorded_answer(lines: &[(String, Value)], subtype: &str, nth: usize) -> Value {
    let requests = lines.iter().filter(|(_, line)| line["request"]["subtype"] == subtype);
    let request_id = &requests.clone().nth(nth).expect("it asked").1["request_id"];
    let mut answers = lines.iter().filter(|(dir, _)| dir == "gateway->agent").map(|(_, line)| line);
    answers.find(|line| line["response"]["request_id"] == *request_id).expect("it was answered").clone()
}

fn option(label: &str, description: &str) -> QuestionOption {
    QuestionOption { label: label.into(), description: Some(description.into()), preview: None }
}

fn settled(settlement: Settlement, response: Response, input: Value) -> Resolution {
    Resolution::Settled { settlement, response, input }
}

fn resolve(conversation: &mut Conversation, call: &str, resolution: Resolution) -> Vec<Value> {
    told(&conversation.say(&Outgoing::Resolve { tool_call_id: id(call), resolution }))
}

/// The one answer that was given.
fn said(lines: &[Value]) -> Value {
    let [line] = lines else { panic!("{lines:?}") };
    line["response"]["response"].clone()
}

fn control(request: &Value) -> Value {
    json!({"type": "control_request", "request_id": "r", "request": request})
}

fn hook_line(event: &str, call: &str, tool: &str, input: &Value) -> Value {
    control(&json!({"subtype": "hook_callback", "callback_id": "before", "input": {"hook_event_name": event,
        "tool_name": tool, "tool_input": input, "tool_use_id": call, "permission_mode": "default"}}))
}

fn permission(call: &str, tool: &str, input: &Value) -> Value {
    control(&json!({"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": call}))
}

fn result_line(call: &str, is_error: bool) -> Value {
    json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": call, "content": "words", "is_error": is_error}]}})
}

#[test]
fn a_question_is_shown_parked_and_answered_in_another_life() {
    let lines = recorded("question-parked-and-resumed.jsonl");
    let second = lines.iter().rposition(|(_, line)| line["request"]["subtype"] == "initialize").unwrap();
    let (first_life, second_life) = lines.split_at(second);

    let mut first = conversation();
    let stop = first_life.iter().position(|(_, line)| line["event"]["type"] == "message_stop").unwrap();
    let input = json!({"questions": [
        {"question": "Which authentication method?", "header": "Auth", "multiSelect": false, "options": [
            {"label": "OAuth 2.0", "description": "standard"}, {"label": "API key", "description": "simple"}]},
        {"question": "Which features?", "header": "Features", "multiSelect": true, "options": [
            {"label": "Linting", "description": "l"}, {"label": "Types", "description": "t"}]}]});
    let questions = vec![
        Question {
            id: "q1".into(),
            header: "Auth".into(),
            question: "Which authentication method?".into(),
            options: vec![option("OAuth 2.0", "standard"), option("API key", "simple")],
            multi_select: false,
            allow_other: true,
            secret: false,
            multiline: false,
        },
        Question {
            id: "q2".into(),
            header: "Features".into(),
            question: "Which features?".into(),
            options: vec![option("Linting", "l"), option("Types", "t")],
            multi_select: true,
            allow_other: true,
            secret: false,
            multiline: false,
        },
    ];
    let ask = AgentEvent::Ask(Box::new(Ask {
        tool_call_id: id("toolu_01"),
        tool_name: "AskUserQuestion".into(),
        input: input.clone(),
        body: AskBody::Question { questions },
        agent_says: None,
        cwd: Some("/project".into()),
        decision_reason: None,
        parents: Vec::new(),
        can_park: true,
        may_allow: MayAllow::PersonOnly,
        capabilities: Some(ONCE_AS_IT_IS),
        hold: None,
        timeout_ms: None,
        host_limit_ms: Some(86_100_000),
    }));
    let heard = events(&mut first, &first_life[..stop]);
    let [ready, words, start, delta, end, asked] = &heard[..] else { panic!("{heard:#?}") };
    assert_eq!(*ready, AgentEvent::Ready { agent_ref: "290e1b4d-5fb6-4527-bbaa-92fd797af226".into() });
    assert_eq!(*words, text("Let me do that."));
    let (tool_call_id, tool_name) = (id("toolu_01"), "AskUserQuestion".to_owned());
    assert_eq!(
        *start,
        AgentEvent::ToolCallStart { tool_call_id: tool_call_id.clone(), tool_name, parents: Vec::new() }
    );
    let AgentEvent::ToolCallDelta { text: streamed, .. } = delta else { panic!("{delta:?}") };
    assert_eq!(serde_json::from_str::<Value>(streamed).unwrap(), input);
    assert_eq!(*end, AgentEvent::ToolCallEnd { tool_call_id: tool_call_id.clone(), input: input.clone() });
    assert_eq!(*asked, ask);

    // Its message is not complete: more calls may follow. Then it is parked, and ends.
    assert_eq!(first.say(&Outgoing::Park { tool_call_id }), []);
    let stopped = first.hear(&first_life[stop].1.to_string());
    assert_eq!(told(&stopped), [recorded_answer(first_life, "hook_callback", 0)]);
    let result = first_life.iter().rfind(|(_, line)| line["type"] == "result").unwrap();
    assert_eq!(first.hear(&result.1.to_string()), [Effect::Parked, Effect::End]);

    let mut second = conversation();
    let hook =
        second_life.iter().position(|(_, line)| line["request"]["subtype"] == "hook_callback").unwrap();
    // The very same ask, and no second start of the same call.
    assert_eq!(events(&mut second, &second_life[..=hook]), [ask]);
    let answers = vec![
        Answer { question_id: "q1".into(), labels: vec!["OAuth 2.0".into()], other: None },
        Answer { question_id: "q2".into(), labels: vec!["Linting".into(), "Types".into()], other: None },
    ];
    let answered = settled(Settlement::Answered, Response::Answer { answers }, input.clone());
    let line = resolve(&mut second, "toolu_01", answered);
    assert_eq!(said(&line)["hookSpecificOutput"]["permissionDecision"], "ask");
    // The program asks by itself, and gets the answers with the call.
    let line = told(&second.hear(&permission("toolu_01", "AskUserQuestion", &input).to_string()));
    let recorded = recorded_answer(second_life, "hook_callback", 0);
    let mut with_answers = said(&[recorded])["hookSpecificOutput"]["updatedInput"].clone();
    with_answers["answers"]["Which features?"] = json!("Linting, Types");
    assert_eq!(said(&line), json!({"behavior": "allow", "updatedInput": with_answers}));
    let rest = events(&mut second, &second_life[hook + 1..]);
    let words = "Your questions have been answered: \"Which authentication method?\"=\"OAuth 2.0\", \
                 \"Which features?\"=\"Linting, Types\". You can now continue with these answers in mind.";
    assert_eq!(
        rest[..2],
        [
            AgentEvent::Acknowledged { tool_call_id: id("toolu_01") },
            AgentEvent::ToolResult { tool_call_id: id("toolu_01"), output: json!(words), is_error: false },
        ]
    );
    let usage = Some(Usage { input_tokens: 10, output_tokens: 20 });
    assert_eq!(rest.last(), Some(&AgentEvent::TurnDone { reason: StopReason::Completed, usage }));
}

#[test]
fn a_refusal_reaches_the_model_in_the_persons_words() {
    let lines = recorded("hook-deny-with-words.jsonl");
    let mut talk = conversation();
    let hook =
        lines.iter().position(|(_, line)| line["request"]["subtype"] == "hook_callback").expect("it asked");
    let heard = events(&mut talk, &lines[..=hook]);
    let Some(AgentEvent::Ask(ask)) = heard.last() else { panic!("{heard:?}") };
    let denied = Response::Deny { reason: Some("Use the staging host instead.".into()) };
    let call = ask.tool_call_id.as_str().to_owned();
    let line = resolve(&mut talk, &call, settled(Settlement::Denied, denied, ask.input.clone()));
    assert_eq!(line, [recorded_answer(&lines, "hook_callback", 0)]);
    let rest = events(&mut talk, &lines[hook + 1..]);
    assert_eq!(rest[..2], [AgentEvent::MessageEnd, AgentEvent::Acknowledged { tool_call_id: id(&call) }]);
    let output = json!("PreToolUse:Bash hook error: Use the staging host instead.");
    assert_eq!(rest[2], AgentEvent::ToolResult { tool_call_id: id(&call), output, is_error: true });
}

#[test]
fn an_ask_of_the_programs_own_is_taken_and_cannot_park() {
    let lines = recorded("approval-allow.jsonl");
    let mut talk = conversation();
    let asked = lines.iter().position(|(_, line)| line["request"]["subtype"] == "can_use_tool").unwrap();
    let heard = events(&mut talk, &lines[..=asked]);
    let input = json!({"command": "touch made.txt && ls -la", "description": "Create a marker file"});
    let ask = Ask {
        tool_call_id: id("toolu_01"),
        tool_name: "Bash".into(),
        input: input.clone(),
        body: approval(None),
        agent_says: Some("Create a marker file".into()),
        cwd: None,
        decision_reason: None,
        parents: Vec::new(),
        can_park: false,
        may_allow: MayAllow::RulesOfPeople,
        capabilities: None,
        hold: None,
        timeout_ms: None,
        host_limit_ms: None,
    };
    assert_eq!(heard.last(), Some(&AgentEvent::Ask(Box::new(ask))));
    let why = "it does not wait in its hook".to_owned();
    assert_eq!(
        talk.say(&Outgoing::Park { tool_call_id: id("toolu_01") }),
        [Effect::Event(AgentEvent::CannotPark { tool_call_id: id("toolu_01"), why })]
    );
    // Allowed for the session, and still nothing of what the program suggested is sent back.
    let response = Response::Approve { scope: Scope::Session, lines: Vec::new(), edited_input: None };
    let line = resolve(&mut talk, "toolu_01", settled(Settlement::Approved, response, input));
    assert_eq!(line, [recorded_answer(&lines, "can_use_tool", 0)]);
}

#[test]
fn two_calls_in_one_message_are_held_and_not_parked() {
    let lines = recorded("two-approvals-in-one-message.jsonl");
    let mut talk = conversation();
    let stop = lines.iter().position(|(_, line)| line["event"]["type"] == "message_stop").unwrap();
    let heard = events(&mut talk, &lines[..=stop]);
    let tool_call_id = asks(&heard)[0].tool_call_id.clone();
    let why = OTHERS.to_owned();
    assert_eq!(
        talk.say(&Outgoing::Park { tool_call_id: tool_call_id.clone() }),
        [Effect::Event(AgentEvent::CannotPark { tool_call_id, why })]
    );
}

#[test]
fn a_subagents_ask_names_who_sent_it_and_stays() {
    let lines = recorded("subagent-approval.jsonl");
    let heard = events(&mut conversation(), &lines);
    let [sent, ask] = asks(&heard)[..] else { panic!("{heard:?}") };
    assert_eq!((sent.tool_name.as_str(), ask.tool_name.as_str(), ask.can_park), ("Agent", "Bash", false));
    assert_eq!(ask.parents, ["Inner work"]);
    let inner = heard.iter().filter(|event| {
        matches!(event, AgentEvent::ToolCallStart { tool_name, parents, .. }
            if tool_name == "Bash" && parents[..] == ["Inner work"])
    });
    assert_eq!(inner.count(), 1);
}

#[test]
fn an_interrupt_withdraws_what_is_asked() {
    let lines = recorded("interrupt-while-hook-is-held.jsonl");
    let mut talk = conversation();
    let sent = lines.iter().position(|(_, line)| line["request"]["subtype"] == "interrupt").unwrap();
    events(&mut talk, &lines[..sent]);
    let [interrupt] = &told(&talk.say(&Outgoing::Interrupt))[..] else { panic!("one line") };
    assert_eq!(interrupt["request"], lines[sent].1["request"]);
    let heard = events(&mut talk, &lines[sent + 1..]);
    let at = |wanted: fn(&AgentEvent) -> bool| heard.iter().position(wanted).expect("it is said");
    let withdrawn = at(|event| matches!(event, AgentEvent::AskWithdrawn { .. }));
    let done = at(|event| matches!(event, AgentEvent::TurnDone { reason: StopReason::Interrupted, .. }));
    assert!(withdrawn < done);
}

#[test]
fn nothing_is_asked_where_there_is_no_plan() {
    let lines = recorded("plan-without-a-plan-file.jsonl");
    let mut talk = conversation();
    let heard = events(&mut talk, &lines);
    assert!(!heard.iter().any(|event| matches!(event, AgentEvent::Ask(_))), "{heard:#?}");
    let message = format!("ExitPlanMode: {NO_PLAN}");
    assert!(heard.contains(&AgentEvent::Error { message }), "{heard:#?}");
}

#[test]
fn a_whole_plan_is_asked_once_and_its_file_is_not() {
    let lines = recorded("plan-hook-allow.jsonl");
    let mut talk = conversation();
    let is_plan = |line: &Value| line["request"]["input"]["tool_name"] == "ExitPlanMode";
    let asked = lines.iter().position(|(_, line)| is_plan(line)).expect("it asks");
    let heard = events(&mut talk, &lines[..=asked]);
    let [file, ask] = asks(&heard)[..] else { panic!("{heard:?}") };
    assert_eq!((file.tool_name.as_str(), file.may_allow), ("Write", MayAllow::AgentsOwn));
    assert!(ask.input["plan"].as_str().is_some_and(|plan| plan.starts_with('#')), "{:?}", ask.input);
    assert!(matches!(ask.body, AskBody::Approval { is_plan: true, .. }), "{:?}", ask.body);
    assert_eq!((&ask.may_allow, ask.capabilities), (&MayAllow::PersonOnly, Some(ONCE_AS_IT_IS)));
    let approved = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
    let call = ask.tool_call_id.as_str().to_owned();
    resolve(&mut talk, &call, settled(Settlement::Approved, approved, ask.input.clone()));
    // The program asks again by itself, and is told what was decided.
    let again = lines.iter().position(|(_, line)| line["request"]["subtype"] == "can_use_tool").unwrap();
    let answer = told(&talk.hear(&lines[again].1.to_string()));
    assert_eq!(answer[0]["response"]["response"]["behavior"], "allow");
}

#[test]
fn what_a_background_agent_asks_after_the_turn_is_refused_and_not_forgotten() {
    let mut talk = conversation();
    let hook = json!({"type": "control_request", "request_id": "r1", "request": {"subtype": "hook_callback", "input":
        {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "tool_use_id": "t1", "agent_id": "a"}}});
    assert!(matches!(
        talk.hear(&hook.to_string())[..],
        [Effect::Event(AgentEvent::ToolCallStart { .. }), Effect::Event(AgentEvent::Ask(_))]
    ));
    let over = talk.hear(r#"{"type":"result","subtype":"success","stop_reason":"end_turn"}"#);
    let [line] = &told(&over)[..] else { panic!("{over:?}") };
    assert_eq!(line["response"]["response"]["hookSpecificOutput"]["permissionDecision"], "deny");
    // A late answer has nobody to go to.
    let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
    assert_eq!(
        resolve(&mut talk, "t1", settled(Settlement::Approved, response, json!({}))),
        Vec::<Value>::new()
    );
}

#[test]
fn a_question_beside_other_hooks_is_asked_when_all_of_them_have_run() {
    let mut conversation = conversation_beside(OtherHooks::MayRun);
    let options = json!([{"label": "A", "description": ""}, {"label": "B", "description": ""}]);
    let input = json!({"questions": [{"question": "Which?", "header": "H", "options": options, "multiSelect": false}]});
    let asks = |heard: &[Effect]| {
        let ask = heard.iter().find_map(|effect| match effect {
            Effect::Event(AgentEvent::Ask(ask)) => Some(ask.clone()),
            Effect::Event(_) | Effect::Write(_) | Effect::Parked | Effect::End => None,
        });
        ask.map(|ask| ask.can_park)
    };
    let heard = conversation.hear(&hook_line("PreToolUse", "toolu_q", "AskUserQuestion", &input).to_string());
    assert_eq!(said(&told(&heard))["hookSpecificOutput"]["permissionDecision"], "ask");
    assert_eq!(asks(&heard), None);
    let heard = conversation.hear(&permission("toolu_q", "AskUserQuestion", &input).to_string());
    assert_eq!(asks(&heard), Some(false), "it waits in the program's own request");
    let answers = vec![Answer { question_id: "q1".into(), labels: vec!["B".into()], other: None }];
    let answered = settled(Settlement::Answered, Response::Answer { answers }, input);
    let answer = said(&resolve(&mut conversation, "toolu_q", answered));
    assert_eq!(
        (&answer["behavior"], &answer["updatedInput"]["answers"]["Which?"]),
        (&json!("allow"), &json!("B"))
    );
    // A call is held before all hooks, as ever.
    let line = json!({"command": "ls"});
    let heard = conversation.hear(&hook_line("PreToolUse", "toolu_c", "Bash", &line).to_string());
    assert!(asks(&heard).is_some());
}

#[test]
fn what_cannot_be_asked_is_refused_and_shown() {
    let hook = |fields: Value| {
        let mut input = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}});
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"type": "control_request", "request_id": "r", "request": {"subtype": "hook_callback", "input": input}})
    };
    let permission = json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "Bash"}});
    let no_question =
        json!({"tool_name": "AskUserQuestion", "tool_use_id": "t", "tool_input": {"questions": []}});
    for line in [hook(json!({})), hook(json!({"tool_use_id": ""})), hook(no_question), permission] {
        let said = conversation().hear(&line.to_string());
        let [answer] = &told(&said)[..] else { panic!("{said:?}") };
        let answer = answer["response"]["response"].to_string();
        assert!(answer.contains("deny") && !answer.contains("allow"), "{answer}");
        assert!(matches!(said.last(), Some(Effect::Event(AgentEvent::Error { .. }))), "{said:?}");
    }
}

#[test]
fn a_call_that_cannot_be_shown_as_it_is_is_refused_in_words() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (input, part) in [
        (r#"{"command":"rm \ud800"}"#, "half a character"),
        (deep.as_str(), "64 deep"),
        (r#"{"$serde_json::private::RawValue":"1"}"#, "$serde_json::private::RawValue"),
        (r#"{"command":"ls","command":"rm"}"#, "`command` stands twice"),
        (r#"{"limit":18446744073709551617}"#, "cannot be kept exactly"),
    ] {
        let hook = format!(
            r#"{{"type":"control_request","request_id":"r","request":{{"subtype":"hook_callback","input":
               {{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{input}}}}}}}"#
        );
        let permission = format!(
            r#"{{"type":"control_request","request_id":"r","request":
               {{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t","input":{input}}}}}"#
        );
        for line in [hook, permission] {
            let said = conversation().hear(&line);
            let [answer] = &told(&said)[..] else { panic!("{said:?}") };
            let answer = answer["response"]["response"].to_string();
            assert!(answer.contains("deny") && answer.contains(part), "{answer}");
            assert!(!said.iter().any(|said| matches!(said, Effect::Event(AgentEvent::Ask(_)))));
        }
    }
    // A request that makes no sense at all is answered as well: nothing waits for a day.
    let odd =
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":7}}"#;
    let said = conversation().hear(odd);
    assert_eq!(told(&said)[0]["response"]["subtype"], "error");
}

#[test]
fn half_a_character_in_what_a_tool_gave_back_is_shown_as_such() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a\ud83d"}]}}"#;
    let said = conversation().hear(line);
    assert!(
        matches!(&said[..], [Effect::Event(AgentEvent::ToolResult { output, .. })] if output == "a\u{fffd}"),
        "{said:?}"
    );
}

#[test]
fn every_recorded_line_is_understood_and_no_broken_one_is_a_crash() {
    let mut recordings = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".jsonl") {
            continue;
        }
        recordings += 1;
        let mut talk = conversation();
        for (_, line) in recorded(&name).iter().filter(|(dir, _)| dir == "agent->gateway") {
            let line = line.to_string();
            let said = talk.hear(&line);
            let confused = said.iter().any(|said| {
                matches!(said, Effect::Event(AgentEvent::Error { message }) if message.contains("not understood"))
            });
            assert!(!confused, "{name}: {said:?}");
            let cut = (0..line.len()).step_by(line.len() / 7 + 1).filter(|end| line.is_char_boundary(*end));
            for end in cut {
                conversation().hear(&line[..end]);
            }
        }
    }
    assert!(recordings > 50, "{recordings} recordings were read");
}

/// The lines of a recording after its last `initialize`.
fn last_life(name: &str) -> Vec<(String, Value)> {
    let lines = recorded(name);
    let begin = lines.iter().rposition(|(_, line)| line["request"]["subtype"] == "initialize").unwrap();
    lines[begin..].to_vec()
}

#[test]
fn a_call_that_was_parked_does_not_end_the_turn_of_the_message_after_it() {
    let mut conversation = conversation();
    conversation.say(&Outgoing::Message { text: "Forget that, do something else.".to_owned() });
    let heard = events(&mut conversation, &last_life("deferred-approval-resumed-with-message.jsonl"));
    assert_eq!(asks(&heard).len(), 1);
    let ends: Vec<_> =
        heard.iter().enumerate().filter(|(_, event)| matches!(event, AgentEvent::TurnDone { .. })).collect();
    assert_eq!(ends.len(), 1, "two results, one message");
    assert_eq!(ends[0].0, heard.len() - 1);
}

#[test]
fn a_conversation_that_was_never_written_is_forgotten_and_ends_no_turn() {
    let mut conversation = conversation();
    conversation.say(&Outgoing::Message { text: "go on".to_owned() });
    let heard = events(&mut conversation, &last_life("killed-before-the-session-was-written.jsonl"));
    assert_eq!(heard, [AgentEvent::Forgotten]);
}

/// A command that is asked about in the hook and approved, with what the program was told then.
fn approved(talk: &mut Conversation, input: &Value, edited: Option<Value>) -> Value {
    let heard = talk.hear(&hook_line("PreToolUse", "t1", "Bash", input).to_string());
    assert!(matches!(heard.last(), Some(Effect::Event(AgentEvent::Ask(_)))), "{heard:?}");
    let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: edited };
    said(&resolve(talk, "t1", settled(Settlement::Approved, response, input.clone())))
}

fn only_event(heard: Vec<Effect>) -> Option<AgentEvent> {
    let mut events = heard.into_iter().filter_map(|effect| match effect {
        Effect::Event(event) => Some(event),
        Effect::Write(_) | Effect::Parked | Effect::End => None,
    });
    let first = events.next();
    assert_eq!(events.next(), None);
    first
}

#[test]
fn what_runs_is_what_was_approved_or_is_told_apart() {
    let (shown, other) = (json!({"command": "touch shown"}), json!({"command": "touch other"}));
    let ran = |input: &Value| hook_line("PostToolUse", "t1", "Bash", input).to_string();
    for edited in [None, Some(json!({"command": "touch edited"}))] {
        let mut talk = conversation();
        let runs = edited.clone().unwrap_or_else(|| shown.clone());
        // Never an allow from the hook: another hook could change it unseen.
        assert_eq!(
            approved(&mut talk, &shown, edited.clone())["hookSpecificOutput"]["permissionDecision"],
            "ask"
        );
        let answer = told(&talk.hear(&permission("t1", "Bash", &shown).to_string()));
        assert_eq!(said(&answer), json!({"behavior": "allow", "updatedInput": runs}));
        let heard = talk.hear(&ran(&runs));
        let context = said(&told(&heard))["hookSpecificOutput"]["additionalContext"].clone();
        match edited {
            Some(_) => assert!(
                context.as_str().unwrap().ends_with(&runs.to_string()),
                "the model is told: {context}"
            ),
            None => assert_eq!(context, Value::Null),
        }
        assert_eq!(only_event(heard), None);
        let heard = talk.hear(&result_line("t1", false).to_string());
        assert_eq!(heard[0], Effect::Event(AgentEvent::Acknowledged { tool_call_id: id("t1") }));
    }

    // It ran otherwise all the same.
    let mut talk = conversation();
    approved(&mut talk, &shown, None);
    talk.hear(&permission("t1", "Bash", &shown).to_string());
    let (tool_call_id, input) = (id("t1"), other.clone());
    assert_eq!(only_event(talk.hear(&ran(&other))), Some(AgentEvent::RanOther { tool_call_id, input }));

    // It ran before anybody answered.
    let mut talk = conversation();
    talk.hear(&hook_line("PreToolUse", "t1", "Bash", &shown).to_string());
    let (tool_call_id, input) = (id("t1"), shown.clone());
    assert_eq!(only_event(talk.hear(&ran(&shown))), Some(AgentEvent::RanOther { tool_call_id, input }));
}

#[test]
fn a_call_that_was_changed_after_its_approval_is_asked_anew() {
    let (shown, other) = (json!({"command": "touch shown"}), json!({"command": "touch other"}));
    let mut talk = conversation();
    approved(&mut talk, &shown, None);
    let heard = talk.hear(&permission("t1", "Bash", &other).to_string());
    let [
        Effect::Event(AgentEvent::NotRun { because: NotRun::AskedAnew, .. }),
        Effect::Event(AgentEvent::Ask(ask)),
    ] = &heard[..]
    else {
        panic!("{heard:?}")
    };
    assert_eq!((&ask.input, ask.can_park), (&other, false));
    let response = Response::Approve { scope: Scope::Once, lines: Vec::new(), edited_input: None };
    let answer = resolve(&mut talk, "t1", settled(Settlement::Approved, response, other.clone()));
    assert_eq!(said(&answer), json!({"behavior": "allow", "updatedInput": other}));
    assert_eq!(only_event(talk.hear(&hook_line("PostToolUse", "t1", "Bash", &other).to_string())), None);
}

#[test]
fn a_block_of_the_agents_own_is_no_acknowledgement() {
    let shown = json!({"command": "touch shown"});
    let blocked = AgentEvent::NotRun { tool_call_id: id("t1"), because: NotRun::Blocked };
    let mut talk = conversation();
    approved(&mut talk, &shown, None);
    let heard = talk.hear(&result_line("t1", true).to_string());
    assert_eq!(heard[0], Effect::Event(blocked.clone()));

    // The program asked by itself, and somebody else answered that.
    let mut talk = conversation();
    approved(&mut talk, &shown, None);
    talk.hear(&permission("t1", "Bash", &shown).to_string());
    talk.hear(&json!({"type": "control_cancel_request", "request_id": "r"}).to_string());
    assert_eq!(talk.hear(&result_line("t1", true).to_string())[0], Effect::Event(blocked));

    // A command that ran and failed was no block.
    let mut talk = conversation();
    approved(&mut talk, &shown, None);
    talk.hear(&permission("t1", "Bash", &shown).to_string());
    talk.hear(&hook_line("PostToolUseFailure", "t1", "Bash", &shown).to_string());
    let heard = talk.hear(&result_line("t1", true).to_string());
    assert_eq!(heard[0], Effect::Event(AgentEvent::Acknowledged { tool_call_id: id("t1") }));
}

#[test]
fn every_refusal_is_given_in_the_hook_where_nothing_of_the_program_overrules_it() {
    let denied = |reason: Option<&str>| {
        let reason = reason.map(str::to_owned);
        settled(Settlement::Denied, Response::Deny { reason }, json!({}))
    };
    let closed = Resolution::Closed { message: "no".into() };
    let queued = Resolution::Queued { message: "no".into() };
    let unfit = settled(Settlement::Failed, Response::Deny { reason: None }, json!({}));
    for refused in [denied(Some("no")), denied(None), closed, queued, unfit] {
        let mut talk = conversation();
        talk.hear(&hook_line("PreToolUse", "t1", "Bash", &json!({"command": "x"})).to_string());
        let answer = said(&resolve(&mut talk, "t1", refused.clone()));
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{refused:?}");
        let words = answer["hookSpecificOutput"]["permissionDecisionReason"].as_str();
        assert!(words.is_some_and(|words| !words.is_empty()), "{refused:?}");
        // If the program asks all the same, it is told the same.
        let asked = talk.hear(&permission("t1", "Bash", &json!({"command": "other"})).to_string());
        assert_eq!(said(&told(&asked))["behavior"], "deny", "{refused:?}");
    }
}

#[test]
fn only_our_own_tools_pass_and_only_by_their_whole_name() {
    let left_alone = |tool: &str| {
        let mut talk = conversation();
        let heard = talk.hear(&hook_line("PreToolUse", "t1", tool, &json!({})).to_string());
        let asked = match heard.last() {
            Some(Effect::Event(AgentEvent::Ask(ask))) => ask.may_allow,
            other => panic!("{tool}: {other:?}"),
        };
        let left = Resolution::LeftToAgent { input: json!({}) };
        (asked, said(&resolve(&mut talk, "t1", left))["hookSpecificOutput"]["permissionDecision"].clone())
    };
    assert_eq!(left_alone("mcp__holdstead__ask_user"), (MayAllow::AgentsOwn, json!("allow")));
    assert_eq!(left_alone("Read"), (MayAllow::Rules, Value::Null), "its own rules hold");
    for tool in
        ["mcp__holdstead__x__run", "mcp__holdstead__ask_user2", "mcp__holdstead__x__ask_user", "ask_user"]
    {
        assert_eq!(left_alone(tool), (MayAllow::Rules, Value::Null), "{tool}");
    }
}

#[test]
fn what_is_too_long_to_be_read_is_answered_in_words_at_once() {
    let line = |request: &str| format!(r#"{{"type":"control_request","request_id":"r7","request":{request}"#);
    let heard = |request: &str| conversation().hear_too_long(&line(request), 8);
    let before = heard(r#"{"subtype":"hook_callback","callback_id":"before","input":{"tool_name":"Wri"#);
    assert_eq!(said(&told(&before))["hookSpecificOutput"]["permissionDecision"], "deny");
    assert!(matches!(before.last(), Some(Effect::Event(AgentEvent::Error { .. }))));
    let after = heard(r#"{"subtype":"hook_callback","callback_id":"after","input":{"tool_na"#);
    assert_eq!(said(&told(&after)), json!({}));
    let asked = heard(r#"{"subtype":"can_use_tool","tool_name":"Bash","input":{"#);
    assert_eq!(said(&told(&asked))["behavior"], "deny");
    let other = heard(r#"{"subtype":"new","x":"#);
    let [answer] = &told(&other)[..] else { panic!("{other:?}") };
    assert_eq!(answer["response"]["subtype"], "error");
    assert_eq!(answer["response"]["request_id"], "r7");
    let words = conversation().hear_too_long(r#"{"type":"assistant","message":"#, 8);
    assert_eq!(told(&words), Vec::<Value>::new());
}

#[test]
fn a_flaw_in_what_a_call_gave_back_does_not_hide_what_ran() {
    let mut talk = conversation();
    approved(&mut talk, &json!({"command": "touch shown"}), None);
    talk.hear(&permission("t1", "Bash", &json!({"command": "touch shown"})).to_string());
    let line = hook_line("PostToolUse", "t1", "Bash", &json!({"command": "touch other"})).to_string();
    let line = line.replacen(r#""tool_name":"#, r#""tool_response":"\ud83d","tool_name":"#, 1);
    let heard = talk.hear(&line);
    assert_eq!(said(&told(&heard)), json!({}));
    assert!(matches!(heard.last(), Some(Effect::Event(AgentEvent::RanOther { .. }))), "{heard:?}");
}

/// A request of the hook that comes before the end of a turn.
fn stop_hook(request_id: &str) -> String {
    json!({"type": "control_request", "request_id": request_id, "request": {"subtype": "hook_callback",
        "callback_id": "end", "input": {"hook_event_name": "Stop", "stop_hook_active": false}}})
    .to_string()
}

fn answered(request_id: &str, answer: &Value) -> Vec<Effect> {
    vec![line(&wire::response(request_id, answer))]
}

#[test]
fn the_end_of_a_turn_waits_for_what_is_decided() {
    let mut conversation = conversation();
    let asks = [Effect::Event(AgentEvent::TurnEnding)];
    let blocked = Outgoing::TurnEnd(crate::TurnEnd::Blocked { words: "Run the tests".to_owned() });
    assert_eq!(conversation.hear(&stop_hook("one")), asks);
    let answer = json!({"decision": "block", "reason": "Run the tests"});
    assert_eq!(conversation.say(&blocked), answered("one", &answer));
    assert_eq!(conversation.say(&blocked), [], "one answer for one request");
    assert_eq!(conversation.hear(&stop_hook("two")), asks);
    assert_eq!(conversation.say(&Outgoing::TurnEnd(crate::TurnEnd::Ends)), answered("two", &json!({})));
}

#[test]
fn a_turn_that_a_person_stopped_ends() {
    let mut conversation = conversation();
    conversation.hear(&stop_hook("one"));
    conversation.say(&Outgoing::Interrupt);
    let blocked = Outgoing::TurnEnd(crate::TurnEnd::Blocked { words: "Go on".to_owned() });
    assert_eq!(conversation.say(&blocked), answered("one", &json!({})));
    assert_eq!(conversation.hear(&stop_hook("two")), answered("two", &json!({})));
}

#[test]
fn a_last_message_of_any_length_does_not_get_around_a_rule() {
    let mut conversation = conversation();
    let line = stop_hook("one");
    let beginning = r#"{"type":"control_request","request_id":"one","request":{"subtype":"hook_callback","callback_id":"end","input":{"last_assistant_message":"aaaa"#;
    assert_eq!(conversation.hear_too_long(beginning, 10), [Effect::Event(AgentEvent::TurnEnding)]);
    // The same name twice: no line that asks for a call would be read.
    let twice = line.replace(r#""stop_hook_active":false"#, r#""stop_hook_active":false,"x":1,"x":2"#);
    let heard = conversation.hear(&twice);
    assert!(heard.contains(&Effect::Event(AgentEvent::TurnEnding)), "{heard:?}");
}

#[test]
fn words_of_rules_are_told_apart_from_the_persons() {
    let mut conversation = conversation();
    let said = Outgoing::MessageWithContext { context: "Be brief".to_owned(), text: "Hello".to_owned() };
    let [Effect::Write(written)] = &conversation.say(&said)[..] else { panic!("one line") };
    let message: Value = serde_json::from_str(written).expect("JSON");
    let blocks = message["message"]["content"].as_array().expect("blocks");
    let texts: Vec<_> = blocks.iter().map(|block| block["text"].as_str().expect("text")).collect();
    assert!(texts[0].contains("not from the person") && texts[0].ends_with("Be brief"), "{texts:?}");
    assert_eq!(texts[1..], ["Hello"]);
}
