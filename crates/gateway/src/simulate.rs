//! Other rules over past calls, and rules that past approvals suggest. Nothing is decided or written by either.

use holdstead_core::Rejection;
use holdstead_core::policy::rule::RuleFile;
use holdstead_core::policy::{self, Call, Change, Decided, Facts, MayAllow, Past, Places};
use holdstead_protocol::OwnerId;
use holdstead_protocol::api::{PastCall, PastCalls, SimulatedRules, SuggestedRules, SuggestionPage};

use crate::past::{Asked, MadeCall, PastSession};
use crate::policy::{Ground, Judge, line_of, of_all_sessions};
use crate::{Gateway, GatewayError};

/// So many calls of a list are told.
const TOLD: usize = 100;
/// So much of a call is told.
const TEXT_CHARS: usize = 300;

impl Gateway {
    /// What these rules, in place of the organisation's, would have made of the owner's past calls.
    pub async fn simulate(&self, owner: &OwnerId, text: &str) -> Result<SimulatedRules, GatewayError> {
        let file = RuleFile::parse(text).map_err(first_mistake)?;
        let (sessions, read) = self.past(owner).await?;
        let mut judges = Vec::new();
        for session in sessions {
            let read = self.look_at_rules(session.record.clone()).await?;
            let ground = self.ground_of(&read).await;
            let before = self.judge_of(&read, MayAllow::Rules, ground.clone()).await?;
            let after = self.judge_by(&read, MayAllow::Rules, &file, ground).await?;
            judges.push((session, before, after));
        }
        let simulated = tokio::task::spawn_blocking(move || {
            let mut all = SimulatedRules { read, ..SimulatedRules::default() };
            for (session, before, after) in &judges {
                add(&mut all, session, before, after);
            }
            all
        });
        simulated.await.map_err(|_| GatewayError::Closing)
    }

    /// The rules that would have saved the owner most asks, if they had been saved for all sessions.
    pub async fn suggest(&self, owner: &OwnerId) -> Result<SuggestionPage, GatewayError> {
        let (sessions, read) = self.past(owner).await?;
        let owners = crate::owner_journal::of_owner(self, owner).await?;
        let now = self.inner.journal.now().await?;
        let rules = of_all_sessions(&self.inner.config.policy.rules, &owners, now);
        let listed = self.inner.config.policy.marked_words.clone();
        let mut judges = Vec::new();
        for session in sessions {
            let read = self.look_at_rules(session.record.clone()).await?;
            let ground = self.ground_of(&read).await;
            let judge = self.judge_of(&read, MayAllow::Rules, ground).await?;
            judges.push((session, judge));
        }
        let suggested = tokio::task::spawn_blocking(move || {
            let grounds: Vec<(&PastSession, Ground<'_>)> =
                judges.iter().map(|(session, judge)| (session, judge.ground(None, 0))).collect();
            let calls: Vec<(&PastSession, &Ground<'_>, &MadeCall)> = grounds
                .iter()
                .flat_map(|(session, ground)| session.calls.iter().map(move |call| (*session, ground, call)))
                .filter(|(_, _, call)| counts(call))
                .collect();
            let places = Places::default();
            let past: Vec<Past<'_>> =
                calls.iter().map(|(_, ground, call)| past(call, ground, &places)).collect();
            let told = |place: &usize| told(calls[*place].0, &past[*place]);
            let suggestions = policy::suggest(&past, &rules, &listed).into_iter().map(|one| SuggestedRules {
                lines: one.rules.into_iter().map(|rule| rule.text).collect(),
                saves: one.saves,
                examples: one.examples.iter().map(told).collect(),
                reach: one.reach,
                unapproved: PastCalls {
                    count: one.unapproved.len(),
                    calls: one.unapproved.iter().take(TOLD).map(told).collect(),
                },
            });
            SuggestionPage { read, suggestions: suggestions.collect() }
        });
        suggested.await.map_err(|_| GatewayError::Closing)
    }
}

/// Whether suggestions follow from it: nothing that a card would not have offered, but all that a person denied.
fn counts(call: &MadeCall) -> bool {
    match (call.asked, call.decided) {
        (Asked::Nobody, _) => false,
        (Asked::WithOffer, _) | (Asked::WithoutOffer, Decided::Denied | Decided::ByNobody) => true,
        (Asked::WithoutOffer, Decided::Approved) => false,
    }
}

fn add(all: &mut SimulatedRules, session: &PastSession, before: &Judge, after: &Judge) {
    let (before, after) = (before.ground(None, 0), after.ground(None, 0));
    let places = Places::default();
    let past: Vec<Past<'_>> = session.calls.iter().map(|call| past(call, &before, &places)).collect();
    let simulated = policy::simulate(&past, &before.rules, &after.rules, &after.variables);
    let place = |change: &Change| change.at;
    let lists = [
        (&mut all.newly_allowed, simulated.newly_allowed.iter().map(place).collect()),
        (&mut all.newly_asked, simulated.newly_asked.iter().map(place).collect()),
        (&mut all.newly_denied, simulated.newly_denied.iter().map(place).collect()),
        (&mut all.allowed_against_people, simulated.allowed_against_people),
    ];
    for (list, found) in lists {
        let room = TOLD.saturating_sub(list.calls.len());
        list.count += found.len();
        list.calls.extend(found.iter().take(room).map(|at| told(session, &past[*at])));
    }
}

fn past<'a>(call: &'a MadeCall, ground: &'a Ground<'_>, places: &'a Places) -> Past<'a> {
    let facts = ground.facts(places);
    let cwd = call.cwd.as_deref().or(facts.cwd);
    Past {
        call: Call { tool: &call.tool, input: &call.input, meaning: ground.meaning(&call.tool) },
        facts: Facts { cwd, depth: u32::try_from(call.depth).ok(), ..facts },
        decided: call.decided,
    }
}

fn told(session: &PastSession, past: &Past<'_>) -> PastCall {
    let Call { tool, input, meaning } = past.call;
    let text = line_of(meaning, input).map_or_else(|| input.to_string(), str::to_owned);
    PastCall {
        session_id: session.record.id,
        tool_name: tool.to_owned(),
        text: text.chars().take(TEXT_CHARS).collect(),
    }
}

fn first_mistake(mistakes: Vec<policy::rule::Wrong>) -> GatewayError {
    let first = mistakes.into_iter().next();
    let (line, column, what, hint) =
        first.map_or_else(Default::default, |wrong| (wrong.line, wrong.column, wrong.what, wrong.hint));
    GatewayError::Rejected(Rejection::WrongRuleFile { line, column, what, hint })
}
