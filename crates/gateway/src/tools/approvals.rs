//! Approvals that a tool remembers, under keys of its own.

use holdstead_core::{Command, Rejection};
use holdstead_protocol::{Grant, GrantId, InteractionId, Rule, Scope};

use super::ToolContext;
use crate::{GatewayError, owner_journal};

/// The approvals of one tool in one session.
#[derive(Debug)]
pub struct Approvals<'a>(&'a ToolContext);

impl ToolContext {
    pub const fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }

    /// Whether somebody who would answer watches this session now.
    pub fn interaction_available(&self) -> bool {
        self.gateway.interaction_available(&self.owner, self.session)
    }
}

impl Approvals<'_> {
    /// How far what was approved under this key reaches, if it still does.
    pub async fn get(&self, key: &str) -> Result<Option<Scope>, GatewayError> {
        let rule = self.rule(key);
        let Some(record) = self.0.gateway.inner.journal.session(self.0.session).await? else {
            return Err(GatewayError::NoSession);
        };
        let now = self.0.gateway.inner.journal.now().await?;
        let always = owner_journal::of_owner(&self.0.gateway, &self.0.owner).await?;
        let covering = record
            .state
            .grants
            .values()
            .chain(&always)
            .find(|grant| grant.rule == rule && grant.expires_at.is_none_or(|expiry| now < expiry));
        Ok(covering.map(|grant| grant.scope))
    }

    /// Remembers what a person approved in this ask. Once is not remembered.
    pub async fn set(
        &self,
        key: &str,
        scope: Scope,
        given_by: &str,
        interaction_id: InteractionId,
    ) -> Result<(), GatewayError> {
        // Masked, it would be the key of another approval.
        if self.0.gateway.inner.masks().of(self.0.session).is_some_and(|secrets| secrets.found_in(key)) {
            return Err(Rejection::SecretInName { what: "key of this approval" }.into());
        }
        let given_at = self.0.gateway.inner.journal.now().await?;
        let grant = Grant {
            grant_id: GrantId::from_answer_under(interaction_id, key),
            rule: self.rule(key),
            scope,
            given_by: given_by.to_owned(),
            interaction_id: Some(interaction_id),
            given_at,
            expires_at: scope.expires_at(given_at),
        };
        match scope {
            Scope::Once => Ok(()),
            Scope::Session => self.0.gateway.append(self.0.session, Command::Grant(grant)).await.map(drop),
            Scope::Hour | Scope::Always => {
                owner_journal::remember(&self.0.gateway, &self.0.owner, grant).await
            }
        }
    }

    /// Forgets what this tool remembered for the session.
    pub async fn clear_session(&self) -> Result<(), GatewayError> {
        let Some(record) = self.0.gateway.inner.journal.session(self.0.session).await? else {
            return Err(GatewayError::NoSession);
        };
        let own = |rule: &Rule| matches!(rule, Rule::Key { tool_name, .. } if *tool_name == self.0.tool_name);
        for grant in record.state.grants.values().filter(|grant| own(&grant.rule)) {
            let revoke = Command::Revoke { grant_id: grant.grant_id, name: self.0.tool_name.clone() };
            self.0.gateway.append(self.0.session, revoke).await?;
        }
        Ok(())
    }

    fn rule(&self, key: &str) -> Rule {
        Rule::Key { tool_name: self.0.tool_name.clone(), key: key.to_owned() }
    }
}
