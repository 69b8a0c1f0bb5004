//! What was decided, as pages and whole; and looking for words.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use futures_util::stream::try_unfold;
use holdstead_core::SearchWords;
use holdstead_gateway::cursor;
use holdstead_protocol::api::{DecisionPage, ExportFormat, SearchPage};
use holdstead_protocol::{InteractionId, Problem, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::auth::Reader;
use crate::body::Asked;
use crate::problem::ApiError;
use crate::{App, csv};

/// In characters. Whoever looks for more has pasted something else.
const LONGEST_QUERY: usize = 200;
/// How many are exported at a time.
const PAGE: u32 = 64;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Decided {
    /// Only those that have all these words in what was asked or answered. The last word may be the beginning of one.
    q: Option<String>,
    /// `next` of the page before.
    before: Option<String>,
    limit: Option<u32>,
}

/// The asks that are over, the newest first: what was asked, what became of it, by whom, how long it took.
#[utoipa::path(get, operation_id = "list_decisions", path = "/v1/decisions", tag = "decisions",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(Decided),
    responses((status = 200, body = DecisionPage), (status = "default", body = Problem)))]
pub(super) async fn decisions(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Decided>, ApiError>,
) -> Result<Json<DecisionPage>, ApiError> {
    let Asked(Decided { q, before, limit }) = query?;
    let owner = reader.owner()?;
    let limit = cursor::page_size(limit);
    let page = match q.filter(|q| !q.trim().is_empty()) {
        None => {
            let before = before.as_deref().map(cursor::parse).transpose()?;
            app.gateway.decisions(owner, before, limit).await?
        }
        Some(q) => match words(&q)? {
            None => DecisionPage { decisions: Vec::new(), next: None },
            Some(words) => {
                let before = before.as_deref().map(cursor::parse_found).transpose()?;
                app.gateway.decisions_with(owner, words, before, limit).await?
            }
        },
    };
    Ok(Json(page))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Export {
    #[param(inline)]
    format: ExportFormat,
}

/// All decisions in one file. A field of CSV that a spreadsheet would take for a formula begins with an apostrophe.
#[utoipa::path(get, operation_id = "export_decisions", path = "/v1/decisions/export", tag = "decisions",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(Export),
    responses((status = 200, description = "the newest first", content((String = "text/csv"), (String = "application/jsonl"))),
        (status = "default", body = Problem)))]
pub(super) async fn export(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Export>, ApiError>,
) -> Result<([(HeaderName, &'static str); 2], Body), ApiError> {
    let Asked(Export { format }) = query?;
    reader.owner()?;
    let (kind, name, header) = match format {
        ExportFormat::Csv => {
            ("text/csv; charset=utf-8", "attachment; filename=\"decisions.csv\"", Some(csv::HEADER))
        }
        ExportFormat::Jsonl => ("application/jsonl", "attachment; filename=\"decisions.jsonl\"", None),
    };
    let begin = Exporting { app, reader, format, header, next: Some(None) };
    // One page at a time, when whoever reads has taken the one before. An error cuts it off: half a file must not look whole.
    let pages = try_unfold(begin, |exporting| async move { exporting.page().await });
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], Body::from_stream(pages)))
}

struct Exporting {
    app: App,
    reader: Reader,
    format: ExportFormat,
    header: Option<&'static str>,
    /// Where the next page begins; `None` behind the last one.
    next: Option<Option<(Timestamp, InteractionId)>>,
}

impl Exporting {
    async fn page(mut self) -> Result<Option<(Bytes, Self)>, std::io::Error> {
        let Some(before) = self.next.take() else { return Ok(None) };
        // A device that was revoked gets no more of it.
        let owner = self.reader.owner().map_err(|_| std::io::ErrorKind::PermissionDenied)?;
        let page = self.app.gateway.decisions(owner, before, PAGE).await.map_err(std::io::Error::other)?;
        let mut text = self.header.take().unwrap_or_default().to_owned();
        for decision in &page.decisions {
            match self.format {
                ExportFormat::Csv => text.push_str(&csv::row(decision)),
                ExportFormat::Jsonl => {
                    text.push_str(&serde_json::to_string(decision)?);
                    text.push('\n');
                }
            }
        }
        let last = page.decisions.last().filter(|_| page.next.is_some());
        self.next = last.map(|last| Some((last.decided_at, last.interaction_id)));
        Ok(Some((Bytes::from(text), self)))
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Search {
    /// All these words. The last one may be the beginning of one.
    q: String,
    /// `next` of the page before.
    before: Option<String>,
    limit: Option<u32>,
}

/// Look for words in titles, people's messages, calls and decisions. What agents write and tools return is not searched.
#[utoipa::path(get, operation_id = "search", path = "/v1/search", tag = "decisions",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(Search),
    responses((status = 200, body = SearchPage), (status = "default", body = Problem)))]
pub(super) async fn search(
    State(app): State<App>,
    reader: Reader,
    query: Result<Asked<Search>, ApiError>,
) -> Result<Json<SearchPage>, ApiError> {
    let Asked(Search { q, before, limit }) = query?;
    let owner = reader.owner()?;
    let Some(words) = words(&q)? else { return Ok(Json(SearchPage { results: Vec::new(), next: None })) };
    let before = before.as_deref().map(cursor::parse_found).transpose()?;
    Ok(Json(app.gateway.search(owner, words, before, cursor::page_size(limit)).await?))
}

fn words(query: &str) -> Result<Option<SearchWords>, ApiError> {
    if query.chars().nth(LONGEST_QUERY).is_some() {
        let words = format!("Search for at most {LONGEST_QUERY} characters.");
        return Err(ApiError::BadRequest(words));
    }
    Ok(SearchWords::of(query))
}
