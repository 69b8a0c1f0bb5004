//! A machine goes for good: nobody may dial in as its runner any more, and its sessions end.

use holdstead_core::{Command, Manages, handle_of};
use holdstead_protocol::api::{RemovedRunner, Role};
use holdstead_protocol::{AgentState, OwnerId};
use holdstead_store::{PersonRecord, SessionQuery, SessionsOnly};

use crate::{Gateway, GatewayError, Person};

/// How many sessions are looked at together.
const PAGE: u32 = 100;

impl Gateway {
    /// What was decided and not handed over can never be delivered from now on, and says so. Done again, it goes on where it
    /// was cut off.
    pub async fn remove_runner(&self, person: &Person, name: &str) -> Result<RemovedRunner, GatewayError> {
        match person.manages {
            Manages::All => {}
            Manages::Own => return Err(GatewayError::MayNotRemoveRunner),
        }
        let (journal, handle) = (&self.inner.journal, handle_of(name.trim()));
        let people = self.patiently(|| journal.people(&person.owner)).await?;
        let runner = people.into_iter().find(|one| one.role == Role::Runner && one.handle == handle);
        let runner = runner.ok_or_else(|| GatewayError::NoSuchRunner { name: name.to_owned() })?;
        let (gateway, owner, by) = (self.clone(), person.owner.clone(), person.name.clone());
        // To the end, even if the person who removes it goes away.
        let removed = self.inner.tasks.spawn(async move { gateway.remove_machine(owner, by, runner).await });
        removed.await.unwrap_or(Err(GatewayError::Closing))
    }

    async fn remove_machine(
        &self,
        owner: OwnerId,
        by: String,
        runner: PersonRecord,
    ) -> Result<RemovedRunner, GatewayError> {
        let journal = &self.inner.journal;
        journal.remove_person(runner.id).await?;
        self.put_out_revoked().await?;
        let (mut ended, mut before) = (0, None);
        loop {
            let (owner, only) = (owner.clone(), SessionsOnly::All);
            let page = journal.sessions(SessionQuery { owner, before, only, limit: PAGE }).await?;
            let lives = |agent| agent != AgentState::Ended;
            for record in page.iter().filter(|record| record.state.runner == Some(runner.id.into())) {
                if lives(record.state.agent) || record.state.alive.is_some() {
                    let (by, machine) = (by.clone(), runner.name.clone());
                    self.append(record.id, Command::RemoveRunner { by, machine }).await?;
                    ended += 1;
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => before = Some((last.opened_at, last.id)),
                Some(_) | None => return Ok(RemovedRunner { name: runner.name, sessions: ended }),
            }
        }
    }
}
