//! Finds what may be commands in a line that may be anything.
//!
//! Good for warning, asking and denying, where seeing too much does no harm. Never for allowing.

use std::ops::Range;

use super::{braces, escapes};

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

/// Words before a command that are not its name. `-p` is an option of `time`.
const BEFORE: [&str; 13] = [
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "until",
    "!",
    "time",
    "-p",
    "coproc",
    "noglob",
    "nocorrect",
];

/// What stands behind a word.
const ENDS_WORD: [char; 12] = [' ', '\t', '\r', '\n', ';', '|', '&', '(', ')', '<', '>', '`'];

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
            // A text, and no file.
            (None, '<') if line[..at].ends_with("<<") => found.role = Role::Argument,
            (None, '<') => {
                found.end_before_redirect(at);
                found.role = Role::Input;
            }
            // What `<>` opens is read, too.
            (None, '>') if last == '<' => found.both = true,
            (None, '>') => {
                found.end_before_redirect(at);
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
            (None, '{') if last == '$' && variable(&line[at..]).is_some() => {
                found.variable(at, variable(&line[at..]).unwrap_or_default());
                while characters.next_if(|(_, next)| *next != '}').is_some() {}
                characters.next();
            }
            (None, '{') if last != '$' && found.braces(at, &line[at..]) => {
                while characters.next_if(|(_, next)| !ENDS_WORD.contains(next)).is_some() {}
            }
            // `${X:-.env}`, not `{ rm x; }`
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
    /// The next word stands after `<>`.
    both: bool,
    /// Up to here there are no words in braces.
    plain_until: usize,
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
            both: false,
            plain_until: 0,
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
            self.push(word);
        }
    }

    fn push(&mut self, word: LooseWord) {
        if std::mem::take(&mut self.both) {
            self.words.push(LooseWord { role: Role::Output, ..word.clone() });
        }
        self.words.push(word);
        self.role = Role::Argument;
    }

    /// In `2>x` the number is no word.
    fn end_before_redirect(&mut self, at: usize) {
        let number =
            |word: &LooseWord| !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(number) {
            self.word = None;
        }
        self.end_word(at);
    }

    /// `${HOME}` stays as it is, and `${IFS}` is a blank.
    fn variable(&mut self, at: usize, name: &str) {
        if name == "{IFS}" {
            if let Some(word) = &mut self.word {
                word.text.pop();
            }
            self.end_word(at);
        } else {
            name.chars().for_each(|c| self.put(at, c));
        }
    }

    /// The words that `{rm,x}` and `.e{nv,x}` stand for, if this is such a word.
    fn braces(&mut self, at: usize, rest: &str) -> bool {
        if at < self.plain_until {
            return false;
        }
        let rest = &rest[..rest.find(ENDS_WORD).unwrap_or(rest.len())];
        let before = self.word.as_ref().map_or("", |word| &word.text);
        let words = braces(&format!("{before}{}", rest.replace(['\'', '"', '\\'], "")));
        if words.len() < 2 {
            self.plain_until = at + rest.len();
            return false;
        }
        let (span, role) = (self.begin(at).span.start..at + rest.len(), self.role);
        self.word = None;
        self.words.extend(words.into_iter().map(|text| LooseWord { text, span: span.clone(), role }));
        self.role = Role::Argument;
        true
    }

    fn end_run(&mut self, next: Piped, begins: Begins) {
        if let Some(word) = self.word.take() {
            self.push(word);
        }
        (self.role, self.both) = (Role::Argument, false);
        let mut words = std::mem::take(&mut self.words);
        let is_name = |word: &LooseWord| {
            word.role == Role::Argument && !BEFORE.contains(&word.text.as_str()) && !assigns(&word.text)
        };
        let named = words.iter().position(is_name).unwrap_or(words.len());
        let last = words.last().map_or(0..0, |word| word.span.clone());
        for word in words.drain(..named).collect::<Vec<_>>() {
            match word.role {
                Role::Argument if assigns(&word.text) => self.assigned.push(word),
                Role::Argument => {}
                // In `>x rm` the program's name comes first.
                Role::Input | Role::Output => words.push(LooseWord { span: last.clone(), ..word }),
            }
        }
        if !words.is_empty() {
            self.runs.push(Run { words, begins: self.begins, piped: self.piped });
            self.piped = next;
        } else if next == Piped::From {
            self.piped = next;
        }
        self.begins = begins;
    }
}

/// `{NAME}`
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (end > 0 && name[end..].starts_with('}')).then(|| &text[..end + 2])
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
        let cases: [(&str, &[&[&str]]); 18] = [
            ("rm -rf x", &[&["rm", "-rf", "x"]]),
            ("a && (rm 'b c' \"d\\\" e\")", &[&["a"], &["rm", "b c", "d\" e"]]),
            ("a $(rm x) `rm y`", &[&["a", "$"], &["rm", "x"], &["rm", "y"]]),
            ("echo \"a $(rm x) b\"", &[&["echo", "a "], &["rm", "x"], &["b"]]),
            ("X=1 if ! time rm x; then rm y; fi", &[&["rm", "x"], &["rm", "y"], &["fi"]]),
            ("r\\m x", &[&["rm", "x"]]),
            ("rm${IFS}x", &[&["rm", "x"]]),
            ("{rm,-rf,x} y", &[&["rm", "-rf", "x", "y"]]),
            ("{ rm x; }", &[&["rm", "x"]]),
            ("cat ${PWD}/.e{nv,x}", &[&["cat", "${PWD}/.env", "${PWD}/.ex"]]),
            (">a 2>&1 rm x", &[&["rm", "x", "a", "1"]]),
            ("time -p rm x", &[&["rm", "x"]]),
            ("sh <<< 'rm x'", &[&["sh", "rm x"]]),
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
        let cases: [(&str, &[&str]); 8] = [
            ("a >x b", &["x"]),
            ("a <>x", &["x"]),
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
