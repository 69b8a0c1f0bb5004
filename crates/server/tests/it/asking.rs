//! Any program asks.

use crate::running::Running;
use holdstead_protocol::api::Role;
use holdstead_protocol::{OwnerId, SessionId};
use serde_json::json;

#[tokio::test]
async fn a_program_asks_waits_and_gets_the_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call =
        json!({"key": "deploy-42", "kind": "approval", "toolName": "deploy", "input": {"to": "production"}});
    let (status, ask) = ci.post("/v1/interactions", &call).await;
    assert_eq!(status, 201, "{ask}");
    let (_, again) = ci.post("/v1/interactions", &call).await;
    assert_eq!(again["request"]["interactionId"], ask["request"]["interactionId"], "one key is one ask");

    let path =
        format!("/v1/interactions/{}?wait=20s", ask["request"]["interactionId"].as_str().expect("an id"));
    let (answered, (status, settled)) = tokio::join!(
        ana.respond(&ask, "k", json!({"action": "deny", "reason": "not on Friday"})),
        ci.get(&path),
    );
    assert_eq!(answered.0, 200);
    assert_eq!((status, &settled["settlement"]), (200, &json!("denied")), "{settled}");
    assert_eq!(settled["response"]["reason"], "not on Friday");
    // It is written with what comes next.
    let next = json!({"key": "next", "kind": "approval", "toolName": "deploy", "input": {}});
    assert_eq!(ci.post("/v1/interactions", &next).await.0, 201);
    let (_, after) = ci.get(&path).await;
    assert_eq!(after["delivery"]["delivery"], "acknowledged", "{after}");
}

#[tokio::test]
async fn only_the_token_that_asked_withdraws_an_ask_and_not_after_an_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = |key: &str| json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {}});
    let path = |ask: &serde_json::Value| {
        format!("/v1/interactions/{}", ask["request"]["interactionId"].as_str().expect("an id"))
    };
    let (_, ask) = ci.post("/v1/interactions", &call("a")).await;
    // The same name is another device.
    let again = running.client(Role::Agent, "ci").await;
    for other in [&ana, &again] {
        let (status, problem) = other.delete(&path(&ask)).await;
        assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
    }
    for _ in 0..2 {
        let (status, withdrawn) = ci.delete(&path(&ask)).await;
        assert_eq!((status, &withdrawn["closing"]), (200, &json!("withdrawn")), "{withdrawn}");
    }
    assert_eq!(ana.respond(&ask, "k", json!({"action": "approve"})).await.0, 410);
    let (_, page) = ana.get("/v1/decisions").await;
    assert_eq!(page["decisions"][0]["outcome"], "withdrawn", "{page}");
    let csv = ana.request(reqwest::Method::GET, "/v1/decisions/export?format=csv").send().await.expect("200");
    assert!(csv.text().await.expect("a table").contains(",withdrawn,"));

    let (_, ask) = ci.post("/v1/interactions", &call("b")).await;
    assert_eq!(ana.respond(&ask, "l", json!({"action": "deny"})).await.0, 200);
    let (status, problem) = ci.delete(&path(&ask)).await;
    assert_eq!((status, &problem["winner"]["action"]), (409, &json!("deny")), "{problem}");
}

#[tokio::test]
async fn whoever_asked_can_say_where_to_answer_while_they_wait() {
    let running = Running::start().await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {"to": "production"}});
    let asked = ci.request(reqwest::Method::POST, "/v1/interactions").json(&call).send().await.expect("201");
    let header = |name: &str| asked.headers()[name].to_str().expect("a text").to_owned();
    let (location, link) = (header("location"), header("link"));
    let ask: serde_json::Value = asked.json().await.expect("an ask");
    let id = ask["request"]["interactionId"].as_str().expect("an id");
    assert_eq!(location, format!("/v1/interactions/{id}"));
    let session = ask["sessionId"].as_str().expect("a session");
    assert_eq!(link, format!("</sessions/{session}?ask={id}>; rel=\"alternate\"; type=\"text/html\""));
    assert_eq!(ci.get(&location).await.1["request"]["interactionId"], id);
}

#[tokio::test]
async fn a_list_of_sessions_can_leave_out_those_that_ended() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let gone = ana.session("say bye").await;
    let waits = ana.session("ask Store: Which store? | SQLite").await;
    ana.open_ask(&waits).await;
    assert!(ana.delete(&format!("/v1/sessions/{gone}")).await.0 < 300);
    let listed = async |state: &str| {
        let (status, page) = ana.get(&format!("/v1/sessions{state}")).await;
        assert_eq!(status, 200, "{page}");
        let sessions = page["sessions"].as_array().expect("a list").clone();
        sessions.iter().map(|one| one["sessionId"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("").await, [waits.clone(), gone.clone()]);
    assert_eq!(listed("?state=all").await, [waits.clone(), gone.clone()]);
    assert_eq!(listed("?state=open").await, std::slice::from_ref(&waits));
    assert_eq!(listed("?state=waiting").await, [waits]);
    assert_eq!(listed("?state=ended").await, [gone]);
    let (status, problem) = ana.get("/v1/sessions?state=asleep").await;
    assert_eq!(status, 422, "{problem}");
    assert!(
        problem["fieldErrors"]["state"].as_str().is_some_and(|why| why.contains("`parked`")),
        "{problem}"
    );
}

#[tokio::test]
async fn an_agents_token_can_ask_and_never_answer() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say hello").await;
    let own = session.parse().expect("a session id");
    let agent = running.client_in(Role::Agent, "agent", Some(own)).await;
    let call = json!({"key": "k", "kind": "approval", "toolName": "rm", "input": {}});
    let (status, ask) = agent.post("/v1/interactions", &call).await;
    assert_eq!((status, &ask["sessionId"]), (201, &json!(session)));
    let (status, problem) = agent.respond(&ask, "k", json!({"action": "approve"})).await;
    assert_eq!((status, &problem["code"]), (403, &json!("forbidden")));

    let other = ana.session("say hello").await;
    let (status, _) = agent.get(&format!("/v1/sessions/{other}")).await;
    assert_eq!(status, 403, "it sees its own session only");
    let (status, _) = agent.get(&format!("/v1/sessions/{session}")).await;
    assert_eq!(status, 200);
    let (status, _) = agent.get("/v1/interactions").await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn a_program_asks_in_its_own_session_only() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = |key: &str| json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {}});
    let within = |key: &str, session: &serde_json::Value| {
        let mut call = call(key);
        call["sessionId"] = session.clone();
        call
    };
    let (_, own) = ci.post("/v1/interactions", &call("own")).await;
    let (status, again) = ci.post("/v1/interactions", &within("named", &own["sessionId"])).await;
    assert_eq!((status, &again["sessionId"]), (201, &own["sessionId"]), "its own, by its name");

    let other = running.client(Role::Agent, "other").await;
    let (_, others) = other.post("/v1/interactions", &call("others")).await;
    let hosted = json!(ana.session("say hello").await);
    for session in [&others["sessionId"], &hosted] {
        let (status, problem) = ci.post("/v1/interactions", &within("oracle", session)).await;
        assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
        assert_eq!(ana.post("/v1/interactions", &within("a person", session)).await.0, 201);
    }
}

#[tokio::test]
async fn a_changed_ask_under_the_same_key_is_refused() {
    let running = Running::start().await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = |to: &str| json!({"key": "k", "kind": "approval", "toolName": "deploy", "input": {"to": to}});
    assert_eq!(ci.post("/v1/interactions", &call("staging")).await.0, 201);
    let (status, problem) = ci.post("/v1/interactions", &call("production")).await;
    assert_eq!((status, &problem["code"]), (422, &json!("idempotency_key_reused")));
}

#[tokio::test]
async fn the_inbox_pages_by_age() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let mut asked = Vec::new();
    for n in 0..5 {
        let call =
            json!({"key": format!("k{n}"), "kind": "approval", "toolName": "deploy", "input": {"n": n}});
        asked.push(ci.post("/v1/interactions", &call).await.1["request"]["interactionId"].clone());
    }
    let mut seen = Vec::new();
    let mut place = String::new();
    for _ in 0..5 {
        let (_, page) = ana.get(&format!("/v1/interactions?limit=2{place}")).await;
        let asks = page["interactions"].as_array().expect("a list").clone();
        seen.extend(asks.iter().map(|ask| ask["request"]["interactionId"].clone()));
        match page["next"].as_str() {
            Some(next) => place = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, asked);
}

#[tokio::test]
async fn an_input_is_edited_and_an_approval_remembered_only_where_the_program_offers_it() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let call = |key: &str, more: serde_json::Value| {
        let mut call =
            json!({"key": key, "kind": "approval", "toolName": "deploy", "input": {"to": "production"}});
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        call
    };
    let edited = json!({"action": "approve", "editedInput": {"to": "staging"}});
    let remembered = json!({"action": "approve", "scope": "session"});

    let (_, plain) = ci.post("/v1/interactions", &call("plain", json!({}))).await;
    assert_eq!(ana.respond(&plain, "a", edited.clone()).await.0, 422);
    assert_eq!(ana.respond(&plain, "b", remembered.clone()).await.0, 422);

    let (_, ask) = ci.post("/v1/interactions", &call("edit", json!({"editable": true}))).await;
    assert_eq!(ana.respond(&ask, "a", edited).await.0, 200);
    let (_, settled) = ci.post("/v1/interactions", &call("edit", json!({"editable": true}))).await;
    assert_eq!(settled["response"]["editedInput"], json!({"to": "staging"}), "{settled}");

    let offered = json!({"scopes": ["session"]});
    let (_, ask) = ci.post("/v1/interactions", &call("first", offered.clone())).await;
    assert_eq!(ana.respond(&ask, "a", remembered).await.0, 200);
    let (_, second) = ci.post("/v1/interactions", &call("second", offered)).await;
    assert_eq!(second["settlement"], "approved", "{second}");
    assert_eq!(second["response"]["by"], "grant", "{second}");

    let (status, problem) = ci.post("/v1/interactions", &call("all", json!({"scopes": ["always"]}))).await;
    assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{problem}");
}

#[tokio::test]
async fn a_form_by_its_schema_is_shown_checked_and_asked_again_with_what_was_typed() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let ci = running.client(Role::Agent, "ci").await;
    let schema = json!({
        "type": "object",
        "properties": {"mail": {"type": "string", "format": "email", "title": "Mail"}},
        "required": ["mail"],
    });
    let form = json!({"title": "You", "schema": schema});
    let call = json!({"key": "k", "kind": "form", "toolName": "signup", "form": form});
    let (status, ask) = ci.post("/v1/interactions", &call).await;
    assert_eq!(status, 201, "{ask}");
    let field = json!({"id": "mail", "label": "Mail", "required": true, "type": "text", "format": "email"});
    assert_eq!(ask["request"]["form"], json!({"title": "You", "fields": [field]}));
    let (status, problem) =
        ana.respond(&ask, "a", json!({"action": "submit", "input": {"mail": "ana"}})).await;
    assert_eq!((status, &problem["fieldErrors"]["mail"]), (422, &json!("must be an email address")));
    let given = json!({"mail": "ana@example.org"});
    assert_eq!(ana.respond(&ask, "b", json!({"action": "submit", "input": given})).await.0, 200);

    let mut again = call.clone();
    again["key"] = json!("k, again");
    again["error"] = json!("Not yet.");
    again["fieldErrors"] = json!({"mail": "is taken"});
    again["initialValues"] = given.clone();
    let (status, ask) = ci.post("/v1/interactions", &again).await;
    assert_eq!(status, 201, "{ask}");
    let request = &ask["request"];
    assert_eq!((&request["error"], &request["initialValues"]), (&json!("Not yet."), &given));
    assert_eq!(request["fieldErrors"], json!({"mail": "is taken"}));

    let mut both = call.clone();
    both["key"] = json!("both");
    both["form"]["fields"] = json!([{"id": "a", "label": "A", "type": "checkbox"}]);
    let mut nested = call;
    nested["key"] = json!("nested");
    nested["form"]["schema"]["properties"]["address"] = json!({"type": "object", "properties": {}});
    for (call, words) in [(both, "give one of them"), (nested, "a form is flat")] {
        let (status, problem) = ci.post("/v1/interactions", &call).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{problem}");
    }
}

#[tokio::test]
async fn an_ask_in_other_words_is_taken_and_what_has_no_meaning_is_refused_with_a_hint() {
    let running = Running::start().await;
    let ci = running.client(Role::Agent, "ci").await;
    let approval = json!({"key": "a", "kind": "approval", "toolName": "deploy", "input": {"to": "production"},
        "prompt": "Deploy to production?", "approvalScopes": ["once", "session"], "presentation": "tool"});
    let (status, ask) = ci.post("/v1/interactions", &approval).await;
    assert_eq!(status, 201, "{ask}");
    assert_eq!(ask["request"]["agentSays"], "Deploy to production?");
    let scopes: Vec<_> = ask["request"]["offeredScopes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|offer| &offer["scope"])
        .collect();
    assert_eq!(scopes, ["once", "session"]);
    assert_eq!(ask["request"]["presentation"], "tool");

    let form = json!({"key": "f", "kind": "form", "toolName": "release",
        "form": {"fields": [{"id": "v", "label": "Version", "type": "text", "defaultValue": "1.2"}]},
        "completedView": {"showInputs": true, "summaryTemplate": "Release {{v}}"}});
    let (status, ask) = ci.post("/v1/interactions", &form).await;
    assert_eq!(status, 201, "{ask}");
    assert_eq!(ask["request"]["form"]["fields"][0]["default"], "1.2");
    assert_eq!(
        ask["request"]["completedView"],
        json!({"showInputs": true, "summaryTemplate": "Release {{v}}"})
    );
    assert_eq!(ask["request"]["presentation"], "questionnaire");

    for (more, field, words) in [
        (json!({"hold": {"afterMs": 1, "then": "wait"}}), "hold", "timeoutMs"),
        (json!({"prompt": "a", "agentSays": "b"}), "prompt", "not known"),
        (json!({"presentation": "popup"}), "presentation", "`tool` or `questionnaire`"),
        (json!({"completedView": {"showInput": true}}), "completedView.showInput", "not known"),
    ] {
        let mut call = json!({"key": "x", "kind": "approval", "toolName": "deploy", "input": 1});
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let (status, problem) = ci.post("/v1/interactions", &call).await;
        assert_eq!(status, 422, "{problem}");
        let said = problem["fieldErrors"][field].as_str().unwrap_or_default();
        assert!(said.contains(words), "{call}: {problem}");
    }
}

#[tokio::test]
async fn allowed_tools_are_rules_and_a_wrong_one_is_refused_with_a_hint() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    for (wrong, hint) in [
        ("Bash", "name the commands"),
        ("Bash(git:*)", "Bash(git status:*)"),
        ("Read,Write", "no tool's name"),
        ("*", "name the tool"),
        ("", "without a tool"),
    ] {
        let open = json!({"agent": "scripted", "allowedTools": ["Read", wrong]});
        let (status, problem) = ana.post("/v1/sessions", &open).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid")), "{wrong}: {problem}");
        let said = problem["fieldErrors"]["allowedTools"].as_str().unwrap_or_default();
        assert!(said.contains(hint), "{wrong}: {problem}");
    }
    let tools = ["Read", "mcp__my-server__do.it", "mcp__x__*", "Bash(git log:*)"];
    let open = json!({"agent": "scripted", "allowedTools": tools});
    assert_eq!(ana.post("/v1/sessions", &open).await.0, 201);
}

#[tokio::test]
async fn a_call_is_explained_part_by_part_and_to_people_only() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let (_, session) = ana.post("/v1/sessions", &json!({"agent": "scripted"})).await;
    let call = |line: &str| json!({"sessionId": session["sessionId"], "toolName": "Bash", "input": {"command": line}});
    assert_eq!(ana.post("/v1/rules", &json!({"line": "allow Bash(echo:*)"})).await.0, 201);
    assert_eq!(ana.post("/v1/rules", &json!({"line": "deny Bash(rm:*) # Not here"})).await.0, 201);

    let (status, said) = ana.post("/v1/rules/explain", &call("echo a && rm x")).await;
    assert_eq!((status, &said["verdict"]["effect"]), (200, &json!("deny")), "{said}");
    assert_eq!(said["verdict"]["reason"], "Not here");
    let parts = &said["verdict"]["parts"];
    assert_eq!((&parts[0]["text"], &parts[0]["effect"]), (&json!("echo a"), &json!("allow")), "{said}");
    assert_eq!((&parts[1]["text"], &parts[1]["effect"]), (&json!("rm x"), &json!("deny")), "{said}");
    assert_eq!(parts[1]["rule"]["text"], "deny Bash(rm:*) # Not here");
    assert_eq!(parts[1]["rule"]["layer"], "person");
    assert_eq!((&said["decidedBy"]["by"], &said["marks"][0]["risk"]), (&json!("rules"), &json!("deletes")));

    let (_, said) = ana.post("/v1/rules/explain", &call("pwd")).await;
    assert_eq!(said["verdict"]["effect"], "ask", "{said}");
    assert_eq!((said.get("decidedBy"), &said["offers"][0][0]), (None, &json!("allow Bash(pwd)")), "{said}");

    let asks = ana.get("/v1/interactions?state=open").await.1;
    assert_eq!(asks["interactions"], json!([]), "nobody was asked");
    for (role, name) in [(Role::Viewer, "vic"), (Role::Runner, "bot"), (Role::Agent, "ci")] {
        let other = running.client(role, name).await;
        assert_eq!(other.post("/v1/rules/explain", &call("ls")).await.0, 403);
    }
    let nobodys = SessionId::derive(&OwnerId::new("ada").expect("a name"), "none");
    let unknown = json!({"sessionId": nobodys, "toolName": "Bash", "input": {}});
    assert_eq!(ana.post("/v1/rules/explain", &unknown).await.0, 404);
}
