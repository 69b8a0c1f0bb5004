//! Passkeys over HTTP: what needs one, what one confirms, and that nothing of it is used for something else.

use holdstead_core::{base64url, from_base64url};
use holdstead_protocol::api::Role;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::running::{Client, Running};

const MARKED: &str = "approve Bash {\"command\":\"rm -rf build\"}";
const CREDENTIAL: &[u8] = b"a credential";

/// A person's device that knows their finger, and the page it is used on.
struct Finger {
    key: SigningKey,
    origin: String,
}

impl Finger {
    fn new(running: &Running) -> Self {
        let (_, port) = running.url.rsplit_once(':').expect("a port");
        let key = SigningKey::from_slice(&[7; 32]).expect("a key");
        Self { key, origin: format!("http://localhost:{port}") }
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> Vec<u8> {
        json!({"type": kind, "challenge": challenge, "origin": self.origin}).to_string().into_bytes()
    }

    /// Somebody was there, and the device knew them.
    fn device(extra: u8) -> Vec<u8> {
        [Sha256::digest(b"localhost").as_slice(), &[0x05 | extra], &[0; 4]].concat()
    }

    async fn challenge(&self, client: &Client<'_>, purpose: &Value) -> (u16, Value) {
        let host = self.origin.trim_start_matches("http://");
        let request = client.request(Method::POST, "/v1/passkeys/challenges");
        let request = request.header("origin", &self.origin).header("host", host).json(purpose);
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.expect("JSON"))
    }

    /// What the browser brings of a passkey that it made.
    async fn made(&self, client: &Client<'_>) -> Value {
        let (status, asked) = self.challenge(client, &json!({"purpose": "register"})).await;
        assert_eq!(status, 201, "{asked}");
        let point = self.key.verifying_key().to_sec1_point(false);
        let (x, y) = point.as_bytes()[1..].split_at(32);
        let length = u16::try_from(CREDENTIAL.len()).expect("short").to_be_bytes();
        let key = [&[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20], x, &[0x22, 0x58, 0x20], y]
            .concat();
        let data = [&Self::device(0x40)[..], &[0; 16], &length, CREDENTIAL, &key].concat();
        json!({
            "challenge": asked["challenge"],
            "name": "laptop",
            "clientData": base64url(&self.client_data("webauthn.create", &asked["challenge"])),
            "authenticatorData": base64url(&data),
        })
    }

    /// A passkey's answer to a challenge for this purpose, not handed over yet.
    async fn answer(&self, client: &Client<'_>, purpose: &Value) -> Value {
        let (status, asked) = self.challenge(client, purpose).await;
        assert_eq!(status, 201, "{asked}");
        assert_eq!(asked["credentials"], json!([base64url(CREDENTIAL)]));
        let (client_data, device) = (self.client_data("webauthn.get", &asked["challenge"]), Self::device(0));
        let signed = [device.as_slice(), Sha256::digest(&client_data).as_slice()].concat();
        let signature: Signature = self.key.sign(&signed);
        json!({
            "challenge": asked["challenge"],
            "credentialId": base64url(CREDENTIAL),
            "clientData": base64url(&client_data),
            "authenticatorData": base64url(&device),
            "signature": base64url(signature.to_der().as_bytes()),
        })
    }

    async fn confirm(&self, client: &Client<'_>, purpose: &Value) {
        let answer = self.answer(client, purpose).await;
        let (status, problem) = client.post("/v1/passkeys/confirmations", &answer).await;
        assert_eq!(status, 204, "{problem}");
    }
}

async fn require(client: &Client<'_>, required: bool) -> u16 {
    let request = client.request(Method::PUT, "/v1/passkeys/requirement");
    request.json(&json!({"required": required})).send().await.expect("an answer").status().as_u16()
}

/// Has one, and requires it.
async fn required<'a>(running: &'a Running) -> (Client<'a>, Finger) {
    let (ana, finger) = (running.client(Role::Person, "ana").await, Finger::new(running));
    let (status, page) = ana.post("/v1/passkeys", &finger.made(&ana).await).await;
    assert_eq!((status, &page["required"]), (201, &json!(false)), "{page}");
    assert_eq!(require(&ana, true).await, 204);
    (ana, finger)
}

fn approval(ask: &Value) -> Value {
    let request = &ask["request"];
    let response = json!({"action": "approve"});
    json!({"purpose": "approve", "interactionId": request["interactionId"], "promptId": request["promptId"],
        "response": response})
}

#[tokio::test]
async fn what_is_marked_is_approved_with_a_passkeys_answer_to_exactly_that_and_once() {
    let running = Running::start().await;
    let (ana, finger) = required(&running).await;
    let session = ana.session(MARKED).await;
    let ask = ana.open_ask(&session).await;
    let other = ana.open_ask(&ana.session(MARKED).await).await;
    let approve = json!({"action": "approve"});

    let (status, problem) = ana.respond(&ask, "k1", approve.clone()).await;
    assert_eq!((status, &problem["code"]), (403, &json!("passkey_required")), "{problem}");
    finger.confirm(&ana, &approval(&other)).await;
    assert_eq!(ana.respond(&ask, "k1", approve.clone()).await.0, 403, "that was for another one");
    finger.confirm(&ana, &approval(&ask)).await;
    let edited = json!({"action": "approve", "editedInput": {"command": "rm -rf /"}});
    assert_eq!(ana.respond(&ask, "k1", edited).await.0, 403, "it confirmed this input, and no other");
    let phone = running.client(Role::Person, "ana").await;
    assert_eq!(phone.respond(&ask, "k1", approve.clone()).await.0, 403, "it was confirmed elsewhere");

    let (status, receipt) = ana.respond(&ask, "k1", approve.clone()).await;
    assert_eq!((status, &receipt["settlement"]), (200, &json!("approved")), "{receipt}");
    assert_eq!(ana.respond(&ask, "k1", approve.clone()).await.0, 200, "the same answer, sent again");
    assert_eq!(ana.respond(&other, "k2", json!({"action": "deny"})).await.0, 200, "to deny takes none");
}

#[tokio::test]
async fn an_answer_is_taken_once_from_whoever_was_asked_and_only_as_it_was_signed() {
    let running = Running::start().await;
    let (ana, finger) = required(&running).await;
    let ask = ana.open_ask(&ana.session(MARKED).await).await;
    let purpose = approval(&ask);
    let path = "/v1/passkeys/confirmations";

    let forged = |mut answer: Value, field: &str| {
        let mut bytes = from_base64url(answer[field].as_str().expect("text")).expect("bytes");
        *bytes.last_mut().expect("some") ^= 1;
        answer[field] = json!(base64url(&bytes));
        answer
    };
    for field in ["clientData", "authenticatorData", "signature", "credentialId", "challenge"] {
        let answer = finger.answer(&ana, &purpose).await;
        let (status, problem) = ana.post(path, &forged(answer, field)).await;
        assert!((400..500).contains(&status) && problem["detail"].is_string(), "{field}: {status} {problem}");
    }
    assert_eq!(ana.respond(&ask, "k", json!({"action": "approve"})).await.0, 403, "nothing was confirmed");

    let answer = finger.answer(&ana, &purpose).await;
    let ben = running.client(Role::Person, "ben").await;
    let (status, problem) = ben.post(path, &answer).await;
    assert!((400..500).contains(&status), "{status} {problem}");
    assert_eq!(ana.post(path, &answer).await.0, 204);
    let (status, problem) = ana.post(path, &answer).await;
    assert!((400..500).contains(&status), "again: {status} {problem}");
}

#[tokio::test]
async fn neither_the_rule_nor_its_passkeys_go_without_one() {
    let running = Running::start().await;
    let (ana, finger) = required(&running).await;
    let (_, page) = ana.get("/v1/passkeys").await;
    let id = page["passkeys"][0]["passkeyId"].as_str().expect("an id").to_owned();
    let path = format!("/v1/passkeys/{id}");

    assert_eq!(require(&ana, false).await, 403);
    assert_eq!(ana.delete(&path).await.0, 403);
    let made = finger.made(&ana).await;
    assert_eq!(ana.post("/v1/passkeys", &made).await.0, 403, "one that is added could confirm the rest");
    let auto = json!({"agent": "scripted", "title": "shop-api", "permissionMode": "auto"});
    let (status, problem) = ana.post("/v1/sessions", &auto).await;
    assert_eq!((status, &problem["code"]), (403, &json!("passkey_required")), "{problem}");

    finger.confirm(&ana, &json!({"purpose": "open_session", "session": auto})).await;
    assert_eq!(ana.post("/v1/sessions", &auto).await.0, 201);
    assert_eq!(ana.post("/v1/sessions", &auto).await.0, 403, "once");
    let ben = running.client(Role::Person, "ben").await;
    assert_eq!(ben.delete(&path).await.0, 404, "it is not theirs");
    finger.confirm(&ana, &json!({"purpose": "remove_passkey", "passkeyId": id})).await;
    assert_eq!(ana.delete(&path).await.0, 204);
    let (_, page) = ana.get("/v1/passkeys").await;
    assert_eq!(page, json!({"passkeys": [], "required": false}), "with the last one the rule goes");
}

#[tokio::test]
async fn what_counts_widely_takes_a_passkeys_answer_to_exactly_that_and_once() {
    let running = Running::start().await;
    let (ana, finger) = required(&running).await;
    let session = |more: Value| {
        let mut body = json!({"agent": "scripted", "title": "shop-api"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        ("/v1/sessions", json!({"purpose": "open_session", "session": body}), body)
    };
    let rule = json!({"line": "allow Bash(make test)"});
    for (path, purpose, body) in [
        session(json!({"mcpServers": {"x": {"command": "sh"}}})),
        session(json!({"allowedTools": ["Bash(make test)"]})),
        ("/v1/rules", json!({"purpose": "save_rule", "rule": rule}), rule),
    ] {
        let (status, problem) = ana.post(path, &body).await;
        assert_eq!((status, &problem["code"]), (403, &json!("passkey_required")), "{body}: {problem}");
        finger.confirm(&ana, &purpose).await;
        assert_eq!(ana.post(path, &body).await.0, 201, "{body}");
        assert_eq!(ana.post(path, &body).await.0, 403, "{body}: once");
    }
    let ask = ana.open_ask(&ana.session("approve Bash {\"command\":\"ls src\"}").await).await;
    for wide in [
        json!({"action": "approve", "scope": "hour"}),
        json!({"action": "approve", "scope": "always"}),
        json!({"action": "approve", "editedInput": {"command": "ls other"}}),
    ] {
        let (status, problem) = ana.respond(&ask, "k", wide.clone()).await;
        assert_eq!((status, &problem["code"]), (403, &json!("passkey_required")), "{wide}: {problem}");
    }
    let (status, problem) = ana.respond(&ask, "k", json!({"action": "approve"})).await;
    assert_eq!(status, 200, "a plain approval takes none: {problem}");
    let program = json!({"agent": "scripted", "program": "/bin/true"});
    let (status, problem) = ana.post("/v1/sessions", &program).await;
    assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
}

#[tokio::test]
async fn a_confirmation_whose_answer_was_refused_is_good_for_the_next_one() {
    let running = Running::start().await;
    let (ana, finger) = required(&running).await;
    let ask = ana.open_ask(&ana.session(MARKED).await).await;
    finger.confirm(&ana, &approval(&ask)).await;
    let request = &ask["request"];
    let answer = json!({"interactionId": request["interactionId"], "promptId": request["promptId"],
        "idempotencyKey": "k1", "action": "approve"});
    let (status, receipts) = ana.post("/v1/interactions/respond", &json!({"answers": [answer]})).await;
    assert_eq!((status, &receipts["results"][0]["taken"]), (200, &Value::Null), "{receipts}");
    assert_eq!(ana.respond(&ask, "k2", json!({"action": "approve"})).await.0, 200, "it was given back");
}

#[tokio::test]
async fn only_a_person_on_our_own_page_is_asked() {
    let running = Running::start().await;
    let finger = Finger::new(&running);
    let ana = running.client(Role::Person, "ana").await;
    assert_eq!(require(&ana, true).await, 422, "there is none yet");
    let register = json!({"purpose": "register"});
    let (status, problem) = ana.post("/v1/passkeys/challenges", &register).await;
    assert_eq!(status, 422, "no page asked: {problem}");
    let elsewhere =
        ana.request(Method::POST, "/v1/passkeys/challenges").header("origin", "https://evil.example");
    assert_eq!(elsewhere.json(&register).send().await.expect("an answer").status(), 403);
    for (role, name) in [(Role::Agent, "ci"), (Role::Viewer, "screen")] {
        let other = running.client(role, name).await;
        assert_eq!(finger.challenge(&other, &register).await.0, 403);
        assert_eq!(other.get("/v1/passkeys").await.0, 403);
    }
}

/// The same device, at another node.
fn on<'a>(node: &'a Running, device: &Client<'_>) -> Client<'a> {
    Client { running: node, token: device.token.clone() }
}

/// Behind a load balancer that sends each request to another node.
#[tokio::test]
async fn a_challenge_is_confirmed_and_used_on_any_node_and_once() {
    let first = Running::start().await;
    let (ana, finger) = required(&first).await;
    let (second, third) = (first.beside().await, first.beside().await);
    let (on_second, on_third) = (on(&second, &ana), on(&third, &ana));
    let auto = json!({"agent": "scripted", "title": "shop-api", "permissionMode": "auto"});
    let purpose = json!({"purpose": "open_session", "session": auto});

    let answer = finger.answer(&ana, &purpose).await;
    let path = "/v1/passkeys/confirmations";
    let (one, two) = tokio::join!(on_second.post(path, &answer), on_third.post(path, &answer));
    let mut seen = [one.0, two.0];
    seen.sort_unstable();
    assert_eq!(seen, [204, 409], "{one:?} {two:?}");
    let (one, two) = tokio::join!(ana.post("/v1/sessions", &auto), on_third.post("/v1/sessions", &auto));
    let mut seen = [one.0, two.0];
    seen.sort_unstable();
    assert_eq!(seen, [201, 403], "{one:?} {two:?}");
    assert_eq!(on_second.post(path, &answer).await.0, 409, "it was answered");

    // The rule went over the nodes, too, and so does a restart.
    let answer = finger.answer(&ana, &purpose).await;
    let second = second.restarted().await;
    let on_second = on(&second, &ana);
    assert_eq!(on_second.post(path, &answer).await.0, 204);
    assert_eq!(on_third.post("/v1/sessions", &auto).await.0, 201);
    // Another deployment's challenge is none.
    let other = Running::start().await;
    let (theirs, their_finger) = required(&other).await;
    let answer = their_finger.answer(&theirs, &purpose).await;
    assert_eq!(ana.post(path, &answer).await.0, 409);
}
