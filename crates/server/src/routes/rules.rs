//! Rules and remembered approvals: look at them, write one, take one back.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdstead_protocol::api::{
    CallToExplain, ExplainedCall, NewRule, RulePage, RulesToSimulate, SavedRule, SimulatedRules,
    SuggestionPage,
};
use holdstead_protocol::{GrantId, Problem, SessionId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::App;
use crate::auth::{Answerer, Operator, Reader};
use crate::body::{Asked, NoParams, Sent};
use crate::problem::ApiError;

/// The rules that count, where each comes from, and how often it was used.
#[utoipa::path(get, operation_id = "list_rules", path = "/v1/rules", tag = "rules",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = RulePage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    reader: Reader,
    _: Asked<NoParams>,
) -> Result<Json<RulePage>, ApiError> {
    Ok(Json(RulePage { rules: app.gateway.rules(reader.owner()?).await? }))
}

/// Save a rule for all sessions of the owner.
#[utoipa::path(post, operation_id = "add_rule", path = "/v1/rules", tag = "rules",
    security(("bearer" = ["person", "admin"])),
    request_body = NewRule,
    responses((status = 201, body = SavedRule), (status = "default", body = Problem)))]
pub(super) async fn add(
    State(app): State<App>,
    answerer: Answerer,
    body: Result<Sent<NewRule>, ApiError>,
) -> Result<(StatusCode, Json<SavedRule>), ApiError> {
    let Sent(new) = body?;
    let grant_id = app.gateway.add_rule(answerer.now()?, new).await?;
    Ok((StatusCode::CREATED, Json(SavedRule { grant_id })))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// The session of an approval that ends with it.
    session: Option<SessionId>,
}

/// Take a rule or a remembered approval back: the next such call asks again.
#[utoipa::path(delete, operation_id = "revoke_rule", path = "/v1/rules/{id}", tag = "rules",
    security(("bearer" = ["person", "admin"])),
    params(("id" = GrantId, Path), Place),
    responses((status = 204, description = "the next match asks"), (status = "default", body = Problem)))]
pub(super) async fn revoke(
    State(app): State<App>,
    answerer: Answerer,
    id: Result<Path<GrantId>, PathRejection>,
    place: Result<Asked<Place>, ApiError>,
) -> Result<StatusCode, ApiError> {
    let (Path(id), Asked(place)) = (id?, place?);
    app.gateway.revoke(answerer.now()?, id, place.session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What rules would make of a call of a session, part by part. Nothing runs and nobody is asked.
#[utoipa::path(post, operation_id = "explain_call", path = "/v1/rules/explain", tag = "rules",
    security(("bearer" = ["person", "admin"])),
    request_body = CallToExplain,
    responses((status = 200, body = ExplainedCall), (status = "default", body = Problem)))]
pub(super) async fn explain(
    State(app): State<App>,
    // An agent that could ask this would look for what gets through.
    operator: Operator,
    body: Result<Sent<CallToExplain>, ApiError>,
) -> Result<Json<ExplainedCall>, ApiError> {
    let Sent(call) = body?;
    Ok(Json(app.gateway.explain(&operator.now()?.owner, call).await?))
}

/// What a file of rules, in place of the organisation's, would have made of past calls. Nothing is saved.
#[utoipa::path(post, operation_id = "simulate_rules", path = "/v1/rules/simulate", tag = "rules",
    security(("bearer" = ["person", "admin"])),
    request_body = RulesToSimulate,
    responses((status = 200, body = SimulatedRules), (status = "default", body = Problem)))]
pub(super) async fn simulate(
    State(app): State<App>,
    operator: Operator,
    body: Result<Sent<RulesToSimulate>, ApiError>,
) -> Result<Json<SimulatedRules>, ApiError> {
    let Sent(rules) = body?;
    Ok(Json(app.gateway.simulate(&operator.now()?.owner, &rules.text).await?))
}

/// The rules that would have saved most asks, from what people approved before. Nothing is saved.
#[utoipa::path(get, operation_id = "suggest_rules", path = "/v1/rules/suggest", tag = "rules",
    security(("bearer" = ["person", "admin"])),
    responses((status = 200, body = SuggestionPage), (status = "default", body = Problem)))]
pub(super) async fn suggest(
    State(app): State<App>,
    operator: Operator,
    _: Asked<NoParams>,
) -> Result<Json<SuggestionPage>, ApiError> {
    Ok(Json(app.gateway.suggest(&operator.now()?.owner).await?))
}
