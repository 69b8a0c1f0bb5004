//! Streams: cursors, snapshots, and the end of the gateway.

use crate::running::{PATIENCE, Running};
use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn a_cursor_goes_on_where_it_was_without_gap_or_double() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say one\nsay two\ntool Read {} => ok\nsay three").await;
    let path = format!("/v1/sessions/{session}/events");
    let all = ana.follow(&path, |frame| frame.name == "done").await;
    assert_eq!((all[0].name.as_str(), &all[0].data["resume"]), ("resume", &json!("ok")));
    let seqs: Vec<u64> = all[1..].iter().map(|frame| frame.id.parse().expect("a seq")).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    for after in 0..seqs.len() {
        let rest = ana.follow(&format!("{path}?after={after}"), |frame| frame.name == "done").await;
        let ids: Vec<&str> = rest[1..].iter().map(|frame| frame.id.as_str()).collect();
        let wanted: Vec<String> = seqs[after..].iter().map(u64::to_string).collect();
        assert_eq!(ids, wanted);
    }
    let (_, page) = ana.get(&format!("{path}?after=2&limit=3")).await;
    assert_eq!(page["events"][0]["seq"], 3);
    assert_eq!(page["events"].as_array().expect("a list").len(), 3);
    assert_eq!(page["head"], *seqs.last().expect("one"));
}

#[tokio::test]
async fn a_cursor_beyond_the_end_gets_a_snapshot() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("say one").await;
    let path = format!("/v1/sessions/{session}/events");
    ana.follow(&path, |frame| frame.name == "done").await;
    let frames = ana.follow(&format!("{path}?after=100000"), |_| true).await;
    assert_eq!(frames[0].data["resume"], "gap");
    assert_eq!(frames[0].data["snapshot"]["sessionId"], json!(session));
}

#[tokio::test]
async fn the_inbox_stream_begins_with_a_snapshot_and_tells_of_changes() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("approve Bash {\"command\":\"ls\"}").await;
    let ask = ana.open_ask(&session).await;
    let mut answered = false;
    let follow = ana.follow("/v1/interactions/events", |frame| {
        if frame.name == "snapshot" {
            assert_eq!(
                frame.data["interactions"][0]["request"]["interactionId"],
                ask["request"]["interactionId"]
            );
            answered = true;
        }
        frame.name == "upsert" && frame.data["state"] == "settled"
    });
    let respond = async {
        // The stream may begin before or after the answer; both must end with the ask settled.
        ana.follow("/v1/interactions/events", |frame| frame.name == "snapshot").await;
        ana.respond(&ask, "k", json!({"action": "approve"})).await
    };
    let (frames, (status, _)) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(follow, respond) }).await.expect("in time");
    assert_eq!(status, 200);
    assert!(answered && !frames.is_empty());
}

#[tokio::test]
async fn streams_end_when_the_gateway_goes_away() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let session = ana.session("approve Bash {\"command\":\"ls\"}").await;
    ana.open_ask(&session).await;
    let path = format!("/v1/sessions/{session}/events");
    let response = ana.request(Method::GET, &path).send().await.expect("an answer");
    let ended = async {
        // The body ends by itself; it would hang for ever otherwise.
        drop(response.bytes().await);
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(running.gateway.stop(), ended) })
        .await
        .expect("in time");
}
