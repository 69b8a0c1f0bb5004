//! Keys of a terminal, one by one, each with its moment. The terminal is as it was before when this is dropped, and also
//! after a panic.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::cursor;
use ratatui::crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    supports_keyboard_enhancement,
};
use tokio::sync::mpsc;

/// How long the thread that reads looks away from whether it shall stop.
const LOOK: Duration = Duration::from_millis(20);
const QUEUE: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    Letter(char),
    Paste(String),
    Enter,
    /// Ctrl and Enter, where a terminal can tell.
    Chord,
    Escape,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    PageUp,
    PageDown,
    Ctrl(char),
    /// No key: the window has another size.
    Resize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pressed {
    pub(crate) key: Key,
    pub(crate) at: Instant,
    /// The same key, still held down; only some terminals tell.
    pub(crate) held: bool,
}

/// What is done with the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// Rows are added to what is there.
    Rows,
    /// All of it is ours, and what was there comes back afterwards.
    Screen,
}

/// A terminal whose keys come to us one by one.
#[derive(Debug)]
pub(crate) struct Keys {
    pressed: mpsc::Receiver<Pressed>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

const RAW: u8 = 1;
const SCREEN: u8 = 2;
const ENHANCED: u8 = 4;
/// What has to be undone.
static CHANGED: AtomicU8 = AtomicU8::new(0);

impl Keys {
    pub(crate) fn open(whole: Whole) -> std::io::Result<Self> {
        enable_raw_mode()?;
        CHANGED.store(RAW, Ordering::SeqCst);
        let mut out = std::io::stdout();
        if whole == Whole::Screen {
            CHANGED.fetch_or(SCREEN, Ordering::SeqCst);
            execute!(out, EnterAlternateScreen, cursor::Hide)?;
            // So that Ctrl-Enter is not Enter, and a held key is told as such.
            if supports_keyboard_enhancement().unwrap_or(false) {
                CHANGED.fetch_or(ENHANCED, Ordering::SeqCst);
                let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
                    | KeyboardEnhancementFlags::REPORT_EVENT_TYPES;
                execute!(out, PushKeyboardEnhancementFlags(flags))?;
            }
        }
        execute!(out, EnableBracketedPaste)?;
        let (send, pressed) = mpsc::channel(QUEUE);
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let reader = std::thread::spawn(move || read(&send, &told));
        Ok(Self { pressed, stop, reader: Some(reader) })
    }

    /// The next one. Nothing, when the terminal is gone.
    pub(crate) async fn next(&mut self) -> Option<Pressed> {
        self.pressed.recv().await
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.pressed.close();
        if let Some(reader) = self.reader.take() {
            // It panics only if the terminal's own reader does; there is nothing left to do about that.
            drop(reader.join());
        }
        restore();
    }
}

/// Undoes what was done to the terminal. Harmless where nothing was.
pub(crate) fn restore() {
    let changed = CHANGED.swap(0, Ordering::SeqCst);
    if changed == 0 {
        return;
    }
    let mut out = std::io::stdout();
    // Whatever fails here fails because the terminal is gone.
    if changed & ENHANCED != 0 {
        drop(execute!(out, PopKeyboardEnhancementFlags));
    }
    drop(execute!(out, DisableBracketedPaste));
    if changed & SCREEN != 0 {
        drop(execute!(out, LeaveAlternateScreen));
    }
    drop(execute!(out, cursor::Show));
    drop(disable_raw_mode());
    drop(out.flush());
}

fn read(send: &mpsc::Sender<Pressed>, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        match event::poll(LOOK) {
            Ok(false) => {}
            Ok(true) => {
                let Ok(event) = event::read() else { return };
                let at = Instant::now();
                let Some((key, held)) = key(event) else { continue };
                if send.blocking_send(Pressed { key, at, held }).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

fn key(event: Event) -> Option<(Key, bool)> {
    match event {
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => None,
        Event::Key(KeyEvent { code, modifiers, kind, .. }) => {
            Some((pressed(code, modifiers)?, kind == KeyEventKind::Repeat))
        }
        Event::Paste(text) => Some((Key::Paste(text), false)),
        Event::Resize(..) => Some((Key::Resize, false)),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "keyboards have many keys that mean nothing here")]
fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    if modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META) {
        return None;
    }
    Some(match code {
        KeyCode::Enter if control => Key::Chord,
        KeyCode::Enter => Key::Enter,
        KeyCode::Char(letter) if control => Key::Ctrl(letter.to_ascii_lowercase()),
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Esc => Key::Escape,
        KeyCode::Tab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_keys_are_none_and_held_ones_are_told() {
        let event =
            |kind, modifiers| key(Event::Key(KeyEvent { kind, ..KeyEvent::new(KeyCode::Enter, modifiers) }));
        assert_eq!(event(KeyEventKind::Press, KeyModifiers::NONE), Some((Key::Enter, false)));
        assert_eq!(event(KeyEventKind::Repeat, KeyModifiers::NONE), Some((Key::Enter, true)));
        assert_eq!(event(KeyEventKind::Release, KeyModifiers::NONE), None);
        assert_eq!(event(KeyEventKind::Press, KeyModifiers::CONTROL), Some((Key::Chord, false)));
        assert_eq!(event(KeyEventKind::Press, KeyModifiers::ALT), None, "Alt-Enter approves nothing");
    }
}
