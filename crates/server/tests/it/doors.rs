//! What is sent is read strictly: nothing is dropped, guessed or kept that cannot be read again.

use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::{Client, Running};

async fn send(client: &Client<'_>, path: &str, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let request = client.request(Method::POST, path).header("content-type", "application/json");
    let response = request.body(body).send().await.expect("an answer");
    let status = response.status().as_u16();
    if status >= 400 {
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
    }
    (status, response.json().await.unwrap_or_default())
}

fn detail(problem: &Value) -> &str {
    problem["detail"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn odd_json_is_refused_with_words_and_the_inbox_goes_on() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let with = |input: &str| {
        format!(r#"{{"key":"k","kind":"approval","toolName":"deploy","input":{input}}}"#).into_bytes()
    };
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (with(r#"{"$serde_json::private::RawValue":"7"}"#), "$serde_json::private::RawValue"),
        (with(r#"{"a":[{"$serde_json::private::Number":"7"}]}"#), "$serde_json::private::Number"),
        (with(&deep(110)), "64 deep"),
        (with(&deep(64)), "64 deep"),
        (with(&"[".repeat(500_000)), "64 deep"),
        (with(r#"{"to":"staging","to":"production"}"#), "`to` stands twice"),
        (with("18446744073709551617"), "exactly"),
        (with("1e999"), "exactly"),
        (with(r#""\ud800""#), "half a character"),
        (with("\"a\0b\""), "not JSON"),
        ([b"\xef\xbb\xbf".as_slice(), &with("1")].concat(), "byte order mark"),
        (b"{\"key\":\"\xff\"}".to_vec(), "UTF-8"),
        (Vec::new(), "empty"),
        (b"\0".to_vec(), "not JSON"),
        (b"{\"key\":".to_vec(), "not JSON"),
        (b"nonsense".to_vec(), "not JSON"),
    ];
    for (body, words) in cases {
        let (status, problem) = send(&ci, "/v1/interactions", body).await;
        assert_eq!((status, &problem["code"]), (400, &json!("bad_request")), "{problem}");
        assert!(detail(&problem).contains(words), "{words}: {problem}");
    }
    let (status, ask) = send(&ci, "/v1/interactions", with(&deep(63))).await;
    assert_eq!(status, 201, "{ask}");
    let (status, ask) = send(&ci, "/v1/interactions", with(&deep(63))).await;
    assert_eq!(status, 201, "{ask}");
    let (status, page) = ana.get("/v1/interactions").await;
    assert_eq!((status, page["interactions"].as_array().map(Vec::len)), (200, Some(1)), "{page}");
}

#[tokio::test]
async fn a_field_that_is_not_known_is_refused_by_its_name_at_every_depth() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let question = json!({"id": "q", "header": "H", "question": "Which?", "options": [{"label": "a"}]});
    let ask = |more: Value| {
        let mut call = json!({"key": "k", "toolName": "deploy"});
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        call
    };
    let mut odd_question = question.clone();
    odd_question["multiselect"] = json!(true);
    let mut odd_option = question.clone();
    odd_option["options"][0]["descripton"] = json!("x");
    let odd_field = json!({"id": "f", "label": "F", "type": "text", "maxlength": 3});
    let session = ana.session("say hello").await;
    let messages = format!("/v1/sessions/{session}/messages");
    let cases = [
        ("/v1/interactions", ask(json!({"kind": "approval", "imput": 1})), "imput"),
        ("/v1/interactions", ask(json!({"kind": "approval", "questions": []})), "questions"),
        (
            "/v1/interactions",
            ask(json!({"kind": "question", "questions": [odd_question]})),
            "questions[0].multiselect",
        ),
        (
            "/v1/interactions",
            ask(json!({"kind": "question", "questions": [odd_option]})),
            "questions[0].options[0].descripton",
        ),
        (
            "/v1/interactions",
            ask(json!({"kind": "form", "form": {"fields": [odd_field]}})),
            "form.fields[0].maxlength",
        ),
        ("/v1/interactions", ask(json!({"kind": "form", "form": {"felds": []}})), "form.felds"),
        ("/v1/sessions", json!({"agent": "scripted", "permission_mode": "auto"}), "permission_mode"),
        (messages.as_str(), json!({"text": "hi", "to": "you"}), "to"),
        ("/v1/interaction-mode", json!({"client": "c", "mode": "on", "x": 1}), "x"),
    ];
    for (path, body, field) in cases {
        let client = if path == "/v1/interactions" { &ci } else { &ana };
        let (status, problem) = client.post(path, &body).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{body}: {problem}");
        assert!(problem["fieldErrors"].get(field).is_some(), "{field}: {problem}");
        assert!(detail(&problem).contains(field), "{problem}");
    }
    for path in [format!("/v1/sessions/{session}/interrupt"), "/v1/login-links".to_owned()] {
        let (status, problem) = ana.post(&path, &json!({"x": 1})).await;
        assert_eq!((status, problem["fieldErrors"].get("x").is_some()), (422, true), "{path}: {problem}");
    }
    for path in ["/v1/sessions?limt=3", "/v1/interactions?state=open&sesion=x", "/v1/rules?x=1"] {
        let (status, problem) = ana.get(path).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{path}: {problem}");
    }
    for (path, words) in [
        ("/v1/sessions?limit=many", "`limit` must be a whole number"),
        ("/v1/sessions?limit=-1", "`limit` must be a whole number"),
        ("/v1/sessions?limit=3&limit=4", "`limit` is given twice"),
        ("/v1/interactions?state=closed", "`state` must be `open` or `all`"),
    ] {
        let (status, problem) = ana.get(path).await;
        assert_eq!(status, 422, "{path}: {problem}");
        assert!(detail(&problem).contains(words), "{path}: {problem}");
    }
}

#[tokio::test]
async fn an_edit_that_got_lost_never_approves_the_original() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {"to": "production"},
        "editable": true, "scopes": ["session"]});
    let (_, ask) = ci.post("/v1/interactions", &call).await;
    let lost = [
        json!({"action": "approve", "edited_input": {"to": "staging"}}),
        json!({"action": "approve", "editedInput": null}),
        json!({"action": "approve", "editedinput": {"to": "staging"}}),
        json!({"action": "approve", "input": {"to": "staging"}}),
        json!({"action": "approve", "reason": "only staging"}),
        json!({"action": "approve", "scope": null}),
        json!({"action": "approve", "scope": ["once"]}),
        json!({"action": "deny", "reason": null}),
        json!({"action": null}),
        json!({"action": ["approve"]}),
    ];
    for (n, response) in lost.into_iter().enumerate() {
        let (status, problem) = ana.respond(&ask, &format!("k{n}"), response.clone()).await;
        assert_eq!(status, 422, "{response}: {problem}");
    }
    let (_, now) = ana.get("/v1/interactions").await;
    assert_eq!(now["interactions"][0]["state"], "open", "{now}");

    let session = ana.session("approve Bash {\"command\":\"rm\"}").await;
    let ask = ana.open_ask(&session).await;
    let tool_call = &ask["request"]["toolCallId"];
    for more in
        [json!({"editedInput": {"command": "ls"}}), json!({"edited_input": {}}), json!({"reason": "no"})]
    {
        let mut body = json!({"toolCallId": tool_call});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let (status, answer) = ana.post(&format!("/api/sessions/{session}/approve"), &body).await;
        assert_eq!(status, 422, "{body}: {answer}");
        let name = more.as_object().and_then(|more| more.keys().next()).expect("a name").clone();
        assert!(answer.to_string().contains(&name), "{answer}");
    }
    assert_eq!(ana.open_ask(&session).await["state"], "open");
}

#[tokio::test]
async fn errors_are_plain_english() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let question = |options: Value| {
        json!({"key": "k", "toolName": "t", "kind": "question",
            "questions": [{"id": "q", "header": "H", "question": "Which?", "options": options}]})
    };
    let cases = [
        ("/v1/interactions", question(json!(["a", "b"])), "questions[0].options[0]", "must be an object"),
        ("/v1/interactions", question(json!("a")), "questions[0].options", "must be a list"),
        (
            "/v1/interactions",
            json!({"key": "k", "toolName": "t"}),
            "kind",
            "`approval`, `question` or `form`",
        ),
        ("/v1/interactions", json!({"kind": "approval", "toolName": "t"}), "key", "is missing"),
        (
            "/v1/interactions",
            json!({"kind": "approval", "toolName": "t", "key": "k", "timeoutMs": -5}),
            "timeoutMs",
            "whole number",
        ),
        (
            "/v1/interactions",
            json!({"kind": "approval", "toolName": "t", "key": "k", "scopes": ["ever"]}),
            "scopes[0]",
            "must be",
        ),
        ("/v1/interactions", json!([]), "", "must be an object"),
        ("/v1/sessions", json!({}), "agent", "is missing"),
        ("/v1/sessions", json!({"agent": "scripted", "permissionMode": "yolo"}), "permissionMode", "must be"),
        (
            "/v1/sessions",
            json!({"agent": "scripted", "maxTurns": 5_000_000_000_u64}),
            "maxTurns",
            "whole number",
        ),
    ];
    for (path, body, field, words) in cases {
        let client = if path == "/v1/interactions" { &ci } else { &ana };
        let (status, problem) = client.post(path, &body).await;
        assert_eq!(status, 422, "{body}: {problem}");
        let said = problem["fieldErrors"][field].as_str().unwrap_or_default();
        assert!(said.contains(words), "{body}: {problem}");
        for rust in ["struct", "enum ", "expected", "u32", "line 1 column", "missing field", "variant"] {
            assert!(!detail(&problem).contains(rust), "{problem}");
        }
    }
    let bad_id = json!({"kind": "approval", "toolName": "t", "key": "k", "sessionId": "abc"});
    let (status, problem) = ci.post("/v1/interactions", &bad_id).await;
    assert_eq!(status, 422, "{problem}");
    assert!(detail(&problem).contains("session"), "{problem}");
}
