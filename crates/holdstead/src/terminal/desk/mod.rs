//! All that waits, on the whole screen: a list, the selected ask complete beside it, and the keys of the page.
//!
//! This file is pure: rows, selection, and what a key means. `draw` shows it, `run` joins it with the gateway.
//!
//! Nothing is approved by accident: a key counts only once what it is about has been on the screen for a moment, `A` only
//! arms, `Enter` alone does nothing, what is marked wants its word, and neither a held key nor pasted text decides. An ask
//! that comes in never moves the selection.

mod draw;
pub(crate) mod run;
#[cfg(test)]
mod tests;

use std::time::Instant;

use holdstead_protocol::api::Interaction;
use holdstead_protocol::{AgentBox, AskState, InteractionId, ResponseDraft, SessionId};
use serde_json::Value;

use super::keys::{Key, Pressed};
use super::line::Line;
use super::rest::Rest;
use super::row::{Ink, Row};

/// The word that approves what is marked.
const WORD: &str = "yes";

#[derive(Debug)]
pub(crate) struct Desk {
    /// By session, each session's together.
    rows: Vec<Interaction>,
    /// How many more wait, of kinds that this version does not know.
    unknown: usize,
    selected: Option<InteractionId>,
    /// The selected ask, complete. Nobody decides on less.
    whole: Option<Interaction>,
    /// The box of the agent that asks.
    boxed: Option<AgentBox>,
    /// What the editor made of its input.
    edited: Option<Value>,
    mode: Mode,
    rest: Rest,
    /// What was said last.
    note: Option<Row>,
    /// How many rows of the ask are above the window. None: its beginning and its end are shown.
    scroll: usize,
    window: Window,
    /// So many rows of the ask were shown, from the first on.
    shown: usize,
}

/// The ask as it was drawn last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Window {
    width: usize,
    height: usize,
    /// How many rows it takes.
    rows: usize,
    /// How many rows of its beginning stand above its end, where it is too long.
    head: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Look,
    /// `A` was pressed: Enter approves.
    Armed,
    /// It is marked: its word is being typed.
    Word(Line),
    /// Why it is denied.
    Why(Line),
    /// The keys are shown.
    Keys,
}

/// What somebody outside has to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    Respond {
        ask: Box<Interaction>,
        draft: ResponseDraft,
    },
    Edit(Box<Interaction>),
    /// Questions and forms are answered line by line.
    Answer(Box<Interaction>),
    /// Not now, on no screen.
    Snooze(Box<Interaction>),
    Open(SessionId),
    Leave,
}

impl Desk {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            rows: Vec::new(),
            unknown: 0,
            selected: None,
            whole: None,
            boxed: None,
            edited: None,
            mode: Mode::Look,
            rest: Rest::new(now),
            note: None,
            scroll: 0,
            window: Window::default(),
            shown: 0,
        }
    }

    /// Everything that is open now, in place of what was there.
    pub(crate) fn replace(&mut self, asks: Vec<Interaction>, now: Instant) {
        let place = self.place();
        self.rows = asks.into_iter().filter(is_shown).collect();
        self.sort();
        self.keep_selection(place, now);
    }

    /// An ask as it is now.
    pub(crate) fn upsert(&mut self, ask: Interaction, now: Instant) {
        let place = self.place();
        let id = ask.request.interaction_id;
        let known = self.rows.iter().position(|row| row.request.interaction_id == id);
        match (known, is_shown(&ask)) {
            (Some(at), true) if self.rows[at].seq <= ask.seq => {
                if self.rows[at].request.prompt_id != ask.request.prompt_id && self.selected == Some(id) {
                    // It was asked anew under the eyes of whoever looks at it.
                    self.look_anew(now);
                    self.note = Some(Row::new(Ink::Waiting, "It was asked again, and is another one now."));
                }
                self.rows[at] = ask;
            }
            (Some(_), true) | (None, false) => {}
            (Some(at), false) => drop(self.rows.remove(at)),
            (None, true) => {
                self.rows.push(ask);
                self.sort();
            }
        }
        self.keep_selection(place, now);
    }

    fn sort(&mut self) {
        let begin = |session: SessionId, rows: &[Interaction]| {
            rows.iter().filter(|row| row.session_id == session).map(|row| row.opened_at).min()
        };
        let keys: Vec<_> =
            self.rows.iter().map(|row| (begin(row.session_id, &self.rows), row.session_id)).collect();
        let mut rows: Vec<_> = keys.into_iter().zip(std::mem::take(&mut self.rows)).collect();
        rows.sort_by(|(a, one), (b, other)| {
            a.cmp(b)
                .then(one.opened_at.cmp(&other.opened_at))
                .then(one.request.interaction_id.cmp(&other.request.interaction_id))
        });
        self.rows = rows.into_iter().map(|(_, row)| row).collect();
    }

    fn place(&self) -> Option<(usize, SessionId)> {
        let at = self.rows.iter().position(|row| Some(row.request.interaction_id) == self.selected)?;
        Some((at, self.rows[at].session_id))
    }

    /// The selected ask stays selected while it is there; then it is the next one below, of its session first.
    fn keep_selection(&mut self, before: Option<(usize, SessionId)>, now: Instant) {
        let is_there = |id| self.rows.iter().any(|row| row.request.interaction_id == id);
        if self.selected.is_some_and(is_there) {
            return;
        }
        let (at, session) = before.map_or((0, None), |(at, session)| (at, Some(session)));
        let of_session = |row: &&Interaction| Some(row.session_id) == session;
        let below = self.rows.iter().skip(at).find(of_session).or_else(|| self.rows.iter().find(of_session));
        let next = below.or_else(|| self.rows.get(at)).or_else(|| self.rows.last());
        let next = next.map(|row| row.request.interaction_id);
        self.select(next, now);
    }

    fn select(&mut self, id: Option<InteractionId>, now: Instant) {
        if self.selected != id {
            self.selected = id;
            self.look_anew(now);
        }
    }

    fn look_anew(&mut self, now: Instant) {
        self.whole = None;
        self.edited = None;
        self.mode = Mode::Look;
        self.scroll = 0;
        self.shown = 0;
        self.rest.begin(now);
    }

    /// The whole ask is on the screen, in this window.
    fn drawn(&mut self, window: Window) {
        if self.window.width != window.width {
            // Its rows are other ones now.
            (self.scroll, self.shown) = (0, 0);
        }
        self.window = window;
        self.scroll = self.scroll.min(window.rows.saturating_sub(window.height));
        let to = match self.scroll {
            _ if window.rows <= window.height => window.rows,
            0 => window.head,
            from if from <= self.shown => from + window.height,
            _ => 0,
        };
        self.shown = self.shown.max(to);
    }

    /// Nobody approves rows that were never shown.
    fn is_shown(&self) -> bool {
        self.window.rows > 0 && self.shown >= self.window.rows
    }

    fn page_down(&mut self) {
        // One row stays.
        let page = self.window.height.saturating_sub(1).max(1);
        self.scroll = if self.scroll == 0 { self.window.head.max(1) } else { self.scroll + page };
    }

    fn page_up(&mut self) {
        self.scroll = self.scroll.saturating_sub(self.window.height.saturating_sub(1).max(1));
    }

    /// The ask that is to be fetched whole.
    pub(crate) fn wanted(&self) -> Option<InteractionId> {
        self.selected.filter(|_| self.whole.is_none())
    }

    /// It is on the screen from now on.
    pub(crate) fn fetched(&mut self, ask: Interaction, boxed: Option<AgentBox>, now: Instant) {
        if self.selected == Some(ask.request.interaction_id) && self.whole.is_none() {
            self.whole = Some(ask);
            self.boxed = boxed;
            self.rest.begin(now);
        }
    }

    pub(crate) fn say(&mut self, note: Row) {
        self.note = Some(note);
    }

    /// What the editor made of the selected ask. It approves nothing.
    pub(crate) fn edited(&mut self, input: Option<Value>, now: Instant) {
        self.edited = input;
        self.mode = Mode::Look;
        self.rest.begin(now);
    }

    /// It was answered here: its place goes to the next.
    pub(crate) fn answered(&mut self, id: InteractionId, now: Instant) {
        let place = self.place();
        self.rows.retain(|row| row.request.interaction_id != id);
        self.keep_selection(place, now);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has many keys that mean nothing here")]
    pub(crate) fn press(&mut self, pressed: &Pressed) -> Option<Act> {
        let Pressed { key, at, held } = pressed;
        if matches!(key, Key::Ctrl('c')) {
            return Some(Act::Leave);
        }
        match &mut self.mode {
            Mode::Look | Mode::Armed => match key {
                // As they are shown, and as they are typed.
                Key::Letter(letter) => self.look(&Key::Letter(letter.to_ascii_lowercase()), *at, *held),
                key => self.look(key, *at, *held),
            },
            Mode::Keys => {
                self.mode = Mode::Look;
                self.rest.begin(*at);
                None
            }
            Mode::Word(line) => match key {
                Key::Escape => self.disarm(*at),
                Key::Enter if *held || !self.rest.is_over(*at) => None,
                Key::Enter if line.text() == WORD => self.approve(),
                Key::Enter => {
                    self.note = Some(Row::plain("Not approved."));
                    self.disarm(*at)
                }
                Key::Paste(_) => {
                    self.note = Some(Row::plain(super::once::PASTED));
                    None
                }
                // What was typed before the word was asked for is none of it.
                key if self.rest.is_over(*at) => {
                    line.press(key);
                    None
                }
                _ => None,
            },
            Mode::Why(line) => match key {
                Key::Escape => self.disarm(*at),
                Key::Enter if *held || !self.rest.is_over(*at) => None,
                Key::Enter => {
                    let reason = Some(line.text().trim().to_owned()).filter(|reason| !reason.is_empty());
                    let is_approval =
                        self.whole.as_ref().is_some_and(|whole| whole.request.body.is_approval());
                    self.respond(match is_approval {
                        true => ResponseDraft::Deny { reason },
                        false => ResponseDraft::Cancel { reason },
                    })
                }
                key => {
                    line.press(key);
                    None
                }
            },
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has many keys that mean nothing here")]
    fn look(&mut self, key: &Key, at: Instant, held: bool) -> Option<Act> {
        self.note = None;
        match key {
            Key::Letter('j') | Key::Down => return self.step(1, at),
            Key::Letter('k') | Key::Up => return self.step(-1, at),
            Key::PageDown | Key::Letter(' ') => {
                self.page_down();
                return self.disarm(at);
            }
            Key::PageUp => {
                self.page_up();
                return self.disarm(at);
            }
            Key::Letter('q') => return Some(Act::Leave),
            Key::Escape if self.mode == Mode::Armed => return self.disarm(at),
            Key::Escape => return Some(Act::Leave),
            Key::Resize => return None,
            _ => {}
        }
        // All others are about the selected ask, which has to be there, whole, for a moment.
        if held || !self.rest.is_over(at) {
            self.mode = Mode::Look;
            return None;
        }
        let whole = self.whole.clone()?;
        let is_approval = whole.request.body.is_approval();
        let is_marked = !whole.request.marks.is_empty();
        if is_approval && !self.is_shown() && matches!(key, Key::Letter('a' | 'e') | Key::Chord) {
            self.page_down();
            self.note = Some(Row::plain("Part of it was not shown yet: Space and A show more."));
            return self.disarm(at);
        }
        match key {
            Key::Letter('a') if !is_approval => Some(Act::Answer(Box::new(whole))),
            Key::Letter('a') if is_marked => {
                self.mode = Mode::Word(Line::default());
                self.rest.begin(at);
                None
            }
            Key::Letter('a') => {
                self.mode = Mode::Armed;
                None
            }
            Key::Enter if self.mode == Mode::Armed => self.approve(),
            Key::Chord if is_approval && !is_marked => self.approve(),
            Key::Chord if is_marked => {
                self.note = Some(Row::plain("It is marked: press A, then type its word."));
                None
            }
            Key::Letter('d') => {
                self.mode = Mode::Why(Line::default());
                None
            }
            Key::Letter('e') if is_approval && whole.request.capabilities.edit_input => {
                Some(Act::Edit(Box::new(whole)))
            }
            Key::Letter('n') => Some(Act::Snooze(Box::new(whole))),
            Key::Letter('o') => Some(Act::Open(whole.session_id)),
            Key::Letter('?') => {
                self.mode = Mode::Keys;
                None
            }
            // Somebody is typing elsewhere.
            _ => self.disarm(at),
        }
    }

    fn disarm(&mut self, now: Instant) -> Option<Act> {
        self.mode = Mode::Look;
        self.rest.begin(now);
        None
    }

    fn step(&mut self, by: isize, now: Instant) -> Option<Act> {
        // Also at the end of the list: somebody may be typing elsewhere.
        self.disarm(now);
        let (at, _) = self.place()?;
        let next = at.checked_add_signed(by).and_then(|next| self.rows.get(next))?;
        let next = next.request.interaction_id;
        self.select(Some(next), now);
        None
    }

    fn approve(&mut self) -> Option<Act> {
        let edited_input = self.edited.clone();
        self.respond(ResponseDraft::Approve { scope: None, lines: Vec::new(), edited_input })
    }

    fn respond(&mut self, draft: ResponseDraft) -> Option<Act> {
        self.mode = Mode::Look;
        let ask = Box::new(self.whole.clone()?);
        Some(Act::Respond { ask, draft })
    }
}

/// What can be answered and is not for later.
fn is_shown(ask: &Interaction) -> bool {
    matches!(ask.state, AskState::Open | AskState::Queued) && ask.snoozed_until.is_none()
}
