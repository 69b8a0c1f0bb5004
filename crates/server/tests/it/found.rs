//! Decisions as pages and whole, search, archive and snooze, over HTTP.

use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::{Client, Running};

async fn decide(person: &Client<'_>, script: &str, key: &str, response: Value) -> String {
    let session = person.session(script).await;
    let ask = person.open_ask(&session).await;
    let (status, said) = person.respond(&ask, key, response).await;
    assert_eq!(status, 200, "{said}");
    person.follow(&format!("/v1/sessions/{session}/events"), |frame| frame.name == "done").await;
    session
}

#[tokio::test]
async fn decisions_are_listed_searched_and_exported() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    decide(&ana, r#"approve Bash {"command":"=cmd|' /C calc'!A0"}"#, "1", json!({"action": "approve"})).await;
    let denied = json!({"action": "deny", "reason": "not on a \"Friday\", please"});
    let session = decide(&ana, r#"approve Bash {"command":"terraform destroy"}"#, "2", denied).await;
    let chosen = json!({"action": "submit", "answers": {"store": "PostgreSQL"}});
    decide(&ana, "ask Store: Where to? | SQLite | PostgreSQL", "3", chosen).await;

    let (status, page) = ana.get("/v1/decisions?limit=2").await;
    assert_eq!(status, 200, "{page}");
    let [answered, denied] = page["decisions"].as_array().expect("a list").as_slice() else {
        panic!("{page}")
    };
    assert_eq!(
        (&answered["kind"], &answered["words"]),
        (&json!("question"), &json!("PostgreSQL")),
        "{answered}"
    );
    assert!(answered["text"].as_str().is_some_and(|text| text.contains("Where to?")), "{answered}");
    assert_eq!((&answered["outcome"], &denied["outcome"]), (&json!("answered"), &json!("denied")));
    assert_eq!(denied["text"], "terraform destroy");
    assert_eq!(denied["by"], json!({"is": "person", "name": "ana"}));
    assert_eq!((&denied["surface"], &denied["sessionId"]), (&json!("api"), &json!(session)));
    assert_eq!(denied["words"], "not on a \"Friday\", please");
    let next = page["next"].as_str().expect("one more");
    let (_, last) = ana.get(&format!("/v1/decisions?limit=2&before={next}")).await;
    assert_eq!(
        (last["decisions"].as_array().map(Vec::len), &last["next"]),
        (Some(1), &Value::Null),
        "{last}"
    );

    for (query, expected) in
        [("terraform+dest", 1), ("friday", 1), ("postgres", 1), ("bash", 2), ("nothing", 0)]
    {
        let (status, found) = ana.get(&format!("/v1/decisions?q={query}")).await;
        assert_eq!(
            (status, found["decisions"].as_array().map(Vec::len)),
            (200, Some(expected)),
            "{query}: {found}"
        );
    }
    let (_, found) = ana.get("/v1/search?q=terraform+dest").await;
    let kinds: Vec<_> = found["results"].as_array().expect("a list").iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["decision", "call", "message"], "{found}");
    assert!(found["results"][0]["text"].as_str().is_some_and(|text| text.contains("destroy")), "{found}");
    assert_eq!(found["results"][0]["sessionId"], json!(session));

    let csv = ana.request(Method::GET, "/v1/decisions/export?format=csv").send().await.unwrap();
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let csv = csv.text().await.unwrap();
    let lines: Vec<_> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 4, "{csv}");
    assert!(lines[0].starts_with("decidedAt,openedAt,waitedMs,outcome,by,decider"), "{csv}");
    assert!(
        lines[2].contains(",denied,person,ana,") && lines[2].contains("\"not on a \"\"Friday\"\", please\""),
        "{csv}"
    );
    assert!(lines[3].contains(",'=cmd|' /C calc'!A0,"), "{csv}");
    let lines = ana
        .request(Method::GET, "/v1/decisions/export?format=jsonl")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]), (3, denied));
}

#[tokio::test]
async fn an_edited_approval_says_what_ran() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let edited = json!({"action": "approve", "scope": "once", "editedInput": {"command": "ls -l"}});
    decide(&ana, r#"approve Bash {"command":"ls"}"#, "1", edited).await;
    let (_, page) = ana.get("/v1/decisions").await;
    let decision = &page["decisions"][0];
    assert_eq!(decision["outcome"], "approved_with_edit", "{decision}");
    assert_eq!((&decision["text"], &decision["ran"]), (&json!("ls"), &json!("ls -l")), "{decision}");
    let csv = ana.request(Method::GET, "/v1/decisions/export?format=csv").send().await.unwrap();
    let csv = csv.text().await.unwrap();
    assert!(csv.contains(",approved_with_edit,person,ana,") && csv.contains(",ls,ls -l,"), "{csv}");
}

#[tokio::test]
async fn odd_queries_are_answered_and_strangers_find_nothing() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = decide(&ana, r#"approve Bash {"command":"ls"}"#, "1", json!({"action": "approve"})).await;
    for odd in ["", "%22", "%27", "%00", "a%22+OR+%22b", "*", "NEAR(", "%F0%9F%98%80", "%E2%80%AE"] {
        for route in ["/v1/search", "/v1/decisions"] {
            let (status, said) = ana.get(&format!("{route}?q={odd}")).await;
            assert_eq!(status, 200, "{route} {odd}: {said}");
        }
    }
    for wrong in [
        format!("/v1/search?q={}", "x".repeat(10_000)),
        format!("/v1/decisions?q={}", "x".repeat(10_000)),
        "/v1/search?q=ls&before=1~2~3".to_owned(),
        "/v1/decisions?before=soon".to_owned(),
        "/v1/decisions/export?format=xml".to_owned(),
        "/v1/decisions/export".to_owned(),
        "/v1/search".to_owned(),
    ] {
        let (status, said) = ana.get(&wrong).await;
        assert!((400..500).contains(&status), "{status} {said}");
        assert!(said["detail"].as_str().is_some_and(|words| !words.contains("struct")), "{said}");
    }
    let agent = running.client_in(Role::Agent, "bot", Some(session.parse().unwrap())).await;
    for route in ["/v1/search?q=ls", "/v1/decisions", "/v1/decisions/export?format=csv"] {
        assert_eq!(agent.get(route).await.0, 403, "{route}");
    }
}

#[tokio::test]
async fn sessions_are_archived_and_asks_snoozed_by_people_alone() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session(r#"approve Bash {"command":"ls"}"#).await;
    let ask = ana.open_ask(&session).await;
    let archive = format!("/v1/sessions/{session}/archive");
    let (status, refused) = ana.post(&archive, &json!({})).await;
    assert_eq!((status, &refused["code"]), (409, &json!("conflict")), "{refused}");
    assert!(
        refused["detail"].as_str().is_some_and(|words| words.starts_with("One ask of this session waits")),
        "{refused}"
    );

    let id = ask["request"]["interactionId"].as_str().expect("an id");
    let snooze = format!("/v1/interactions/{id}/snooze");
    let put = async |who: &Client<'_>, until: &str| {
        let body = json!({"promptId": ask["request"]["promptId"], "until": until});
        let sent = who.request(Method::PUT, &snooze).json(&body).send().await.unwrap();
        (sent.status().as_u16(), sent.json::<Value>().await.unwrap())
    };
    let soon =
        running.gateway.journal().now().await.unwrap().after(std::time::Duration::from_secs(600)).to_string();
    let viewer = running.client(Role::Viewer, "vic").await;
    assert_eq!(put(&viewer, &soon).await.0, 403);
    let (status, wrong) = put(&ana, "2020-01-01T00:00:00Z").await;
    assert_eq!((status, wrong["fieldErrors"]["until"].is_string()), (422, true), "{wrong}");
    let (status, snoozed) = put(&ana, &soon).await;
    assert_eq!(
        (status, &snoozed["snoozedUntil"], &snoozed["snoozedBy"]),
        (200, &json!(soon), &json!("ana")),
        "{snoozed}"
    );
    let (status, shown) = ana.delete(&snooze).await;
    assert_eq!((status, &shown["snoozedUntil"]), (200, &Value::Null), "{shown}");

    ana.respond(&ask, "k", json!({"action": "approve"})).await;
    ana.follow(&format!("/v1/sessions/{session}/events"), |frame| frame.name == "done").await;
    let (status, archived) = ana.post(&archive, &json!({})).await;
    assert_eq!((status, &archived["archived"]["by"]), (200, &json!("ana")), "{archived}");
    assert_eq!(archived["lastStop"], "completed");
    let listed = async |state: &str| {
        ana.get(&format!("/v1/sessions{state}")).await.1["sessions"].as_array().map(Vec::len)
    };
    assert_eq!(
        (listed("").await, listed("?state=open").await, listed("?state=archived").await),
        (Some(0), Some(0), Some(1))
    );
    let (status, back) = ana.delete(&archive).await;
    assert_eq!((status, &back["archived"]), (200, &Value::Null), "{back}");
    assert_eq!(listed("").await, Some(1));
}
