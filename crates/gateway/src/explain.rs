//! What rules would make of a call, without a call.

use holdstead_core::policy::{Judgement, MayAllow};
use holdstead_protocol::OwnerId;
use holdstead_protocol::api::{CallToExplain, ExplainedCall};

use crate::policy::{CallToJudge, Judged};
use crate::{Gateway, GatewayError};

impl Gateway {
    /// As if the session's agent made this call now. Nothing runs, nobody is asked, and nothing is written.
    pub async fn explain(&self, owner: &OwnerId, call: CallToExplain) -> Result<ExplainedCall, GatewayError> {
        let record = self.record(owner, call.session_id).await?;
        let CallToExplain { tool_name, input, .. } = call;
        let asked = CallToJudge { tool: tool_name, input, cwd: None, depth: 0, may_allow: MayAllow::Rules };
        let rules = self.look_at_rules(record).await?;
        let ground = self.ground_of(&rules).await;
        let Judged { judgement, marks, offers, .. } = self.judge_on(&rules, asked, ground).await?;
        let (verdict, decided_by) = match judgement {
            Judgement::Decided(decision) => (decision.verdict, Some(decision.by)),
            Judgement::Ask(verdict) => (verdict, None),
        };
        Ok(ExplainedCall { verdict, decided_by, marks, offers })
    }
}
