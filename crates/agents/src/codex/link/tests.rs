use super::*;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/codex/", $name, ".jsonl"))
    };
}

/// What the daemon said in a recording.
fn told(recording: &str) -> Vec<Value> {
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter(|line| line["src"] == "hp<-").map(|mut line| line["m"].take()).collect()
}

struct Desk {
    link: Link,
    now: Instant,
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self { link: Link::new(), now: Instant::now() };
        let hello = desk.link.hello();
        assert_eq!(calls(&hello), ["initialize"]);
        let greeted = desk.hear(&json!({"id": 1, "result": {}}));
        assert_eq!(calls(&greeted), ["initialized", "thread/loaded/list"]);
        desk
    }

    /// With a conversation in which this was the last turn.
    fn subscribed(turn: &Value) -> Self {
        let mut desk = Self::new();
        let looked = desk.hear(&json!({"id": 2, "result": {"data": ["th"]}}));
        assert_eq!(calls(&looked), ["thread/read"]);
        let resumed = desk.hear(&json!({"id": 3, "result": {"thread": thread(false)}}));
        assert_eq!(calls(&resumed), ["thread/resume"]);
        assert_eq!(sent(&resumed)[0]["params"], json!({"threadId": "th"}));
        let said = desk.hear(&json!({"id": 4, "result": {"thread": {"turns": [{"id": "t0"}, turn]}}}));
        assert_eq!(heard(&said), [json!({"resumed": turn}), json!({"waiter": true})]);
        desk
    }

    fn hear(&mut self, message: &Value) -> Vec<LinkEffect> {
        self.link.heard(&message.to_string(), self.now)
    }
}

fn thread(ephemeral: bool) -> Value {
    json!({"id": "th", "cwd": "/project", "path": "/agent-home/rollout-th.jsonl", "ephemeral": ephemeral})
}

fn sent(effects: &[LinkEffect]) -> Vec<Value> {
    let texts = effects.iter().filter_map(|effect| match effect {
        LinkEffect::Send(text) => Some(text),
        LinkEffect::Said { .. } => None,
    });
    texts.map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

fn calls(effects: &[LinkEffect]) -> Vec<String> {
    sent(effects).iter().map(|call| call["method"].as_str().expect("a call").to_owned()).collect()
}

fn heard(effects: &[LinkEffect]) -> Vec<Value> {
    let texts = effects.iter().filter_map(|effect| match effect {
        LinkEffect::Said { text, .. } => Some(text),
        LinkEffect::Send(_) => None,
    });
    let envelopes = texts.map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
    envelopes
        .map(|mut envelope| {
            assert_eq!((&envelope["thread"], &envelope["cwd"]), (&json!("th"), &json!("/project")));
            envelope["m"].take()
        })
        .collect()
}

fn idle() -> Value {
    json!({"id": "t1", "status": "completed"})
}

fn asks(id: Value) -> Value {
    json!({"method": wire::ASKS_COMMAND, "id": id, "params": {"threadId": "th", "turnId": "t", "itemId": "c"}})
}

#[test]
fn a_conversation_that_begins_is_subscribed_to_as_soon_as_it_can_be() {
    let mut desk = Desk::new();
    let started: Vec<_> = told(recording!("not-subscribed"));
    let first = started.iter().find(|message| message["method"] == "thread/started").unwrap();
    let id = first["params"]["thread"]["id"].as_str().unwrap().to_owned();
    assert_eq!(calls(&desk.hear(first)), ["thread/resume"]);
    // Nothing is written down of it before its first words.
    let refused = json!({"id": 3, "error": {"code": -32600, "message": "no rollout found"}});
    assert_eq!(desk.hear(&refused), []);
    desk.now += TRY_AGAIN;
    assert_eq!(desk.link.passed(desk.now), []);
    desk.now += TRY_LATER;
    assert_eq!(calls(&desk.link.passed(desk.now)), ["thread/resume"]);
    assert_eq!(desk.hear(&json!({"id": 4, "error": {"message": "no rollout found"}})), []);
    let active = started.iter().find(|message| message["params"]["threadId"] == id.as_str()).unwrap();
    assert_eq!(calls(&desk.hear(active)), ["thread/resume"], "it has its first words");
    assert_eq!(desk.hear(&json!({"id": 5, "error": {"message": "no rollout found"}})), []);
    desk.now += TRY_AGAIN;
    assert_eq!(calls(&desk.link.passed(desk.now)), ["thread/resume"], "they may not be written down yet");
    // The program's own are none of ours, whatever happens in them.
    let own: Vec<_> = started
        .iter()
        .filter(|message| {
            message["params"]["thread"]["ephemeral"] == true || message["params"]["threadId"] != id.as_str()
        })
        .filter(|message| message.get("method").is_some() && message["params"]["thread"]["id"] != id.as_str())
        .collect();
    assert!(own.len() >= 3);
    for message in own {
        assert_eq!(desk.hear(message), [], "{message}");
    }
}

#[test]
fn only_conversations_of_people_are_subscribed_to() {
    let mut desk = Desk::new();
    assert_eq!(calls(&desk.hear(&json!({"id": 2, "result": {"data": ["th"]}}))), ["thread/read"]);
    assert_eq!(desk.hear(&json!({"id": 3, "result": {"thread": thread(true)}})), []);
    let active = json!({"method": "thread/status/changed", "params": {"threadId": "th", "status": {"type": "active"}}});
    assert_eq!(desk.hear(&active), []);
}

#[test]
fn a_request_is_answered_once_and_only_while_it_is_open() {
    let mut desk = Desk::subscribed(&idle());
    for id in [json!(0), json!("r")] {
        let asked = desk.hear(&asks(id.clone()));
        assert_eq!(heard(&asked), [asks(id.clone())]);
        let key = id.to_string();
        let LinkEffect::Said { waits: Some(Waits::Request { id: waits }), .. } = &asked[0] else {
            panic!("{asked:?}")
        };
        assert_eq!(*waits, key);
        assert_eq!(desk.link.answered(&key, None), [], "somebody else may answer it");
        let answered = desk.link.answered(&key, Some(json!({"decision": "accept"})));
        assert_eq!(sent(&answered), [json!({"id": id, "result": {"decision": "accept"}})]);
        assert_eq!(desk.link.answered(&key, Some(json!({"decision": "accept"}))), []);
    }
    desk.hear(&asks(json!(1)));
    let resolved = json!({"method": "serverRequest/resolved", "params": {"threadId": "th", "requestId": 1}});
    assert_eq!(heard(&desk.hear(&resolved)), [resolved]);
    assert_eq!(desk.link.answered("1", Some(json!({"decision": "accept"}))), [], "it would be too late");
    // Of what two readers could understand differently nothing is decided here.
    let twice = r#"{"method":"item/commandExecution/requestApproval","id":2,"params":{"threadId":"th","command":"a","command":"b"}}"#;
    assert_eq!(desk.link.heard(twice, desk.now), []);
    let other = json!({"method": "item/permissions/requestApproval", "id": 3, "params": {"threadId": "th"}});
    assert_eq!(desk.hear(&other), []);
}

#[test]
fn words_begin_a_turn_or_go_to_the_one_that_runs() {
    let mut desk = Desk::subscribed(&idle());
    let said = desk.link.say("th", "go on".to_owned(), desk.now);
    assert_eq!(calls(&said), ["turn/start"]);
    assert_eq!(sent(&said)[0]["params"]["input"], json!([{"type": "text", "text": "go on"}]));
    assert!(sent(&said)[0]["params"]["clientUserMessageId"].as_str().unwrap().starts_with(wire::OURS));
    assert_eq!(heard(&said), [json!({"waiter": true})], "more may come");
    let begun = json!({"method": "turn/started", "params": {"threadId": "th", "turn": {"id": "t2"}}});
    assert_eq!(heard(&desk.hear(&begun)), [begun]);
    let said = desk.link.say("th", "and this".to_owned(), desk.now);
    assert_eq!(calls(&said), ["turn/steer"]);
    assert_eq!(sent(&said)[0]["params"]["expectedTurnId"], "t2");
    // It ended meanwhile.
    let refused = |id: &Value| json!({"id": id, "error": {"message": "no active turn to steer"}});
    let again = desk.hear(&refused(&sent(&said)[0]["id"]));
    assert_eq!(calls(&again), ["turn/start"]);
    let failed = desk.hear(&refused(&sent(&again)[0]["id"]));
    assert_eq!(
        heard(&failed),
        [json!({"notTaken": {"words": "and this", "why": "no active turn to steer"}})]
    );
    let over = json!({"method": "turn/completed", "params": {"threadId": "th", "turn": {"id": "t2"}}});
    desk.hear(&over);
    assert_eq!(calls(&desk.link.say("th", "next".to_owned(), desk.now)), ["turn/start"]);
}

#[test]
fn a_turn_that_runs_already_is_known() {
    let mut desk = Desk::subscribed(&json!({"id": "t1", "status": "inProgress"}));
    assert_eq!(calls(&desk.link.say("th", "and this".to_owned(), desk.now)), ["turn/steer"]);
}

#[test]
fn whoever_listens_next_is_told_from_the_beginning() {
    let mut desk = Desk::subscribed(&idle());
    let said = desk.link.say("th", "go on".to_owned(), desk.now);
    let LinkEffect::Said { waits: Some(Waits::Words { number, .. }), .. } = &said[1] else {
        panic!("{said:?}")
    };
    desk.now += SHORTLY;
    desk.link.left("th", number - 1, desk.now);
    desk.now += TRY_AGAIN;
    assert_eq!(desk.link.passed(desk.now), [], "another one waits");
    desk.link.left("th", *number, desk.now);
    assert_eq!(desk.hear(&asks(json!(0))), [], "nobody listens");
    desk.now += TRY_AGAIN;
    let again = desk.link.passed(desk.now);
    assert_eq!(calls(&again), ["thread/resume"]);
    let id = &sent(&again)[0]["id"];
    let said = desk.hear(&json!({"id": id, "result": {"thread": {"turns": []}}}));
    assert_eq!(heard(&said), [json!({"resumed": null}), json!({"waiter": true})]);
    assert_eq!(heard(&desk.hear(&asks(json!(0)))).len(), 1, "it is asked again");
    // Where nobody can listen, the daemon is not asked for everything again and again.
    let LinkEffect::Said { waits: Some(Waits::Words { number, .. }), .. } = &said[1] else {
        panic!("{said:?}")
    };
    desk.link.left("th", *number, desk.now);
    desk.now += TRY_AGAIN;
    assert_eq!(desk.link.passed(desk.now), []);
}

#[test]
fn a_conversation_that_rests_is_let_go_of_until_it_goes_on() {
    let changed = |status: &str| json!({"method": "thread/status/changed", "params": {"threadId": "th", "status": {"type": status}}});
    let rested = || {
        let mut desk = Desk::subscribed(&idle());
        desk.now += RESTS;
        assert_eq!(calls(&desk.link.passed(desk.now)), ["thread/unsubscribe"]);
        assert_eq!(desk.link.passed(desk.now), []);
        assert_eq!(desk.hear(&changed("idle")), []);
        desk
    };
    let mut desk = rested();
    assert_eq!(calls(&desk.hear(&changed("active"))), ["thread/resume"], "somebody writes in its terminal");
    let mut desk = rested();
    let said = desk.link.say("th", "go on".to_owned(), desk.now);
    assert_eq!(calls(&said), ["thread/resume", "turn/start"]);
    let mut desk = rested();
    assert_eq!(heard(&desk.hear(&changed("notLoaded"))), [json!({"gone": true})]);
    // One that works does not rest.
    let mut desk = Desk::subscribed(&json!({"id": "t1", "status": "inProgress"}));
    desk.now += RESTS;
    assert_eq!(desk.link.passed(desk.now), []);
}

#[test]
fn what_is_not_needed_is_not_handed_on() {
    let mut desk = Desk::subscribed(&idle());
    let output = json!({"method": "item/commandExecution/outputDelta",
        "params": {"threadId": "th", "turnId": "t", "itemId": "c", "delta": "long"}});
    assert_eq!(heard(&desk.hear(&output))[0]["params"]["delta"], Value::Null);
    assert_eq!(desk.hear(&output), [], "once is enough");
    for method in ["thread/tokenUsage/updated", "warning", "turn/diff/updated", "item/reasoning/textDelta"] {
        assert_eq!(desk.hear(&json!({"method": method, "params": {"threadId": "th"}})), [], "{method}");
    }
    for text in ["", "{", "[]", "1", "{}", r#"{"id":99,"result":{}}"#, r#"{"method":"item/started"}"#] {
        assert_eq!(desk.link.heard(text, desk.now), [], "{text}");
    }
}

#[test]
fn a_conversation_ends_with_the_daemon_or_before() {
    let mut desk = Desk::subscribed(&idle());
    assert_eq!(heard(&desk.link.gone()), [json!({"gone": true})]);
    let mut desk = Desk::subscribed(&idle());
    let closed = json!({"method": "thread/closed", "params": {"threadId": "th"}});
    assert_eq!(heard(&desk.hear(&closed)), [json!({"gone": true})]);
    assert_eq!(desk.link.gone(), []);
}
