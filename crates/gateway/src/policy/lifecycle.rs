//! What rules say of a session's start and of the end of its turns.

use holdstead_agents::TurnEnds;
use holdstead_core::Start;
use holdstead_core::policy::{Ending, MayAllow, Places, ending, said_at_start, stop_rules};
use holdstead_store::SessionRecord;

use super::Judge;
use crate::{Gateway, GatewayError};

impl Gateway {
    /// What this session starts with, as rules are now.
    pub(crate) async fn start_of(&self, record: &SessionRecord) -> Result<Start, GatewayError> {
        Ok(self.judge_now(record).await?.start())
    }

    /// Whether the turn of this session may end now.
    pub(crate) async fn ending_of(&self, record: &SessionRecord) -> Result<Ending, GatewayError> {
        Ok(self.judge_now(record).await?.ending())
    }

    async fn judge_now(&self, record: &SessionRecord) -> Result<Judge, GatewayError> {
        let read = self.look_at_rules(record.clone()).await?;
        let ground = self.ground_now(&read).await?;
        self.judge_of(&read, MayAllow::Rules, ground).await
    }
}

impl Judge {
    fn start(&self) -> Start {
        let ground = self.ground(None, 0);
        let places = Places::default();
        let facts = ground.facts(&places);
        let not_kept = match self.driver.capabilities().ends {
            TurnEnds::Asked => Vec::new(),
            TurnEnds::Told => stop_rules(&ground.rules, &facts),
        };
        Start {
            defaults: ground.rules.defaults(),
            context: said_at_start(&ground.rules, &facts),
            not_kept: not_kept.into_iter().map(Into::into).collect(),
        }
    }

    fn ending(&self) -> Ending {
        let ground = self.ground(None, 0);
        let places = Places::default();
        ending(&ground.rules, &ground.facts(&places), self.head.stop_attempts)
    }
}
