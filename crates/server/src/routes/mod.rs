//! The routes, as the OpenAPI document lists them.

mod events;
mod grants;
mod interactions;
mod login;
mod meta;
mod presence;
mod sessions;
mod short;
mod socket;

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;

#[derive(OpenApi)]
#[openapi(
    info(title = "Holdpoint", description = "Agents stop here and wait for people."),
    modifiers(&Tokens),
    security(("bearer" = []), ("cookie" = [])),
    components(schemas(holdpoint_protocol::Problem, holdpoint_protocol::Event, holdpoint_protocol::api::InboxUpsert,
        holdpoint_protocol::api::Resume, holdpoint_protocol::socket::ClientFrame,
        holdpoint_protocol::socket::ServerFrame)),
)]
struct Document;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        let cookie = ApiKey::Cookie(ApiKeyValue::new(crate::COOKIE));
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(cookie));
    }
}

pub(crate) fn api() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(sessions::open, sessions::list))
        .routes(routes!(sessions::show, sessions::end))
        .routes(routes!(sessions::erase))
        .routes(routes!(sessions::message))
        .routes(routes!(sessions::interrupt))
        .routes(routes!(events::session))
        .routes(routes!(interactions::ask, interactions::list))
        .routes(routes!(events::inbox))
        .routes(routes!(presence::set_mode))
        .routes(routes!(socket::connect))
        .routes(routes!(interactions::show))
        .routes(routes!(interactions::respond))
        .routes(routes!(grants::list))
        .routes(routes!(grants::revoke))
        .routes(routes!(login::make_link))
        .routes(routes!(login::login))
        .routes(routes!(meta::me))
        .routes(routes!(meta::agents))
        .routes(routes!(meta::openapi))
        .routes(routes!(meta::healthz))
        .routes(routes!(meta::readyz))
        .routes(routes!(short::approve))
        .routes(routes!(short::deny))
        .routes(routes!(short::submit_answers))
        .routes(routes!(short::events))
}
