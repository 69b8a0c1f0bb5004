//! Takes the steps of a script, and stops at its asks.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use holdstead_protocol::{StopReason, ToolCallId};
use serde_json::{Value, json};

use super::builtin::{self, Wish};
use super::effect;
use super::script::{AskKind, Script, ScriptAsk, Step};
use super::session_file::{Place, SessionFile};
use super::verdict::{self, Verdict};
use super::wire::{FromAgent, ToAgent, WireAsk, WireAskBody};
use crate::private::Private;

/// What came in on stdin.
#[derive(Debug)]
pub(super) enum Incoming {
    Said(ToAgent),
    /// A line that means nothing to us.
    Garbled(String),
}

/// Why the agent goes.
#[derive(Debug)]
pub(super) enum Leave {
    /// Whoever listened is gone.
    Closed,
    Parked,
    Failed(String),
    Crashed,
    Broken(io::Error),
}

/// Why a turn stops before its last step.
enum Stop {
    Interrupted,
    Leave(Leave),
}

impl From<Leave> for Stop {
    fn from(leave: Leave) -> Self {
        Self::Leave(leave)
    }
}

impl From<io::Error> for Leave {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Broken(error) }
    }
}

struct OpenAsk<'a> {
    call: ToolCallId,
    ask: &'a ScriptAsk,
}

#[derive(Debug)]
pub(super) struct Performer<W: Write> {
    out: BufWriter<W>,
    inbox: Receiver<Incoming>,
    /// Messages that came during a turn; each is a turn of its own.
    waiting: VecDeque<String>,
    file: SessionFile,
    private: Private,
    refuse_parking: bool,
    /// What it was answered last. It is in no file of ours: it may be secret.
    answered: String,
}

impl<W: Write> Performer<W> {
    pub(super) fn new(
        out: W,
        inbox: Receiver<Incoming>,
        file: SessionFile,
        private: Private,
        refuse_parking: bool,
    ) -> Self {
        let (out, waiting, answered) = (BufWriter::new(out), VecDeque::new(), String::new());
        Self { out, inbox, waiting, file, private, refuse_parking, answered }
    }

    /// Goes on where the conversation is, and then from message to message. Ends only by leaving.
    pub(super) fn perform(mut self) -> Leave {
        let leave = self.turns();
        // What was said before it goes is said; that nobody hears it is no news.
        drop(self.out.flush());
        leave
    }

    fn turns(&mut self) -> Leave {
        let ready = FromAgent::Ready { conversation: self.file.conversation.id.clone() };
        if let Err(leave) = self.say(&ready) {
            return leave;
        }
        loop {
            if let Err(leave) = self.finish_turn().and_then(|()| self.next_message()) {
                return leave;
            }
        }
    }

    fn finish_turn(&mut self) -> Result<(), Leave> {
        let Some(place) = self.file.conversation.place.clone() else { return Ok(()) };
        let reason = match Script::parse(&place.script) {
            Ok(script) => match self.take_steps(&script, place) {
                Ok(()) => StopReason::Completed,
                Err(Stop::Interrupted) => StopReason::Interrupted,
                Err(Stop::Leave(leave)) => return Err(leave),
            },
            Err(error) => {
                self.speak(&format!("I cannot run this script. In {error}."), &[])?;
                StopReason::Failed
            }
        };
        self.file.conversation.place = None;
        self.file.save()?;
        self.say(&FromAgent::Done { reason })
    }

    fn next_message(&mut self) -> Result<(), Leave> {
        let message = loop {
            if let Some(message) = self.waiting.pop_front() {
                break message;
            }
            self.out.flush()?;
            let incoming = self.inbox.recv().map_err(|_| Leave::Closed)?;
            match self.hear(incoming, &mut Vec::new()) {
                // Between turns there is nothing to stop.
                Ok(()) | Err(Stop::Interrupted) => (),
                Err(Stop::Leave(leave)) => return Err(leave),
            }
        };
        self.file.conversation.turn += 1;
        match builtin::wish(&message) {
            Wish::Script(script) => {
                let place = Place { script: script.to_owned(), step: 0, asked: false, resolved: Vec::new() };
                self.file.conversation.place = Some(place);
                Ok(self.file.save()?)
            }
            Wish::Talk(answer) => {
                self.file.save()?;
                self.speak(&answer, &[])?;
                self.say(&FromAgent::Done { reason: StopReason::Completed })
            }
        }
    }

    fn take_steps(&mut self, script: &Script, from: Place) -> Result<(), Stop> {
        let mut asked = from.asked;
        for (at, step) in script.taken().enumerate().skip(from.step) {
            self.glance()?;
            match step {
                Step::Say { text, parents } => self.speak(text, parents)?,
                Step::Think { text, parents } => {
                    for text in words(text) {
                        self.say(&FromAgent::Thinking { text, parents: parents.clone() })?;
                    }
                }
                Step::Tool { name, input, result, is_error, parents } => {
                    let call = self.call_id(at, None)?;
                    self.announce(&call, name, input, parents)?;
                    let output = json!(result);
                    self.say(&FromAgent::ToolResult { call, output, is_error: *is_error })?;
                }
                Step::Ask(ask) => self.ask_all(at, std::slice::from_ref(ask), asked)?,
                Step::Together(asks) => self.ask_all(at, asks, asked)?,
                Step::Echo { path, parents } => self.echo(path, parents)?,
                Step::Wait(time) => self.wait(*time)?,
                Step::Fail(words) => return Err(Leave::Failed(words.clone()).into()),
                Step::Crash => return Err(Leave::Crashed.into()),
                // `taken` has unrolled them.
                Step::Repeat { .. } => (),
            }
            asked = false;
        }
        Ok(())
    }

    /// Opens the asks of one step and stays until all of them are resolved.
    fn ask_all(&mut self, at: usize, asks: &[ScriptAsk], again: bool) -> Result<(), Stop> {
        let mut open = Vec::with_capacity(asks.len());
        for (number, ask) in asks.iter().enumerate() {
            let call = self.call_id(at, (asks.len() > 1).then_some(number))?;
            open.push(OpenAsk { call, ask });
        }
        if again {
            let resolved = self.file.conversation.place.as_ref().map(|place| place.resolved.clone());
            open.retain(|open| !resolved.iter().flatten().any(|call| *call == open.call));
        } else {
            for OpenAsk { call, ask } in &open {
                self.announce(call, &ask.tool, &ask.input, &ask.parents)?;
            }
            // From here on it comes back to these asks, whatever happens to the process.
            self.remember(at, true)?;
        }
        for OpenAsk { call, ask } in &open {
            self.say(&FromAgent::Ask(self.wire_ask(call, ask)))?;
        }
        while !open.is_empty() {
            self.out.flush().map_err(Leave::from)?;
            let incoming = self.inbox.recv().map_err(|_| Leave::Closed)?;
            self.hear(incoming, &mut open)?;
        }
        self.remember(at + 1, false)?;
        Ok(())
    }

    fn remember(&mut self, step: usize, asked: bool) -> Result<(), Leave> {
        if let Some(place) = &mut self.file.conversation.place {
            place.step = step;
            place.asked = asked;
            place.resolved.clear();
        }
        Ok(self.file.save()?)
    }

    fn wire_ask(&self, call: &ToolCallId, ask: &ScriptAsk) -> WireAsk {
        let body = match &ask.kind {
            AskKind::Approval => WireAskBody::Approval { preview: None },
            AskKind::Edit => WireAskBody::Approval { preview: effect::preview(&ask.input, &self.private) },
            AskKind::Questions(questions) => WireAskBody::Question { questions: questions.clone() },
            AskKind::Form(form) => WireAskBody::Form { form: form.clone() },
        };
        WireAsk {
            call: call.clone(),
            tool: ask.tool.clone(),
            input: ask.input.clone(),
            body,
            says: ask.says.clone(),
            because: ask.because.clone(),
            parents: ask.parents.clone(),
            can_park: self.can_park(ask),
            hold: ask.settings.hold,
            timeout_ms: ask.settings.timeout_ms,
        }
    }

    const fn can_park(&self, ask: &ScriptAsk) -> bool {
        !self.refuse_parking && !ask.settings.no_park
    }

    /// Looks whether something came in, without waiting for it.
    fn glance(&mut self) -> Result<(), Stop> {
        loop {
            match self.inbox.try_recv() {
                Ok(incoming) => self.hear(incoming, &mut Vec::new())?,
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(Leave::Closed.into()),
            }
        }
    }

    fn wait(&mut self, time: Duration) -> Result<(), Stop> {
        self.out.flush().map_err(Leave::from)?;
        let begun = Instant::now();
        loop {
            match self.inbox.recv_timeout(time.saturating_sub(begun.elapsed())) {
                Ok(incoming) => self.hear(incoming, &mut Vec::new())?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(Leave::Closed.into()),
            }
            self.out.flush().map_err(Leave::from)?;
        }
    }

    fn hear(&mut self, incoming: Incoming, open: &mut Vec<OpenAsk<'_>>) -> Result<(), Stop> {
        match incoming {
            // A message never answers an ask: it waits for its turn.
            Incoming::Said(ToAgent::Message { text }) => self.waiting.push_back(text),
            Incoming::Said(ToAgent::Resolve { call, resolution }) => self.resolve(&call, resolution, open)?,
            Incoming::Said(ToAgent::Park { call }) => self.park(call, open)?,
            Incoming::Said(ToAgent::Interrupt {}) => {
                for OpenAsk { call, ask: _ } in open.drain(..) {
                    self.say(&FromAgent::Withdrawn { call })?;
                }
                return Err(Stop::Interrupted);
            }
            Incoming::Garbled(message) => self.say(&FromAgent::Error { message })?,
        }
        Ok(())
    }

    fn resolve(
        &mut self,
        call: &ToolCallId,
        resolution: Value,
        open: &mut Vec<OpenAsk<'_>>,
    ) -> Result<(), Leave> {
        let came = SystemTime::now();
        let Some(at) = open.iter().position(|open| open.call == *call) else {
            let message = format!("no ask is open under `{call}`: the resolution was not used");
            return self.say(&FromAgent::Error { message });
        };
        let ask = open[at].ask;
        let verdict = match verdict::judge(ask, &resolution) {
            Ok(verdict) => verdict,
            Err(why) => {
                let message = format!("the resolution of `{call}` was not used: {why}");
                return self.say(&FromAgent::Error { message });
            }
        };
        open.remove(at);
        // First on disk, then acknowledged, then done: whoever dies in between acts at most once.
        if let Some(place) = &mut self.file.conversation.place {
            place.resolved.push(call.clone());
        }
        self.file.save()?;
        self.say(&FromAgent::Received { call: call.clone() })?;
        self.out.flush()?;
        self.answered = verdict.answered();
        let mut output = json!({ "received": verdict::received(ask, resolution) });
        if ask.settings.timed {
            output["cameAtMicros"] = json!(micros(came));
        }
        if let Verdict::Run { input, edited: _ } = &verdict {
            output["effect"] = json!(effect::run(&ask.kind, input, &self.private));
        }
        self.say(&FromAgent::ToolResult { call: call.clone(), output, is_error: verdict.is_error() })?;
        self.speak(&verdict.sentence(ask), &ask.parents)
    }

    fn park(&mut self, call: ToolCallId, open: &[OpenAsk<'_>]) -> Result<(), Leave> {
        let why = match open {
            [only] if only.call == call => {
                if self.can_park(only.ask) {
                    self.say(&FromAgent::Parked { call })?;
                    return Err(Leave::Parked);
                }
                "it stays at this ask"
            }
            several if several.iter().any(|open| open.call == call) => "other asks are open too",
            _ => "no such ask is open",
        };
        self.say(&FromAgent::CannotPark { call, why: why.to_owned() })
    }

    /// The same for the same step of the same turn, in every life of the process.
    fn call_id(&self, step: usize, number: Option<usize>) -> Result<ToolCallId, Leave> {
        let step = format!("call_{}_{}", self.file.conversation.turn, step + 1);
        let id = number.map_or(step.clone(), |number| format!("{step}_{}", number + 1));
        ToolCallId::new(id).map_err(|error| Leave::Failed(error.to_string()))
    }

    fn announce(
        &mut self,
        call: &ToolCallId,
        tool: &str,
        input: &Value,
        parents: &[String],
    ) -> Result<(), Leave> {
        let (call, parents) = (call.clone(), parents.to_vec());
        self.say(&FromAgent::ToolStart { call: call.clone(), tool: tool.to_owned(), parents })?;
        for text in words(&input.to_string()) {
            self.say(&FromAgent::ToolDelta { call: call.clone(), text })?;
        }
        self.say(&FromAgent::ToolInput { call, input: input.clone() })
    }

    fn speak(&mut self, text: &str, parents: &[String]) -> Result<(), Leave> {
        for text in words(text) {
            self.say(&FromAgent::Text { text, parents: parents.to_vec() })?;
        }
        self.say(&FromAgent::MessageEnd {})?;
        Ok(self.out.flush()?)
    }

    /// In pieces that a model would also speak in, which no word keeps together.
    fn echo(&mut self, path: &str, parents: &[String]) -> Result<(), Leave> {
        let file =
            effect::within(path, &self.private).map_err(|why| Leave::Failed(format!("{path}: {why}")))?;
        std::fs::write(file, &self.answered)?;
        let letters: Vec<char> = self.answered.chars().collect();
        for piece in letters.chunks(3) {
            let text = piece.iter().collect();
            self.say(&FromAgent::Text { text, parents: parents.to_vec() })?;
        }
        self.say(&FromAgent::MessageEnd {})?;
        Ok(self.out.flush()?)
    }

    fn say(&mut self, line: &FromAgent) -> Result<(), Leave> {
        serde_json::to_writer(&mut self.out, line).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }
}

/// Since 1970, on the clock that all programs of this machine read.
fn micros(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros())
}

/// A text in the pieces it is streamed in.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(' ').map(str::to_owned)
}
