//! One session: its messages are sent, its asks answered, until each script is done; whatever dies meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdstead_protocol::api::{OpenSession, Respond, SendMessage};
use holdstead_protocol::transport::{Transport as _, TransportError};
use holdstead_protocol::{
    Code, Decider, Digest, Event, EventBody, InteractionRequest, PromptId, Refusal, Seq, SessionId,
    StopReason, TurnId,
};
use reqwest::Method;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::arena::{Arena, Moment, Person};
use super::follow::follow;
use super::history::{History, Sent, Told};
use super::plan::{self, Reaction};
use super::tries::Tries;
use crate::Result;

const TURNS: u64 = 3;
/// One in so many sessions is not ended when all is said.
const LEFT_OPEN: u64 = 8;
/// How often a script is sent again whose turn died.
const ATTEMPTS: u64 = 100;
/// How many events of a session that stands still are shown.
const SHOWN: usize = 15;
/// How long one call may take.
const CALL: Duration = Duration::from_secs(8);

/// What is known of a session apart from its journal.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) session: SessionId,
    pub(crate) history: History,
}

struct Player {
    arena: Arc<Arena>,
    number: u64,
    session: SessionId,
    folder: PathBuf,
    events: mpsc::UnboundedReceiver<Event>,
    answers: JoinSet<Sent>,
    answered: BTreeSet<PromptId>,
    /// How often each input was asked about.
    asked: BTreeMap<Digest, usize>,
}

/// Plays one session after the other, until no more are wanted.
pub(crate) async fn slot(arena: Arc<Arena>) -> Result<Vec<Played>> {
    let mut played = Vec::new();
    while !arena.is_over() {
        played.push(play(Arc::clone(&arena)).await?);
    }
    Ok(played)
}

/// Plays one session to its end.
async fn play(arena: Arc<Arena>) -> Result<Played> {
    let number = arena.number();
    let folder = arena.folder.join(format!("session-{number}"));
    fs::create_dir(&folder)?;
    let session = open(&arena, number, &folder).await?;
    let (end, over) = watch::channel(false);
    let (out, events) = mpsc::unbounded_channel();
    let [first, second] = arena.people.clone();
    let followers = [
        tokio::spawn(follow(Arc::clone(&arena), first.client, session, Some(out), over.clone())),
        tokio::spawn(follow(Arc::clone(&arena), second.client, session, None, over)),
    ];
    let mut player = Player {
        arena,
        number: number as u64,
        session,
        folder,
        events,
        answers: JoinSet::new(),
        answered: BTreeSet::new(),
        asked: BTreeMap::new(),
    };
    for turn in 0..TURNS {
        player.turn(turn).await?;
    }
    let mut history = History::default();
    while let Some(sent) = player.answers.join_next().await {
        history.sent.push(sent?);
    }
    // Some are left as they are, with an agent that has nothing to do.
    if !player.number.is_multiple_of(LEFT_OPEN) {
        player.end().await?;
    }
    end.send_replace(true);
    for follower in followers {
        history.seen.push(follower.await?);
    }
    history.effects = effects(&player.folder)?;
    Ok(Played { session, history })
}

async fn open(arena: &Arena, number: usize, folder: &Path) -> Result<SessionId> {
    let runner = (!arena.machines.is_empty()).then(|| arena.machines[number % arena.machines.len()].clone());
    let cwd = Some(folder.display().to_string());
    let open = OpenSession { cwd, runner, ..OpenSession::new("scripted") };
    let (mut tries, mut last) = (Tries::new(arena), None);
    while tries.another().await {
        match call(arena.people[0].client.open_session(open.clone())).await {
            Ok(session) => return Ok(session.session_id),
            // One that was opened and not heard of stays empty. A machine that is away comes back.
            Err(why) => last = Some(why),
        }
    }
    Err(format!("no session could be opened: {last:?}").into())
}

/// What the agent did on disk, in no order: each mark is a line of some file.
fn effects(folder: &Path) -> Result<Vec<String>> {
    let mut marks = Vec::new();
    for file in fs::read_dir(folder)? {
        let text = fs::read_to_string(file?.path())?;
        marks.extend(text.lines().filter(|line| *line != plan::LAST_LINE).map(str::to_owned));
    }
    Ok(marks)
}

impl Player {
    /// Sends scripts until their turn completes. A person whose agent died sends the same again.
    async fn turn(&mut self, turn: u64) -> Result<()> {
        let mut rng = plan::choices(self.arena.seed, &[self.number, turn]);
        let mut scripts = Vec::new();
        for task in 0..self.arena.pace.tasks {
            let tag = format!("s{}t{turn}n{task}", self.number);
            fs::write(self.folder.join(plan::file_of(&tag)), format!("{}\n", plan::LAST_LINE))?;
            scripts.push(plan::script(&mut rng, &tag));
        }
        let script = scripts.join("\n");
        for attempt in 0..ATTEMPTS {
            let turn_id = self.send(&format!("# attempt {attempt}\n{script}")).await?;
            if self.until_done(turn_id).await? == StopReason::Completed {
                return Ok(());
            }
        }
        Err(format!("the script of {} died {ATTEMPTS} times", self.session).into())
    }

    /// Says it once, however often it takes.
    async fn send(&self, text: &str) -> Result<TurnId> {
        let message = SendMessage::new(text);
        let (mut tries, mut last) = (Tries::new(&self.arena), None);
        while tries.another().await {
            match call(self.arena.people[0].client.message(self.session, message.clone())).await {
                Ok(accepted) => return Ok(accepted.turn_id),
                Err(TransportError::Refused(refusal)) if refusal.code != Code::Unavailable => {
                    return Err(TransportError::Refused(refusal).into());
                }
                Err(why @ (TransportError::Refused(_) | TransportError::Unreachable(_))) => last = Some(why),
            }
        }
        Err(format!("a message to {} could not be sent: {last:?}", self.session).into())
    }

    /// Whoever has nothing more to say to an agent ends its session, however often it takes.
    async fn end(&self) -> Result<()> {
        let path = format!("/v1/sessions/{}", self.session);
        let (mut tries, mut last) = (Tries::new(&self.arena), None);
        while tries.another().await {
            match timeout(CALL, self.arena.reader.tell(Method::DELETE, &path)).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(why)) => last = Some(why.to_string()),
                Err(late) => last = Some(late.to_string()),
            }
        }
        Err(format!("{} could not be ended: {last:?}", self.session).into())
    }

    /// Answers what is asked until the turn is over. A session stands still when nothing happens in it although its gateway
    /// lives: what is lost stays lost after the last kill.
    async fn until_done(&mut self, turn: TurnId) -> Result<StopReason> {
        loop {
            let life = self.arena.life();
            let event = match timeout(self.arena.pace.patience, self.events.recv()).await {
                Ok(Some(event)) => event,
                Err(_) if !life.up || self.arena.life() != life => continue,
                Ok(None) | Err(_) => return Err(self.stuck(turn).await),
            };
            if let EventBody::InteractionRequest(request) = &event.body {
                self.react(request);
            } else if let EventBody::Done(done) = &event.body
                && done.turn_id == turn
            {
                return Ok(done.reason);
            }
        }
    }

    /// All that tells why: what became of the answers, and the last that the journal has.
    async fn stuck(&mut self, turn: TurnId) -> crate::Error {
        let (session, life) = (self.session, self.arena.life());
        let mut words = format!("{turn} of {session} does not go on in {life:?}; its answers:");
        while let Some(sent) = self.answers.try_join_next() {
            words += &sent.map_or_else(|why| format!("\n{why}"), |sent| format!("\n{sent:?}"));
        }
        words += &format!("\n{} have no reply yet; its journal:", self.answers.len());
        let (mut tries, mut read) = (Tries::new(&self.arena), Err("the gateway stays down".into()));
        while read.is_err() && tries.another().await {
            read = self.arena.reader.pages(&session.to_string()).await;
        }
        let events = match read {
            Ok(events) => events,
            Err(why) => return format!("{words} {why}").into(),
        };
        for event in &events[events.len().saturating_sub(SHOWN)..] {
            let data = event.body.data_bytes().unwrap_or_default();
            let data: String = String::from_utf8_lossy(&data).chars().take(400).collect();
            words += &format!("\n{} {} {} {data}", event.seq, event.at, event.body.event_type().as_str());
        }
        words.into()
    }

    fn react(&mut self, request: &InteractionRequest) {
        // A settled ask comes by as well; it is answered all the same, and that must lose.
        if !self.answered.insert(request.prompt_id) {
            return;
        }
        let earlier = self.asked.entry(request.input_digest.clone()).or_default();
        let mut rng = plan::choices(self.arena.seed, &[self.number, 1_000 + self.answered.len() as u64]);
        let reactions = plan::reactions(&mut rng, request, *earlier);
        *earlier += 1;
        for (person, reaction) in self.arena.people.iter().zip(reactions) {
            let answer = answer(Arc::clone(&self.arena), person.clone(), request.clone(), reaction);
            self.answers.spawn(answer);
        }
    }
}

/// Answers until it is known what became of it, always under the same key.
async fn answer(arena: Arc<Arena>, person: Person, request: InteractionRequest, reaction: Reaction) -> Sent {
    let key = Uuid::new_v4().to_string();
    let (interaction, prompt) = (request.interaction_id, request.prompt_id);
    let mut sent =
        Sent { by: person.name, interaction, prompt, key, draft: reaction.draft, told: Told::Nothing };
    sleep(reaction.after).await;
    let mut tries = Tries::new(&arena);
    while tries.another().await {
        arena.saw(Moment::Answering);
        match try_to_answer(&person, &sent).await {
            Some(Ok(seq)) => sent.told = Told::Won { seq },
            Some(Err(refusal)) => sent.told = told(*refusal),
            None => continue,
        }
        break;
    }
    sent
}

/// Sends an answer once. Nothing: it is to be sent again, under the same key.
pub(crate) async fn try_to_answer(
    person: &Person,
    sent: &Sent,
) -> Option<std::result::Result<Seq, Box<Refusal>>> {
    let body =
        Respond { prompt_id: sent.prompt, idempotency_key: sent.key.clone(), response: sent.draft.clone() };
    match call(person.client.respond(sent.interaction, body)).await {
        Ok(receipt) => Some(Ok(receipt.seq)),
        Err(TransportError::Refused(refusal)) if refusal.code != Code::Unavailable => Some(Err(refusal)),
        Err(TransportError::Refused(_) | TransportError::Unreachable(_)) => None,
    }
}

pub(crate) fn told(refusal: Refusal) -> Told {
    match (refusal.code, refusal.winner) {
        (Code::AlreadyAnswered, Some(winner)) => {
            let name = match winner.decider {
                Decider::Person { name, .. } => Some(name),
                Decider::Grant { .. } | Decider::Rule { .. } | Decider::Earlier { .. } => None,
            };
            Told::Lost { winner: name, action: winner.action }
        }
        (code, _) => Told::Refused { why: format!("{code:?}: {}", refusal.detail) },
    }
}

/// A call that hangs is one that did not arrive.
pub(crate) async fn call<T>(
    call: impl Future<Output = std::result::Result<T, TransportError>>,
) -> std::result::Result<T, TransportError> {
    let late = |_| Err(TransportError::Unreachable("it took too long".to_owned()));
    timeout(CALL, call).await.unwrap_or_else(late)
}
