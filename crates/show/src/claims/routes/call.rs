//! A route, and what can be wrong with a call of it.

use std::fmt;

use holdstead_protocol::Code;
use holdstead_protocol::api::Role;
use reqwest::Method;

/// An agent may call these whichever session it belongs to.
const FOR_ANY_AGENT: [&str; 5] = ["/v1/me", "/openapi.json", "/healthz", "/readyz", MCP];
const LOGIN: &str = "/v1/login";
const EXCHANGE: &str = "/v1/login/exchange";
const SOCKET: &str = "/v1/ws";
const RUNNER: &str = "/v1/runner";
const METRICS: &str = "/metrics";
const REMOVE: &str = "/v1/runners/remove";
const NETWORK: &str = "/v1/network";
const PASSKEYS: &str = "/v1/passkeys";
const MCP: &str = "/mcp";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// Who may call it, as the document says.
    pub(crate) roles: Vec<Role>,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

/// Whose token a call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A person, or for a log-in the right code or token, or an admin where it takes one.
    Right,
    /// A person where it takes an admin.
    Person,
    Nobody,
    /// A person whose token is in a cookie: browsers send those to every port of a host.
    Cookie,
    Unknown,
    /// A browser that does not sign its log-in.
    Unsigned,
    Revoked,
    Viewer,
    /// A machine that runs agents.
    Runner,
    /// A program that reads metrics.
    Metrics,
    /// The agent of the session in the path.
    OwnAgent,
    /// The agent of another session.
    OtherAgent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Caller(Caller),
    Host,
    Origin,
    ContentType,
}

impl Route {
    /// What destroys what others need comes last.
    pub(crate) fn order(&self) -> (u8, String) {
        let rank = match (&self.method, self.path.as_str()) {
            (&Method::GET, _) => 0,
            // Nobody is logged in after that.
            (_, "/v1/devices") => 6,
            // Only what has ended can be erased, and archived for sure.
            (&Method::POST, path) if path.ends_with("/erase") || path.ends_with("/archive") => 5,
            (&Method::POST | &Method::PUT, path) if !path.ends_with("/interrupt") => 1,
            (&Method::POST, _) => 2,
            (_, path) if !path.starts_with("/v1/sessions") => 3,
            (_, _) => 4,
        };
        (rank, self.path.clone())
    }

    pub(crate) fn takes_body(&self) -> bool {
        matches!(self.method, Method::POST | Method::PUT)
    }

    pub(crate) fn is_login(&self) -> bool {
        self.path == LOGIN || self.exchanges()
    }

    pub(crate) fn exchanges(&self) -> bool {
        self.path == EXCHANGE
    }

    pub(crate) fn is_socket(&self) -> bool {
        self.path == SOCKET || self.is_for_runners()
    }

    /// Only a machine that runs agents dials in there.
    pub(crate) fn is_for_runners(&self) -> bool {
        self.path == RUNNER
    }

    /// Whoever watches over gateways, whichever owners they serve.
    pub(crate) fn is_for_metrics(&self) -> bool {
        self.path == METRICS
    }

    /// Only an admin lets other machines in, or sends one away for good.
    pub(crate) fn is_for_admins(&self) -> bool {
        self.opens_network() || self.path == REMOVE
    }

    fn opens_network(&self) -> bool {
        self.path == NETWORK && self.method == Method::POST
    }

    pub(crate) fn is_mcp(&self) -> bool {
        self.path == MCP
    }

    pub(crate) fn is_short(&self) -> bool {
        self.path.starts_with("/api/")
    }

    /// The status with which the right caller is let in.
    pub(crate) fn lets_in(&self, status: u16) -> bool {
        if self.path.starts_with(PASSKEYS) && self.method != Method::GET {
            // Past every door; then there is no passkey, and no page that could have one.
            return matches!(status, 204 | 404 | 409 | 422);
        }
        if self.opens_network() {
            // Past every door; then the address of the show, which nobody has, is not opened.
            return status == 422;
        }
        if self.is_socket() { status == 101 } else { (200..300).contains(&status) }
    }

    /// Those who may look. A runner sees its own session besides, and this show has none of it.
    pub(crate) fn readers(&self) -> Vec<Caller> {
        if self.method != Method::GET {
            return Vec::new();
        }
        let may = Caller::OF_ROLES.into_iter().filter(|(role, _)| self.roles.contains(role));
        may.map(|(_, caller)| caller).filter(|caller| *caller != Caller::Runner).collect()
    }

    /// Everything that this route must refuse.
    pub(crate) fn wrongs(&self) -> Vec<Wrong> {
        let mut callers = vec![Caller::Nobody, Caller::Unknown];
        if self.is_login() {
            callers.push(Caller::Unsigned);
        } else {
            callers.extend([Caller::Revoked, Caller::Cookie]);
            let others = Caller::OF_ROLES.into_iter().filter(|(role, _)| !self.roles.contains(role));
            callers.extend(others.map(|(_, caller)| caller));
            if !FOR_ANY_AGENT.contains(&self.path.as_str()) {
                callers.push(Caller::OtherAgent);
            }
        }
        let mut wrongs: Vec<_> = callers.into_iter().map(Wrong::Caller).collect();
        wrongs.extend([Wrong::Host, Wrong::Origin]);
        if self.takes_body() {
            wrongs.push(Wrong::ContentType);
        }
        wrongs
    }
}

impl Caller {
    const OF_ROLES: [(Role, Self); 5] = [
        (Role::Person, Self::Person),
        (Role::Viewer, Self::Viewer),
        (Role::Agent, Self::OwnAgent),
        (Role::Runner, Self::Runner),
        (Role::Metrics, Self::Metrics),
    ];
}

impl Wrong {
    pub(crate) const fn caller(self) -> Caller {
        match self {
            Self::Caller(caller) => caller,
            Self::Host | Self::Origin | Self::ContentType => Caller::Right,
        }
    }

    /// The status and the code of the refusal.
    pub(crate) const fn refusal(self) -> (u16, Code) {
        match self {
            Self::Caller(
                Caller::Viewer
                | Caller::Runner
                | Caller::Metrics
                | Caller::OwnAgent
                | Caller::OtherAgent
                | Caller::Person
                | Caller::Right,
            ) => (403, Code::Forbidden),
            Self::Caller(Caller::Nobody | Caller::Cookie | Caller::Unknown | Caller::Revoked) => {
                (401, Code::Unauthenticated)
            }
            Self::Caller(Caller::Unsigned) => (401, Code::SignatureNeeded),
            Self::Host | Self::Origin => (403, Code::ForeignOrigin),
            Self::ContentType => (415, Code::UnsupportedMediaType),
        }
    }
}
