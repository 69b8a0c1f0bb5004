//! A person with one session: says what to do, answers each ask with words of its own, and looks where they went.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdstead_gateway::{Gateway, GatewayError, Person};
use holdstead_protocol::api::{Interaction, OpenSession, Respond, SendMessage};
use holdstead_protocol::{
    AskBody, AskState, Closing, Delivery, Event, EventBody, InteractionId, OwnerId, ResponseDraft, Seq,
    SessionId, Surface,
};
use holdstead_scripted_model::{Model, Script, Told, call, say};
use holdstead_store::{AskFilter, AskQuery, Journal, SessionQuery, SessionsOnly, UnderWay};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::claude::{MARKS, mark, question};
use crate::responses::APPROVE;
use crate::{Result, ensure};

/// Between two looks at what is open.
const LOOK: Duration = Duration::from_millis(150);
/// The longest that a person takes for an answer: more than agents are held.
const SLOW: u64 = 2_500;

#[derive(Debug)]
pub(super) struct Scene {
    pub(super) gateway: Gateway,
    /// The same journal without faults, to see what is really there.
    pub(super) sound: Arc<dyn Journal>,
    pub(super) number: usize,
    pub(super) folder: PathBuf,
    /// Until when new messages are sent.
    pub(super) until: Instant,
    /// How many real agents may be starting.
    pub(super) starting: Arc<Semaphore>,
    pub(super) rng: StdRng,
}

/// A session that came to its end.
#[derive(Debug)]
pub(super) struct Played {
    sound: Arc<dyn Journal>,
    session: SessionId,
    folder: PathBuf,
    /// The conversations of its model, if it is a real agent.
    conversations: Vec<String>,
    /// What was answered, with which word.
    answers: BTreeMap<InteractionId, Answer>,
}

#[derive(Debug)]
struct Answer {
    word: String,
    /// The word is what a command says when it runs.
    runs: bool,
}

/// What became of all answers.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) told: usize,
    pub(super) stalled: Vec<String>,
    pub(super) lost: Vec<String>,
}

fn ada() -> Result<Person> {
    Ok(Person::new(OwnerId::new("ada")?, "Ada", Surface::Api))
}

/// Did the store fail, so that the same may be tried again?
const fn passes(error: &GatewayError) -> bool {
    matches!(error, GatewayError::Store(_))
}

impl Scene {
    pub(super) async fn play(mut self, model: Option<Arc<Model>>) -> Result<Played> {
        std::fs::create_dir_all(&self.folder)?;
        let agent = if model.is_some() { "claude" } else { "scripted" };
        let session = self.open(agent).await?;
        let (mut conversations, mut answers) = (Vec::new(), BTreeMap::new());
        for round in 0.. {
            if round > 0 && Instant::now() >= self.until {
                break;
            }
            let _starting = match &model {
                Some(_) => Some(Arc::clone(&self.starting).acquire_owned().await?),
                None => None,
            };
            let message = match &model {
                Some(model) => {
                    let name = format!("stalls-{}-{round}", self.number);
                    model.script(&name, self.scripted_model(round));
                    conversations.push(name.clone());
                    format!("Please go on.\nscript: {name}")
                }
                None => self.script(round),
            };
            self.say(session, &message).await?;
            while !self.is_quiet(session).await? {
                self.answer_all(session, &mut answers).await?;
                sleep(LOOK).await;
            }
        }
        Ok(Played { sound: self.sound, session, folder: self.folder, conversations, answers })
    }

    /// A question, a command, a question whose answer may come as a message, and two at once.
    fn script(&self, round: usize) -> String {
        let tag = format!("{}-{round}", self.number);
        format!(
            "say This is {tag}\n\
             ask Word: Which word for {tag}? | one | two\n\
             approve [hold=1s:park] Bash {{\"command\":\"echo {tag}\"}}\n\
             ask [hold=300ms:defer] Word: Which word comes later for {tag}? | one | two\n\
             together\n\
             ask Word: Which word beside {tag}? | one | two\n\
             approve Bash {{\"command\":\"echo beside {tag}\"}}\n\
             end\n\
             say That was {tag}"
        )
    }

    /// Even rounds ask a question, odd ones want to run a command.
    fn scripted_model(&self, round: usize) -> Script {
        let tag = format!("{}-{round}", self.number);
        let part = if round.is_multiple_of(2) {
            question(&format!("What is the word of {tag}?"), ["one", "two"])
        } else {
            call("Bash", mark(&tag))
        };
        Script::new().reply([say("I need a person."), part])
    }

    async fn open(&self, agent: &str) -> Result<SessionId> {
        loop {
            let open =
                OpenSession { cwd: Some(self.folder.display().to_string()), ..OpenSession::new(agent) };
            match self.gateway.open_session(&ada()?, open).await {
                Ok(session) => return Ok(session.session_id),
                Err(error) if passes(&error) => sleep(LOOK).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says it once, also if the reply that it was taken is lost.
    async fn say(&self, session: SessionId, text: &str) -> Result<()> {
        let message = SendMessage::new(text);
        loop {
            match self.gateway.message(&ada()?, session, message.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if passes(&error) => sleep(LOOK).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Nothing is asked, nothing is on its way, and no turn is under way or waits.
    async fn is_quiet(&self, session: SessionId) -> Result<bool> {
        let record = self.sound.session(session).await?.ok_or("the session is gone")?;
        let state = record.state;
        Ok(state.turn.is_none() && state.pending.is_empty() && state.live == 0 && state.undelivered == 0)
    }

    async fn answer_all(
        &mut self,
        session: SessionId,
        answers: &mut BTreeMap<InteractionId, Answer>,
    ) -> Result<()> {
        let query = AskQuery {
            owner: ada()?.owner,
            session: Some(session),
            only: AskFilter::Live,
            after: None,
            limit: 100,
        };
        let open = match self.gateway.page(query).await.map(|page| page.interactions) {
            Ok(open) => open,
            Err(error) if passes(&error) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for ask in open.into_iter().filter(|ask| ask.request.origin == holdstead_protocol::Origin::Agent) {
            if let Entry::Vacant(new) = answers.entry(ask.request.interaction_id) {
                sleep(Duration::from_millis(self.rng.random_range(0..SLOW))).await;
                new.insert(self.answer(&ask).await?);
            }
        }
        Ok(())
    }

    async fn answer(&self, ask: &Interaction) -> Result<Answer> {
        let id = ask.request.interaction_id;
        let (response, answer) = if let AskBody::Question { questions } = &ask.request.body {
            let word = format!("word-{id}");
            let answers: Map<String, Value> =
                questions.iter().map(|question| (question.id.clone(), word.clone().into())).collect();
            let draft = ResponseDraft::Submit { answers: Some(answers), input: None };
            (draft, Answer { word, runs: false })
        } else {
            let command = ask.request.input["command"].as_str().unwrap_or_default();
            let word = command.split_whitespace().last().unwrap_or_default();
            let word = command.split_whitespace().nth(1).filter(|_| command.contains(MARKS)).unwrap_or(word);
            (APPROVE, Answer { word: word.to_owned(), runs: true })
        };
        let body =
            Respond { prompt_id: ask.request.prompt_id, idempotency_key: format!("key-{id}"), response };
        loop {
            match self.gateway.respond(&ada()?, id, body.clone()).await {
                Ok(_) => return Ok(answer),
                Err(error) if passes(&error) => sleep(LOOK).await,
                Err(error) => return Err(format!("an answer was refused: {error}").into()),
            }
        }
    }
}

impl Played {
    /// Looks for each answer where its agent must have it.
    pub(super) async fn check(&self, model: &Model, tally: &mut Tally) -> Result<()> {
        let events = self.sound.read(self.session, Seq(0), 100_000).await?;
        let said: String = events
            .iter()
            .filter_map(|event| {
                if let EventBody::TextDelta(delta) = &event.body { Some(delta.text.as_str()) } else { None }
            })
            .collect();
        let told: Vec<Told> = self.conversations.iter().flat_map(|name| model.told(name)).collect();
        for (id, answer) in &self.answers {
            let record = self.sound.ask(*id).await?.ok_or("an ask is gone")?;
            let call = record.request.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default();
            let what = format!(
                "{} in {}: {:?}, {:?}",
                answer.word, self.session, record.ask.state, record.ask.delivery
            );
            match (&record.ask.state, &record.ask.delivery) {
                (AskState::Settled { .. }, Some(Delivery::Acknowledged)) => {
                    let times = if self.conversations.is_empty() {
                        results(&events, &call, &answer.word)
                    } else {
                        told.iter()
                            .filter(|told| {
                                matches!(told, Told::ToolResult { tool_use_id, content, is_error: false }
                                if *tool_use_id == call && content.contains(&answer.word))
                            })
                            .count()
                    };
                    tally.count(times, what);
                }
                // Nobody died: nothing may be unknown or undeliverable.
                (AskState::Settled { .. }, _) => tally.stalled.push(what),
                (AskState::Closed { closing: Closing::AnsweredLate }, _) => {
                    tally.count(said.matches(&answer.word).count(), what);
                }
                (_, _) => tally.lost.push(what),
            }
        }
        let marks = std::fs::read_to_string(self.folder.join(MARKS)).unwrap_or_default();
        for answer in self.answers.values().filter(|answer| answer.runs && !self.conversations.is_empty()) {
            let ran = marks.lines().filter(|line| *line == answer.word).count();
            ensure!(ran == 1, "the command of {} ran {ran} times", answer.word);
        }
        Ok(())
    }
}

/// Looks for answers that have been on their way for too long, since they were given and since the last fault.
pub(super) async fn stalled(
    sound: &dyn Journal,
    last_fault: Instant,
    limit: Duration,
    tally: &mut Tally,
) -> Result<()> {
    if last_fault.elapsed() < limit {
        return Ok(());
    }
    let now = sound.now().await?;
    let query = SessionQuery { owner: ada()?.owner, before: None, only: SessionsOnly::All, limit: 200 };
    for session in sound.sessions(query).await? {
        for record in sound.under_way(session.id, UnderWay::Undelivered).await? {
            if record.ask.responses.last().is_some_and(|given| now.since(given.at) > limit) {
                tally.stalled.push(format!("{} in {}: {:?}", record.id, session.id, record.ask.delivery));
            }
        }
    }
    Ok(())
}

/// How often the agent gave this as the result of the call.
fn results(events: &[Event], call: &str, word: &str) -> usize {
    let of_call = |event: &&Event| {
        matches!(&event.body, EventBody::ToolResult(result)
        if result.tool_call_id.as_str() == call && result.output.to_string().contains(word))
    };
    events.iter().filter(of_call).count()
}

impl Tally {
    fn count(&mut self, times: usize, what: String) {
        match times {
            1 => self.told += 1,
            _ => self.lost.push(format!("{what}: with its agent {times} times")),
        }
    }
}
