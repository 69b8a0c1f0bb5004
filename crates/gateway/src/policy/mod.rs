//! Decides about calls before a person is bothered. What rules there are and what is true on this machine is gathered here;
//! `core` decides.

mod files;
mod layers;
mod lifecycle;
pub(crate) mod project;
mod siblings;

pub(crate) use files::OrganisationRules;
pub(crate) use layers::of_all_sessions;
pub(crate) use siblings::named;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use holdstead_agents::{Driver, ProjectFiles};
use holdstead_core::policy::rule::RuleFile;
use holdstead_core::policy::{
    self, Call, ExactCall, Facts, Judgement, Lookup, MayAllow, Meaning, Offer, Places, Rules, Standing,
    Subject, Trust, covering,
};
use holdstead_core::{Basis, Head, digest, offered_scopes};
use holdstead_protocol::{
    AskBody, CallDecision, CallMark, Grant, GrantId, OfferedScope, PermissionMode, Scope, SessionId,
    Timestamp, Told, Variables,
};
use holdstead_runner as machine;
use holdstead_store::SessionRecord;
use serde_json::Value;

use crate::{Gateway, GatewayError, owner_journal};
use files::Files;

/// A line may name paths that lead to further ones: so often they are looked up.
const ROUNDS: usize = 4;

/// What an organisation says for every session of its gateway.
#[derive(Debug, Clone, Default)]
pub struct PolicyConfig {
    pub rules: RuleFile,
    /// Words that mark a call wherever they stand in it, such as the name of a production database.
    pub marked_words: Vec<String>,
}

/// A call that somebody has to decide about.
#[derive(Debug, Clone)]
pub(crate) struct CallToJudge {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Where it would run, if that is not the session's folder.
    pub(crate) cwd: Option<String>,
    /// How many agents stand between this one and the person.
    pub(crate) depth: usize,
    pub(crate) may_allow: MayAllow,
}

#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) judgement: Judgement,
    pub(crate) marks: Vec<CallMark>,
    /// Sets of rules that could be saved, the narrowest first.
    pub(crate) offers: Vec<Vec<String>>,
    /// What it was judged on. Nothing where the owner has no journal: then nothing follows from it.
    pub(crate) basis: Option<Basis>,
    /// Whether a person trusts what its agent runs of the folder, as it is now.
    pub(crate) project_files: ProjectFiles,
}

impl Judged {
    /// A person decides what these rules would allow.
    fn unless_allowed(self) -> Self {
        match &self.judgement {
            Judgement::Decided(CallDecision { told: Told::Allowed | Told::LeftToAgent, .. }) => self.ask(),
            Judgement::Decided(CallDecision { told: Told::Denied, .. }) | Judgement::Ask(_) => self,
        }
    }

    /// A person decides, whichever way the rules would have it.
    pub(crate) fn ask(self) -> Self {
        let judgement = match self.judgement {
            Judgement::Decided(decision) => Judgement::Ask(decision.verdict),
            ask @ Judgement::Ask(_) => ask,
        };
        Self { judgement, basis: None, ..self }
    }
}

/// What a session and its owner say about calls, as it was read. It may be old: what follows from it is accepted only while
/// it is what counts.
#[derive(Debug)]
pub(crate) struct RulesRead {
    record: SessionRecord,
    owner: Option<SessionRecord>,
}

impl RulesRead {
    fn grants(&self) -> impl Iterator<Item = &Grant> {
        let owner = self.owner.iter().flat_map(|owner| owner.state.grants.values());
        owner.chain(self.record.state.grants.values())
    }

    fn trusts(&self) -> impl Iterator<Item = &holdstead_protocol::Trust> {
        self.owner.iter().flat_map(|owner| owner.state.trusts.values())
    }

    fn basis(&self, now: Timestamp) -> Option<Basis> {
        let owner = self.owner.as_ref()?;
        let ends = self.grants().filter_map(|grant| grant.expires_at);
        Some(Basis {
            session: Some(self.record.state.rules_seq),
            owner: (owner.id, owner.state.rules_seq),
            until: ends.filter(|expiry| now < *expiry).min(),
        })
    }
}

/// What is decided with the places that are known, and which others it would take to decide more.
#[derive(Debug)]
struct Looked {
    judged: Judged,
    unresolved: Vec<Lookup>,
}

fn cwd_of(record: &SessionRecord) -> PathBuf {
    record.opened.cwd.clone().map_or_else(|| PathBuf::from("."), PathBuf::from)
}

impl Gateway {
    /// What counts for calls of this session. Its owner's journal is opened if it is not there.
    pub(crate) async fn read_rules(&self, session: SessionId) -> Result<RulesRead, GatewayError> {
        let record = self.inner.journal.session(session).await?.ok_or(GatewayError::NoSession)?;
        let owner = owner_journal::record_of(self, &record.owner).await?;
        Ok(RulesRead { record, owner: Some(owner) })
    }

    /// The same for a session that was read. Nothing is written.
    pub(crate) async fn look_at_rules(&self, record: SessionRecord) -> Result<RulesRead, GatewayError> {
        let owner = self.inner.journal.session(owner_journal::journal_of(&record.owner)).await?;
        Ok(RulesRead { record, owner })
    }

    /// What becomes of a call of this session, by these rules.
    pub(crate) async fn judge(&self, read: &RulesRead, call: CallToJudge) -> Result<Judged, GatewayError> {
        let ground = self.ground_now(read).await?;
        let files = self.record_files(read, &ground).await?;
        let judged = self.judge_on(read, call, ground).await?;
        Ok(match files {
            Files::Current => judged,
            Files::Outdated => judged.unless_allowed(),
        })
    }

    /// Whether a person trusts what this session's agent runs of its folder, as it is now.
    pub(crate) async fn project_files_now(&self, read: &RulesRead) -> Result<ProjectFiles, GatewayError> {
        let ground = self.ground_now(read).await?;
        Ok(project::trusted_files(&ground, read.trusts(), &read.record.opened.agent))
    }

    async fn ground_now(&self, read: &RulesRead) -> Result<machine::Ground, GatewayError> {
        let trusted = project::folders(read.trusts());
        Ok(self.runner_of(&read.record)?.ground(&cwd_of(&read.record), trusted).await?)
    }

    /// The same on this ground, by the files as they were read.
    pub(crate) async fn judge_on(
        &self,
        read: &RulesRead,
        call: CallToJudge,
        ground: machine::Ground,
    ) -> Result<Judged, GatewayError> {
        let runner = self.runner_of(&read.record)?;
        let judge = self.judge_of(read, call.may_allow, ground).await?;
        let (judge, call) = (Arc::new(judge), Arc::new(call));
        let (mut places, mut asked) = (Places::default(), BTreeSet::new());
        for round in 0.. {
            let (judge_now, call_now) = (Arc::clone(&judge), Arc::clone(&call));
            // A long line takes a moment.
            let judged = tokio::task::spawn_blocking(move || {
                let judged = judge_now.judge(&call_now, &places);
                (judged, places)
            });
            // A worker that is lost has decided nothing. Only a gateway that goes away stops one that did not fail.
            let judged = judged.await.map_err(|lost| match lost.is_panic() {
                true => GatewayError::NotJudged,
                false => GatewayError::Closing,
            })?;
            let (Looked { judged, unresolved }, known) = judged;
            places = known;
            // What the machine could not tell it is not asked again.
            let unresolved: Vec<_> =
                unresolved.into_iter().filter(|lookup| asked.insert(lookup.clone())).collect();
            if unresolved.is_empty() || round == ROUNDS {
                return Ok(judged);
            }
            let found = runner.look_up(judge.folder(), unresolved.clone()).await?;
            if found.iter().all(Option::is_none) {
                return Ok(judged);
            }
            for (lookup, found) in unresolved.into_iter().zip(found) {
                found.into_iter().for_each(|found| places.insert(lookup.clone(), found));
            }
        }
        Err(GatewayError::Closing)
    }

    /// What is risky in an approval that no agent's driver asks for. A question or a form runs nothing.
    pub(crate) fn marks_of(&self, tool: &str, input: &Value, body: &AskBody) -> Vec<CallMark> {
        match body.is_approval() {
            true => policy::marks_of_input(tool, input, &self.inner.config.policy.marked_words),
            false => Vec::new(),
        }
    }

    /// What is true of the session's folder now, as far as anybody can tell.
    pub(crate) async fn ground_of(&self, read: &RulesRead) -> machine::Ground {
        let ground = self.ground_now(read).await;
        ground.unwrap_or_else(|_| machine::Ground::unknown(&cwd_of(&read.record)))
    }

    /// Gathers what counts for calls of this session.
    pub(crate) async fn judge_of(
        &self,
        read: &RulesRead,
        may_allow: MayAllow,
        ground: machine::Ground,
    ) -> Result<Judge, GatewayError> {
        self.judge_by(read, may_allow, &self.inner.config.policy.rules, ground).await
    }

    /// The same, with these rules as the organisation's.
    pub(crate) async fn judge_by(
        &self,
        read: &RulesRead,
        may_allow: MayAllow,
        organisation: &RuleFile,
        ground: machine::Ground,
    ) -> Result<Judge, GatewayError> {
        let record = &read.record;
        let driver = self.driver(&record.opened.agent)?;
        // Only grants that end need to know what time it is.
        let now = match read.grants().any(|grant| grant.expires_at.is_some()) {
            true => self.inner.journal.now().await?,
            false => record.changed_at,
        };
        let owner = read.owner.as_ref().map(|owner| &owner.state);
        let owners: Vec<Grant> = owner.iter().flat_map(|head| head.grants.values().cloned()).collect();
        let trusts: Vec<_> = read.trusts().cloned().collect();
        let built_in = match may_allow {
            MayAllow::RulesOfPeople | MayAllow::RulesMayDeny => "",
            MayAllow::PersonOnly | MayAllow::Rules | MayAllow::AgentsOwn => driver.built_in_rules(),
        };
        let mut rules = Rules::default();
        layers::add_constant(&mut rules, built_in, organisation);
        layers::add_granted(&mut rules, &owners, &record.state.grants, &record.opened.allowed_tools, now);
        Ok(Judge {
            agent: record.opened.agent.clone(),
            mode: record.opened.permission_mode,
            driver,
            project_files: project::trusted_files(&ground, trusts.iter(), &record.opened.agent),
            runs: project::runs(&ground, &trusts),
            ground,
            trusts,
            rules,
            marked_words: self.inner.config.policy.marked_words.clone(),
            basis: read.basis(now),
            head: record.state.clone(),
            owners,
            now,
        })
    }
}

/// All that counts for calls of one session now, but for where paths lead.
#[derive(Debug)]
pub(crate) struct Judge {
    agent: String,
    mode: PermissionMode,
    driver: Arc<dyn Driver>,
    ground: machine::Ground,
    trusts: Vec<holdstead_protocol::Trust>,
    project_files: ProjectFiles,
    /// Files that agents run by themselves in trusted folders.
    runs: Vec<String>,
    rules: Rules,
    marked_words: Vec<String>,
    head: Head,
    owners: Vec<Grant>,
    now: Timestamp,
    basis: Option<Basis>,
}

/// What is true of a call where it would run, but for where its paths lead.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    judge: &'a Judge,
    pub(crate) rules: Rules,
    folder: String,
    cwd: String,
    depth: Option<u32>,
    home: Option<String>,
    trust: Trust,
    pub(crate) variables: Variables,
}

impl Ground<'_> {
    pub(crate) fn meaning(&self, tool: &str) -> Meaning<'static> {
        self.judge.driver.meaning(tool)
    }

    pub(crate) fn facts<'a>(&'a self, places: &'a Places) -> Facts<'a> {
        Facts {
            agent: &self.judge.agent,
            mode: self.judge.mode,
            depth: self.depth,
            folder: &self.folder,
            cwd: Some(&self.cwd),
            home: self.home.as_deref(),
            trust: self.trust,
            runs: &self.judge.runs,
            places,
            variables: &self.variables,
        }
    }
}

impl Judge {
    fn folder(&self) -> &str {
        &self.ground.folder
    }

    /// With what is known of where paths lead.
    fn judge(&self, asked: &CallToJudge, places: &Places) -> Looked {
        let ground = self.ground(asked.cwd.as_deref(), asked.depth);
        let meaning = self.driver.meaning(&asked.tool);
        let call = Call { tool: &asked.tool, input: &asked.input, meaning };
        let facts = ground.facts(places);
        let verdict = policy::decide(&call, &ground.rules, &facts);
        let marks = policy::told_marks(&policy::marks(&call, &facts, &self.marked_words), &asked.input);
        let standing = Standing {
            may_allow: asked.may_allow,
            mode: self.mode,
            grant: self.exact_grant(asked, &marks),
            may_have_run: self.head.may_have_run.covers(&digest(&asked.input)),
        };
        let offers = policy::offers(&call, &ground.rules, &facts, &self.marked_words);
        let mut judgement = policy::judge(&verdict, line_of(meaning, &asked.input), &standing);
        if let Judgement::Ask(verdict) = &mut judgement {
            // Where no rule speaks of it yet, a rule that could be offered may need the folder's trust.
            verdict.requirements.extend(offers.requirements);
            verdict.requirements.sort_unstable();
            verdict.requirements.dedup();
        }
        let unresolved = verdict.unresolved.iter().chain(&offers.unresolved).cloned().collect();
        let lines = |offer: Offer| offer.rules.into_iter().map(|rule| rule.text).collect();
        let judged = Judged {
            judgement,
            marks,
            offers: offers.offers.into_iter().map(lines).collect(),
            basis: self.basis.clone(),
            project_files: self.project_files,
        };
        Looked { judged, unresolved }
    }

    pub(crate) fn ground(&self, cwd: Option<&str>, depth: usize) -> Ground<'_> {
        let mut rules = self.rules.clone();
        let trust = project::add(&mut rules, &self.ground, &self.trusts);
        let folder = self.ground.folder.clone();
        Ground {
            judge: self,
            variables: policy::variables(&rules, &self.head.variables, self.head.stop_attempts),
            rules,
            cwd: cwd.map_or_else(|| folder.clone(), str::to_owned),
            folder,
            depth: u32::try_from(depth).ok(),
            home: self.ground.home.clone(),
            trust,
        }
    }

    /// An approval of the very same input that is not for one call only.
    fn exact_grant(&self, asked: &CallToJudge, marks: &[CallMark]) -> Option<GrantId> {
        let call = ExactCall {
            source: &self.head.source_of_agent(asked.cwd.as_deref()),
            tool_name: &asked.tool,
            input: &digest(&asked.input),
            is_marked: !marks.is_empty(),
        };
        let covering = covering(&self.head.grants, &self.owners, &call, self.now);
        covering.filter(|grant| grant.scope != Scope::Once).map(|grant| grant.grant_id)
    }
}

pub(crate) fn line_of<'a>(meaning: Meaning<'_>, input: &'a Value) -> Option<&'a str> {
    match meaning.subject {
        Subject::Shell { field, .. } => input.get(field).and_then(Value::as_str),
        Subject::Reads { .. }
        | Subject::Searches { .. }
        | Subject::ReadsBelow { .. }
        | Subject::Edits { .. }
        | Subject::Fetches { .. }
        | Subject::Whole => None,
    }
}

/// What an approval of this call could save. How far it may reach is decided when the ask is opened.
pub(crate) fn wanted(tool: &str, input: &Value, judged: &Judged) -> Vec<OfferedScope> {
    let exact = offered_scopes(tool, &digest(input), &[Scope::Once, Scope::Session]);
    policy::wanted(exact, &judged.offers)
}

pub(crate) const fn trust_of(trusted: bool) -> Trust {
    if trusted { Trust::Trusted } else { Trust::Untrusted }
}
