//! Who was faster.

use super::*;

const CARD_FIRST: &str = include_str!("../../../../tests/fixtures/opencode/card-first.jsonl");
const TERMINAL_FIRST: &str =
    include_str!("../../../../tests/fixtures/opencode/terminal-first-then-a-late-answer.jsonl");
const ABORTED: &str = include_str!("../../../../tests/fixtures/opencode/answered-after-an-abort.jsonl");
const TWO_CALLS: &str = include_str!("../../../../tests/fixtures/opencode/one-of-two-refused.jsonl");
const OWN_WORDS: &str = include_str!("../../../../tests/fixtures/opencode/question-own-words.jsonl");
const EDIT: &str = include_str!("../../../../tests/fixtures/opencode/edit.jsonl");
const QUESTION_IN_TERMINAL: &str =
    include_str!("../../../../tests/fixtures/opencode/question-in-the-terminal.jsonl");
const REFUSED: &str = include_str!("../../../../tests/fixtures/opencode/refused-with-words.jsonl");

const TOUCH: &str = "per_1df6a7b8b001zycGWS2cX8ldRk";
const STORE: &str = "que_1df6a8206001lyckCrwUbUkEwK";

#[test]
fn the_card_first() {
    let mut played = Played::of(CARD_FIRST);
    let effects = played.until("permission.asked");
    let [ask] = asks(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!(ask.tool_call_id.as_str(), "call_2_0");
    assert_eq!((ask.tool_name.as_str(), &ask.input), ("Bash", &json!({ "command": "touch asked-for.txt" })));
    assert_eq!(ask.hold, Some(Hold { after_ms: 0, then: HoldThen::Wait }));

    let told = played.decides("call_2_0", Settlement::Approved, approve());
    // "Always" is a thing of our own rules: the program keeps none.
    assert_eq!(told, [answer(1, json!({ "reply": "once" }))]);
    // The program says that it was told so. That it was us is known when it took what we said.
    assert_eq!(played.until("permission.replied"), []);
    assert_eq!(played.answered(TOUCH, 200), [acknowledged("call_2_0")]);

    let effects = played.until("question.asked");
    let [ask] = asks(&effects)[..] else { panic!("{effects:?}") };
    let AskBody::Question { questions } = &ask.body else { panic!("{ask:?}") };
    assert_eq!((questions.len(), questions[0].question.as_str()), (1, "Where do the orders go?"));
    let labels: Vec<_> = questions[0].options.iter().map(|option| option.label.as_str()).collect();
    assert_eq!(labels, ["SQLite", "PostgreSQL"]);
    assert!(questions[0].allow_other && !questions[0].multi_select);

    let told = played.decides("call_3_0", Settlement::Answered, choose(Some("PostgreSQL"), None));
    assert_eq!(told, [answer(2, json!({ "answers": [["PostgreSQL"]] }))]);
    // In the other order.
    assert_eq!(played.answered(STORE, 200), []);
    assert_eq!(played.until("question.replied"), [acknowledged("call_3_0")]);
    // It says in two ways that it rests.
    assert_eq!(played.rest(), [done(StopReason::Completed)]);
}

#[test]
fn the_terminal_first() {
    let mut played = Played::of(TERMINAL_FIRST);
    played.until("permission.asked");
    assert_eq!(
        played.until("permission.replied"),
        [nothing(1), in_terminal("call_2_0", TerminalAnswer::Allowed)]
    );
    // What was decided here comes too late to be told.
    assert_eq!(played.decides("call_2_0", Settlement::Denied, deny("no")), []);

    let mut played = Played::of(QUESTION_IN_TERMINAL);
    played.until("question.asked");
    assert_eq!(
        played.until("question.replied"),
        [nothing(1), in_terminal("call_2_0", TerminalAnswer::Answered)]
    );
}

#[test]
fn a_late_answer_is_none() {
    let request = "per_1df6b0f53001y17wsCgNQLvA1R";
    for report_first in [false, true] {
        let mut played = Played::of(TERMINAL_FIRST);
        played.until("permission.asked");
        let told = played.decides("call_2_0", Settlement::Denied, deny("no"));
        assert_eq!(told, [answer(1, json!({ "reply": "reject", "message": "no" }))]);
        let mut effects = Vec::new();
        if report_first {
            effects.extend(played.answered(request, 404));
            assert_eq!(effects, [], "what was said in the terminal is not known yet");
        }
        effects.extend(played.until("permission.replied"));
        if !report_first {
            effects.extend(played.answered(request, 404));
        }
        assert_eq!(effects, [in_terminal("call_2_0", TerminalAnswer::Allowed)]);
    }
    // Both said the same, and it was not ours that counted.
    let mut played = Played::of(TERMINAL_FIRST);
    played.until("permission.asked");
    played.decides("call_2_0", Settlement::Approved, approve());
    assert_eq!(played.until("permission.replied"), []);
    assert_eq!(played.answered(request, 404), [in_terminal("call_2_0", TerminalAnswer::Allowed)]);
}

#[test]
fn own_words_and_no_answer_to_a_question() {
    let mut played = Played::of(OWN_WORDS);
    played.until("question.asked");
    let told = played.decides("call_2_0", Settlement::Answered, choose(None, Some("a plain file, please")));
    assert_eq!(told, [answer(1, json!({ "answers": [["a plain file, please"]] }))]);
    assert_eq!(played.answered("que_1df60aa32001JfYwJr0Dz2JlN0", 200), []);
    assert_eq!(played.until("question.replied"), [acknowledged("call_2_0")]);

    let mut played = Played::of(OWN_WORDS);
    played.until("question.asked");
    let told = played.decides("call_2_0", Settlement::Declined, Response::Cancel { reason: None });
    assert_eq!(told, [answer(1, json!({ "reject": true }))]);
}

#[test]
fn a_refusal_carries_its_words_and_silence_is_no_refusal() {
    let mut played = Played::of(REFUSED);
    played.until("permission.asked");
    let told = played.decides("call_2_0", Settlement::Denied, deny("use pnpm instead"));
    assert_eq!(told, [answer(1, json!({ "reply": "reject", "message": "use pnpm instead" }))]);
    assert_eq!(played.answered("per_1df606343001SLp0pYd3WWPXiQ", 200), []);
    assert_eq!(played.until("permission.replied"), [acknowledged("call_2_0")]);
    assert_eq!(played.until("session.idle"), [done(StopReason::Completed)]);

    for nobody in [
        Resolution::Closed { message: "Nobody answered in time.".into() },
        Resolution::Queued { message: "Later.".into() },
        Resolution::LeftToAgent { input: Value::Null },
        // It takes no other input than its own.
        Resolution::Settled {
            settlement: Settlement::Approved,
            response: Response::Approve { scope: Scope::Once, lines: vec![], edited_input: Some(json!({})) },
            input: Value::Null,
        },
    ] {
        let mut played = Played::of(REFUSED);
        played.until("permission.asked");
        assert_eq!(played.resolves("call_2_0", nobody), [nothing(1)]);
        // From then on it is the terminal's alone.
        assert_eq!(played.until("permission.replied"), []);
    }
}

#[test]
fn one_refusal_refuses_all_of_the_session() {
    let (first, second) = ("per_1df614329001JwtKodGzYLXSol", "per_1df61432e0017CSr6se1DzTnLm");
    for both_are_told in [true, false] {
        let mut played = Played::of(TWO_CALLS);
        if !both_are_told {
            let of_second = |event: &Value| event["properties"]["requestID"] == second;
            played.events.retain(|event| !of_second(event));
        }
        played.until("permission.asked");
        played.until("permission.asked");
        let told = played.decides("call_2_0", Settlement::Denied, deny("not that one"));
        assert_eq!(told, [answer(1, json!({ "reply": "reject", "message": "not that one" }))]);
        assert_eq!(played.answered(first, 200), []);
        assert_eq!(
            played.until("permission.replied"),
            [acknowledged("call_2_0"), nothing(2), in_terminal("call_2_1", TerminalAnswer::NotByAPerson)]
        );
        // Whoever answers the other one now is too late.
        assert_eq!(played.decides("call_2_1", Settlement::Approved, approve()), []);
        assert_eq!(played.until("session.idle"), [done(StopReason::Completed)]);
    }
}

#[test]
fn after_an_abort_nothing_is_answered() {
    let mut played = Played::of(ABORTED);
    played.until("permission.asked");
    assert_eq!(
        played.until("session.error"),
        [nothing(1), in_terminal("call_2_0", TerminalAnswer::NotSaid), done(StopReason::Interrupted)]
    );
    // The program would still take it, and run the command.
    assert_eq!(played.decides("call_2_0", Settlement::Approved, approve()), []);
    assert_eq!(played.until("session.idle"), []);

    // The answer was on its way, and the plugin did not pass it on.
    let mut played = Played::of(ABORTED);
    played.until("permission.asked");
    played.decides("call_2_0", Settlement::Approved, approve());
    assert_eq!(
        played.until("session.error"),
        [in_terminal("call_2_0", TerminalAnswer::NotSaid), done(StopReason::Interrupted)]
    );
    assert_eq!(played.answered("per_1df60faa70012ti2KopDrREhxa", 0), []);
}

#[test]
fn an_edit_is_shown_as_a_diff() {
    let mut played = Played::of(EDIT);
    let effects = played.until("permission.asked");
    let [ask] = asks(&effects)[..] else { panic!("{effects:?}") };
    let AskBody::Approval { preview: Some(preview), .. } = &ask.body else { panic!("{ask:?}") };
    assert!(preview.contains("\n+hello\n"), "{preview}");
    assert_eq!(ask.tool_name, "Edit");
    assert_eq!(ask.input["file_path"], "/agent-home/project/hello.txt");
}

#[test]
fn a_plugin_that_lost_its_way_asks_nothing_twice() {
    let mut played = Played::of(CARD_FIRST);
    played.until("permission.asked");
    let asked = recorded(CARD_FIRST).into_iter().find(|event| event["type"] == "permission.asked").unwrap();
    assert_eq!(played.wire.left(1), []);
    assert_eq!(played.hears(&asked), []);
    assert_eq!(played.wire.left(2), []);
    // Decided while nobody waits: whoever comes next gets it.
    assert_eq!(played.decides("call_2_0", Settlement::Approved, approve()), []);
    assert_eq!(played.hears(&asked), [answer(3, json!({ "reply": "once" }))]);
    played.answered(TOUCH, 200);
    assert_eq!(played.until("permission.replied"), [acknowledged("call_2_0")]);
    assert_eq!(played.hears(&asked), [nothing(4)]);
}

#[test]
fn the_gateway_was_away() {
    let asked = recorded(CARD_FIRST).into_iter().find(|event| event["type"] == "permission.asked").unwrap();
    let replied =
        recorded(CARD_FIRST).into_iter().find(|event| event["type"] == "permission.replied").unwrap();
    // It is still asked: the same call, in the turn that goes on.
    let mut wire = listening(true);
    let effects = wire.heard(&said(&asked, &json!({})), Some(1), Instant::now());
    assert_eq!(asks(&effects)[0].tool_call_id.as_str(), "call_2_0");
    assert!(
        !effects.iter().any(|effect| matches!(effect, TerminalEffect::Event(AgentEvent::TurnBegun { .. })))
    );

    // It was answered meanwhile: the plugin says which call it was about.
    let over = json!({ "over": [{ "id": TOUCH, "permission": "bash", "callID": "call_2_0" }] });
    let mut wire = listening(true);
    let effects = wire.heard(&said(&replied, &over), None, Instant::now());
    assert!(effects.contains(&in_terminal("call_2_0", TerminalAnswer::Allowed)), "{effects:?}");

    // Its turn ended meanwhile, with the ask.
    let idle = json!({ "type": "session.idle", "properties": { "sessionID": "ses_1" } });
    let mut wire = listening(true);
    let effects = wire.heard(&said(&idle, &over), None, Instant::now());
    assert!(effects.contains(&in_terminal("call_2_0", TerminalAnswer::NotSaid)), "{effects:?}");
    assert!(effects.contains(&done(StopReason::Completed)), "{effects:?}");
}

#[test]
fn a_closed_terminal_asks_nothing() {
    let mut played = Played::of(CARD_FIRST);
    played.until("permission.asked");
    let how = InTerminal { answer: TerminalAnswer::NotSaid, known_by: KnownBy::Closed };
    let tool_call_id = ToolCallId::new("call_2_0").unwrap();
    let effects = played.wire.closed();
    assert_eq!(effects[..2], [nothing(1), event(AgentEvent::AnsweredInTerminal { tool_call_id, how })]);
    assert!(matches!(effects.last(), Some(TerminalEffect::Event(AgentEvent::Exited(_)))), "{effects:?}");
}
