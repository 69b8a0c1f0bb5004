//! One connection to Codex's daemon: which conversations are there, what is handed on of them, and what is said to them.
//!
//! It carries texts for whoever holds it, and does no IO. Every conversation that people began is subscribed to, with what
//! its last turn did: without that, an ask to change files does not say how. The daemon lets go of a conversation that rests
//! and that nobody listens to: so we do not listen to one that rests for long, and hear when it goes on.

mod thread;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use holdstead_protocol::json;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::wire;
use thread::{Called, Subscription, Thread};

/// So many conversations are listened to at a time.
const MOST: usize = 500;
/// So many that are none of ours are remembered.
const MOST_OTHERS: usize = 2_000;
/// A conversation can be subscribed to when its first words are written down.
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// It may stay without any for long.
const TRY_LATER: Duration = Duration::from_secs(10);
const TRIES: u32 = 12;
/// Whoever listened so shortly could not listen at all.
const SHORTLY: Duration = Duration::from_millis(100);
/// A conversation in which nothing happens for so long rests.
const RESTS: Duration = Duration::from_secs(10 * 60);

/// What follows for whoever holds the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkEffect {
    /// A text for the daemon.
    Send(String),
    /// For whoever listens to this conversation, and who is told what is answered.
    Said { text: String, waits: Option<Waits> },
}

/// What is done with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waits {
    /// The daemon gets it, for the request that has this id.
    Request { id: String },
    /// Words of a person for this conversation. Only the last one that waits for them counts.
    Words { thread: String, number: u64 },
}

#[derive(Debug, Default)]
pub struct Link {
    last: u64,
    /// What was called, by number.
    calls: HashMap<u64, Called>,
    threads: HashMap<String, Thread>,
    /// Those that nobody speaks in: the program's own.
    others: HashSet<String>,
    /// Requests that nobody answered yet, as they were sent.
    open: HashMap<String, Value>,
}

impl Link {
    pub fn new() -> Self {
        Self::default()
    }

    /// The first words on a new connection.
    pub fn hello(&mut self) -> Vec<LinkEffect> {
        let version = env!("CARGO_PKG_VERSION");
        let params = json!({
            "clientInfo": {"name": "holdstead", "title": "Holdstead", "version": version},
            "capabilities": {"experimentalApi": true},
        });
        vec![self.call("initialize", params, Called::Hello)]
    }

    /// The daemon said this.
    pub fn heard(&mut self, text: &str, now: Instant) -> Vec<LinkEffect> {
        let Ok((message, flaw)) = json::read_flawed(text.as_bytes()) else { return Vec::new() };
        let id = message.get("id").cloned();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, id) {
            (None, Some(id)) => {
                let called = id.as_u64().and_then(|id| self.calls.remove(&id));
                called.map_or_else(Vec::new, |called| self.returned(called, message, now))
            }
            // What was not read as it is is not decided here.
            (Some(_), Some(_)) if flaw.is_some() => Vec::new(),
            (Some(method), Some(id)) => self.asked(&method, id, message),
            (Some(method), None) => self.told(&method, message, now),
            (None, None) => Vec::new(),
        }
    }

    /// What was answered to a request.
    pub fn answered(&mut self, id: &str, answer: Option<Value>) -> Vec<LinkEffect> {
        // Without an answer, somebody else may give one; who was asked before us has, if it is not open any more.
        let Some(answer) = answer else { return Vec::new() };
        let open = self.open.remove(id);
        open.map(|id| send(&json!({"id": id, "result": answer}))).into_iter().collect()
    }

    /// A person's words for a conversation. Whoever waited for them waits no more.
    pub fn say(&mut self, thread: &str, words: String, now: Instant) -> Vec<LinkEffect> {
        let rests = |thread: &&mut Thread| thread.state == Subscription::Resting;
        if let Some(resting) = self.threads.get_mut(thread).filter(rests) {
            resting.state = Subscription::Not { at: now, tries: 0 };
            // Whoever subscribes is given one that waits.
            return self.subscribe(thread).into_iter().chain(self.send_words(thread, words, true)).collect();
        }
        let said = self.send_words(thread, words, true);
        said.into_iter().chain(self.waiter(thread)).collect()
    }

    /// Nobody listens to a conversation any more: whoever comes next is told from the beginning.
    pub fn left(&mut self, thread: &str, number: u64, now: Instant) {
        if let Some(thread) = self.threads.get_mut(thread)
            && let Subscription::Yes { since } = thread.state
            && thread.waiter == number
        {
            let pause = if now.duration_since(since) < SHORTLY { TRY_LATER } else { TRY_AGAIN };
            thread.state = Subscription::Not { at: now + pause, tries: 0 };
        }
    }

    /// Time has passed.
    pub fn passed(&mut self, now: Instant) -> Vec<LinkEffect> {
        let mut due = Vec::new();
        let mut resting = Vec::new();
        for (id, thread) in &mut self.threads {
            match thread.state {
                Subscription::Not { at, .. } if at <= now => due.push(id.clone()),
                Subscription::Yes { .. }
                    if thread.turn.is_none() && now.duration_since(thread.last) >= RESTS =>
                {
                    thread.state = Subscription::Resting;
                    resting.push(id.clone());
                }
                Subscription::Not { .. }
                | Subscription::Asked { .. }
                | Subscription::Yes { .. }
                | Subscription::Resting => {}
            }
        }
        let mut effects: Vec<_> = due.iter().filter_map(|id| self.subscribe(id)).collect();
        let rest = |id: String| self.call("thread/unsubscribe", json!({"threadId": id}), Called::Rest);
        effects.extend(resting.into_iter().map(rest));
        effects
    }

    /// The connection is gone.
    pub fn gone(&mut self) -> Vec<LinkEffect> {
        let ids: Vec<_> = self.threads.keys().cloned().collect();
        ids.iter().filter_map(|id| self.forget(id)).collect()
    }

    fn call(&mut self, method: &str, params: Value, called: Called) -> LinkEffect {
        self.last += 1;
        self.calls.insert(self.last, called);
        send(&json!({"id": self.last, "method": method, "params": params}))
    }

    fn returned(&mut self, called: Called, mut message: Value, now: Instant) -> Vec<LinkEffect> {
        let result = message.get_mut("result").map(Value::take);
        match (called, result) {
            (Called::Hello, Some(_)) => {
                let list = self.call("thread/loaded/list", json!({}), Called::Loaded);
                vec![send(&json!({"method": "initialized"})), list]
            }
            (Called::Loaded, Some(result)) => {
                let ids = result.get("data").and_then(Value::as_array).into_iter().flatten();
                let ids: Vec<_> = ids.filter_map(Value::as_str).map(str::to_owned).collect();
                ids.iter().filter_map(|id| self.look_at(id)).collect()
            }
            (Called::Read, Some(result)) => self.appeared(&result["thread"], now),
            (Called::Resume { thread }, Some(result)) => self.subscribed(&thread, result, now),
            (Called::Resume { thread }, None) => {
                if let Some(thread) = self.threads.get_mut(&thread)
                    && let Subscription::Asked { tries } = thread.state
                {
                    let pause = if tries < TRIES { TRY_AGAIN } else { TRY_LATER };
                    thread.state = Subscription::Not { at: now + pause, tries: tries + 1 };
                }
                Vec::new()
            }
            // The turn was over when the words came.
            (Called::Say { thread, words, steers: true }, None) => {
                self.send_words(&thread, words, false).into_iter().collect()
            }
            (Called::Say { thread, words, steers: false }, None) => {
                let why = message.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason");
                let m = json!({"notTaken": {"words": words, "why": why}});
                self.said(&thread, &m, None).into_iter().collect()
            }
            (Called::Say { .. } | Called::Rest, Some(_))
            | (Called::Hello | Called::Loaded | Called::Read | Called::Rest, None) => Vec::new(),
        }
    }

    /// It waits for an answer. What is none of ours, or not for us, is answered by somebody else.
    fn asked(&mut self, method: &str, id: Value, message: Value) -> Vec<LinkEffect> {
        if ![wire::ASKS_COMMAND, wire::ASKS_CHANGE, wire::ASKS_QUESTION, wire::ASKS_FORM].contains(&method) {
            return Vec::new();
        }
        let Some(thread) = thread_of(&message) else { return Vec::new() };
        let key = id.to_string();
        let said = self.said(&thread, &message, Some(Waits::Request { id: key.clone() }));
        if said.is_some() {
            self.open.insert(key, id);
        }
        said.into_iter().collect()
    }

    fn told(&mut self, method: &str, mut message: Value, now: Instant) -> Vec<LinkEffect> {
        if method == "thread/started" {
            return self.appeared(&message["params"]["thread"], now);
        }
        let Some(id) = thread_of(&message) else { return Vec::new() };
        let text = |at: &str| message.pointer(at).and_then(Value::as_str).map(str::to_owned);
        if method == "thread/status/changed" {
            let status = text("/params/status/type").unwrap_or_default();
            return self.changed(&id, &status, now);
        }
        let (turn, item) = (text("/params/turn/id"), text("/params/itemId"));
        let Some(thread) = self.threads.get_mut(&id) else { return Vec::new() };
        thread.last = now;
        match method {
            wire::TURN_STARTED => thread.turn = turn,
            wire::TURN_COMPLETED => drop(thread.turn.take_if(|runs| turn.as_ref() == Some(runs))),
            wire::RESOLVED => {
                let request = message.pointer("/params/requestId").map(Value::to_string);
                drop(request.and_then(|request| self.open.remove(&request)));
            }
            wire::OUTPUT => {
                // That it says something is enough to know, and that once.
                if thread.spoke == item {
                    return Vec::new();
                }
                thread.spoke = item;
                message["params"]["delta"] = Value::Null;
            }
            wire::THREAD_CLOSED => return self.forget(&id).into_iter().collect(),
            "item/started" | "item/completed" | "item/agentMessage/delta" => {}
            _ => return Vec::new(),
        }
        self.said(&id, &message, None).into_iter().collect()
    }

    /// A conversation shows that it is there.
    fn changed(&mut self, id: &str, status: &str, now: Instant) -> Vec<LinkEffect> {
        if status == "notLoaded" {
            return self.forget(id).into_iter().collect();
        }
        match self.threads.get_mut(id) {
            Some(thread) => {
                // Its first words may be there now, or the first ones after a rest.
                let wakes = thread.state == Subscription::Resting && status == "active";
                if wakes || matches!(thread.state, Subscription::Not { .. }) {
                    thread.state = Subscription::Not { at: now, tries: 0 };
                }
                self.passed(now)
            }
            None => self.look_at(id).into_iter().collect(),
        }
    }

    fn look_at(&mut self, id: &str) -> Option<LinkEffect> {
        if self.threads.contains_key(id) || self.others.contains(id) {
            return None;
        }
        Some(self.call("thread/read", json!({"threadId": id}), Called::Read))
    }

    fn appeared(&mut self, thread: &Value, now: Instant) -> Vec<LinkEffect> {
        let text = |key: &str| thread.get(key).and_then(Value::as_str).map(str::to_owned);
        let (Some(id), Some(cwd)) = (text("id"), text("cwd")) else { return Vec::new() };
        if self.threads.contains_key(&id) {
            return Vec::new();
        }
        if thread.get("ephemeral") != Some(&Value::Bool(false)) || self.threads.len() >= MOST {
            if self.others.len() >= MOST_OTHERS {
                self.others.clear();
            }
            self.others.insert(id);
            return Vec::new();
        }
        // If nobody has said anything in it yet, it is known when somebody does.
        let state = Subscription::Not { at: now, tries: TRIES };
        let path = text("path");
        self.threads
            .insert(id.clone(), Thread { cwd, path, state, turn: None, spoke: None, waiter: 0, last: now });
        self.subscribe(&id).into_iter().collect()
    }

    fn subscribe(&mut self, id: &str) -> Option<LinkEffect> {
        let thread = self.threads.get_mut(id)?;
        let Subscription::Not { tries, .. } = thread.state else { return None };
        thread.state = Subscription::Asked { tries };
        let called = Called::Resume { thread: id.to_owned() };
        Some(self.call("thread/resume", json!({"threadId": id}), called))
    }

    fn subscribed(&mut self, id: &str, mut result: Value, now: Instant) -> Vec<LinkEffect> {
        let turns = result.pointer_mut("/thread/turns").and_then(Value::as_array_mut);
        let last = turns.and_then(Vec::pop).unwrap_or_default();
        let Some(thread) = self.threads.get_mut(id) else { return Vec::new() };
        thread.state = Subscription::Yes { since: now };
        thread.last = now;
        let runs = last.get("status").is_some_and(|status| status == "inProgress");
        thread.turn = last.get("id").and_then(Value::as_str).filter(|_| runs).map(str::to_owned);
        let resumed = self.said(id, &json!({"resumed": last}), None);
        resumed.into_iter().chain(self.waiter(id)).collect()
    }

    fn waiter(&mut self, id: &str) -> Option<LinkEffect> {
        self.last += 1;
        let number = self.last;
        self.threads.get_mut(id)?.waiter = number;
        self.said(id, &json!({"waiter": true}), Some(Waits::Words { thread: id.to_owned(), number }))
    }

    fn forget(&mut self, id: &str) -> Option<LinkEffect> {
        let gone = self.said(id, &json!({"gone": true}), None);
        self.threads.remove(id);
        gone
    }

    fn send_words(&mut self, id: &str, words: String, may_steer: bool) -> Option<LinkEffect> {
        let thread = self.threads.get(id)?;
        let input = json!([{"type": "text", "text": words}]);
        let name = format!("{}{}", wire::OURS, uuid::Uuid::new_v4());
        let turn = thread.turn.clone().filter(|_| may_steer);
        let called = Called::Say { thread: id.to_owned(), words, steers: turn.is_some() };
        Some(match turn {
            Some(turn) => {
                let params = json!({"threadId": id, "expectedTurnId": turn, "input": input, "clientUserMessageId": name});
                self.call("turn/steer", params, called)
            }
            None => {
                let params = json!({"threadId": id, "input": input, "clientUserMessageId": name});
                self.call("turn/start", params, called)
            }
        })
    }

    /// Hands something on, if anybody here was told of the conversation.
    fn said(&self, id: &str, m: &Value, waits: Option<Waits>) -> Option<LinkEffect> {
        let thread = self.threads.get(id)?;
        if !matches!(thread.state, Subscription::Yes { .. } | Subscription::Resting) {
            return None;
        }
        let text = json!({"thread": id, "cwd": thread.cwd, "path": thread.path, "m": m}).to_string();
        Some(LinkEffect::Said { text, waits })
    }
}

fn thread_of(message: &Value) -> Option<String> {
    message.pointer("/params/threadId").and_then(Value::as_str).map(str::to_owned)
}

fn send(message: &Value) -> LinkEffect {
    LinkEffect::Send(message.to_string())
}

#[cfg(test)]
mod tests;
