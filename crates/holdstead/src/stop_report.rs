//! What a gateway that stopped says of its agents, for `holdstead stop` to print.

use holdstead_gateway::{Stopped, StoppedAgent};
use holdstead_protocol::SessionId;
use serde::{Deserialize, Serialize};

use crate::text::safe_line;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StopReport {
    /// The process that stopped: `stop` prints no report of another one.
    pub(crate) pid: u32,
    pub(crate) parked: Vec<Agent>,
    pub(crate) not_parked: Vec<Agent>,
    pub(crate) at_work: Vec<Agent>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agent {
    pub(crate) session_id: SessionId,
    pub(crate) title: String,
    /// Why it was not parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

impl Agent {
    fn new(agent: &StoppedAgent, why: Option<String>) -> Self {
        Self { session_id: agent.session, title: agent.title.clone(), why }
    }
}

impl StopReport {
    pub(crate) fn new(pid: u32, stopped: &Stopped) -> Self {
        let all = |agents: &[StoppedAgent]| agents.iter().map(|agent| Agent::new(agent, None)).collect();
        let not_parked = stopped.not_parked.iter();
        Self {
            pid,
            parked: all(&stopped.parked),
            not_parked: not_parked.map(|(agent, why)| Agent::new(agent, Some(why.to_string()))).collect(),
            at_work: all(&stopped.at_work),
        }
    }

    /// For a person, one line each.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<_> = at_work(self.at_work.len()).into_iter().collect();
        match self.parked.len() {
            0 => {}
            1 => words.push(
                "1 agent is parked: its ask stays open, and it goes on at its call when you answer after `holdstead serve`."
                    .to_owned(),
            ),
            many => words.push(format!(
                "{many} agents are parked: their asks stay open, and each goes on at its call when you answer after \
                 `holdstead serve`."
            )),
        }
        match self.not_parked.len() {
            0 => return words,
            1 => words.push("1 agent waited and could not be parked:".to_owned()),
            many => words.push(format!("{many} agents waited and could not be parked:")),
        }
        for agent in &self.not_parked {
            let (title, id) = (safe_line(&agent.title), agent.session_id.short());
            words.push(format!("  {title} {id}: {}", safe_line(agent.why.as_deref().unwrap_or_default())));
        }
        words.push(
            "To continue: `holdstead serve`, then answer. The agent is told your answer in words when it starts again, and \
             makes an approved call once more."
                .to_owned(),
        );
        words
    }
}

/// How many agents were stopped in their work.
pub(crate) fn at_work(agents: usize) -> Option<String> {
    match agents {
        0 => None,
        1 => Some("1 agent was at work and was stopped there.".to_owned()),
        many => Some(format!("{many} agents were at work and were stopped there.")),
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::OwnerId;

    use super::*;

    fn agent(title: &str, why: Option<&str>) -> Agent {
        let session_id = SessionId::derive(&OwnerId::new("local").unwrap(), title);
        Agent { session_id, title: title.to_owned(), why: why.map(str::to_owned) }
    }

    #[test]
    fn each_agent_that_could_not_be_parked_is_named_with_the_reason_and_the_way_to_continue() {
        let left = agent("Fix\u{1b}[2J the tests", Some("it waits for more than one answer"));
        let id = left.session_id.short();
        let report = StopReport {
            pid: 1,
            parked: vec![agent("a", None), agent("b", None)],
            not_parked: vec![left],
            at_work: vec![agent("c", None)],
        };
        assert_eq!(
            report.words(),
            [
                "1 agent was at work and was stopped there.",
                "2 agents are parked: their asks stay open, and each goes on at its call when you answer after `holdstead serve`.",
                "1 agent waited and could not be parked:",
                &format!("  Fix⟨U+001B⟩[2J the tests {id}: it waits for more than one answer"),
                "To continue: `holdstead serve`, then answer. The agent is told your answer in words when it starts again, and makes \
                 an approved call once more.",
            ]
        );
    }

    #[test]
    fn where_no_agent_was_stopped_nothing_is_said() {
        assert!(StopReport::new(1, &Stopped::default()).words().is_empty());
    }
}
