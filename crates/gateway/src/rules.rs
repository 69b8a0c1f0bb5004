//! Rules that count for an owner: look at them, write one, take one back.

use std::collections::BTreeMap;

use holdstead_core::policy::rule::{RuleFile, parse};
use holdstead_core::policy::use_key;
use holdstead_core::{Command, Rejection, RuleUse};
use holdstead_protocol::api::{ListedRule, NewRule};
use holdstead_protocol::{
    AgentState, Grant, GrantId, InteractionId, Layer, OwnerId, Rule, RuleText, Scope, SessionId,
};
use holdstead_store::{SessionQuery, SessionRecord, SessionsOnly};
use serde_json::Value;

use crate::{Gateway, GatewayError, Person, owner_journal};

/// In how many of the newest sessions rules and their uses are looked for.
const SESSIONS: u32 = 200;
/// As much of an approved input as is told.
const INPUT: usize = 2_000;

impl Gateway {
    /// All rules that count in this owner's sessions, but for those of projects.
    pub async fn rules(&self, owner: &OwnerId) -> Result<Vec<ListedRule>, GatewayError> {
        let newest =
            SessionQuery { owner: owner.clone(), before: None, only: SessionsOnly::All, limit: SESSIONS };
        let sessions = self.inner.journal.sessions(newest).await?;
        let uses = uses(&sessions);
        let mut listed = Vec::new();
        for grant in owner_journal::of_owner(self, owner).await? {
            listed.push(self.of_grant(grant, Layer::Person, None, &uses).await?);
        }
        for session in sessions {
            if session.state.agent == AgentState::Ended {
                continue;
            }
            let grants = session.state.grants.values().filter(|grant| grant.scope != Scope::Once);
            for grant in grants.cloned() {
                listed.push(self.of_grant(grant, Layer::Session, Some(&session), &uses).await?);
            }
        }
        listed.extend(of_file(&self.inner.config.policy.rules, Layer::Organisation, None, &uses));
        for driver in self.drivers() {
            // Tests read every one of them.
            let file = RuleFile::parse(driver.built_in_rules()).unwrap_or_default();
            listed.extend(of_file(&file, Layer::BuiltIn, Some(driver.name()), &uses));
        }
        let now = self.inner.journal.now().await?;
        listed.retain(|rule| rule.expires_at.is_none_or(|expiry| now < expiry));
        Ok(listed)
    }

    async fn of_grant(
        &self,
        grant: Grant,
        layer: Layer,
        session: Option<&SessionRecord>,
        uses: &BTreeMap<String, RuleUse>,
    ) -> Result<ListedRule, GatewayError> {
        let used = match &grant.rule {
            Rule::Lines { lines } => {
                let used = lines
                    .iter()
                    .filter_map(|text| uses.get(&use_key(&RuleText { text: text.clone(), layer })));
                // Those of one offer are used together; where they are not, the most used says more.
                used.max_by_key(|used| used.count).copied()
            }
            Rule::ExactInput { .. } | Rule::Key { .. } => uses.get(&grant.grant_id.to_string()).copied(),
        };
        let input = match (&grant.rule, grant.interaction_id) {
            (Rule::ExactInput { .. }, Some(ask)) => self.approved_input(ask).await?,
            (Rule::ExactInput { .. } | Rule::Lines { .. } | Rule::Key { .. }, _) => None,
        };
        Ok(ListedRule {
            rule: grant.rule,
            layer,
            grant_id: Some(grant.grant_id),
            scope: Some(grant.scope),
            given_by: Some(grant.given_by),
            given_at: Some(grant.given_at),
            expires_at: grant.expires_at,
            interaction_id: grant.interaction_id,
            session_id: session.map(|session| session.id),
            session_title: session.and_then(|session| session.title.clone()),
            line: None,
            agent: None,
            input,
            uses: used.map_or(0, |used| used.count),
            last_use: used.map(|used| used.last),
        })
    }

    /// What was approved, for an approval of the very same input.
    async fn approved_input(&self, ask: InteractionId) -> Result<Option<Value>, GatewayError> {
        let record = self.inner.journal.ask(ask).await?;
        let input = record.map(|record| record.request.input);
        Ok(input.filter(|input| input.to_string().len() <= INPUT))
    }

    /// Saves a rule for all sessions of the owner.
    pub async fn add_rule(&self, person: &Person, new: NewRule) -> Result<GrantId, GatewayError> {
        let line = new.line.trim().to_owned();
        parse(&line).map_err(|wrong| Rejection::WrongRule {
            column: wrong.column,
            what: wrong.what,
            hint: wrong.hint,
        })?;
        let given_at = self.inner.journal.now().await?;
        let confirmation = self.confirm_rule(person, &new).await?;
        let grant_id = GrantId::of_line(&person.owner, &line);
        let grant = Grant {
            grant_id,
            rule: Rule::Lines { lines: vec![line] },
            scope: Scope::Always,
            given_by: person.name.clone(),
            interaction_id: None,
            given_at,
            expires_at: None,
        };
        let saved = owner_journal::remember(self, &person.owner, grant).await;
        self.after_confirmation(confirmation, saved).await?;
        Ok(grant_id)
    }

    /// Takes one back: the next match asks. One that is for a session is named with it.
    pub async fn revoke(
        &self,
        person: &Person,
        grant_id: GrantId,
        session: Option<SessionId>,
    ) -> Result<(), GatewayError> {
        let command = Command::Revoke { grant_id, name: person.name.clone() };
        let journal = match session {
            Some(session) => self.record(&person.owner, session).await?.id,
            None => owner_journal::journal_of(&person.owner),
        };
        match self.append(journal, command).await {
            Ok(_) => Ok(()),
            Err(GatewayError::Rejected(Rejection::NotOpened)) => {
                Err(GatewayError::Rejected(Rejection::UnknownGrant))
            }
            Err(error) => Err(error),
        }
    }
}

/// How often each was used in these sessions, and when last.
fn uses(sessions: &[SessionRecord]) -> BTreeMap<String, RuleUse> {
    let mut all: BTreeMap<String, RuleUse> = BTreeMap::new();
    for (key, used) in sessions.iter().flat_map(|session| &session.state.rule_uses) {
        all.entry(key.clone()).and_modify(|sum| *sum = sum.and(*used)).or_insert(*used);
    }
    all
}

fn of_file<'a>(
    file: &'a RuleFile,
    layer: Layer,
    agent: Option<&'a str>,
    uses: &'a BTreeMap<String, RuleUse>,
) -> impl Iterator<Item = ListedRule> + 'a {
    file.rules.iter().map(move |placed| {
        let text = placed.rule.text.clone();
        let used = uses.get(&use_key(&RuleText { text: text.clone(), layer })).copied();
        ListedRule {
            rule: Rule::Lines { lines: vec![text] },
            layer,
            grant_id: None,
            scope: None,
            given_by: None,
            given_at: None,
            expires_at: None,
            interaction_id: None,
            session_id: None,
            session_title: None,
            line: Some(placed.line),
            agent: agent.map(str::to_owned),
            input: None,
            uses: used.map_or(0, |used| used.count),
            last_use: used.map(|used| used.last),
        }
    })
}
