//! Which acts a person confirms with a passkey, where they chose that.

use holdstead_protocol::api::OpenSession;
use holdstead_protocol::{PasskeyId, PermissionMode, ResponseDraft, Scope};

/// What a person is about to do.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    /// This answer, to an ask in which something is risky or nothing is.
    Answer {
        is_marked: bool,
        response: &'a ResponseDraft,
    },
    OpenSession(&'a OpenSession),
    TrustFolder,
    SaveRule,
    ChangePasskeys,
}

/// Why an act needs a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsPasskey {
    MarkedApproval,
    /// It reaches beyond its session.
    WideApproval,
    EditedInput,
    AutoSession,
    /// The session brings a program, servers or rules of its own.
    SessionWithPrograms,
    Trust,
    Rule,
    Change,
}

impl NeedsPasskey {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::MarkedApproval => {
                "it is marked as risky, and you chose that a passkey confirms such approvals: approve this one in the page"
            }
            Self::WideApproval => {
                "it would count in other sessions, too, and you chose that a passkey confirms that: approve this one in the page"
            }
            Self::EditedInput => {
                "you changed the input, and you chose that a passkey confirms that: approve this one in the page"
            }
            Self::AutoSession => {
                "nothing would ask in this session, and you chose that a passkey confirms such sessions: open it in the page"
            }
            Self::SessionWithPrograms => {
                "this session brings a program, MCP servers or allowed tools of its own, and you chose that a passkey confirms \
                 such sessions: open it in the page"
            }
            Self::Trust => {
                "agents would run what is in this folder, and you chose that a passkey confirms that: trust it in the page"
            }
            Self::Rule => {
                "this rule would count in all sessions, and you chose that a passkey confirms that: save it in the page"
            }
            Self::Change => "this needs one of your passkeys: do it in the page",
        }
    }
}

/// Whether a passkey confirmed an act. It comes with the act's append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// The person did not choose that passkeys confirm anything.
    NotRequired,
    By(PasskeyId),
    /// The person chose it, and no passkey confirmed this act.
    Missing,
}

/// Why this act needs a passkey of a person who chose that, if it needs one. To refuse never does.
pub fn needs_passkey(act: Act<'_>) -> Option<NeedsPasskey> {
    match act {
        Act::Answer { is_marked, response } => of_answer(is_marked, response),
        Act::OpenSession(open) => of_session(open),
        Act::TrustFolder => Some(NeedsPasskey::Trust),
        Act::SaveRule => Some(NeedsPasskey::Rule),
        Act::ChangePasskeys => Some(NeedsPasskey::Change),
    }
}

fn of_answer(is_marked: bool, response: &ResponseDraft) -> Option<NeedsPasskey> {
    match response {
        ResponseDraft::Approve { .. } if is_marked => Some(NeedsPasskey::MarkedApproval),
        ResponseDraft::Approve { scope: Some(Scope::Hour | Scope::Always), .. } => {
            Some(NeedsPasskey::WideApproval)
        }
        ResponseDraft::Approve { edited_input: Some(_), .. } => Some(NeedsPasskey::EditedInput),
        ResponseDraft::Approve {
            scope: None | Some(Scope::Once | Scope::Session),
            edited_input: None,
            ..
        }
        | ResponseDraft::Deny { .. }
        | ResponseDraft::Submit { .. }
        | ResponseDraft::Cancel { .. } => None,
    }
}

fn of_session(open: &OpenSession) -> Option<NeedsPasskey> {
    let brings = open.program.is_some() || !open.mcp_servers.is_empty() || !open.allowed_tools.is_empty();
    match open.permission_mode {
        PermissionMode::Auto => Some(NeedsPasskey::AutoSession),
        PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan => {
            brings.then_some(NeedsPasskey::SessionWithPrograms)
        }
    }
}

impl Confirmed {
    /// Refuses an act that needs a passkey and has none.
    pub fn check(self, act: Act<'_>) -> Result<(), crate::Rejection> {
        match (self, needs_passkey(act)) {
            (Self::Missing, Some(what)) => Err(crate::Rejection::PasskeyRequired { what }),
            (Self::Missing, None) | (Self::NotRequired | Self::By(_), _) => Ok(()),
        }
    }
}
