//! How it is sent: requests that two readers would understand differently.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Doors;
use crate::{Result, ensure};

/// How long an answer to a broken request is waited for.
const MOMENT: Duration = Duration::from_millis(300);

pub(super) async fn all(doors: &Doors) -> Result<()> {
    let (confused, smuggled, misplaced) =
        (confused(doors).await?, smuggled(doors).await?, misplaced(doors).await?);
    println!(
        "{confused} requests that could mean another route, {smuggled} that two readers understand differently, \
         {misplaced} with the token in another place: all refused, the asks are still open"
    );
    Ok(())
}

/// An agent's token, and none, on every spelling of the route that answers.
async fn confused(doors: &Doors) -> Result<usize> {
    let ask = doors.ask("confused").await?;
    let id = ask.request.interaction_id.to_string();
    let body =
        json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"}).to_string();
    let paths = [
        format!("/v1/interactions/{id}/respond"),
        format!("//v1/interactions/{id}/respond"),
        format!("/v1//interactions/{id}/respond"),
        format!("/v1/interactions/{id}/respond/"),
        format!("/v1/./interactions/{id}/respond"),
        format!("/x/../v1/interactions/{id}/respond"),
        format!("/%76%31/interactions/{id}/respond"),
        format!("/v1/interactions/{id}%2frespond"),
        format!("/V1/INTERACTIONS/{id}/RESPOND"),
        format!("/v1/interactions/{id}/respond;x=1"),
        format!("/v1/interactions/{id}/respond%00"),
        format!("/v1/interactions/{id}/respond?token={}", doors.agent),
        format!("/v1/interactions/{id}/respond#x"),
        format!("/healthz/../v1/interactions/{id}/respond"),
        format!("/login/..%2fv1/interactions/{id}/respond"),
    ];
    let headers: [&[(&str, &str)]; 8] = [
        &[],
        &[("x-http-method-override", "POST")],
        &[("x-original-url", "/healthz")],
        &[("x-forwarded-host", "127.0.0.1"), ("x-forwarded-for", "127.0.0.1")],
        &[("x-forwarded-user", "admin"), ("x-remote-user", "admin")],
        &[("holdstead-surface", "web"), ("holdstead-role", "admin")],
        &[("authorization", "Basic YWRtaW46YWRtaW4=")],
        &[("forwarded", "for=127.0.0.1;host=localhost")],
    ];
    let mut tried = 0;
    for path in &paths {
        for more in headers {
            for (method, token) in
                [(Method::POST, Some(&doors.agent)), (Method::POST, None), (Method::PUT, Some(&doors.agent))]
            {
                let mut request = doors.http.request(method, format!("{}{path}", doors.gateway.url));
                request = request.header("content-type", "application/json").body(body.clone());
                for (name, value) in more {
                    request = request.header(*name, *value);
                }
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                let status = request.send().await?.status().as_u16();
                ensure!((400..500).contains(&status), "{path} with {more:?} got {status}");
                tried += 1;
            }
        }
    }
    doors.still_open(&ask).await?;
    Ok(tried)
}

/// The second request is hidden in the body of the first one and approves. A gateway that reads one request as two answers it.
async fn smuggled(doors: &Doors) -> Result<usize> {
    let ask = doors.ask("smuggled").await?;
    let id = ask.request.interaction_id.to_string();
    let address = &doors.address;
    let body =
        json!({"promptId": ask.request.prompt_id, "idempotencyKey": "k", "action": "approve"}).to_string();
    let hidden = format!(
        "POST /v1/interactions/{id}/respond HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        doors.agent,
        body.len()
    );
    let length = hidden.len();
    let heads = [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}"),
        format!("Content-Length: 0\r\nContent-Length: {length}"),
        "Content-Length: +5".to_owned(),
        "Content-Length: -1".to_owned(),
        "Content-Length: 0x5".to_owned(),
        "Content-Length: 5, 5".to_owned(),
        "Content-Length: 99999999999999999999".to_owned(),
        "Transfer-Encoding: identity, chunked".to_owned(),
        "Transfer-Encoding: xchunked".to_owned(),
        "Transfer-Encoding:\x0bchunked".to_owned(),
        "Transfer-Encoding : chunked".to_owned(),
        "X: y\r\n Transfer-Encoding: chunked".to_owned(),
        "X: y\nTransfer-Encoding: chunked".to_owned(),
        "X: \0".to_owned(),
        format!("X: {}", "y".repeat(100_000)),
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA".to_owned(),
        "Expect: 200-ok".to_owned(),
    ];
    let lines = [
        "POST /v1/interactions HTTP/1.1",
        "GET /v1/me HTTP/1.1",
        "POST http://127.0.0.1:1/v1/interactions HTTP/1.1",
        "GET /v1/me HTTP/9.9",
        "GET\t/v1/me\tHTTP/1.1",
        "CONNECT 127.0.0.1:22 HTTP/1.1",
    ];
    let mut tried = 0;
    for line in lines {
        for head in &heads {
            let request = format!(
                "{line}\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n{head}\r\n\r\n0\r\n\r\n{hidden}",
                doors.agent
            );
            let answer = raw(address, request.as_bytes()).await?;
            ensure!(!answer.contains(" 500 "), "{line} with {head:?} got {answer}");
            tried += 1;
        }
    }
    doors.still_open(&ask).await?;
    doors.person.ready().await?;
    Ok(tried)
}

/// Whatever comes back before it is quiet or closed.
async fn raw(address: &str, request: &[u8]) -> Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    // Cut off while it is sent, it was refused.
    let _cut_off = timeout(MOMENT, stream.write_all(request)).await;
    let mut answer = Vec::new();
    let mut bytes = [0; 4096];
    while let Ok(Ok(count @ 1..)) = timeout(MOMENT, stream.read(&mut bytes)).await {
        answer.extend_from_slice(&bytes[..count]);
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The person's own token where a browser or a log would carry it.
async fn misplaced(doors: &Doors) -> Result<usize> {
    let token = &doors.person_token;
    let url = &doors.gateway.url;
    let get = |path: &str| doors.http.get(format!("{url}{path}"));
    let tries = [
        get("/v1/me").header("cookie", format!("holdstead={token}")),
        get("/v1/me").header("cookie", format!("token={token}; session={token}")),
        get(&format!("/v1/me?token={token}")),
        get(&format!("/v1/me?access_token={token}")),
        get("/v1/me").header("x-api-key", token),
        get("/v1/me").header("authorization", token),
        get("/v1/me").header("authorization", format!("bearer{token}")),
        get("/v1/me").basic_auth("holdstead", Some(token)),
        get(&format!("/v1/ws?token={token}")),
        get(&format!("/v1/interactions/events?token={token}")).header("accept", "text/event-stream"),
    ];
    let count = tries.len();
    for (number, request) in tries.into_iter().enumerate() {
        let status = request.send().await?.status().as_u16();
        ensure!(status == 401 || status == 400 || status == 422, "try {number} got {status}");
    }
    Ok(count)
}
