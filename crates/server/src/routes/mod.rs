//! The routes, as the OpenAPI document lists them.

mod aliases;
mod devices;
mod events;
mod found;
mod interactions;
mod login;
mod mcp;
mod meta;
mod metrics;
mod pairing;
mod passkeys;
mod presence;
mod rules;
mod runners;
mod sessions;
pub(crate) mod short;
mod short_events;
mod socket;
mod tickets;
mod trusts;

use holdstead_protocol::Code;
use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::problem::status;

#[derive(OpenApi)]
#[openapi(
    info(title = "Holdstead", description = "Agents stop here and wait for people."),
    modifiers(&Tokens),
    security(("bearer" = [])),
    components(schemas(holdstead_protocol::Problem, holdstead_protocol::Event, holdstead_protocol::api::InboxUpsert,
        holdstead_protocol::api::Resume, holdstead_protocol::socket::ClientFrame,
        holdstead_protocol::socket::ServerFrame)),
)]
struct Document;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// The document as clients read it: the fields of enum variants named as serde writes them. utoipa does not read
/// `rename_all_fields`, and a client that sent `edited_input` would have its edit ignored.
pub(crate) fn document(document: &utoipa::openapi::OpenApi) -> Value {
    serde_json::to_value(document).map(camel_case).map(with_codes).unwrap_or_default()
}

/// What each error code means and what to do, for the reference and for whoever generates a client.
fn with_codes(mut document: Value) -> Value {
    if let Some(schema) = document.pointer_mut("/components/schemas/Code") {
        let codes: Vec<Code> = serde_json::from_value(schema["enum"].clone()).unwrap_or_default();
        let meant = codes.iter().map(|code| {
            let words = code.words();
            json!({ "code": code, "status": status(*code).as_u16(), "happened": words.happened, "toDo": words.to_do })
        });
        schema["x-codes"] = meant.collect();
    }
    document
}

fn camel_case(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                *properties = std::mem::take(properties)
                    .into_iter()
                    .map(|(name, value)| (camel_case_word(&name), value))
                    .collect();
            }
            if let Some(Value::Array(required)) = map.get_mut("required") {
                for name in required {
                    *name = name.as_str().map(camel_case_word).into();
                }
            }
            for value in map.values_mut() {
                *value = camel_case(value.take());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = camel_case(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

fn camel_case_word(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut word, part| {
        let mut letters = part.chars();
        word.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        word.push_str(letters.as_str());
        word
    })
}

pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(sessions::open, sessions::list))
        .routes(routes!(sessions::show, sessions::end))
        .routes(routes!(sessions::erase))
        .routes(routes!(sessions::archive, sessions::unarchive))
        .routes(routes!(sessions::message))
        .routes(routes!(sessions::set_variables))
        .routes(routes!(sessions::interrupt))
        .routes(routes!(events::session))
        .routes(routes!(interactions::ask, interactions::list))
        .routes(routes!(events::inbox))
        .routes(routes!(presence::set_mode))
        .routes(routes!(tickets::make))
        .routes(routes!(socket::connect))
        .routes(routes!(interactions::show, interactions::withdraw))
        .routes(routes!(interactions::respond))
        .routes(routes!(interactions::snooze, interactions::unsnooze))
        .routes(routes!(interactions::respond_to_many))
        .routes(routes!(found::decisions))
        .routes(routes!(found::export))
        .routes(routes!(found::search))
        .routes(routes!(rules::list, rules::add))
        .routes(routes!(rules::revoke))
        .routes(routes!(rules::explain))
        .routes(routes!(rules::simulate))
        .routes(routes!(rules::suggest))
        .routes(routes!(trusts::list, trusts::trust))
        .routes(routes!(trusts::folder))
        .routes(routes!(trusts::revoke))
        .routes(routes!(devices::list, devices::log_out_everywhere))
        .routes(routes!(devices::log_out))
        .routes(routes!(login::make_link))
        .routes(routes!(login::login))
        .routes(routes!(login::exchange))
        .routes(routes!(pairing::network, pairing::open))
        .routes(routes!(pairing::pair))
        .routes(routes!(passkeys::list, passkeys::add))
        .routes(routes!(passkeys::challenge))
        .routes(routes!(passkeys::confirm))
        .routes(routes!(passkeys::require))
        .routes(routes!(passkeys::remove))
        .routes(routes!(mcp::serve))
        .routes(routes!(meta::me))
        .routes(routes!(meta::agents))
        .routes(routes!(runners::list))
        .routes(routes!(runners::remove))
        .routes(routes!(runners::connect))
        .routes(routes!(meta::openapi))
        .routes(routes!(meta::healthz))
        .routes(routes!(meta::readyz))
        .routes(routes!(metrics::read))
        .routes(routes!(short::approve))
        .routes(routes!(short::deny))
        .routes(routes!(short::submit_answers))
        .routes(routes!(short_events::events))
}
