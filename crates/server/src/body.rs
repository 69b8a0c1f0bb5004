//! What callers send, read strictly: the text first, then its shape, then its type.

use std::error::Error as _;
use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use holdstead_protocol::json::{self, BadJson};
use holdstead_protocol::shape::{self, Schemas};
use holdstead_protocol::{Code, FieldErrors, Refusal};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout;
use utoipa::openapi::path::ParameterIn;
use utoipa::{IntoParams, ToSchema};

use crate::connections::{FastBody, SlowBody};
use crate::problem::ApiError;
use crate::signed::OtherBody;

/// The schemas of everything that is sent, as the OpenAPI document has them.
static SCHEMAS: LazyLock<Schemas> =
    LazyLock::new(|| match crate::openapi()["components"]["schemas"].take() {
        Value::Object(schemas) => schemas,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Schemas::new()
        }
    });

/// A body.
#[derive(Debug)]
pub(crate) struct Sent<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for Sent<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let Whole(value) = Whole::from_request(request, state).await?;
        Ok(Self(fitting(value)?))
    }
}

/// The largest body of a caller that is not known yet, and how long it may take to arrive.
const BRIEF: usize = 4 * 1024;
const SOON: Duration = Duration::from_secs(2);

/// The body of a caller that is not known yet.
#[derive(Debug)]
pub(crate) struct Brief<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + ToSchema> FromRequest<S> for Brief<T> {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, ApiError> {
        DefaultBodyLimit::max(BRIEF).apply(&mut request);
        match timeout(SOON, Sent::from_request(request, state)).await {
            Ok(Err(ApiError::TooLarge)) => Err(ApiError::NotBrief),
            Ok(sent) => sent.map(|Sent(value)| Self(value)),
            Err(_) => Err(ApiError::BadRequest(plain(&SlowBody(SOON).to_string()))),
        }
    }
}

/// A body whose shape is checked later.
#[derive(Debug)]
pub(crate) struct Whole(pub(crate) Value);

impl<S: Send + Sync> FromRequest<S> for Whole {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await?;
        json::read(&bytes).map(Self).map_err(not_json)
    }
}

/// A request that has nothing to say.
#[derive(Debug)]
pub(crate) struct Nothing;

impl<S: Send + Sync> FromRequest<S> for Nothing {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await?;
        if bytes.trim_ascii().is_empty() {
            return Ok(Self);
        }
        let value = json::read(&bytes).map_err(not_json)?;
        let nothing = serde_json::json!({"type": "object", "properties": {}});
        refused(shape::faults(&value, &nothing, &SCHEMAS))?;
        Ok(Self)
    }
}

/// A value as a type of ours, or what is wrong with it.
pub(crate) fn fitting<T: DeserializeOwned + ToSchema>(value: Value) -> Result<T, Refusal> {
    if let Some(schema) = SCHEMAS.get(T::name().as_ref()) {
        refused(shape::faults(&value, schema, &SCHEMAS))?;
    }
    serde_json::from_value(value).map_err(|error| Refusal::new(Code::Invalid, plain(&error.to_string())))
}

pub(crate) fn refused(faults: FieldErrors) -> Result<(), Refusal> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(Refusal { field_errors: faults.clone(), ..Refusal::new(Code::Invalid, shape::words(&faults)) })
}

pub(crate) fn not_json(bad: BadJson) -> ApiError {
    ApiError::BadRequest(format!("The body was not taken: {bad}."))
}

/// What a type of ours says of a value goes out as it is. What serde says of Rust's types does not: the shape was
/// checked before, so it is rare, and the document says the rest.
fn plain(words: &str) -> String {
    const RUST: [&str; 8] = [
        "invalid type",
        "invalid value",
        "invalid length",
        "missing field",
        "unknown field",
        "unknown variant",
        "duplicate field",
        "data did not match",
    ];
    if RUST.iter().any(|start| words.starts_with(start)) {
        tracing::debug!(words, "a body fits its schema and not its type");
        return "A value is not what is expected here. /openapi.json describes what is.".to_owned();
    }
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> Self {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::TooLarge;
        }
        let mut causes = std::iter::successors(rejection.source(), |&cause| cause.source());
        if causes.clone().any(|cause| cause.is::<OtherBody>()) {
            return Self::BadSignature;
        }
        if let Some(FastBody(wait)) = causes.clone().find_map(|cause| cause.downcast_ref::<FastBody>()) {
            return Self::TooMany(*wait);
        }
        Self::BadRequest(match causes.find_map(|cause| cause.downcast_ref::<SlowBody>()) {
            Some(slow) => plain(&slow.to_string()),
            None => "The body did not arrive whole. Send it again.".to_owned(),
        })
    }
}

/// What follows the `?`.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + IntoParams> FromRequestParts<S> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let given: Result<Query<Vec<(String, String)>>, _> = Query::try_from_uri(&parts.uri);
        let Query(given) = given.map_err(|_| {
            ApiError::BadRequest(
                "What follows the `?` cannot be read: write name=value&name=value.".to_owned(),
            )
        })?;
        let value = query::<T>(given)?;
        let read = serde_json::from_value(value);
        Ok(Self(read.map_err(|error| Refusal::new(Code::Invalid, plain(&error.to_string())))?))
    }
}

/// Each parameter as its schema has it. All are names with one value, so numbers are the only ones to read.
fn query<T: IntoParams>(pairs: Vec<(String, String)>) -> Result<Value, Refusal> {
    let params = T::into_params(|| Some(ParameterIn::Query));
    let schema = |name: &str| {
        let found = params.iter().find(|param| param.name == name)?;
        Some(serde_json::to_value(&found.schema).unwrap_or_default())
    };
    let mut faults = FieldErrors::new();
    let mut given = Map::new();
    for (name, value) in pairs {
        let name = name.as_str();
        let Some(schema) = schema(name) else {
            let known: Vec<_> = params.iter().map(|param| param.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            faults.insert(name.to_owned(), format!("is not a parameter here: known are {known}"));
            continue;
        };
        let value = match value.parse::<u64>() {
            Ok(number) if is_integer(&schema) => number.into(),
            Ok(_) | Err(_) => Value::from(value),
        };
        let found = shape::faults(&value, &schema, &SCHEMAS);
        faults.extend(found.into_values().map(|why| (name.to_owned(), why)));
        if given.insert(name.to_owned(), value).is_some() {
            faults.insert(name.to_owned(), "is given twice".to_owned());
        }
    }
    refused(faults)?;
    Ok(Value::Object(given))
}

fn is_integer(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "integer",
        Value::Array(names) => names.iter().any(|name| name == "integer"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// For an address that takes none.
#[derive(Debug, serde::Deserialize, IntoParams)]
pub(crate) struct NoParams {}
