//! Finds what may be commands in a line that may be anything.
//!
//! Good for warning, asking and denying, where seeing too much does no harm. Never for allowing.

use std::ops::Range;

/// Words in a row that may be a program with its arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub words: Vec<LooseWord>,
    /// Whether what stands before it may write into it.
    pub piped: Piped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piped {
    From,
    No,
}

/// A word without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseWord {
    pub text: String,
    pub span: Range<usize>,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Argument,
    /// It stands after `>`.
    Output,
}

/// Words before a command that are not its name.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc", "noglob", "nocorrect"];

/// Takes time in proportion to the line.
pub fn runs(line: &str) -> Vec<Run> {
    let mut found =
        Found { runs: Vec::new(), words: Vec::new(), word: None, piped: Piped::No, role: Role::Argument };
    let mut quote = None;
    let mut last = ' ';
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => found.put(at, c),
            // A command inside double quotes: go on outside of them.
            (Some(_), '`') => {
                quote = None;
                found.end_run(Piped::No);
            }
            (Some(_), '$') if next == Some('(') => quote = None,
            (_, '\\') => {
                if let Some((at, escaped)) = characters.next()
                    && escaped != '\n'
                {
                    found.put(at, escaped);
                }
            }
            (Some(_), _) => found.put(at, c),
            (None, '\'' | '"') => {
                quote = Some(c);
                found.begin(at);
            }
            (None, ' ' | '\t' | '\r' | '<') => found.end_word(at),
            (None, '>') => {
                found.end_word(at);
                found.role = Role::Output;
            }
            // `>&file` and `>|file`
            (None, '&' | '|') if last == '>' => {}
            (None, '|') => {
                found.end_word(at);
                found.end_run(Piped::From);
            }
            (None, ';' | '&' | '(' | ')' | '{' | '}' | '`' | '\n') => {
                found.end_word(at);
                found.end_run(Piped::No);
            }
            (None, _) => found.put(at, c),
        }
        last = c;
    }
    found.end_word(line.len());
    found.end_run(Piped::No);
    found.runs
}

struct Found {
    runs: Vec<Run>,
    words: Vec<LooseWord>,
    word: Option<LooseWord>,
    piped: Piped,
    /// Of the next word.
    role: Role,
}

impl Found {
    fn begin(&mut self, at: usize) -> &mut LooseWord {
        let role = self.role;
        self.word.get_or_insert_with(|| LooseWord { text: String::new(), span: at..at, role })
    }

    fn put(&mut self, at: usize, c: char) {
        let word = self.begin(at);
        word.text.push(c);
        word.span.end = at + c.len_utf8();
    }

    fn end_word(&mut self, at: usize) {
        if let Some(mut word) = self.word.take() {
            word.span.end = at;
            self.words.push(word);
            self.role = Role::Argument;
        }
    }

    fn end_run(&mut self, next: Piped) {
        if let Some(word) = self.word.take() {
            self.words.push(word);
        }
        self.role = Role::Argument;
        let words = std::mem::take(&mut self.words);
        let named =
            words.iter().position(|word| !BEFORE.contains(&word.text.as_str()) && !assigns(&word.text));
        if let Some(named) = named {
            let words = if named == 0 { words } else { words[named..].to_vec() };
            self.runs.push(Run { words, piped: self.piped });
            self.piped = next;
        } else if next == Piped::From {
            self.piped = next;
        }
    }
}

/// `NAME=value`
fn assigns(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_wherever_they_hide() {
        let cases: [(&str, &[&[&str]]); 12] = [
            ("rm -rf x", &[&["rm", "-rf", "x"]]),
            ("a && (rm 'b c' \"d\\\" e\")", &[&["a"], &["rm", "b c", "d\" e"]]),
            ("a $(rm x) `rm y`", &[&["a", "$"], &["rm", "x"], &["rm", "y"]]),
            ("echo \"a $(rm x) b\"", &[&["echo", "a "], &["rm", "x"], &["b"]]),
            ("X=1 if ! time rm x; then rm y; fi", &[&["rm", "x"], &["rm", "y"], &["fi"]]),
            ("r\\m x", &[&["rm", "x"]]),
            ("rm${IFS}x", &[&["rm$"], &["IFS"], &["x"]]),
            ("rm >a -f", &[&["rm", "a", "-f"]]),
            ("a\nrm x", &[&["a"], &["rm", "x"]]),
            ("'", &[&[""]]),
            ("", &[]),
            ("a #\nrm x", &[&["a", "#"], &["rm", "x"]]),
        ];
        for (line, expected) in cases {
            let runs = runs(line);
            let words: Vec<Vec<&str>> =
                runs.iter().map(|run| run.words.iter().map(|word| word.text.as_str()).collect()).collect();
            assert_eq!(words, expected, "{line:?}");
        }
        let runs = runs("curl x | sh; ls");
        assert_eq!(runs.iter().map(|run| run.piped).collect::<Vec<_>>(), [Piped::No, Piped::From, Piped::No]);
        assert_eq!(runs[1].words[0].span, 9..11);
    }

    #[test]
    fn what_stands_after_a_redirection_is_written() {
        let cases: [(&str, &[&str]); 7] = [
            ("a >x b", &["x"]),
            ("a >> 'x y' 2>z", &["x y", "z"]),
            ("a >&x", &["x"]),
            ("a >|x", &["x"]),
            ("a <x", &[]),
            ("a > $(b) c", &["$"]),
            ("a '>x' \\>y; b", &[]),
        ];
        for (line, expected) in cases {
            let runs = runs(line);
            let words = runs.iter().flat_map(|run| &run.words);
            let written: Vec<&str> =
                words.filter(|word| word.role == Role::Output).map(|word| word.text.as_str()).collect();
            assert_eq!(written, expected, "{line:?}");
        }
    }
}
