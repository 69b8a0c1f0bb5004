//! Turns: who began them, and what is told of one that began before.

use super::*;

#[test]
fn a_message_begins_a_turn_that_is_not_begun_twice() {
    let recording = recording!("message-idle");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 4.443);
    assert_eq!(desk.said(), ["th is there"]);
    let effects = desk.terminal.told(Outgoing::Message { text: "script: …".to_owned() });
    desk.follow(effects);
    assert_eq!(desk.said(), ["7 says script: …"]);
    desk.play(recording, 4.443, 6.0);
    let call = r#"with {"command":"touch phone.txt","cwd":"/project"}"#;
    let expected = ["text: I heard the phone.", "message ends", "call_3_1 calls Bash", call, "call_3_1 asks"];
    assert_eq!(desk.said(), expected);
    desk.approve("call_3_1");
    desk.play(recording, 6.0, 9.5);
    assert_eq!(desk.said()[1], "call_3_1: ours counted");
    // Whoever waited for words was given some: the next ones have nobody to go to.
    let effects = desk.terminal.told(Outgoing::Message { text: "more".to_owned() });
    assert!(matches!(&effects[..], [TerminalEffect::Event(AgentEvent::Error { .. }), _]), "{effects:?}");
}

#[test]
fn the_same_turn_typed_in_the_terminal_begins_with_its_words() {
    let recording = recording!("message-idle");
    let mut desk = Desk::new(false);
    desk.play(recording, 0.0, 4.6);
    let said = desk.said();
    assert_eq!(said[..2], ["th is there", "begins: script: …"]);
}

#[test]
fn more_words_for_a_turn_that_runs_begin_no_other() {
    let recording = recording!("message-busy");
    let mut desk = Desk::new(true);
    let turn = json!({"id": "01a1df54-9fb6-7da1-8d16-9821d627a01c", "items": [], "status": "inProgress"});
    desk.hear(&json!({"resumed": turn}), 4.9);
    desk.play(recording, 4.94, 12.0);
    let command = r#"with {"command":"sleep 4","cwd":"/project"}"#;
    let expected = [
        "th is there",
        "call_1_0 calls Bash",
        command,
        "call_1_0 came to \"\"",
        "text: After it.",
        "message ends",
        "Completed",
    ];
    assert_eq!(desk.said(), expected);
}

#[test]
fn the_daemon_is_killed() {
    let mut desk = Desk::new(false);
    desk.play(recording!("daemon-killed"), 0.0, 11.0);
    desk.said();
    desk.hear(&json!({"gone": true}), 4.657);
    let expected =
        ["100 gets nothing", "call_1_1: NotSaid there, says Closed", "Interrupted", "7 gets nothing", "gone"];
    assert_eq!(desk.said(), expected);
}

#[test]
fn a_turn_that_ended_while_nobody_listened_is_over() {
    let mut desk = Desk::new(true);
    desk.hear(&json!({"resumed": {"id": "t", "items": [], "status": "completed"}}), 1.0);
    assert_eq!(desk.said(), ["th is there", "Completed"]);
}

#[test]
fn what_was_asked_before_is_asked_again_and_its_call_is_not_told_twice() {
    let mut desk = Desk::new(true);
    desk.play(recording!("patch-with-its-diff"), 0.0, 5.0);
    assert_eq!(desk.said(), ["th is there", "call_1_0 asks"]);
    // A command that waits is not among what the turn did.
    let mut desk = Desk::new(true);
    let turn = json!({"id": "01a1df53-12ef-7a43-90fe-3d9517d7890c", "items": [], "status": "inProgress"});
    desk.hear(&json!({"resumed": turn}), 3.77);
    desk.play(recording!("card-first"), 3.7765, 4.9);
    assert_eq!(desk.said(), ["th is there", "call_1_1 asks"]);
    let mut desk = Desk::new(true);
    desk.play(recording!("patch-with-its-diff"), 0.0, 5.0);
    desk.said();
    // The daemon sends it to whoever subscribes once more.
    desk.play(recording!("patch-with-its-diff"), 4.101, 5.0);
    assert_eq!(desk.said(), ["100 gets nothing"]);
}

#[test]
fn what_was_over_while_nobody_listened_is_told() {
    let command = |id: &str, status: &str| json!({"type": "commandExecution", "id": id, "command": "ls", "cwd": "/project", "status": status});
    let items = [command("a", "completed"), command("b", "declined"), command("c", "inProgress")];
    let mut desk = Desk::new(true);
    desk.hear(&json!({"resumed": {"id": "t", "items": items, "status": "inProgress"}}), 1.0);
    let expected = ["th is there", "a: Allowed there, says Program", "b: Refused there, says Program"];
    assert_eq!(desk.said(), expected);
}

#[test]
fn a_turn_of_which_nothing_was_said_yet_begins_with_its_words() {
    let mut desk = Desk::new(false);
    desk.hear(&json!({"resumed": {"id": "t", "items": [], "status": "inProgress"}}), 1.0);
    let item = json!({"type": "userMessage", "id": "u", "clientId": "c", "content": [{"type": "text", "text": "go"}]});
    desk.hear(&json!({"method": "item/started", "params": {"turnId": "t", "item": item}}), 1.1);
    assert_eq!(desk.said(), ["th is there", "begins: go"]);
}

#[test]
fn what_was_said_of_a_turn_before_is_told_once() {
    let turn = json!({"id": "t", "status": "inProgress", "items": [
        {"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "go"}]},
        {"type": "agentMessage", "id": "m1", "text": "Hm.", "completedAtMs": 1},
        {"type": "agentMessage", "id": "m2", "text": "I beg", "completedAtMs": null},
    ]});
    let mut desk = Desk::new(false);
    desk.hear(&json!({"resumed": turn}), 1.0);
    let params = json!({"turnId": "t", "itemId": "m2", "delta": "in."});
    desk.hear(&json!({"method": "item/agentMessage/delta", "params": params}), 1.1);
    let item = json!({"type": "agentMessage", "id": "m2", "text": "I begin.", "completedAtMs": 2});
    desk.hear(&json!({"method": "item/completed", "params": {"turnId": "t", "item": item}}), 1.2);
    let expected = [
        "th is there",
        "begins: go",
        "text: Hm.",
        "message ends",
        "text: I beg",
        "text: in.",
        "message ends",
    ];
    assert_eq!(desk.said(), expected);
    desk.hear(&json!({"resumed": turn}), 1.3);
    assert_eq!(desk.said(), Vec::<String>::new());
}

#[test]
fn words_of_ours_are_known_by_the_name_that_we_gave_them() {
    let mut desk = Desk::new(false);
    desk.hear(&json!({"resumed": null}), 1.0);
    desk.hear(&json!({"waiter": true}), 1.0);
    let effects = desk.terminal.told(Outgoing::Message { text: "go".to_owned() });
    desk.follow(effects);
    let item = json!({"type": "userMessage", "id": "u", "clientId": "holdstead-1",
        "content": [{"type": "text", "text": "go, as the program has it"}]});
    desk.hear(&json!({"method": "item/started", "params": {"turnId": "t", "item": item}}), 1.1);
    assert_eq!(desk.said(), ["th is there", "7 says go"]);
    desk.hear(
        &json!({"method": "turn/completed", "params": {"turn": {"id": "t", "status": "completed"}}}),
        1.2,
    );
    assert_eq!(desk.said(), ["Completed"]);
    // Nobody took them.
    desk.hear(&json!({"waiter": true}), 1.3);
    let effects = desk.terminal.told(Outgoing::Message { text: "more".to_owned() });
    desk.follow(effects);
    desk.hear(&json!({"notTaken": {"words": "more", "why": "no such thread"}}), 1.4);
    let said = desk.said();
    assert!(said[1].contains("no such thread"), "{said:?}");
    assert_eq!(said[2], "Failed");
}

#[test]
fn a_command_that_outlives_its_turn_begins_no_other() {
    let mut desk = Desk::new(false);
    desk.play(recording!("card-first"), 0.0, 9.0);
    desk.said();
    let late = lines(recording!("card-first")).filter(|(_, _, m)| m["method"] == "item/completed");
    for (at, _, m) in late {
        desk.hear(&m, at + 10.0);
    }
    assert_eq!(desk.said(), Vec::<String>::new());
    // Nor does it end the one that was begun since.
    let item = json!({"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "go"}]});
    desk.hear(&json!({"method": "item/started", "params": {"turnId": "t2", "item": item}}), 20.0);
    for (at, _, m) in lines(recording!("card-first")).filter(|(_, _, m)| m["method"] == "item/completed") {
        desk.hear(&m, at + 20.0);
    }
    assert_eq!(desk.said(), ["begins: go"]);
}
