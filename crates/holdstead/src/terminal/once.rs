//! One ask, asked and answered.

use std::time::Instant;

use holdstead_client::Http;
use holdstead_protocol::ResponseDraft;
use holdstead_protocol::api::{Interaction, Receipt};

use super::dialogue::{Dialogue, Next, Paste};
use super::editor;
use super::keys::{Key, Keys, Whole};
use super::line::Line;
use super::rest::Rest;
use super::row::{Ink, Row};
use super::screen::{Screen, Typing};
use crate::commands::{new_key, respond};
use crate::failure::Failure;
use crate::places::Places;

pub(super) const UNUSED: &str = "Not used: it was typed before this could be read.";
pub(super) const PASTED: &str = "Pasted text decides nothing. Type it.";

/// Asks until it is answered or left. What was typed before it could be read is thrown away, and that is said.
pub(crate) async fn ask(
    client: &Http,
    places: &Places,
    ask: Interaction,
) -> Result<Option<Receipt>, Failure> {
    let mut dialogue = Dialogue::new(ask);
    let mut rows = Vec::new();
    loop {
        match converse(&mut dialogue, std::mem::take(&mut rows)).await? {
            Said::Left => return Ok(None),
            Said::Edit => rows = edit(places, &mut dialogue),
            Said::Answer(draft) => match respond(client, dialogue.ask(), draft, new_key()).await {
                Ok(receipt) => return Ok(Some(receipt)),
                Err(Failure::Refused(refusal)) if refusal.code == holdstead_protocol::Code::Invalid => {
                    rows = dialogue.refused(&refusal);
                }
                Err(failure) => return Err(failure),
            },
        }
    }
}

/// Opens the editor, which has the terminal to itself, and says what came of it.
pub(super) fn edit(places: &Places, dialogue: &mut Dialogue) -> Vec<Row> {
    match editor::open(places, dialogue.editing()) {
        Ok(text) => dialogue.written(text),
        Err(failure) => vec![Row::new(Ink::Danger, "✕ ").and(Ink::Plain, &failure.to_string())],
    }
}

enum Said {
    Answer(ResponseDraft),
    Edit,
    Left,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a keyboard has many keys that mean nothing here")]
async fn converse(dialogue: &mut Dialogue, mut rows: Vec<Row>) -> Result<Said, Failure> {
    let mut keys = Keys::open(Whole::Rows).map_err(terminal)?;
    let mut screen = Screen::new();
    let mut line = Line::with(&dialogue.prompt().prefill);
    let mut rest = Rest::new(Instant::now());
    rest.begin(Instant::now());
    let said = loop {
        let prompt = dialogue.prompt();
        let (nothing, label) = (Line::default(), Row::default());
        let typing = if Instant::now() < rest.until() {
            Typing { label: &label, line: &nothing, seen: prompt.seen }
        } else {
            Typing { label: &prompt.label, line: &line, seen: prompt.seen }
        };
        screen.show(&std::mem::take(&mut rows), &[], &typing);
        let pressed = tokio::select! {
            pressed = keys.next() => pressed,
            () = tokio::time::sleep_until(rest.until().into()), if Instant::now() < rest.until() => continue,
        };
        let Some(pressed) = pressed else { break Said::Left };
        let next = match &pressed.key {
            Key::Ctrl('c' | 'd') => break Said::Left,
            Key::Resize => {
                screen.measure();
                continue;
            }
            key if !rest.is_over(pressed.at) => {
                if *key == Key::Enter {
                    rows.push(Row::new(Ink::Dim, UNUSED));
                }
                continue;
            }
            Key::Escape => dialogue.back(),
            Key::Enter if pressed.held => continue,
            Key::Enter => dialogue.line(&line.take()),
            Key::Paste(_) if prompt.paste == Paste::Refused => {
                rows.push(Row::plain(PASTED));
                continue;
            }
            key => {
                line.press(key);
                continue;
            }
        };
        match next {
            Next::Answer(draft) => break Said::Answer(draft),
            Next::Edit => break Said::Edit,
            Next::Leave => break Said::Left,
            Next::Read(more) => {
                rows.extend(more);
                rest.begin(Instant::now());
            }
            Next::More(more) => rows.extend(more),
        }
        line = Line::with(&dialogue.prompt().prefill);
    };
    screen.end();
    Ok(said)
}

pub(super) fn terminal(source: std::io::Error) -> Failure {
    Failure::Io { what: "use the terminal".to_owned(), source }
}
