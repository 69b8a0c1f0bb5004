//! Who was faster, and what is known of that.

use super::*;

#[test]
fn the_terminal_says_yes_to_a_long_command() {
    let recording = recording!("terminal-allows");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 5.06);
    let input = r#"with {"command":"sleep 4; touch asked-for.txt","cwd":"/project"}"#;
    let mut expected = asked("call_1_0", input);
    expected.push("100 gets nothing".to_owned());
    assert_eq!(desk.said(), expected);
    let effects = desk.terminal.passed(desk.at(6.0));
    assert_eq!(effects, [], "it may still be a no");
    let effects = desk.terminal.passed(desk.at(6.1));
    desk.follow(effects);
    assert_eq!(desk.said(), ["call_1_0: Allowed there, says Program"], "long before it has ended");
    // What is decided now reaches nobody.
    desk.deny("call_1_0");
    assert_eq!(desk.said(), Vec::<String>::new());
    desk.play(recording, 5.06, 13.0);
    assert_eq!(desk.said(), ["call_1_0 came to \"\"", "text: told", "message ends", "Completed"]);
}

#[test]
fn the_terminal_says_yes_while_our_no_is_on_its_way() {
    let recording = recording!("terminal-allows");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 5.0);
    desk.deny("call_1_0");
    desk.said();
    desk.play(recording, 5.0, 13.0);
    let expected = [
        "call_1_0: Allowed there, says Program",
        "call_1_0 came to \"\"",
        "text: told",
        "message ends",
        "Completed",
    ];
    assert_eq!(desk.said(), expected);
}

#[test]
fn the_terminal_says_no() {
    let recording = recording!("terminal-refuses");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 11.0);
    let mut expected = asked("call_1_1", TOUCH);
    let refused = ["100 gets nothing", "call_1_1: Refused there, says Program", "Interrupted"];
    expected.extend(refused.map(str::to_owned));
    assert_eq!(desk.said(), expected);
    // While our yes is on its way, it looks as if the turn had been stopped after it.
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 5.0);
    desk.approve("call_1_1");
    desk.said();
    desk.play(recording, 5.0, 5.06);
    desk.record("call_1_1", "Wall time: 1.2 seconds\naborted by user");
    desk.play(recording, 5.06, 11.0);
    assert_eq!(desk.said(), ["Interrupted"], "nobody can know whether it counted");
    // Somebody says yes there, and stops it a moment later.
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 5.0);
    desk.hear(&json!({"method": "serverRequest/resolved", "params": {"requestId": 0}}), 4.5);
    desk.said();
    desk.play(recording, 5.06, 11.0);
    assert_eq!(desk.said(), ["call_1_1: NotSaid there, says Program", "Interrupted"]);
}

#[test]
fn two_asks_in_a_row_one_answered_here_and_one_there() {
    let recording = recording!("two-asks-in-a-row");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 5.0);
    desk.said();
    desk.approve("call_1_0");
    desk.play(recording, 5.0, 9.5);
    let expected = [
        r#"100 gets {"decision":"accept"}"#,
        "call_1_0: ours counted",
        "call_1_0 came to \"\"",
        "call_3_0 calls Bash",
        r#"with {"command":"touch two.txt","cwd":"/project"}"#,
        "call_3_0 asks",
        "101 gets nothing",
        "call_3_0: Allowed there, says Program",
        "call_3_0 came to \"\"",
        "text: told",
        "message ends",
        "Completed",
    ];
    assert_eq!(desk.said(), expected);
}

#[test]
fn the_terminals_no_is_said_to_what_was_asked_last() {
    let mut desk = Desk::new(true);
    for (id, at) in [("a", 0), ("b", 1), ("c", 2)] {
        let params = json!({"turnId": "t", "itemId": id, "command": "ls", "cwd": "/project"});
        desk.hear(
            &json!({"method": "item/commandExecution/requestApproval", "id": at, "params": params}),
            1.0,
        );
    }
    desk.approve("a");
    for (request, at) in [(0, 2.0), (1, 2.3)] {
        desk.hear(&json!({"method": "serverRequest/resolved", "params": {"requestId": request}}), at);
    }
    desk.said();
    let over = json!({"id": "t", "status": "interrupted"});
    desk.hear(&json!({"method": "turn/completed", "params": {"turn": over}}), 2.31);
    let expected = [
        "a: ours counted",
        "b: Refused there, says Program",
        "102 gets nothing",
        "c: NotSaid there, says Program",
        "Interrupted",
    ];
    assert_eq!(desk.said(), expected);
}

#[test]
fn the_record_says_which_answer_a_question_got() {
    let recording = recording!("question");
    for (output, expected) in [
        (r#"{"answers":{"store":{"answers":["PostgreSQL"]}}}"#, "call_1_0: ours counted"),
        (
            r#"{"answers":{"store":{"answers":["SQLite (Recommended)"]}}}"#,
            "call_1_0: Answered there, says Record",
        ),
        ("aborted by user", "call_1_0: NotSaid there, says Record"),
    ] {
        let mut desk = Desk::new(false);
        desk.play(recording, 0.0, 4.5);
        let answer =
            Answer { question_id: "store".to_owned(), labels: vec!["PostgreSQL".to_owned()], other: None };
        desk.tell("call_1_0", Settlement::Answered, Response::Answer { answers: vec![answer] });
        desk.said();
        desk.play(recording, 4.5, 4.8);
        assert_eq!(desk.said(), Vec::<String>::new(), "whose it was is not known");
        desk.record("call_1_0", output);
        assert_eq!(desk.said(), [expected]);
        desk.play(recording, 4.8, 9.0);
        assert_eq!(desk.said(), ["text: told", "message ends", "Completed"]);
    }
}

#[test]
fn the_record_says_that_a_command_was_declined_elsewhere() {
    let rejected = r#"exec_command failed: CreateProcess { message: "Rejected(\"rejected by user\")" }"#;
    for (output, expected) in [
        (rejected, "call_1_1: Refused there, says Program"),
        ("Process running with session ID 1", "call_1_1: Allowed there, says Program"),
    ] {
        let mut desk = Desk::new(false);
        desk.play(recording!("card-declines"), 0.0, 5.04);
        desk.said();
        desk.record("call_9_9", output);
        assert_eq!(desk.said(), Vec::<String>::new());
        desk.record("call_1_1", output);
        assert_eq!(desk.said(), [expected]);
    }
}

#[test]
fn a_client_that_came_first_sees_that_a_command_was_declined() {
    let recording = recording!("declined-by-one-who-came-first");
    let call = "call_39d9fe15f2a942bd8dd6fd96a8eb2714";
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 2.9);
    assert_eq!(desk.said().last().unwrap(), &format!("{call} asks"));
    desk.deny(call);
    desk.said();
    desk.play(recording, 2.9, 3.0);
    let expected = [format!("{call}: ours counted"), format!("{call} came to \"(declined)\" (an error)")];
    assert_eq!(desk.said(), expected);
}

#[test]
fn of_two_asks_at_once_the_first_is_over_before_its_command_is() {
    let recording = recording!("two-asks-at-once");
    let (first, second) = ("call_042fd388ea8d4f46bd352ec6391ec0c8", "call_10e7200670bb44a28922d84ab3ba6fde");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 3.0);
    assert_eq!(desk.asks.len(), 2);
    desk.said();
    // The program holds back what became of it while the other one is asked about.
    let effects = desk.terminal.passed(desk.at(4.0));
    desk.follow(effects);
    assert_eq!(desk.said(), [format!("{first}: Allowed there, says Program")]);
    desk.play(recording, 3.0, 26.45);
    let expected = [
        "106 gets nothing".to_owned(),
        format!("{first} came to \"\""),
        format!("{second}: Allowed there, says Program"),
        format!("{second} came to \"\""),
    ];
    assert_eq!(desk.said(), expected);
}
