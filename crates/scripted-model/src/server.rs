//! The routes.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::chat;
use crate::gemini;
use crate::messages::conversation;
use crate::model::Board;
use crate::responses;
use crate::script::{Part, say};
use crate::stream::{Frame, frames, message};

pub(crate) async fn serve(listener: TcpListener, board: Arc<Board>) {
    let routes = Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(async || Json(json!({"input_tokens": 10}))))
        .route("/v1beta/models/{call}", post(generate))
        .route("/v1/chat/completions", post(chat_completions))
        .route("/v1/responses", post(respond))
        .route("/v1/models", get(models))
        .route("/told", get(told))
        .route("/release", post(release))
        .fallback(async || failure(StatusCode::NOT_FOUND, "not_found_error", "there is nothing here"))
        .layer(DefaultBodyLimit::disable())
        .with_state(board);
    // An accept error of a loopback listener is retried by axum; the task itself ends when the model is dropped.
    let _ = axum::serve(listener, routes).await;
}

/// The request, and what the script says to it. `as_messages` makes of it what the Messages API would have; `beside` is said to
/// what belongs to no conversation.
fn played(
    board: &Board,
    body: &Bytes,
    as_messages: impl Fn(&Value) -> Value,
    beside: &str,
) -> Result<(Value, Vec<Part>), Box<Response>> {
    let request: Value =
        serde_json::from_slice(body).map_err(|error| Box::new(invalid(&error.to_string())))?;
    board.received(&request);
    let parts = match conversation(&as_messages(&request)) {
        Some(conversation) => conversation.and_then(|conversation| board.reply(conversation)),
        None => Ok(vec![say(beside)]),
    };
    Ok((request, parts.map_err(|error| Box::new(invalid(&error)))?))
}

fn failed(status: u16) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    failure(status, "api_error", "the script fails here")
}

async fn messages(State(board): State<Arc<Board>>, body: Bytes) -> Response {
    let (request, parts) = match played(&board, &body, Value::clone, "ok") {
        Ok(played) => played,
        Err(refused) => return *refused,
    };
    if let Some(Part::Fail(status)) = parts.first() {
        return failed(*status);
    }
    let model = &request["model"];
    if request["stream"] != true {
        return Json(message(model, &parts)).into_response();
    }
    streamed(board, frames(model, &parts))
}

/// The Responses API, which is always streamed here.
async fn respond(State(board): State<Arc<Board>>, body: Bytes) -> Response {
    let (request, parts) = match played(&board, &body, responses::as_messages, "ok") {
        Ok(played) => played,
        Err(refused) => return *refused,
    };
    if let Some(Part::Fail(status)) = parts.first() {
        return failed(*status);
    }
    streamed(board, responses::frames(&request, &parts))
}

async fn models() -> Response {
    let model = json!({"id": "scripted", "object": "model", "created": 0, "owned_by": "nobody"});
    Json(json!({"object": "list", "data": [model], "models": []})).into_response()
}

fn streamed(board: Arc<Board>, frames: Vec<Frame>) -> Response {
    let events = stream::iter(frames).filter_map(move |frame| {
        let board = board.clone();
        async move {
            match frame {
                Frame::Event(event) => Some(Ok::<_, Infallible>(Frame::text(&event))),
                Frame::Hold(gate) => {
                    board.pass(&gate).await;
                    None
                }
            }
        }
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

/// `MODEL:generateContent` and `MODEL:streamGenerateContent`.
async fn generate(State(board): State<Arc<Board>>, Path(call): Path<String>, body: Bytes) -> Response {
    let (_, parts) = match played(&board, &body, gemini::as_messages, "{}") {
        Ok(played) => played,
        Err(refused) => return *refused,
    };
    for part in &parts {
        match part {
            Part::Hold(gate) => board.pass(gate).await,
            Part::Fail(status) => {
                return failed(*status);
            }
            Part::Say(_) | Part::Think(_) | Part::Call(_) => {}
        }
    }
    let reply = gemini::reply(&parts);
    if call.ends_with(":streamGenerateContent") {
        return ([(header::CONTENT_TYPE, "text/event-stream")], format!("data: {reply}\r\n\r\n"))
            .into_response();
    }
    Json(reply).into_response()
}

async fn chat_completions(State(board): State<Arc<Board>>, body: Bytes) -> Response {
    let (request, parts) = match played(&board, &body, chat::as_messages, "ok") {
        Ok(played) => played,
        Err(refused) => return *refused,
    };
    if let Some(Part::Fail(status)) = parts.first() {
        return failed(*status);
    }
    if request["stream"] != true {
        return Json(chat::completion(&request["model"], &parts)).into_response();
    }
    let chunks = stream::iter(chat::chunks(&request["model"], &parts)).filter_map(move |chunk| {
        let board = board.clone();
        async move {
            if let chat::Chunk::Hold(gate) = &chunk {
                board.pass(gate).await;
            }
            chunk.text().map(Ok::<_, Infallible>)
        }
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(chunks)).into_response()
}

#[derive(Deserialize)]
struct OfConversation {
    conversation: String,
}

async fn told(State(board): State<Arc<Board>>, Query(query): Query<OfConversation>) -> Response {
    Json(board.told(&query.conversation)).into_response()
}

#[derive(Deserialize)]
struct OfGate {
    gate: String,
}

async fn release(State(board): State<Arc<Board>>, Query(query): Query<OfGate>) -> StatusCode {
    board.release(&query.gate);
    StatusCode::NO_CONTENT
}

fn invalid(words: &str) -> Response {
    failure(StatusCode::BAD_REQUEST, "invalid_request_error", words)
}

fn failure(status: StatusCode, kind: &str, words: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": words}});
    (status, Json(body)).into_response()
}
