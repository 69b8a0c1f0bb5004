//! Bodies of the HTTP API.

mod asks;
mod found;
mod history;
mod outcome;
mod pairing;
mod passkeys;
mod people;
mod remembered;
mod sessions;
mod short;

pub use asks::{
    AskCall, AskCallBody, Cut, FormCall, InboxUpsert, Interaction, InteractionPage, LONGEST_TIMEOUT_MS,
    LateResponse, ManyReceipts, OneOfMany, OneReceipt, Receipt, Respond, RespondMany, SnoozeAsk,
};
pub use found::{Decision, DecisionBy, DecisionPage, ExportFormat, Found, FoundKind, SearchPage};
pub use history::{
    PastCall, PastCalls, PastRead, RulesToSimulate, SimulatedRules, SuggestedRules, SuggestionPage,
};
pub use outcome::{Ending, Outcome, TooLate};
pub use pairing::{Network, NewPairing, OpenNetwork, Pairing};
pub use passkeys::{
    NewPasskey, Passkey, PasskeyChallenge, PasskeyConfirmation, PasskeyPage, PasskeyPurpose, RequirePasskey,
};
pub use people::{
    Agents, Device, DevicePage, ExchangeToken, HostedAgent, ListedRunner, LoggedIn, LoginLink, RemoveRunner,
    RemovedRunner, Role, Runners, Ticket, UseLoginLink, WhoAmI,
};
pub use remembered::{
    CallToExplain, ExplainedCall, FolderFiles, ListedRule, NewRule, RulePage, SavedRule, TrustFolder,
    TrustPage,
};
pub use sessions::{
    Archived, Erased, EventPage, Interrupted, MessageAccepted, Messages, OpenSession, Resume, ResumeKind,
    SendMessage, Session, SessionFilter, SessionPage, SetInteractionMode, SetVariables,
};
pub use short::{ShortAnswers, ShortApproval, ShortDenial, ShortError};
