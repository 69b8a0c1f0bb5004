//! Which remembered approval covers a call. Only a literal match counts.

use holdstead_protocol::{
    Asker, CallSource, Digest, Grant, GrantId, InteractionRequest, OfferedScope, Origin, Rule, Scope,
    Timestamp,
};
use std::collections::BTreeMap;

use crate::Head;

/// A call, as far as a remembered approval has to know it.
#[derive(Debug, Clone, Copy)]
pub struct ExactCall<'a> {
    pub source: &'a CallSource,
    pub tool_name: &'a str,
    pub input: &'a Digest,
    /// Something in it is risky.
    pub is_marked: bool,
}

/// The grant that covers this call now, if there is one. A session's own come first: they end sooner.
pub fn covering<'a>(
    session: &'a BTreeMap<GrantId, Grant>,
    owner: &'a [Grant],
    call: &ExactCall<'_>,
    now: Timestamp,
) -> Option<&'a Grant> {
    session
        .values()
        .chain(owner)
        .filter(|grant| grant.expires_at.is_none_or(|expiry| now < expiry))
        .find(|grant| covers(grant, call))
}

/// A marked call is covered only by an approval of that one call, which a person gave to it late.
fn covers(grant: &Grant, call: &ExactCall<'_>) -> bool {
    let reaches = match grant.scope {
        Scope::Once => true,
        Scope::Session | Scope::Hour | Scope::Always => !call.is_marked,
    };
    reaches
        && match &grant.rule {
            Rule::ExactInput { tool_name, input_digest, source } => {
                source.as_ref() == Some(call.source)
                    && tool_name == call.tool_name
                    && input_digest == call.input
            }
            // Its tool looks it up by itself; rules are asked before.
            Rule::Key { .. } | Rule::Lines { .. } => false,
        }
}

/// Whether a person approved a call of this tool with this input late, from any source.
pub(crate) fn is_approved_late(grants: &BTreeMap<GrantId, Grant>, tool: &str, input: &Digest) -> bool {
    grants.values().any(|grant| match (&grant.rule, grant.scope) {
        (Rule::ExactInput { tool_name, input_digest, .. }, Scope::Once) => {
            tool_name == tool && input_digest == input
        }
        (Rule::ExactInput { .. }, Scope::Session | Scope::Hour | Scope::Always)
        | (Rule::Key { .. } | Rule::Lines { .. }, _) => false,
    })
}

impl Head {
    /// The source of a call that the session's agent makes in this folder, or in its own.
    pub fn source_of_agent(&self, cwd: Option<&str>) -> CallSource {
        let folder = cwd.map(str::to_owned).or_else(|| self.folder.clone());
        CallSource::Agent { agent: self.agent_name.clone(), folder, runner: self.runner }
    }

    pub(crate) fn source_of(&self, request: &InteractionRequest) -> CallSource {
        match request.origin {
            Origin::Agent | Origin::Attached => self.source_of_agent(request.cwd.as_deref()),
            Origin::Tool => CallSource::Tool { folder: self.folder.clone(), runner: self.runner },
            Origin::Caller => {
                let asker: Option<&Asker> = request.asked_by.as_ref();
                CallSource::Program {
                    name: asker.map(|asker| asker.name.clone()),
                    person_id: asker.and_then(|asker| asker.actor).map(|actor| actor.person_id),
                }
            }
        }
    }
}

/// The scopes that an asker wants an approval of this input to have. How many of them are offered is decided when the
/// ask is opened, and whose calls they cover: see [`super::reach`].
pub fn offered_scopes(tool_name: &str, input: &Digest, scopes: &[Scope]) -> Vec<OfferedScope> {
    let rule =
        Rule::ExactInput { tool_name: tool_name.to_owned(), input_digest: input.clone(), source: None };
    scopes.iter().map(|scope| OfferedScope { scope: *scope, rule: rule.clone() }).collect()
}
