//! The short forms and the short vocabulary.

use crate::running::{Client, Frame, Running};
use holdstead_protocol::api::Role;
use serde_json::{Value, json};

#[tokio::test]
async fn questions_and_approvals_in_the_short_vocabulary() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session =
        ana.session("ask Store: Which store? | SQLite | PostgreSQL\napprove Bash {\"command\":\"ls\"}").await;
    let events = format!("/api/sessions/{session}/events");
    let answers = format!("/api/sessions/{session}/submit-answers");
    let approve = format!("/api/sessions/{session}/approve");

    let frames = ana.follow(&events, |frame| frame.name == "question_prompt").await;
    let prompt = &frames.last().expect("a prompt").data["data"];
    assert_eq!(prompt["questions"][0]["question"], "Which store?");
    let call = prompt["toolCallId"].clone();

    let (status, error) = ana.post(&answers, &json!({"toolCallId": call})).await;
    assert_eq!((status, error), (400, json!({"error": "toolCallId and answers are required"})));
    let (status, error) =
        ana.post(&answers, &json!({"toolCallId": "call_none", "answers": {"0": "x"}})).await;
    assert_eq!((status, error), (404, json!({"error": "No pending question"})));
    let (status, error) = ana.post(&approve, &json!({"toolCallId": call})).await;
    assert_eq!(
        (status, error),
        (404, json!({"error": "No pending approval"})),
        "a question is not an approval"
    );
    let (status, _) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": ""}})).await;
    assert_eq!(status, 422);
    let (status, ok) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": "SQLite"}})).await;
    assert_eq!((status, ok), (200, json!({"ok": true})));
    let (status, _) = ana.post(&answers, &json!({"toolCallId": call, "answers": {"0": "SQLite"}})).await;
    assert_eq!(status, 404, "it is settled");

    let frames = ana.follow(&events, |frame| frame.name == "approval_required").await;
    let required = &frames.last().expect("an approval").data["data"];
    assert_eq!(required["toolName"], "Bash");
    assert_eq!(required["input"], "{\"command\":\"ls\"}", "the input is JSON in a string");
    let (status, _) = ana.post(&approve, &json!({"toolCallId": required["toolCallId"]})).await;
    assert_eq!(status, 200);
    let frames = ana.follow(&events, |frame| frame.name == "done").await;
    assert!(frames.iter().any(|frame| frame.name == "tool_result"), "the rest is unchanged");
}

#[tokio::test]
async fn a_short_denial_carries_its_words() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("approve Bash {\"command\":\"ls\"}").await;
    let ask = ana.open_ask(&session).await;
    let body = json!({"toolCallId": ask["request"]["toolCallId"], "reason": "use pnpm"});
    assert_eq!(ana.post(&format!("/api/sessions/{session}/deny"), &body).await.0, 200);
    let path = format!("/v1/sessions/{session}/events");
    let frames = ana.follow(&path, |frame| frame.name == "tool_result").await;
    let told = &frames.last().expect("a result").data["data"]["output"]["received"]["response"];
    assert_eq!(told, &json!({"action": "deny", "reason": "use pnpm"}));
}

/// The ids that the journal finds an ask and its prompts by.
fn has_ids(frame: &Frame) -> bool {
    let text = frame.data.to_string();
    text.contains("int_") || text.contains("prm_")
}

/// Everything in the short vocabulary, until the turn is over.
async fn to_the_end(ana: &Client<'_>, session: &str) -> Vec<Frame> {
    ana.follow(&format!("/api/sessions/{session}/events"), |frame| frame.name == "done").await
}

fn named<'f>(frames: &'f [Frame], name: &str) -> Vec<&'f Value> {
    frames.iter().filter(|frame| frame.name == name).map(|frame| &frame.data["data"]).collect()
}

#[tokio::test]
async fn what_a_rule_or_a_grant_decided_waits_for_nobody() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let auto = json!({"agent": "scripted", "permissionMode": "auto"});
    let (_, session) = ana.post("/v1/sessions", &auto).await;
    let by_rule = session["sessionId"].as_str().expect("an id");
    let script = json!({"text": "approve Bash {\"command\":\"ls\"}"});
    ana.post(&format!("/v1/sessions/{by_rule}/messages"), &script).await;
    let frames = to_the_end(&ana, by_rule).await;
    assert!(!frames.iter().any(|frame| frame.name.contains("interaction") || has_ids(frame)), "{frames:?}");
    assert_eq!(named(&frames, "approval_required").len(), 0);
    assert_eq!(named(&frames, "tool_result").len(), 1, "it ran");

    let twice = "approve Bash {\"command\":\"ls\"}\napprove Bash {\"command\":\"ls\"}";
    let by_grant = ana.session(twice).await;
    let ask = ana.open_ask(&by_grant).await;
    let (status, _) = ana.respond(&ask, "k", json!({"action": "approve", "scope": "session"})).await;
    assert_eq!(status, 200);
    let frames = to_the_end(&ana, &by_grant).await;
    assert_eq!(named(&frames, "tool_result").len(), 2, "both ran");
    assert_eq!(named(&frames, "approval_required").len(), 1, "one was asked");
    assert_eq!(named(&frames, "interaction_end").len(), 1);
}

#[tokio::test]
async fn each_call_that_was_asked_about_ends_once_and_by_its_own_id() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let script =
        "ask Store: Which store? | SQLite\napprove Bash {\"command\":\"rm x\"}\nask Left: For whom? | Me";
    let session = ana.session(script).await;
    let answers =
        [json!({"action": "submit", "answers": {"0": "SQLite"}}), json!({"action": "deny", "reason": "no"})];
    for (index, response) in answers.into_iter().enumerate() {
        let path = format!("/api/sessions/{session}/events");
        let mut seen = 0;
        ana.follow(&path, |frame| {
            seen += usize::from(["question_prompt", "approval_required"].contains(&frame.name.as_str()));
            seen > index
        })
        .await;
        let (_, page) = ana.get(&format!("/v1/interactions?session={session}")).await;
        let (status, body) = ana.respond(&page["interactions"][0], &index.to_string(), response).await;
        assert_eq!(status, 200, "{body}");
    }
    let path = format!("/api/sessions/{session}/events");
    let mut prompts = 0;
    ana.follow(&path, |frame| {
        prompts += usize::from(frame.name == "question_prompt");
        prompts == 2
    })
    .await;
    assert_eq!(ana.post(&format!("/v1/sessions/{session}/interrupt"), &json!({})).await.0, 200);

    let frames = to_the_end(&ana, &session).await;
    let asked = [named(&frames, "question_prompt"), named(&frames, "approval_required")].concat();
    let ends = named(&frames, "interaction_end");
    let outcomes: Vec<_> = ends.iter().map(|end| end["outcome"].as_str().expect("a word")).collect();
    assert_eq!(outcomes, ["answered", "denied", "cancelled"]);
    for end in &ends {
        assert!(asked.iter().any(|ask| ask["toolCallId"] == end["toolCallId"]), "{end}");
        assert!(end["turnId"].is_string(), "{end}");
    }
    assert_eq!((&ends[0]["name"], &ends[1]["reason"]), (&json!("ana"), &json!("no")));
    let told: Vec<_> = frames.iter().filter(|frame| has_ids(frame)).collect();
    assert!(told.is_empty(), "{told:?}");
}

#[tokio::test]
async fn the_journal_names_call_and_turn_with_each_change_of_an_ask() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("approve Bash {\"command\":\"ls\"}").await;
    let ask = ana.open_ask(&session).await;
    ana.respond(&ask, "k", json!({"action": "approve"})).await;
    let path = format!("/v1/sessions/{session}/events");
    let frames = ana.follow(&path, |frame| frame.name == "done").await;
    for name in ["interaction_response", "interaction_update"] {
        let about = named(&frames, name);
        assert!(!about.is_empty());
        for event in about {
            assert_eq!(event["toolCallId"], ask["request"]["toolCallId"]);
            assert_eq!(event["turnId"], ask["request"]["turnId"]);
        }
    }
}

#[tokio::test]
async fn whatever_refuses_a_short_form_does_so_in_one_shape() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let agent = running.client(Role::Agent, "robot").await;
    let session = ana.session("ask Store: Which store? | SQLite").await;
    let call = ana.open_ask(&session).await["request"]["toolCallId"].clone();
    let path = format!("/api/sessions/{session}/submit-answers");
    let good = json!({"toolCallId": call, "answers": {"0": "SQLite"}});
    let blank = json!({"toolCallId": call, "answers": {"0": ""}});
    let unknown = json!({"toolCallId": call, "answers": {"0": "SQLite"}, "scope": "session"});
    let stranger = running.plain(reqwest::Method::POST, &path).json(&good).send().await.expect("an answer");
    let status = stranger.status().as_u16();
    let stranger: Value = stranger.json().await.expect("JSON");
    let refusals = [
        (status, stranger, 401),
        with(agent.post(&path, &good).await, 403),
        with(ana.post(&path, &blank).await, 422),
        with(ana.post(&path, &unknown).await, 422),
        with(ana.post(&path, &json!({"toolCallId": call})).await, 400),
        with(ana.post(&path, &json!({"toolCallId": "other", "answers": {"0": "x"}})).await, 404),
        with(ana.post(&format!("/api/sessions/{session}/forget"), &good).await, 404),
        with(ana.get("/api/sessions/ses_none/events").await, 404),
    ];
    for (status, body, wanted) in refusals {
        assert_eq!(status, wanted, "{body}");
        assert!(body["error"].as_str().is_some_and(|words| !words.is_empty()), "{body}");
        let keys: Vec<_> = body.as_object().expect("an object").keys().collect();
        assert!(keys.iter().all(|key| ["error", "fieldErrors"].contains(&key.as_str())), "{body}");
    }
    let (_, body) = ana.post(&path, &blank).await;
    assert!(body["fieldErrors"].is_object(), "{body}");
}

fn with((status, body): (u16, Value), wanted: u16) -> (u16, Value, u16) {
    (status, body, wanted)
}
