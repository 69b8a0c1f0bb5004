//! Finds what may be commands in a line that may be anything.
//!
//! Good for warning, asking and denying, where seeing too much does no harm. Never for allowing.

use std::ops::Range;

use super::escapes;

/// Words in a row that may be a program with its arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub words: Vec<LooseWord>,
    pub begins: Begins,
    /// Whether what stands before it may write into it.
    pub piped: Piped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piped {
    From,
    No,
}

/// Whether the first word is a program's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    Anew,
    /// It stands after a command inside a word, and goes on with what stood before: `.env` in `cat $(x) .env`.
    Within,
}

/// A line's runs, and what stands before their programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    pub runs: Vec<Run>,
    /// `NAME=value`
    pub assigned: Vec<LooseWord>,
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
    /// It stands after `<`.
    Input,
    /// It stands after `>`.
    Output,
}

/// Words before a command that are not its name.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc", "noglob", "nocorrect"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
    /// `$'…'`
    Escapes,
}

pub fn runs(line: &str) -> Vec<Run> {
    read(line).runs
}

/// Takes time in proportion to the line.
pub fn read(line: &str) -> Loose {
    let mut found = Found::default();
    let mut quote = None;
    let mut last = ' ';
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        match (quote, c) {
            (Some(Quote::Single | Quote::Escapes), '\'') | (Some(Quote::Double), '"') => quote = None,
            (Some(Quote::Escapes), '\\') => {
                let (escaped, length) = escapes::read(characters.clone().map(|(_, c)| c));
                found.put(at, escaped);
                for _ in 0..length {
                    characters.next();
                }
            }
            (Some(Quote::Single | Quote::Escapes), _) => found.put(at, c),
            // A command inside double quotes: go on outside of them.
            (Some(Quote::Double), '`') => {
                quote = None;
                found.end_run(Piped::No, Begins::Within);
            }
            (Some(Quote::Double), '$') if next == Some('(') => quote = None,
            // `$'rm'` and `$"rm"` are `rm`.
            (None, '$') if matches!(next, Some('\'' | '"')) => {
                quote = Some(if next == Some('"') { Quote::Double } else { Quote::Escapes });
                characters.next();
                found.begin(at);
            }
            (Some(Quote::Double) | None, '\\') => {
                if let Some((at, escaped)) = characters.next()
                    && escaped != '\n'
                {
                    found.put(at, escaped);
                }
            }
            (Some(Quote::Double), _) => found.put(at, c),
            (None, '\'' | '"') => {
                quote = Some(if c == '"' { Quote::Double } else { Quote::Single });
                found.begin(at);
            }
            (None, ' ' | '\t' | '\r') => found.end_word(at),
            (None, '<') => {
                found.end_word(at);
                found.role = Role::Input;
            }
            // What `<>` opens is read, too.
            (None, '>') if last == '<' => {}
            (None, '>') => {
                found.end_word(at);
                found.role = Role::Output;
            }
            // `>&file` and `>|file`
            (None, '&' | '|') if last == '>' => {}
            (None, '|') => {
                found.end_word(at);
                found.end_run(Piped::From, Begins::Anew);
            }
            (None, ')' | '}' | '`') => {
                found.end_word(at);
                found.end_run(Piped::No, Begins::Within);
            }
            // `${X:-.env}` and `.e{nv,x}`, not `{ rm x; }`
            (None, '{') if found.word.is_some() => {
                found.end_word(at);
                found.end_run(Piped::No, Begins::Within);
            }
            (None, ';' | '&' | '(' | '{' | '\n') => {
                found.end_word(at);
                found.end_run(Piped::No, Begins::Anew);
            }
            (None, _) => found.put(at, c),
        }
        last = c;
    }
    found.end_word(line.len());
    found.end_run(Piped::No, Begins::Anew);
    Loose { runs: found.runs, assigned: found.assigned }
}

struct Found {
    runs: Vec<Run>,
    assigned: Vec<LooseWord>,
    words: Vec<LooseWord>,
    word: Option<LooseWord>,
    piped: Piped,
    begins: Begins,
    /// Of the next word.
    role: Role,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            assigned: Vec::new(),
            words: Vec::new(),
            word: None,
            piped: Piped::No,
            begins: Begins::Anew,
            role: Role::Argument,
        }
    }
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

    fn end_run(&mut self, next: Piped, begins: Begins) {
        if let Some(word) = self.word.take() {
            self.words.push(word);
        }
        self.role = Role::Argument;
        let mut words = std::mem::take(&mut self.words);
        let named =
            words.iter().position(|word| !BEFORE.contains(&word.text.as_str()) && !assigns(&word.text));
        let before = words.drain(..named.unwrap_or(words.len()));
        self.assigned.extend(before.filter(|word| assigns(&word.text)));
        if !words.is_empty() {
            self.runs.push(Run { words, begins: self.begins, piped: self.piped });
            self.piped = next;
        } else if next == Piped::From {
            self.piped = next;
        }
        self.begins = begins;
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
