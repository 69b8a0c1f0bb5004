//! Finds the gateway and the token to talk to it.

use holdstead_client::Http;
use holdstead_protocol::api::Role;
use holdstead_protocol::{Code, Refusal};

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::safe_line;

/// Where a program's token is read from. It goes before this machine's own.
pub(crate) const VARIABLE: &str = "HOLDSTEAD_TOKEN";

/// The gateway the flags name, or the one on this machine.
pub(crate) fn connect(common: &Common) -> Result<Http, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let url = url(common)?;
    let token = std::env::var(VARIABLE).ok().or_else(|| places.read_token()).ok_or_else(|| {
        Failure::Usage(format!(
            "There is no token in {}. Start the gateway once (holdstead serve), or set HOLDSTEAD_TOKEN.",
            places.token_file().display()
        ))
    })?;
    Ok(Http::new(url, token).at_terminal())
}

/// Where it is reached.
pub(crate) fn url(common: &Common) -> Result<String, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    Ok(match (&common.url, places.running()) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(running)) => running.url,
        (None, None) => format!("http://{}", Config::load(common, &places)?.listen),
    })
}

/// A refusal because of the token says where the token came from, if that was the environment, and else the way back in.
pub(crate) async fn explain(common: &Common, mut refusal: Box<Refusal>) -> Box<Refusal> {
    if std::env::var_os(VARIABLE).is_none() {
        if refusal.code == Code::Unauthenticated {
            refusal
                .detail
                .push_str(" If this terminal was logged out: holdstead login, on the gateway's machine.");
        }
        return refusal;
    }
    let whose = match refusal.code {
        Code::Unauthenticated => "this gateway does not know it".to_owned(),
        Code::Forbidden => match connect(common) {
            Ok(client) => match client.me().await {
                Ok(me) => format!("it is named {} and {}", safe_line(&me.name), may(me.role)),
                Err(_) => "it may not do this".to_owned(),
            },
            Err(_) => "it may not do this".to_owned(),
        },
        Code::Lost
        | Code::StalePrompt
        | Code::Dead
        | Code::Invalid
        | Code::KeyReused
        | Code::ForeignOrigin
        | Code::UnsupportedMediaType
        | Code::BadRequest
        | Code::NotFound
        | Code::MethodNotAllowed
        | Code::Conflict
        | Code::TooLarge
        | Code::LinkUsed
        | Code::Internal
        | Code::Unavailable
        | Code::InteractionOff
        | Code::PasskeyRequired
        | Code::TooMany => return refusal,
    };
    refusal.detail.push_str(&format!(
        " The token came from {VARIABLE} in your environment: {whose}. To act as yourself: unset {VARIABLE}"
    ));
    refusal
}

/// What a token's role lets it do.
const fn may(role: Role) -> &'static str {
    match role {
        Role::Person => "belongs to a person",
        Role::Viewer => "has the role viewer: it may look, not answer",
        Role::Agent => "has the role agent: it may ask, not answer",
        Role::Runner => "has the role runner: it hosts agents",
        Role::Metrics => "has the role metrics: it may read them, and nothing else",
        Role::Admin => "has the role admin",
    }
}
