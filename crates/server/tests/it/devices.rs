//! A person's devices, and logging them out.

use holdstead_client::Browser;
use holdstead_protocol::api::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::running::Running;

fn names(page: &Value) -> Vec<&str> {
    let devices = page["devices"].as_array().expect("a list");
    devices.iter().map(|device| device["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn a_person_sees_their_own_devices_and_when_each_was_used() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    running.client(Role::Person, "ben").await;
    let (_, link) = ana.post("/v1/login-links", &json!({})).await;
    let signer = Browser::new(&running.url);
    let code = json!({"code": link["code"]});
    let phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1";
    // The gateway does not know it yet, and gives it a nonce.
    assert_eq!(signer.send(Method::GET, "/v1/me", None).await.expect("an answer").status(), 401);
    let signature = signer.sign("POST", "/v1/login", code.to_string().as_bytes());
    let login = running.plain(Method::POST, "/v1/login").header("authorization", signature).json(&code);
    assert_eq!(login.header("user-agent", phone).send().await.expect("an answer").status(), 200);

    let (status, page) = ana.get("/v1/devices").await;
    assert_eq!(status, 200, "{page}");
    assert_eq!(names(&page), ["Token", "Safari on iPhone"]);
    let [token, browser] = page["devices"].as_array().expect("a list").as_slice() else { panic!("{page}") };
    assert_eq!((&token["current"], &browser["current"]), (&json!(true), &json!(false)));
    assert_eq!((&token["kind"], &browser["kind"]), (&json!("token"), &json!("browser")));
    assert!(browser.get("lastUsedAt").is_none() && browser.get("expiresAt").is_some(), "{browser}");
    // Its key is no secret. A request that only names it is no use of the device, and does not keep it logged in.
    let forged = signer.sign("POST", "/v1/me", b"");
    let forged = running.plain(Method::GET, "/v1/me").header("authorization", forged).send().await;
    assert_eq!(forged.expect("an answer").status(), 401);
    let (_, me) = ana.get("/v1/me").await;
    assert_eq!(me["deviceId"], token["deviceId"]);

    // Written once a minute, not with every request.
    let used = running.device(&ana.token).await;
    let first = loop {
        if let Some(at) = running.device(&ana.token).await.last_used_at {
            break at;
        }
        tokio::task::yield_now().await;
    };
    assert!(first >= used.created_at);
    for _ in 0..5 {
        ana.get("/v1/me").await;
    }
    assert_eq!(running.device(&ana.token).await.last_used_at, Some(first));
    let (_, page) = ana.get("/v1/devices").await;
    assert!(page["devices"][1].get("lastUsedAt").is_none(), "{page}");
}

#[tokio::test]
async fn one_logs_out_what_is_ones_own_and_an_admin_anybodys() {
    let running = Running::start().await;
    let ana = running.client(Role::Person, "ana").await;
    let phone = running.client(Role::Person, "ana").await;
    let ben = running.client(Role::Person, "ben").await;
    let screen = running.client(Role::Viewer, "screen").await;
    let admin = running.client(Role::Admin, "root").await;
    let agent = running.client(Role::Agent, "ci").await;
    let path = async |token: &str| format!("/v1/devices/{}", running.device(token).await.id);

    let phones = path(&phone.token).await;
    for other in [&ben, &screen] {
        assert_eq!(other.delete(&phones).await.0, 404, "it is not theirs");
    }
    assert_eq!(agent.delete(&path(&agent.token).await).await.0, 403);
    assert_eq!(agent.get("/v1/devices").await.0, 403);
    assert_eq!(phone.get("/v1/me").await.0, 200);
    assert_eq!(ana.delete(&phones).await.0, 204);
    assert_eq!(phone.get("/v1/me").await.0, 401);
    assert_eq!(ana.delete(&phones).await.0, 204, "again is as good as once");
    assert_eq!(names(&ana.get("/v1/devices").await.1), ["Token"]);

    assert_eq!(admin.delete(&path(&agent.token).await).await.0, 204);
    assert_eq!(agent.get("/v1/me").await.0, 401);
    assert_eq!(screen.delete(&path(&screen.token).await).await.0, 204);
    assert_eq!(screen.get("/v1/me").await.0, 401);

    let tablet = running.client(Role::Person, "ana").await;
    assert_eq!(tablet.delete("/v1/devices").await.0, 204);
    for gone in [&ana, &tablet] {
        assert_eq!(gone.get("/v1/me").await.0, 401);
    }
    assert_eq!(ben.get("/v1/me").await.0, 200);
}

#[tokio::test]
async fn a_name_is_one_persons() {
    let running = Running::start().await;
    let journal = running.gateway.journal().as_ref();
    let owner = holdstead_protocol::OwnerId::new("local").expect("a name");
    let issue =
        async |role, name: &str| holdstead_server::issue_token(journal, &owner, role, name, None).await;
    issue(Role::Person, "ana").await.expect("a token");
    issue(Role::Person, "ANA").await.expect("another device of hers");
    for (role, name) in [(Role::Agent, "ana"), (Role::Viewer, "Ana"), (Role::Admin, "ana")] {
        let refused = issue(role, name).await.expect_err("it is taken");
        assert_eq!(refused.to_string(), "The name ana belongs to a person.");
    }
    for name in ["", "a\u{1b}b", "a\u{202e}b", &"x".repeat(65)] {
        assert!(issue(Role::Person, name).await.is_err(), "{name:?}");
    }
    let people = journal.people(&owner).await.expect("a list");
    assert_eq!(people.iter().map(|person| person.name.as_str()).collect::<Vec<_>>(), ["ana"]);
}
