//! The desk as a picture.

use holdstead_protocol::Timestamp;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::{Desk, Mode, WORD, Window};
use crate::terminal::card;
use crate::terminal::line::{Line, Seen};
use crate::terminal::row::{Ink, Row};
use crate::terminal::screen::Colours;
use crate::text::safe_line;
use crate::words;

/// From this width on, list and ask stand side by side.
const WIDE: u16 = 100;
/// How many rows of a long ask's beginning stay in sight above its end.
const HEAD: usize = 3;

const KEYS: [(&str, &str); 10] = [
    ("J K", "the next one, the one before"),
    ("A, then Enter", "approve; what is marked wants its word. Or: answer a question"),
    ("Ctrl-Enter", "approve what is not marked, where the terminal knows this key"),
    ("D", "deny or decline, with words for the agent"),
    ("E", "edit what would run, in your editor"),
    ("N", "not now: it stays open, out of sight for an hour on every screen"),
    ("O", "open the session"),
    ("Space, PgUp", "the rest of a long ask"),
    ("?", "these keys"),
    ("Q, Esc", "leave. Nothing is decided by that"),
];

pub(super) fn draw(frame: &mut Frame<'_>, desk: &mut Desk, now: Timestamp, colours: Colours) {
    let [body, foot] = Layout::vertical([Constraint::Min(3), Constraint::Length(2)]).areas(frame.area());
    let [list, ask] = if body.width >= WIDE {
        Layout::horizontal([Constraint::Length(44), Constraint::Min(40)]).areas(body)
    } else {
        let rows = u16::try_from(desk.rows.len() + 4).unwrap_or(u16::MAX).min(body.height / 3).max(3);
        Layout::vertical([Constraint::Length(rows), Constraint::Min(3)]).areas(body)
    };
    draw_list(frame, list, desk, now, colours);
    draw_ask(frame, ask, desk, colours);
    draw_foot(frame, foot, desk, colours);
    if desk.mode == Mode::Keys {
        draw_keys(frame, colours);
    }
}

fn draw_list(frame: &mut Frame<'_>, area: Rect, desk: &Desk, now: Timestamp, colours: Colours) {
    let width = usize::from(area.width).saturating_sub(1);
    let mut lines = Vec::new();
    let mut selected = 0;
    let mut session = None;
    for ask in &desk.rows {
        if session != Some(ask.session_id) {
            session = Some(ask.session_id);
            let title = safe_line(ask.session_title.as_deref().unwrap_or(&ask.agent));
            lines.push(Row::new(Ink::Dim, &format!("{title} {}", ask.session_id.short())));
        }
        let is_selected = Some(ask.request.interaction_id) == desk.selected;
        if is_selected {
            selected = lines.len();
        }
        let rail = if is_selected { "▌ " } else { "  " };
        let mark = if ask.request.marks.is_empty() { "" } else { "! " };
        let row = Row::new(Ink::Waiting, rail)
            .and(Ink::Dim, &format!("{:<4}", words::age(ask.opened_at, now)))
            .and(Ink::Danger, mark)
            .and(if is_selected { Ink::Strong } else { Ink::Plain }, &words::headline(&ask.request));
        lines.push(row);
    }
    if desk.unknown > 0 {
        lines.extend(Row::new(Ink::Waiting, &words::unknown(desk.unknown)).wrapped(width));
    }
    if lines.is_empty() {
        lines.push(Row::plain("Nothing waits for you."));
    }
    let height = usize::from(area.height);
    let from = selected.saturating_sub(height.saturating_sub(2));
    let lines: Vec<TextLine<'_>> =
        lines.iter().skip(from).take(height).map(|row| line(&row.cut(width), colours)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// All of the ask. Where it is too long, its beginning and its end are shown, and the rest page by page.
fn draw_ask(frame: &mut Frame<'_>, area: Rect, desk: &mut Desk, colours: Colours) {
    let width = usize::from(area.width).saturating_sub(2);
    let height = usize::from(area.height);
    let rows = match (&desk.whole, desk.selected) {
        (Some(whole), _) => {
            let mut rows = card::rows(whole, desk.boxed.as_ref());
            if let Some(edited) = &desk.edited {
                rows.push(Row::default());
                rows.push(Row::new(Ink::Waiting, "As you edited it:"));
                let text = serde_json::to_string_pretty(edited).unwrap_or_default();
                rows.extend(Row::block("  ", Ink::Plain, &text));
            }
            rows
        }
        (None, Some(_)) => vec![Row::new(Ink::Dim, "…")],
        (None, None) => Vec::new(),
    };
    let rows: Vec<Row> = rows.iter().flat_map(|row| row.wrapped(width)).collect();
    if desk.whole.is_some() {
        desk.drawn(Window { width, height, rows: rows.len(), head: head(height) });
    }
    let shown = in_sight(&rows, height, desk.scroll);
    let lines: Vec<TextLine<'_>> = shown.iter().map(|row| line(row, colours)).collect();
    let block = Block::default().borders(if area.width >= 60 { Borders::LEFT } else { Borders::NONE });
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The rows of a window: all of them, or the first and the last ones with a word about those between.
pub(super) fn in_sight(rows: &[Row], height: usize, scroll: usize) -> Vec<Row> {
    if rows.len() <= height {
        return rows.to_vec();
    }
    if scroll > 0 {
        let from = scroll.min(rows.len() - height);
        return rows[from..from + height].to_vec();
    }
    let head = head(height);
    let tail = height.saturating_sub(head + 1);
    let hidden = rows.len() - head - tail;
    let between = Row::new(Ink::Waiting, &format!("⋮ {hidden} rows between; Space shows them"));
    let end = rows[rows.len() - tail..].iter().cloned();
    rows[..head].iter().cloned().chain([between]).chain(end).collect()
}

/// How many rows of the beginning there is room for.
fn head(height: usize) -> usize {
    HEAD.min(height / 2)
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, desk: &Desk, colours: Colours) {
    let [note, prompt] = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(area);
    if let Some(row) = &desk.note {
        frame.render_widget(Paragraph::new(line(&row.cut(usize::from(note.width)), colours)), note);
    }
    let row = match &desk.mode {
        Mode::Look | Mode::Keys => Row::new(Ink::Dim, hints(desk)),
        Mode::Armed => Row::new(Ink::Waiting, "Enter approves it once. Any other key takes that back."),
        Mode::Word(typed) => {
            let why = desk.whole.iter().flat_map(|whole| &whole.request.marks).next();
            let why = why.map_or("It is marked", |mark| words::risk(mark.risk));
            let label =
                Row::new(Ink::Danger, why).and(Ink::Waiting, &format!(". Type {WORD} to approve it: "));
            return draw_line(frame, prompt, &label, typed, colours);
        }
        Mode::Why(typed) => {
            let label = Row::new(Ink::Waiting, "Deny it. Why? The agent reads it (empty is fine): ");
            return draw_line(frame, prompt, &label, typed, colours);
        }
    };
    frame.render_widget(Paragraph::new(line(&row.cut(usize::from(prompt.width)), colours)), prompt);
}

fn hints(desk: &Desk) -> &'static str {
    match &desk.whole {
        Some(whole) if whole.request.body.is_approval() => {
            "A approve · D deny · E edit · N not now · O session · J K move · ? keys · Q leave"
        }
        Some(_) => "A answer · D decline · N not now · O session · J K move · ? keys · Q leave",
        None => "? keys · Q leave",
    }
}

fn draw_line(frame: &mut Frame<'_>, area: Rect, label: &Row, typed: &Line, colours: Colours) {
    let room = usize::from(area.width).saturating_sub(label.width()).max(1);
    let (text, column) = typed.view(room, Seen::Open);
    frame.render_widget(Paragraph::new(line(&label.clone().and(Ink::Plain, &text), colours)), area);
    let x = u16::try_from(label.width() + column).unwrap_or(0);
    frame.set_cursor_position(Position::new(area.x + x.min(area.width.saturating_sub(1)), area.y));
}

fn draw_keys(frame: &mut Frame<'_>, colours: Colours) {
    let area = frame.area();
    let width = 84.min(area.width);
    let height = u16::try_from(KEYS.len() + 2).unwrap_or(area.height).min(area.height);
    let area = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    let rows = KEYS.iter().map(|(key, means)| {
        line(&Row::new(Ink::Strong, &format!(" {key:<14} ")).and(Ink::Plain, means), colours)
    });
    frame.render_widget(Clear, area);
    let block = Block::default().borders(Borders::ALL).title(" Keys ");
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()).block(block), area);
}

fn line(row: &Row, colours: Colours) -> TextLine<'static> {
    let spans = row.pieces().iter().map(|(ink, text)| Span::styled(text.clone(), style(*ink, colours)));
    TextLine::from(spans.collect::<Vec<_>>())
}

fn style(ink: Ink, colours: Colours) -> Style {
    let plain = Style::default();
    let coloured = |colour| if colours == Colours::On { plain.fg(colour) } else { plain };
    match ink {
        Ink::Plain => plain,
        Ink::Dim => plain.add_modifier(Modifier::DIM),
        Ink::Strong => plain.add_modifier(Modifier::BOLD),
        Ink::Waiting => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
        Ink::Good | Ink::Added => coloured(Color::Green),
        Ink::Danger => coloured(Color::Red).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Ink::Removed => coloured(Color::Red),
    }
}
