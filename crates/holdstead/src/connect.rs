//! Finds the gateway and the token to talk to it.

use std::path::PathBuf;

use holdstead_client::{Http, is_encrypted, is_loopback};
use holdstead_protocol::api::Role;
use holdstead_protocol::{Code, Refusal};

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::safe_line;

/// Where a program's token is read from. It goes before this machine's own.
pub(crate) const VARIABLE: &str = "HOLDSTEAD_TOKEN";

/// How a gateway is reached, and by which token it may be.
#[derive(Debug)]
pub(crate) enum Way {
    /// The gateway of this folder, by a socket that only this account can open.
    Here { url: String, socket: PathBuf },
    /// Over the network.
    Elsewhere { url: String },
}

/// The gateway the flags name, or the one on this machine.
pub(crate) fn connect(common: &Common) -> Result<Http, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let own = || {
        places.read_token().ok_or_else(|| {
            Failure::Usage(format!(
                "There is no token in {}. Start the gateway once (holdstead serve), or set HOLDSTEAD_TOKEN.",
                places.token_file().display()
            ))
        })
    };
    let given = std::env::var(VARIABLE).ok();
    let client = match way(common, &places)? {
        Way::Here { url, socket } => Http::at_socket(&socket, url, given.map_or_else(own, Ok)?),
        Way::Elsewhere { url } => {
            let token = match given {
                // A loopback address may be the near end of a tunnel, and it may be another program.
                Some(token) if is_encrypted(&url) || is_loopback(&url) => token,
                Some(_) => {
                    return Err(Failure::Usage(format!(
                        "{url} is not encrypted, so no token is sent there: use its https:// address."
                    )));
                }
                None if is_encrypted(&url) && places.token_for().as_ref() == Some(&url) => own()?,
                None => {
                    return Err(Failure::Usage(format!(
                        "The token in {} is not for {url}, so it is not sent there. Set HOLDSTEAD_TOKEN to a token of that gateway.",
                        places.token_file().display()
                    )));
                }
            };
            Http::new(url, token)
        }
    };
    Ok(client.at_terminal())
}

/// Without a gateway that runs, nothing is reached: another program could be at its address.
pub(crate) fn way(common: &Common, places: &Places) -> Result<Way, Failure> {
    let running = places.running_now();
    let here = |url| Way::Here { url, socket: places.gateway_socket() };
    let given = common.url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    match (given, running, places.token_for()) {
        (Some(url), Some(running), _) if url == running.url => Ok(here(url)),
        (Some(url), _, _) => Ok(Way::Elsewhere { url }),
        (None, Some(running), _) => Ok(here(running.url)),
        (None, None, Some(url)) => Ok(Way::Elsewhere { url }),
        (None, None, None) => Err(Failure::NoGateway { why: "none runs in this folder".to_owned() }),
    }
}

/// Where a browser reaches it.
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
