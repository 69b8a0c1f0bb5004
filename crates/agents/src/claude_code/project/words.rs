//! Splits a shell line into commands, with the variables expanded that stand for a project's folder. What only a shell
//! could expand leaves its word open.

use std::collections::BTreeMap;

/// Stands for the folder of the project at the beginning of a word: a command may have changed its own folder.
pub(super) const PROJECT: char = '\u{e000}';
/// Variables that name a folder of the project, of a plugin or of a skill.
const FOLDERS: [&str; 3] = ["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_SKILL_DIR"];
const HERE: [&str; 2] = ["pwd", "pwd -P"];
const TOP: &str = "git rev-parse --show-toplevel";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// It has an expansion or a pattern whose value is known only when it runs.
    pub(super) open: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// What is assigned before the program.
    pub(super) assigned: Vec<(String, Word)>,
    pub(super) words: Vec<Word>,
    /// Files that it reads by a redirection.
    pub(super) reads: Vec<Word>,
}

/// The commands of a line, those in substitutions first. `None` if a quote or a bracket is not closed.
pub(super) fn commands(line: &str, variables: &mut BTreeMap<String, Word>) -> Option<Vec<Command>> {
    let mut reader = Reader { rest: line, variables, done: Vec::new(), now: Command::default() };
    reader.read()?;
    Some(reader.done)
}

/// A word that no shell reads: an argument of a server, in which the program itself expands variables.
pub(super) fn argument(text: &str) -> Word {
    let mut variables = BTreeMap::new();
    let mut reader =
        Reader { rest: text, variables: &mut variables, done: Vec::new(), now: Command::default() };
    let mut word = Word::default();
    while let Some(c) = reader.next() {
        match c {
            '$' => drop(reader.dollar(&mut word)),
            c => word.text.push(c),
        }
    }
    word
}

struct Reader<'a> {
    rest: &'a str,
    variables: &'a mut BTreeMap<String, Word>,
    done: Vec<Command>,
    now: Command,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take_while(&mut self, is: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.to_owned()
    }

    fn read(&mut self) -> Option<()> {
        loop {
            self.take_while(|c| c == ' ' || c == '\t');
            match self.rest.chars().next() {
                None => break,
                Some('\n' | ';' | '&' | '|' | '(' | ')') => {
                    self.next();
                    self.end();
                }
                Some('#') => drop(self.take_while(|c| c != '\n')),
                Some('<') => {
                    // A text that stands in the line itself is data.
                    let inline = self.take_while(|c| c == '<').len() > 1;
                    self.take_while(|c| c == '-' || c == ' ' || c == '&');
                    let read = self.word()?;
                    if !inline {
                        self.now.reads.push(read);
                    }
                }
                Some('>') => {
                    self.take_while(|c| ">|& ".contains(c));
                    self.word()?;
                }
                Some(_) => self.add_word()?,
            }
        }
        self.end();
        Some(())
    }

    fn end(&mut self) {
        let now = std::mem::take(&mut self.now);
        // What is assigned for one command only counts for it; by itself it counts from here on.
        if now.words.is_empty() {
            for (name, value) in &now.assigned {
                self.variables.insert(name.clone(), value.clone());
            }
        }
        if now != Command::default() {
            self.done.push(now);
        }
    }

    fn add_word(&mut self) -> Option<()> {
        let before = self.rest;
        let word = self.word()?;
        // `2>file`
        let number = !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit());
        if number && self.rest.starts_with(['>', '<']) {
            return Some(());
        }
        let assigned = before.split_once('=').map(|(name, _)| name).filter(|name| is_name(name));
        match assigned {
            Some(name) if self.now.words.is_empty() => {
                let text = word.text.split_once('=').map_or_else(String::new, |(_, text)| text.to_owned());
                self.now.assigned.push((name.to_owned(), Word { text, open: word.open }));
            }
            Some(_) | None => self.now.words.push(word),
        }
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word::default();
        while let Some(c) = self.rest.chars().next() {
            if c.is_whitespace() || ";&|()<>".contains(c) {
                break;
            }
            self.next();
            match c {
                '\\' => word.text.extend(self.next().filter(|c| *c != '\n')),
                '\'' => {
                    word.text.push_str(&self.take_while(|c| c != '\''));
                    self.next()?;
                }
                '"' => self.quoted(&mut word)?,
                '$' => self.dollar(&mut word)?,
                '`' => self.substitution('`', &mut word)?,
                '*' | '?' | '[' => {
                    word.open |= c != '[' || self.rest.contains(']');
                    word.text.push(c);
                }
                c => word.text.push(c),
            }
        }
        // `[` and `[[` are programs, `{` and `}` stand alone.
        word.open &= !matches!(word.text.as_str(), "[" | "[[");
        Some(word)
    }

    fn quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => match self.next()? {
                    c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                    '\n' => {}
                    c => word.text.extend(['\\', c]),
                },
                '$' => self.dollar(word)?,
                '`' => self.substitution('`', word)?,
                c => word.text.push(c),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word) -> Option<()> {
        let name = match self.rest.chars().next() {
            Some('(') => {
                self.next();
                return self.substitution(')', word);
            }
            Some('{') => {
                self.next();
                let inner = self.take_while(|c| c != '}');
                self.next()?;
                inner
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.next();
                String::new()
            }
            Some(_) | None => {
                word.text.push('$');
                return Some(());
            }
        };
        if let Some(known) = self.variables.get(&name) {
            word.text.push_str(&known.text);
            word.open |= known.open;
        } else if FOLDERS.contains(&name.as_str()) {
            word.text.push(PROJECT);
        } else if name == "PWD" {
            word.text.push('.');
        } else if name == "HOME" {
            word.text.push('~');
        } else {
            word.open = true;
        }
        Some(())
    }

    /// What a command prints. The command itself is one of the line's.
    fn substitution(&mut self, end: char, word: &mut Word) -> Option<()> {
        let inner = self.until(end)?;
        match inner.trim() {
            here if HERE.contains(&here) => word.text.push('.'),
            TOP => word.text.push(PROJECT),
            inner => {
                word.open = true;
                let inner = inner.to_owned();
                let inner = commands(&inner, self.variables)?;
                self.done.extend(inner);
            }
        }
        Some(())
    }

    fn until(&mut self, end: char) -> Option<String> {
        let mut inner = String::new();
        let (mut depth, mut quote) = (0_usize, None);
        loop {
            let c = self.next()?;
            match (c, quote) {
                ('\\', None | Some('"')) => {
                    inner.push(c);
                    inner.push(self.next()?);
                    continue;
                }
                (c, Some(open)) if c == open => quote = None,
                (_, Some(_)) => {}
                (c, None) if c == end && depth == 0 => return Some(inner),
                ('\'' | '"', None) => quote = Some(c),
                ('(', None) => depth += 1,
                (')', None) => depth = depth.saturating_sub(1),
                (_, None) => {}
            }
            inner.push(c);
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
