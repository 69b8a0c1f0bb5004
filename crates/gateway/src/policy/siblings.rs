//! Rules that a person saves settle asks that wait and that they cover, in every session of the owner. Each is settled in its
//! own journal; a gateway that starts looks again, so that none is forgotten if the one before was killed in between.

use std::collections::BTreeSet;

use holdstead_core::policy::{Judgement, MayAllow};
use holdstead_core::{Allow, Command, Rejection};
use holdstead_protocol::{AskState, CallDecision, DecidedBy, OwnerId, SessionId, Told};
use holdstead_store::{AskFilter, AskQuery, AskRecord};

use super::{CallToJudge, Judged};
use crate::{Gateway, GatewayError};

/// How many asks are read at once: each may be as large as an event.
const PAGE: u32 = 32;

impl Gateway {
    /// The same in the background: nobody who answers waits for the others.
    pub(crate) fn settle_soon(&self, owner: &OwnerId, session: Option<SessionId>) {
        let (gateway, owner) = (self.clone(), owner.clone());
        self.inner.tasks.spawn(async move {
            if let Err(error) = gateway.patiently(|| gateway.settle_covered(&owner, session)).await {
                tracing::warn!(%error, "asks that a new rule covers wait until the gateway starts again");
            }
        });
    }

    /// Settles what rules allow by now: of one session, or of all of the owner's.
    pub(crate) async fn settle_covered(
        &self,
        owner: &OwnerId,
        session: Option<SessionId>,
    ) -> Result<(), GatewayError> {
        let mut query =
            AskQuery { owner: owner.clone(), session, only: AskFilter::Live, after: None, limit: PAGE };
        loop {
            let asks = self.inner.journal.asks(query.clone()).await?;
            let last = asks.last().map(|last| (last.ask.opened_at, last.id));
            let is_last = asks.len() < PAGE as usize;
            for ask in asks {
                // One that cannot be settled waits for a person, as before.
                if let Err(error) = self.settle_if_covered(&ask).await {
                    tracing::debug!(ask = %ask.id, %error, "not settled by rules");
                }
            }
            if is_last {
                return Ok(());
            }
            query.after = last;
        }
    }

    async fn settle_if_covered(&self, ask: &AskRecord) -> Result<(), GatewayError> {
        let request = &ask.request;
        // What is marked, or a person's alone to decide, stays theirs.
        let open = ask.ask.state == AskState::Open && request.body.is_approval();
        if !open
            || !request.origin.is_agent()
            || !request.capabilities.scopes
            || !request.marks.is_empty()
            || request.may_have_run
        {
            return Ok(());
        }
        let Some(session) = self.inner.journal.session(ask.session).await? else { return Ok(()) };
        // Where its paths lead is known on its agent's machine only. The node that speaks for it is told of new rules, too.
        if !self.speaks_for(&session.state) {
            return Ok(());
        }
        let call = CallToJudge {
            tool: request.tool_name.clone(),
            input: request.input.clone(),
            cwd: request.cwd.clone(),
            depth: request.parents.len(),
            may_allow: MayAllow::RulesOfPeople,
        };
        loop {
            let rules = self.read_rules(ask.session).await?;
            let settled = match self.judge(&rules, call.clone()).await {
                Ok(judged) => self.settle_by(ask, judged).await,
                Err(error) => Err(error),
            };
            match settled {
                // They changed meanwhile.
                Err(GatewayError::Rejected(Rejection::RulesChanged)) => {}
                settled => return settled,
            }
        }
    }

    async fn settle_by(&self, ask: &AskRecord, judged: Judged) -> Result<(), GatewayError> {
        if let Judgement::Decided(decision @ CallDecision { told: Told::Allowed, by: DecidedBy::Rules, .. }) =
            &judged.judgement
            && judged.marks.is_empty()
            && let Some(basis) = judged.basis
        {
            let prompt_id = ask.request.prompt_id;
            let allow = Allow { interaction_id: ask.id, prompt_id, rules: named(decision) };
            self.append(ask.session, Command::Allow(allow).based_on(basis, None)).await?;
        }
        Ok(())
    }
}

/// The rules that decided, each once.
pub(crate) fn named(decision: &CallDecision) -> String {
    let rules = decision.verdict.parts.iter().filter_map(|part| part.rule.as_ref());
    let texts: BTreeSet<&str> = rules.map(|rule| rule.text.as_str()).collect();
    match &decision.by {
        DecidedBy::Rules => texts.into_iter().collect::<Vec<_>>().join("; "),
        DecidedBy::Mode { .. } => "permission mode auto".to_owned(),
        DecidedBy::Grant { .. } => "an approval of the same input".to_owned(),
        DecidedBy::AgentsOwn => "the agent's own".to_owned(),
    }
}
