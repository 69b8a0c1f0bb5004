//! Rows printed one below the other, with a few at the bottom that change: what is being said, and the line being typed.

use std::io::{IsTerminal as _, Write as _};

use super::line::{Line, Seen};
use super::row::{Ink, Row};

/// Whether rows have colours: where somebody looks, and wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

impl Colours {
    /// As <https://no-color.org> has it.
    pub(crate) fn here() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if unwanted || !std::io::stdout().is_terminal() { Self::Off } else { Self::On }
    }

    pub(crate) fn paint(self, row: &Row) -> String {
        let pieces = row.pieces().iter().map(|(ink, text)| match (self, code(*ink)) {
            (Self::On, Some(code)) => format!("\x1b[{code}m{text}\x1b[0m"),
            (Self::On, None) | (Self::Off, _) => text.clone(),
        });
        pieces.collect()
    }
}

const fn code(ink: Ink) -> Option<&'static str> {
    match ink {
        Ink::Plain => None,
        Ink::Dim => Some("2"),
        Ink::Strong => Some("1"),
        Ink::Waiting => Some("1;33"),
        Ink::Good => Some("32"),
        Ink::Danger => Some("1;4;31"),
        Ink::Added => Some("32"),
        Ink::Removed => Some("31"),
    }
}

/// Prints rows where nothing else is going on.
pub(crate) fn print(rows: &[Row]) {
    let colours = Colours::here();
    for row in rows {
        println!("{}", colours.paint(row));
    }
}

/// The last row: what is asked, and what is typed.
#[derive(Debug)]
pub(crate) struct Typing<'a> {
    pub(crate) label: &'a Row,
    pub(crate) line: &'a Line,
    pub(crate) seen: Seen,
}

/// What has to be left for the line.
const ROOM: usize = 16;

#[derive(Debug)]
pub(crate) struct Screen {
    colours: Colours,
    columns: usize,
    /// How many rows at the bottom are to be drawn anew.
    live: usize,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let mut screen = Self { colours: Colours::here(), columns: 80, live: 0 };
        screen.measure();
        screen
    }

    /// The window may have another size now.
    pub(crate) fn measure(&mut self) {
        if let Ok((columns @ 8.., _)) = ratatui::crossterm::terminal::size() {
            self.columns = usize::from(columns);
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Adds rows for good, then draws those that change and the line.
    pub(crate) fn show(&mut self, added: &[Row], changing: &[Row], typing: &Typing<'_>) {
        let mut out = self.erased();
        for row in added.iter().flat_map(|row| row.wrapped(self.columns)) {
            out.push_str(&self.colours.paint(&row));
            out.push_str("\r\n");
        }
        let mut changing: Vec<Row> = changing.iter().map(|row| row.cut(self.columns - 1)).collect();
        let mut label = typing.label.clone();
        // In a narrow window the line has a row of its own.
        if label.width() + ROOM > self.columns {
            changing.extend(label.wrapped(self.columns - 1));
            label = Row::plain("› ");
        }
        for row in &changing {
            out.push_str(&self.colours.paint(row));
            out.push_str("\r\n");
        }
        let (text, column) = typing.line.view(self.columns - label.width(), typing.seen);
        out.push_str(&self.colours.paint(&label));
        out.push_str(&text);
        out.push('\r');
        match label.width() + column {
            0 => {}
            column => out.push_str(&format!("\x1b[{column}C")),
        }
        self.live = changing.len() + 1;
        write(&out);
    }

    /// Leaves what was added, and nothing of what changes.
    pub(crate) fn end(&mut self) {
        let out = self.erased();
        self.live = 0;
        write(&out);
    }

    fn erased(&self) -> String {
        match self.live {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
        }
    }
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // A terminal that is gone shows itself where keys are read.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_they_are_wanted() {
        let row = Row::plain("Run ").and(Ink::Danger, "rm -rf /");
        assert_eq!(Colours::Off.paint(&row), "Run rm -rf /");
        assert_eq!(Colours::On.paint(&row), "Run \x1b[1;4;31mrm -rf /\x1b[0m");
    }
}
