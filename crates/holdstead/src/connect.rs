//! Finds the gateway and the token to talk to it.

use std::path::{Path, PathBuf};

use holdstead_client::{Http, is_encrypted};
use holdstead_protocol::api::Role;
use holdstead_protocol::{Code, Refusal};

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::text::safe_line;

/// Where a program's token is read from. It goes before this machine's own.
pub(crate) const VARIABLE: &str = "HOLDSTEAD_TOKEN";

/// What `--url` begins with where it names a socket.
const SOCKET: &str = "unix:";
/// The host of requests to a socket, which has no name.
pub(crate) const NO_HOST: &str = "http://localhost";

/// How a gateway is reached.
#[derive(Debug)]
pub(crate) enum Way {
    /// The gateway of this folder, by a socket that only this account can open.
    Here { url: String, socket: PathBuf },
    /// A gateway elsewhere, by a socket that is forwarded into this folder.
    Forwarded { socket: PathBuf },
    /// Over the network, to a server that proves by its certificate which one it is.
    Encrypted { url: String },
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
    let not_for = |gateway: &str| {
        Failure::Usage(format!(
            "The token in {} is not for {gateway}, so it is not sent there. Set HOLDSTEAD_TOKEN to a token of that gateway.",
            places.token_file().display()
        ))
    };
    let client = match way(common, &places)? {
        Way::Here { url, socket } => Http::at_socket(&socket, url, given.map_or_else(own, Ok)?),
        Way::Forwarded { socket } => {
            let token = given.ok_or_else(|| not_for(&socket.display().to_string()))?;
            Http::at_socket(&socket, NO_HOST, token)
        }
        Way::Encrypted { url } => {
            let is_own = places.token_for().as_ref() == Some(&url);
            let token = match given {
                Some(token) => token,
                None if is_own => own()?,
                None => return Err(not_for(&url)),
            };
            Http::new(url, token)
        }
    };
    Ok(client.at_terminal())
}

/// A token goes only to a gateway that no other program can stand in for. Without a gateway that runs, nothing is reached:
/// another program could be at its address.
pub(crate) fn way(common: &Common, places: &Places) -> Result<Way, Failure> {
    let running = places.running_now();
    let here = |url| Way::Here { url, socket: places.gateway_socket() };
    let given = common.url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    match (given, running, places.token_for()) {
        (Some(url), Some(running), _) if url == running.url => Ok(here(url)),
        (Some(url), _, _) => elsewhere(url, places),
        (None, Some(running), _) => Ok(here(running.url)),
        (None, None, Some(url)) => elsewhere(url, places),
        (None, None, None) => Err(Failure::NoGateway { why: "none runs in this folder".to_owned() }),
    }
}

fn elsewhere(url: String, places: &Places) -> Result<Way, Failure> {
    if let Some(path) = url.strip_prefix(SOCKET) {
        return forwarded(Path::new(path), places);
    }
    if is_encrypted(&url) {
        return Ok(Way::Encrypted { url });
    }
    Err(Failure::Usage(format!(
        "No token is sent to {url}: without TLS any program could answer there. Use the gateway's https:// address, or forward its socket: \
         ssh -N -L {}:/FOLDER/gateway.sock HOST, with the folder that `holdstead doctor` names there, and then --url {SOCKET}{}",
        places.forwarded_socket().display(),
        places.forwarded_socket().display(),
    )))
}

/// Other accounts cannot write to this folder, and sandboxed agents do not see it. Anywhere else they could put a socket of
/// their own in the place of one whose tunnel has ended.
fn forwarded(path: &Path, places: &Places) -> Result<Way, Failure> {
    let is_in_place = |folder: &Path| {
        folder
            .canonicalize()
            .is_ok_and(|folder| places.data().canonicalize().is_ok_and(|data| folder == data))
    };
    if path.parent().is_some_and(is_in_place) {
        return Ok(Way::Forwarded { socket: path.to_owned() });
    }
    Err(Failure::Usage(format!(
        "No token is sent to {}: another program could put a socket there. Forward it into {}.",
        path.display(),
        places.data().display()
    )))
}

/// Where a browser reaches it: nowhere, if the flags name a socket.
pub(crate) fn page(common: &Common) -> Result<Option<String>, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    Ok(match (&common.url, places.running()) {
        (Some(url), _) if url.starts_with(SOCKET) => None,
        (Some(url), _) => Some(url.trim_end_matches('/').to_owned()),
        (None, Some(running)) => Some(running.url),
        (None, None) => Some(format!("http://{}", Config::load(common, &places)?.listen)),
    })
}

/// The same, for a command that needs it.
pub(crate) fn url(common: &Common) -> Result<String, Failure> {
    page(common)?.ok_or_else(|| {
        Failure::Usage(
            "A browser cannot open a socket. Make the link on the gateway's own machine: holdstead login NAME".to_owned(),
        )
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
        Code::AlreadyAnswered
        | Code::StalePrompt
        | Code::Closed
        | Code::Invalid
        | Code::IdempotencyKeyReused
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
        | Code::AnsweringDisabled
        | Code::PasskeyRequired
        | Code::RateLimited
        | Code::NonceRefused
        | Code::BadSignature
        | Code::SignatureNeeded
        | Code::ExchangeNeeded => return refusal,
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
