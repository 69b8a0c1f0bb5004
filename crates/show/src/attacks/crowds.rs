//! How many: races, and more streams than anybody needs.

use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use holdstead_protocol::api::LoginLink;
use serde_json::json;

use super::{Attempt, Target, attempt};
use crate::{Result, ensure};

const LINKS: usize = 100;
const RACERS: usize = 4;
const ASKS: usize = 200;
const STREAMS: usize = 3_000;
/// How many of them at a time.
const AT_ONCE: usize = 64;
/// How long somebody else's answer may take beside them.
const SLOWEST: Duration = Duration::from_secs(5);

pub(super) fn all(target: &Target) -> Vec<Attempt<'_>> {
    vec![
        attempt("held", "one login link used by four at once, 100 times", links(target)),
        attempt("held", "one ask answered by four at once, 200 times", answers(target)),
        attempt("held", "3,000 streams and long polls from one token", streams(target)),
    ]
}

async fn links(target: &Target) -> Result<String> {
    let mut used = 0;
    for _ in 0..LINKS {
        let link: LoginLink = target.person().post("/v1/login-links", &json!({})).await?;
        let body = json!({"code": link.code}).to_string();
        let tries = (0..RACERS).map(|_| target.send("POST", "/v1/login", "", body.clone()));
        let answers = futures_util::future::join_all(tries).await.into_iter().collect::<Result<Vec<_>>>()?;
        let won = answers.iter().filter(|(status, _)| *status < 300).count();
        ensure!(won == 1, "a link let {won} in: {answers:?}");
        used += won;
    }
    Ok(format!("{used} of {} got in, one a link", LINKS * RACERS))
}

async fn answers(target: &Target) -> Result<String> {
    for number in 0..ASKS {
        let ask = target.ask(&format!("race {number}")).await?;
        let path = format!("/v1/interactions/{}/respond", ask.request.interaction_id);
        let tries = (0..RACERS).map(|racer| {
            let action = if racer.is_multiple_of(2) { "approve" } else { "deny" };
            let body =
                json!({"promptId": ask.request.prompt_id, "idempotencyKey": format!("k{racer}"), "action": action});
            let path = path.clone();
            async move { target.post(&path, &target.person_token, &body).await }
        });
        let answers = futures_util::future::join_all(tries).await.into_iter().collect::<Result<Vec<_>>>()?;
        let won = answers.iter().filter(|(status, _)| *status == 200).count();
        ensure!(won == 1, "{won} won: {answers:?}");
    }
    Ok(format!("{} answers, {ASKS} winners", ASKS * RACERS))
}

/// They are told when it is too much, and somebody else is served meanwhile.
async fn streams(target: &Target) -> Result<String> {
    let ask = target.ask("long poll").await?;
    let poll = format!("/v1/interactions/{}?wait=30s", ask.request.interaction_id);
    let open = |number: usize| {
        let path = if number.is_multiple_of(2) { "/v1/me".to_owned() } else { poll.clone() };
        let request = target.http.get(format!("{}{path}", target.url())).bearer_auth(&target.agent);
        async move { request.timeout(Duration::from_secs(2)).send().await.map(|answer| answer.status().as_u16()) }
    };
    let flood = async {
        let mut opened = stream::iter((0..STREAMS).map(open)).buffer_unordered(AT_ONCE);
        let mut told = 0;
        while let Some(status) = opened.next().await {
            told += usize::from(status.is_ok_and(|status| status == 429));
        }
        told
    };
    let beside = async {
        let mut slowest = Duration::ZERO;
        for number in 0..20 {
            let begin = Instant::now();
            let ask = target.ask(&format!("beside {number}")).await?;
            target.person().win(&ask, holdstead_protocol::ResponseDraft::Deny { reason: None }).await?;
            slowest = slowest.max(begin.elapsed());
        }
        Result::Ok(slowest)
    };
    let (told, slowest) = tokio::join!(flood, beside);
    let slowest = slowest?;
    ensure!(slowest <= SLOWEST, "somebody else waited {slowest:?}");
    Ok(format!(
        "{told} of them told that it is too much; somebody else's answer took {} ms at most",
        slowest.as_millis()
    ))
}
