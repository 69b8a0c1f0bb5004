//! Why something was refused, in one word for programs, and what that means to a person.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why something was refused. [`Code::words`] says what each means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    Unauthenticated,
    Forbidden,
    ForeignOrigin,
    UnsupportedMediaType,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    AlreadyAnswered,
    StalePrompt,
    Closed,
    Conflict,
    Invalid,
    IdempotencyKeyReused,
    TooLarge,
    LinkUsed,
    Internal,
    Unavailable,
    AnsweringDisabled,
    PasskeyRequired,
    RateLimited,
    NonceRefused,
    BadSignature,
    SignatureNeeded,
    ExchangeNeeded,
}

/// What a code means, as the reference prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeWords {
    pub happened: &'static str,
    pub to_do: &'static str,
}

impl Code {
    /// A refusal's own `detail` says more, about this one time.
    pub const fn words(self) -> CodeWords {
        let (happened, to_do) = match self {
            Self::Unauthenticated => (
                "There is no token with the request, or one that is not valid: never made here, revoked, or expired.",
                "A person runs `holdstead login` on the gateway's machine. A program needs a new token: `holdstead token \
                 --role agent --name NAME`. Do not try the same one again.",
            ),
            Self::Forbidden => (
                "The token is valid, and its role may not do this, or not with what belongs to somebody else.",
                "Use a token whose role may: the routes say which. An agent's token can never answer, whatever you do.",
            ),
            Self::ForeignOrigin => (
                "The request named another host than the gateway's, or came from another site's page.",
                "Open the address that `holdstead open` prints. If a proxy or a name of yours leads to the gateway, add the name \
                 to `allowed_hosts` in the settings.",
            ),
            Self::UnsupportedMediaType => {
                ("The body is not declared as JSON.", "Send it with `Content-Type: application/json`.")
            }
            Self::BadRequest => (
                "The request cannot be read: broken JSON, a key that stands twice, a number that would lose digits, or a \
                 parameter of the wrong form.",
                "Mend the program that sent it; `detail` says what was wrong. Trying again changes nothing.",
            ),
            Self::NotFound => (
                "There is nothing at this address, or nothing with this id that the token may know of.",
                "Check the id, and whether it belongs to the owner of this token. What was erased does not come back.",
            ),
            Self::MethodNotAllowed => {
                ("The address exists, and does not take this method.", "The routes say which it takes.")
            }
            Self::AlreadyAnswered => (
                "Somebody else's answer won: `winner` says whose, from where and when.",
                "Nothing. Show who won, and keep what the person typed in case they want to say it as a message.",
            ),
            Self::StalePrompt => (
                "The ask was shown again since this prompt, with other words or after a wrong answer.",
                "Show the ask as it is now, and answer the prompt in `promptId`. Never send the old answer to the new prompt \
                 without the person.",
            ),
            Self::Closed => (
                "The ask is closed: nobody answered in time, its agent withdrew it, or its turn or session is over.",
                "Nothing can be answered any more, and nothing was forwarded. Tell the agent in a message, or have it ask again.",
            ),
            Self::Conflict => (
                "It cannot be done in the state that things are in now: the session has ended, the agent is at work, the files \
                 have changed.",
                "Read the state again. `detail` says what is in the way, and what would clear it.",
            ),
            Self::Invalid => (
                "The request can be read and does not fit: an answer that is none of the options, a field that is missing or \
                 not known, a rule with a wrong word.",
                "Mend what `fieldErrors` names and send it again. The ask is still open.",
            ),
            Self::IdempotencyKeyReused => (
                "This key was used before with another body: another question, or another answer.",
                "Take a new key for what is new. For a repetition, send the very same body: it finds the first result.",
            ),
            Self::TooLarge => (
                "The body is larger than 1 MiB, or what it would make is larger than can be kept.",
                "Send less: a path or a digest in place of the content, or several asks.",
            ),
            Self::LinkUsed => (
                "A link that logs in once was used already, or is older than ten minutes.",
                "Make another one: `holdstead open`, or `holdstead pair` for a phone. If you did not use it, look at \
                 `holdstead token list` for who did.",
            ),
            Self::Internal => (
                "Something failed inside the gateway. Nothing was decided.",
                "Look at the gateway's log, which has the reason; `holdstead audit verify` if it speaks of what is stored. Then \
                 try again.",
            ),
            Self::Unavailable => (
                "The gateway starts, goes away, or cannot reach its database or a machine that it needs.",
                "Send the very same request again after `Retry-After`, with the same key. If it lasts, `/readyz` says what is \
                 missing.",
            ),
            Self::AnsweringDisabled => (
                "This client has switched answering off, and tried to answer.",
                "Switch it on with `POST /v1/interaction-mode`, or answer elsewhere.",
            ),
            Self::PasskeyRequired => (
                "Its person requires a passkey for this: an approval of what is marked, or a session in which nothing asks.",
                "Do it on the page, which asks for the passkey. If it is lost: `holdstead people forget-passkeys NAME` on the \
                 gateway's machine.",
            ),
            Self::RateLimited => (
                "This token sends too many requests, or has too many open at once.",
                "Wait for `Retry-After` seconds, or close what is open. Wait for answers with `?wait=` or a stream in place of asking \
                 again and again.",
            ),
            Self::NonceRefused => (
                "The nonce that the browser signed is missing, older than five minutes, or of a gateway process that runs no longer.",
                "Sign the request again with the nonce in `Holdstead-Nonce`, and send it once more. Holdstead's own page does so by \
                 itself.",
            ),
            Self::BadSignature => (
                "The signature does not fit the request: another method, address, body or key was signed, or `Authorization` cannot \
                 be read.",
                "Reload the page. If that changes nothing, log this browser in again with `holdstead open`. A proxy must pass the \
                 path, the body and the host on unchanged.",
            ),
            Self::SignatureNeeded => (
                "At this address a browser can sign its requests, and this log-in was not signed.",
                "Reload the page, or update the browser. A program needs a token: `holdstead token --role agent --name NAME`.",
            ),
            Self::ExchangeNeeded => (
                "The token belongs to a browser, and browsers sign their requests. Such a token can only be exchanged.",
                "Reload the page: it exchanges the token for a key by itself, once, with `POST /v1/login/exchange`.",
            ),
        };
        CodeWords { happened, to_do }
    }
}
