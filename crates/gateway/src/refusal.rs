//! What a client is told when something was not done, whatever transport it came by.
//!
//! Words about our own insides go to the log, never to a client.

use holdstead_core::Rejection;
use holdstead_protocol::{Code, KnownBy, Refusal};
use holdstead_runner::Unable;
use holdstead_store::StoreError;

use crate::GatewayError;

impl From<&GatewayError> for Refusal {
    fn from(error: &GatewayError) -> Self {
        let words = sentence(&error.to_string());
        match error {
            GatewayError::NoSession
            | GatewayError::NoAsk
            | GatewayError::NoTool { .. }
            | GatewayError::NoSuchRunner { .. }
            | GatewayError::NoPasskey => Self::new(Code::NotFound, words),
            GatewayError::MayNotRemoveRunner => Self::new(Code::Forbidden, words),
            GatewayError::BadPasskey(_)
            | GatewayError::NoPasskeysHere
            | GatewayError::NoPasskeyFor { .. }
            | GatewayError::NoPasskeyYet
            | GatewayError::TooManyPasskeys { .. }
            | GatewayError::PasskeyName(_) => Self::new(Code::Invalid, words),
            GatewayError::ChallengeGone => Self::new(Code::Conflict, words),
            GatewayError::NoAgent { .. }
            | GatewayError::OnlyInTerminal { .. }
            | GatewayError::NoFolder { .. }
            | GatewayError::OwnFolder { .. }
            | GatewayError::NothingToTrust { .. }
            | GatewayError::CannotTrust { .. }
            | GatewayError::NoRunner
            | GatewayError::WhichRunner { .. }
            | GatewayError::UnknownRunner { .. }
            | GatewayError::RunnerElsewhere { .. }
            | GatewayError::Runner(Unable::NotStarted(_)) => Self::new(Code::Invalid, words),
            GatewayError::Runner(Unable::Away | Unable::Silent { .. }) => Self::new(Code::Unavailable, words),
            GatewayError::FilesChanged { .. }
            | GatewayError::TrustEnded { .. }
            | GatewayError::JournalLacks { .. } => Self::new(Code::Conflict, words),
            GatewayError::Rejected(rejection) => rejected(rejection, words),
            GatewayError::TooLarge { .. } => Self::new(Code::TooLarge, words),
            GatewayError::Runner(Unable::StillAlive { .. }) | GatewayError::SecretGone => {
                Self::new(Code::Conflict, words)
            }
            GatewayError::NotJudged => Self::new(Code::Internal, words),
            GatewayError::Closing | GatewayError::Silent => Self::new(Code::Unavailable, words),
            GatewayError::Store(StoreError::Corrupt { what }) => {
                tracing::error!(what, "a request met what cannot be read");
                Self::new(
                    Code::Internal,
                    "What is stored about this cannot be read. `holdstead audit verify` says what is wrong with it.",
                )
            }
            // Which ones is in the log, with what to do: whoever asks may not know of them.
            GatewayError::Store(StoreError::WentBack(went_back)) => Self::new(
                Code::Unavailable,
                format!(
                    "The database lacks what was written before in {}. Nothing is decided until an operator sees to it: \
                     the log says what to do.",
                    sessions(went_back.count())
                ),
            ),
            GatewayError::Store(error @ StoreError::NewerVersion { .. }) => {
                tracing::warn!(%error, "a request was for a node of the newer version");
                let words = "A newer Holdstead wrote to this session, and this node is not new enough to go on with it. Nothing was \
                             decided: try again, which may reach a newer node, or update this one.";
                Self::new(Code::Unavailable, words)
            }
            GatewayError::Store(error @ (StoreError::NoWriter { .. } | StoreError::Unreachable { .. })) => {
                tracing::error!(%error, "a request failed");
                let words =
                    "The journal cannot be reached now; it is in the log. Nothing was decided: try again.";
                Self::new(Code::Unavailable, words)
            }
            GatewayError::Store(error) => {
                tracing::error!(%error, "a request failed");
                Self::new(
                    Code::Internal,
                    "Something failed on our side; it is in the log. Nothing was decided.",
                )
            }
        }
    }
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") }
}

fn rejected(rejection: &Rejection, words: String) -> Refusal {
    match rejection {
        Rejection::NotOpened | Rejection::UnknownAsk | Rejection::UnknownGrant | Rejection::UnknownTrust => {
            Refusal::new(Code::NotFound, words)
        }
        Rejection::Lost { winner } => {
            Refusal { winner: Some(winner.clone()), ..Refusal::new(Code::AlreadyAnswered, words) }
        }
        Rejection::AnsweredInTerminal { how } => match how.known_by {
            KnownBy::Record | KnownBy::Program | KnownBy::Withdrawn => {
                Refusal::new(Code::AlreadyAnswered, words)
            }
            // Nobody answered it there.
            KnownBy::Closed | KnownBy::LeftToTerminal => Refusal::new(Code::Closed, words),
        },
        Rejection::StalePrompt { current } => {
            Refusal { prompt_id: Some(*current), ..Refusal::new(Code::StalePrompt, words) }
        }
        Rejection::Dead { .. }
        | Rejection::Stopped { .. }
        | Rejection::TurnStopped { .. }
        | Rejection::SecretTooLate => Refusal::new(Code::Closed, words),
        Rejection::Invalid { errors } => {
            Refusal { field_errors: errors.clone(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::PasskeyRequired { .. } => Refusal::new(Code::PasskeyRequired, words),
        Rejection::NotTheirs { .. } | Rejection::NotTheAsker | Rejection::ProgramIsAdmins => {
            Refusal::new(Code::Forbidden, words)
        }
        Rejection::WrongRule { what, hint, .. } => {
            let field = ("line".to_owned(), format!("{what} ({hint})"));
            Refusal { field_errors: [field].into(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::WrongRuleFile { line, what, hint, .. } => {
            let field = ("text".to_owned(), format!("line {line}: {what} ({hint})"));
            Refusal { field_errors: [field].into(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::WrongAllowedTool { text, what, hint, .. } => {
            let field = ("allowedTools".to_owned(), format!("`{text}`: {what} ({hint})"));
            Refusal { field_errors: [field].into(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::BadVariable { name, why } => {
            let field = (format!("variables.{name}"), (*why).to_owned());
            Refusal { field_errors: [field].into(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::BadSnooze => {
            let field = ("until".to_owned(), "must be to come, and at most seven days from now".to_owned());
            Refusal { field_errors: [field].into(), ..Refusal::new(Code::Invalid, words) }
        }
        Rejection::TooManyVariables { .. }
        | Rejection::WrongAction { .. }
        | Rejection::Marked
        | Rejection::TooManyAtOnce { .. }
        | Rejection::BadAsk { .. }
        | Rejection::TooManyOpen { .. }
        | Rejection::TooMuchOpen { .. }
        | Rejection::TooManyMessages { .. }
        | Rejection::EmptyMessage
        | Rejection::SecretInTheClear
        | Rejection::SecretInName { .. } => Refusal::new(Code::Invalid, words),
        Rejection::KeyReused | Rejection::AskChanged | Rejection::AlreadySaid { .. } => {
            Refusal::new(Code::IdempotencyKeyReused, words)
        }
        Rejection::AlreadyOpen
        | Rejection::Ended
        | Rejection::Erased
        | Rejection::AsksOpen { .. }
        | Rejection::AtWork
        | Rejection::TerminalAway
        | Rejection::TypedThere
        | Rejection::InTerminal
        | Rejection::Answered
        | Rejection::NothingToDecide
        | Rejection::TooManyAttempts { .. }
        | Rejection::NotDue
        | Rejection::CannotPark(_)
        | Rejection::AlreadyAlive
        | Rejection::StaleIncarnation
        | Rejection::OutOfStep { .. }
        | Rejection::RulesChanged
        | Rejection::OnRecord
        | Rejection::WrongAgentState { .. }
        | Rejection::NoSuchTurn
        | Rejection::NotDeliverable
        | Rejection::GrantExists => Refusal::new(Code::Conflict, words),
    }
}

fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let sentence: String =
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect());
    if sentence.ends_with('.') { sentence } else { sentence + "." }
}
