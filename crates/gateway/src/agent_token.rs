//! The token with which a hosted agent reaches the gateway's tools: its own, for its own session, for one life.
//!
//! It is computed from the key that lies outside the database, so nobody needs to remember it: a gateway that starts
//! again can end the tokens of agents that it never knew.

use holdstead_agents::ToolServer;
use holdstead_core::hosted_handle;
use holdstead_protocol::api::Role;
use holdstead_protocol::{DeviceId, DeviceKind, IdentifiedBy, Incarnation, PersonId, SessionId};
use holdstead_runner::life;
use holdstead_store::{DeviceRecord, PasskeyRule, PersonRecord, SessionRecord, token_hash};

use crate::{Gateway, GatewayError};

impl Gateway {
    /// Where this life of the agent finds the tools, and its token for it, valid from now on.
    pub(crate) async fn tool_server(
        &self,
        record: &SessionRecord,
        incarnation: Incarnation,
    ) -> Result<Option<ToolServer>, GatewayError> {
        let Some(url) = &self.inner.config.mcp_url else { return Ok(None) };
        let token = self.agent_token(record.id, incarnation);
        let hash = token_hash(&token);
        // It may be there already: a start that was refused afterwards is tried again.
        if self.inner.journal.device_by_hash(&hash).await?.is_none() {
            let now = self.inner.journal.now().await?;
            let agent = &record.opened.agent;
            let hosted = PersonRecord {
                id: PersonId::generate(),
                owner: record.owner.clone(),
                name: agent.clone(),
                handle: hosted_handle(agent),
                role: Role::Agent,
                passkey_rule: PasskeyRule::NotRequired,
                created_at: now,
                removed_at: None,
            };
            let device = DeviceRecord {
                id: DeviceId::generate(),
                person: self.inner.journal.add_person(hosted).await?.id,
                hash,
                kind: DeviceKind::Token,
                identified_by: IdentifiedBy::Token,
                name: "Hosted here".to_owned(),
                session: Some(record.id),
                created_at: now,
                last_used_at: None,
                expires_at: None,
                revoked_at: None,
            };
            self.inner.journal.add_device(device).await?;
        }
        let tools = self.tools().iter().map(|tool| tool.name().to_owned()).collect();
        Ok(Some(ToolServer { url: url.clone(), token, tools }))
    }

    /// That life is over, and its token with it.
    pub(crate) async fn end_agent_token(
        &self,
        session: SessionId,
        incarnation: Incarnation,
    ) -> Result<(), GatewayError> {
        let hash = token_hash(&self.agent_token(session, incarnation));
        if let Some((device, _)) = self.inner.journal.device_by_hash(&hash).await? {
            self.inner.journal.revoke_device(device.id).await?;
        }
        Ok(())
    }

    fn agent_token(&self, session: SessionId, incarnation: Incarnation) -> String {
        self.inner.config.secrets_key.agent_token(&life(session, incarnation))
    }
}
