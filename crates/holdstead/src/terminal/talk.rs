//! A conversation with one session: the agent's words as they come, its asks as prompts, and a line to it.
//!
//! Keys belong to the message until it is sent or dropped, and to an ask only once it has been on the screen for a moment.
//! So whatever was typed before an ask could be read stands in the message, and decides nothing.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use holdstead_client::Http;
use holdstead_protocol::api::{Interaction, SendMessage};
use holdstead_protocol::transport::{EventFeed, InboxQuery, Transport as _, TransportError};
use holdstead_protocol::{AskState, Code, Event, InteractionId, ResponseDraft, Seq, SessionId};

use super::card;
use super::dialogue::{Dialogue, Next, Paste};
use super::keys::{Key, Keys, Pressed, Whole};
use super::line::{Line, Seen};
use super::once::{PASTED, edit, terminal};
use super::prose::Prose;
use super::rest::Rest;
use super::row::{Ink, Row};
use super::screen::{Screen, Typing};
use super::speech::{Heard, Speech};
use crate::commands::{new_key, respond};
use crate::failure::Failure;
use crate::places::Places;
use crate::words;

/// How often a gateway that went away is looked for, and for how long.
const LOOK: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of what was said before is shown to whoever comes back.
const PAST_EVENTS: u64 = 400;
const PAST_ROWS: usize = 24;

/// Why the conversation ends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// The person leaves; the agent goes on.
    Detached,
    /// The gateway of the demo is to be killed.
    Kill,
    /// The session is over.
    Ended,
    /// The gateway is.
    Gone,
}

/// What the keyboard can do besides talking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Play {
    /// The gateway is there to be killed.
    Demo,
    Work,
}

/// Where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// With the first word.
    Start,
    /// With the last rows of what was said.
    Now,
}

/// Kept when the gateway is killed and comes back: it goes on with what was read last.
#[derive(Debug)]
pub(crate) struct Talk {
    client: Http,
    places: Places,
    session: SessionId,
    play: Play,
    speech: Speech,
    prose: Prose,
    /// The last event that was read, and the last that is past.
    seen: Seq,
    past: Option<(Seq, VecDeque<Row>)>,
    asks: VecDeque<Interaction>,
    /// Left for later.
    later: HashSet<InteractionId>,
    dialogue: Option<Dialogue>,
    answer: Line,
    message: Line,
    /// The last message, if it is not known whether it arrived.
    unsure: Option<SendMessage>,
    rest: Rest,
    /// Not on the screen yet.
    added: Vec<Row>,
}

enum Then {
    Go,
    Edit,
    Leave(Leaving),
}

impl Talk {
    pub(crate) async fn new(
        client: Http,
        places: Places,
        session: SessionId,
        play: Play,
        from: From,
    ) -> Result<Self, Failure> {
        let mut talk = Self {
            client,
            places,
            session,
            play,
            speech: Speech::default(),
            prose: Prose::default(),
            seen: Seq::START,
            past: None,
            asks: VecDeque::new(),
            later: HashSet::new(),
            dialogue: None,
            answer: Line::default(),
            message: Line::default(),
            unsure: None,
            rest: Rest::new(Instant::now()),
            added: Vec::new(),
        };
        if from == From::Now {
            let now = talk.client.session(session).await?;
            let head = now.seq;
            talk.speech.joins(now.state);
            talk.seen = Seq(head.0.saturating_sub(PAST_EVENTS));
            talk.past = Some((head, VecDeque::new()));
            let query = InboxQuery { session: Some(session), limit: Some(200), ..InboxQuery::default() };
            talk.asks = talk.client.inbox(query).await?.interactions.into();
        }
        Ok(talk)
    }

    /// Until the person leaves, or there is nothing left to talk to.
    pub(crate) async fn run(&mut self) -> Result<Leaving, Failure> {
        let mut keys = Keys::open(Whole::Rows).map_err(terminal)?;
        let mut screen = Screen::new();
        let mut feed: Option<Box<dyn EventFeed>> = None;
        // Since when the gateway is away.
        let mut lost: Option<Instant> = None;
        let leaving = loop {
            self.ask_next().await?;
            self.show(&mut screen);
            let then = tokio::select! {
                pressed = keys.next() => match pressed {
                    Some(Pressed { key: Key::Resize, .. }) => {
                        screen.measure();
                        Then::Go
                    }
                    Some(pressed) => self.press(pressed).await?,
                    None => Then::Leave(Leaving::Detached),
                },
                next = next_event(&mut feed), if feed.is_some() => match next {
                    Ok(Some(event)) => self.hear(&event, screen.columns()).await?,
                    Ok(None) | Err(_) => {
                        (feed, lost) = (None, Some(Instant::now()));
                        Then::Go
                    }
                },
                found = self.subscribe(lost.is_some()), if feed.is_none() => match found {
                    Ok(found) => {
                        feed = Some(found);
                        Then::Go
                    }
                    Err(TransportError::Refused(refusal)) => return Err(Failure::Refused(refusal)),
                    Err(TransportError::Unreachable(_)) if lost.get_or_insert_with(Instant::now).elapsed() < PATIENCE => Then::Go,
                    Err(TransportError::Unreachable(_)) => Then::Leave(Leaving::Gone),
                },
                () = tokio::time::sleep_until(self.rest.until().into()), if self.is_resting() => Then::Go,
            };
            match then {
                Then::Go => {}
                Then::Edit => {
                    self.show(&mut screen);
                    screen.end();
                    drop(keys);
                    if let Some(dialogue) = self.dialogue.as_mut() {
                        let rows = tokio::task::block_in_place(|| edit(&self.places, dialogue));
                        self.added.extend(rows);
                    }
                    self.rest.begin(Instant::now());
                    keys = Keys::open(Whole::Rows).map_err(terminal)?;
                }
                Then::Leave(leaving) => break leaving,
            }
        };
        self.added.extend(self.prose.end());
        self.show(&mut screen);
        screen.end();
        Ok(leaving)
    }

    /// What happens from here on. Whoever lost it looks only every now and then.
    async fn subscribe(&self, again: bool) -> Result<Box<dyn EventFeed>, TransportError> {
        if again {
            tokio::time::sleep(LOOK).await;
        }
        self.client.subscribe(self.session, self.seen).await
    }

    fn is_resting(&self) -> bool {
        Instant::now() < self.rest.until()
    }

    /// Whether the line answers, or else is a message.
    fn is_answering(&self) -> bool {
        self.dialogue.is_some() && self.message.is_empty() && !self.is_resting()
    }

    /// Not while asks are left for later: they would be taken back with the turn.
    fn escape_stops(&self) -> bool {
        self.speech.is_working() && self.message.is_empty() && self.dialogue.is_none() && self.asks.is_empty()
    }

    fn show(&mut self, screen: &mut Screen) {
        let mut changing = Vec::new();
        changing.extend(self.prose.unfinished());
        let stops = if self.escape_stops() { " · Esc stops it" } else { "" };
        let doing = self.speech.doing().filter(|_| self.dialogue.is_none());
        changing.extend(doing.map(|row| row.and(Ink::Dim, stops)));
        let (label, line, seen);
        match &self.dialogue {
            Some(dialogue) if self.is_answering() => {
                let prompt = dialogue.prompt();
                (label, line, seen) = (prompt.label, &self.answer, prompt.seen);
            }
            Some(_) if !self.message.is_empty() => {
                let hint = "Enter sends this to the agent as a message, Esc drops it. Then you can answer.";
                changing.push(Row::new(Ink::Dim, hint));
                (label, line, seen) = (Row::new(Ink::Strong, "› "), &self.message, Seen::Open);
            }
            Some(_) | None => (label, line, seen) = (Row::new(Ink::Strong, "› "), &self.message, Seen::Open),
        }
        screen.show(&std::mem::take(&mut self.added), &changing, &Typing { label: &label, line, seen });
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has many keys that mean nothing here")]
    async fn press(&mut self, pressed: Pressed) -> Result<Then, Failure> {
        let over = self.rest.is_over(pressed.at);
        match pressed.key {
            Key::Ctrl('c') => return Ok(Then::Leave(Leaving::Detached)),
            Key::Ctrl('d') if self.message.is_empty() && self.answer.is_empty() => {
                return Ok(Then::Leave(Leaving::Detached));
            }
            Key::Ctrl('k') if self.play == Play::Demo => return Ok(Then::Leave(Leaving::Kill)),
            Key::Tab => {
                self.later.clear();
                return Ok(Then::Go);
            }
            _ => {}
        }
        if self.dialogue.is_some() && self.message.is_empty() && over {
            return self.answer(pressed).await;
        }
        match pressed.key {
            Key::Escape if !self.message.is_empty() => self.message = Line::default(),
            // At rest it is meant for what was on the screen a moment ago, as an ask that another person answered.
            Key::Escape if over && !pressed.held && self.escape_stops() => self.stop_turn().await,
            Key::Escape => {}
            // Whoever ends a line just when something comes up has not read it.
            Key::Enter if !over || pressed.held || self.message.is_empty() => {}
            Key::Enter => self.send_message().await,
            key => self.message.press(&key),
        }
        Ok(Then::Go)
    }

    async fn send_message(&mut self) {
        let text = self.message.take();
        // The same words again are the same message: it may have arrived.
        let unsure = self.unsure.take().filter(|message| message.text == text);
        let message = unsure.unwrap_or_else(|| SendMessage::new(text));
        match self.client.message(self.session, message.clone()).await {
            Ok(_) => self.rest.begin(Instant::now()),
            Err(error) => {
                let failure = Failure::from(error);
                self.added.push(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string()));
                self.message = Line::with(&message.text);
                self.unsure = Some(message);
            }
        }
    }

    /// That the turn has ended is said by the journal, as on every screen.
    async fn stop_turn(&mut self) {
        if let Err(error) = self.client.interrupt(self.session).await {
            let failure = Failure::from(error);
            let words = format!("It was not stopped: {failure}");
            self.added.push(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &words));
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has many keys that mean nothing here")]
    async fn answer(&mut self, pressed: Pressed) -> Result<Then, Failure> {
        let Some(dialogue) = self.dialogue.as_mut() else { return Ok(Then::Go) };
        let next = match pressed.key {
            Key::Escape => dialogue.back(),
            Key::Enter if pressed.held => return Ok(Then::Go),
            Key::Enter => {
                let prompt = dialogue.prompt();
                let line = self.answer.take();
                if prompt.seen == Seen::Open {
                    self.added.push(prompt.label.and(Ink::Plain, &line));
                }
                dialogue.line(&line)
            }
            Key::Paste(_) if dialogue.prompt().paste == Paste::Refused => {
                self.added.push(Row::plain(PASTED));
                return Ok(Then::Go);
            }
            key => {
                self.answer.press(&key);
                return Ok(Then::Go);
            }
        };
        let then = match next {
            Next::Answer(draft) => {
                self.send_answer(draft).await?;
                Then::Go
            }
            Next::Edit => Then::Edit,
            Next::Leave => {
                self.later.insert(dialogue.ask().request.interaction_id);
                self.dialogue = None;
                self.added.push(Row::new(Ink::Dim, "It stays open. Tab comes back to it."));
                Then::Go
            }
            Next::Read(rows) => {
                self.added.extend(rows);
                self.rest.begin(Instant::now());
                Then::Go
            }
            Next::More(rows) => {
                self.added.extend(rows);
                Then::Go
            }
        };
        self.fill_in();
        Ok(then)
    }

    /// The line has what the prompt begins with.
    fn fill_in(&mut self) {
        let prefill = self.dialogue.as_ref().map(|dialogue| dialogue.prompt().prefill);
        self.answer = Line::with(&prefill.unwrap_or_default());
    }

    async fn send_answer(&mut self, draft: ResponseDraft) -> Result<(), Failure> {
        let Some(mut dialogue) = self.dialogue.take() else { return Ok(()) };
        let key = new_key();
        self.speech.answered_here(key.clone());
        let ask = dialogue.ask().clone();
        match respond(&self.client, &ask, draft, key).await {
            Ok(receipt) => {
                self.added.push(
                    Row::new(Ink::Good, "✓ ").and(Ink::Plain, &words::receipt(&receipt, ask.request.origin)),
                );
                self.forget(ask.request.interaction_id);
            }
            Err(Failure::Refused(refusal)) if refusal.code == Code::Invalid => {
                self.added.extend(dialogue.refused(&refusal));
                self.dialogue = Some(dialogue);
            }
            Err(failure @ Failure::Refused(_)) => {
                self.added.push(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string()));
                // It may have been asked again meanwhile.
                self.forget(ask.request.interaction_id);
                self.take_up(ask.request.interaction_id).await?;
            }
            // What was decided is still there to be sent when the gateway is back.
            Err(failure) => {
                self.added.push(Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string()));
                self.dialogue = Some(dialogue);
            }
        }
        self.rest.begin(Instant::now());
        Ok(())
    }

    async fn hear(&mut self, event: &Event, columns: usize) -> Result<Then, Failure> {
        self.seen = event.seq;
        let heard = self.speech.hear(&event.body);
        if let Some((head, rows)) = self.past.as_mut() {
            for heard in heard {
                match heard {
                    Heard::Words(words) => rows.extend(self.prose.say(&words, columns)),
                    Heard::Pause => rows.extend(self.prose.end()),
                    Heard::Row(row) => rows.push_back(row),
                    Heard::Asked(request) => {
                        rows.push_back(
                            Row::new(Ink::Waiting, "● ").and(Ink::Plain, &words::headline(&request)),
                        );
                    }
                    Heard::Settled(_) => {}
                    Heard::Ended => return Ok(Then::Leave(Leaving::Ended)),
                }
            }
            let surplus = rows.len().saturating_sub(PAST_ROWS);
            rows.drain(..surplus);
            if event.seq >= *head {
                self.added.extend(self.past.take().into_iter().flat_map(|(_, rows)| rows));
            }
            return Ok(Then::Go);
        }
        for heard in heard {
            match heard {
                Heard::Words(words) => self.added.extend(self.prose.say(&words, columns)),
                Heard::Pause => self.added.extend(self.prose.end()),
                Heard::Row(row) => self.added.push(row),
                Heard::Asked(request) => self.take_up(request.interaction_id).await?,
                Heard::Settled(ask) => self.forget(ask),
                Heard::Ended => return Ok(Then::Leave(Leaving::Ended)),
            }
        }
        Ok(Then::Go)
    }

    /// An ask as it is now, if it can still be answered.
    async fn take_up(&mut self, id: InteractionId) -> Result<(), Failure> {
        self.forget(id);
        match self.client.interaction(id).await {
            Ok(ask) if matches!(ask.state, AskState::Open | AskState::Queued) => self.asks.push_back(ask),
            Ok(_) | Err(TransportError::Unreachable(_)) => {}
            Err(refused @ TransportError::Refused(_)) => return Err(refused.into()),
        }
        Ok(())
    }

    fn forget(&mut self, id: InteractionId) {
        self.asks.retain(|ask| ask.request.interaction_id != id);
        self.later.remove(&id);
        if self.dialogue.as_ref().is_some_and(|dialogue| dialogue.ask().request.interaction_id == id) {
            self.dialogue = None;
            self.answer = Line::default();
            self.rest.begin(Instant::now());
        }
    }

    /// Puts the next ask on the screen, if none is there.
    async fn ask_next(&mut self) -> Result<(), Failure> {
        if self.dialogue.is_some() || self.past.is_some() {
            return Ok(());
        }
        let Some(ask) = self.asks.iter().find(|ask| !self.later.contains(&ask.request.interaction_id)) else {
            return Ok(());
        };
        let whole = match self.client.whole(ask.clone()).await {
            Ok(whole) => whole,
            Err(TransportError::Unreachable(_)) => return Ok(()),
            Err(refused @ TransportError::Refused(_)) => return Err(refused.into()),
        };
        let boxed = self.client.session(self.session).await.ok().and_then(|session| session.boxed);
        self.added.extend(self.prose.end());
        self.added.push(Row::default());
        let more = match self.asks.len() {
            1 => String::new(),
            many => format!(" ({} more after this)", many - 1),
        };
        self.added.push(Row::new(Ink::Waiting, "● Waiting for you").and(Ink::Dim, &more));
        self.added.extend(card::rows(&whole, boxed.as_ref()));
        self.dialogue = Some(Dialogue::new(whole));
        self.fill_in();
        self.rest.begin(Instant::now());
        Ok(())
    }
}

async fn next_event(feed: &mut Option<Box<dyn EventFeed>>) -> Result<Option<Event>, TransportError> {
    match feed {
        Some(feed) => feed.next().await,
        None => std::future::pending().await,
    }
}
