//! JSON from outside, read strictly: what was sent is what is shown, kept, hashed and handed on.
//!
//! Every door reads with this, before anything is built of the text. It refuses what two readers could understand
//! differently (an object with the same key twice, a number with more digits than we keep, half a character), what
//! would be costly or impossible to read again (too deep, too many values), and the keys by which serde_json marks
//! values of its own.

mod number;

use serde_json::{Map, Value};

/// How many lists and objects may lie inside each other.
pub const MAX_DEPTH: usize = 64;
/// How many values one text may hold, lists and objects included. More cannot be shown to a person.
pub const MAX_VALUES: usize = 100_000;
/// How keys begin that mean something to serde_json itself.
const PRIVATE: &str = "$serde_json::private::";
/// How much of a key or number is quoted.
const QUOTED: usize = 60;

/// Why a text was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    #[error("it is empty: send a JSON value")]
    Empty,
    #[error("it is not text in UTF-8 (byte {at})")]
    NotUtf8 { at: usize },
    #[error("it begins with a byte order mark: leave that out")]
    ByteOrderMark,
    /// It is not JSON at all.
    #[error("it is not JSON: {wanted} at {place}")]
    Syntax { wanted: &'static str, place: Place },
    #[error("{0}")]
    Flaw(Flaw),
}

/// What makes well-formed JSON unfit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("lists and objects lie more than {MAX_DEPTH} deep in each other at {0}")]
    TooDeep(Place),
    #[error("it holds more than {MAX_VALUES} values")]
    TooMany,
    #[error("the key `{key}` at {place} is reserved: use another name")]
    ReservedKey { key: String, place: Place },
    #[error("the key `{key}` stands twice in one object at {place}")]
    DoubleKey { key: String, place: Place },
    #[error("the number {number} at {place} cannot be kept exactly: send it as text, in quotes")]
    Inexact { number: String, place: Place },
    #[error("half a character (a lone surrogate like \\ud800) stands in the text at {0}")]
    LoneSurrogate(Place),
}

impl Flaw {
    /// Whether reading on anyway left something out, rather than writing it differently.
    pub const fn drops(&self) -> bool {
        match self {
            Self::TooDeep(_) | Self::TooMany | Self::ReservedKey { .. } | Self::DoubleKey { .. } => true,
            Self::Inexact { .. } | Self::LoneSurrogate(_) => false,
        }
    }
}

/// Where in the text, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Reads a whole text, or says what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Value, BadJson> {
    let text = utf8(bytes)?;
    let mut reader = Reader::new(text, OnFlaw::Refuse);
    reader.whole()
}

/// Why a value that a program of ours made could not be read again, if it could not.
pub fn unreadable(value: &Value) -> Option<BadJson> {
    read(value.to_string().as_bytes()).err()
}

/// Reads the value that a text begins with. What follows it is given back.
pub fn read_first(text: &str) -> Result<(Value, &str), BadJson> {
    let mut reader = Reader::new(text, OnFlaw::Refuse);
    let value = reader.first()?;
    Ok((value, &text[reader.at..]))
}

/// Reads on where the JSON is well formed and has a flaw: a program that waits for an answer to this text must be told
/// in words, and for that the rest of the text is needed. The value is not what was sent, and nothing may be allowed because of it.
pub fn read_flawed(bytes: &[u8]) -> Result<(Value, Option<Flaw>), BadJson> {
    let text = utf8(bytes)?;
    let mut reader = Reader::new(text, OnFlaw::ReadOn);
    let value = reader.whole()?;
    Ok((value, reader.flaw))
}

fn utf8(bytes: &[u8]) -> Result<&str, BadJson> {
    std::str::from_utf8(bytes).map_err(|error| BadJson::NotUtf8 { at: error.valid_up_to() })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnFlaw {
    Refuse,
    /// Remember the first one. What is too deep or too much becomes `null`.
    ReadOn,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    values: usize,
    on_flaw: OnFlaw,
    flaw: Option<Flaw>,
}

impl<'t> Reader<'t> {
    const fn new(text: &'t str, on_flaw: OnFlaw) -> Self {
        Self { text, at: 0, values: 0, on_flaw, flaw: None }
    }

    fn whole(&mut self) -> Result<Value, BadJson> {
        let value = self.first()?;
        self.blanks();
        if self.at < self.text.len() { Err(self.wanted("the end")) } else { Ok(value) }
    }

    fn first(&mut self) -> Result<Value, BadJson> {
        if self.text.starts_with('\u{feff}') {
            return Err(BadJson::ByteOrderMark);
        }
        self.blanks();
        if self.at == self.text.len() {
            return Err(BadJson::Empty);
        }
        self.value(0)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The next mark that is not blank.
    fn eat_mark(&mut self, byte: u8) -> bool {
        self.blanks();
        self.eat(byte)
    }

    fn place(&self) -> Place {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        // Characters, as an editor counts them: a byte that continues one is none of its own.
        let column = before[line_start..].iter().filter(|byte| (**byte & 0xc0) != 0x80).count() + 1;
        Place { line, column }
    }

    fn wanted(&self, wanted: &'static str) -> BadJson {
        BadJson::Syntax { wanted, place: self.place() }
    }

    fn flawed(&mut self, flaw: impl FnOnce(Place) -> Flaw) -> Result<(), BadJson> {
        match self.on_flaw {
            OnFlaw::Refuse => Err(BadJson::Flaw(flaw(self.place()))),
            OnFlaw::ReadOn => {
                if self.flaw.is_none() {
                    self.flaw = Some(flaw(self.place()));
                }
                Ok(())
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, BadJson> {
        self.blanks();
        self.values += 1;
        if self.values > MAX_VALUES {
            self.flawed(|_| Flaw::TooMany)?;
            return self.skip();
        }
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => {
                self.flawed(Flaw::TooDeep)?;
                self.skip()
            }
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.list(depth + 1),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, BadJson> {
        self.at += 1;
        let mut map = Map::new();
        if self.eat_mark(b'}') {
            return Ok(Value::Object(map));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.wanted("a key in quotes was expected"));
            }
            let key = self.string()?;
            if !self.eat_mark(b':') {
                return Err(self.wanted("`:` was expected"));
            }
            if key.starts_with(PRIVATE) {
                self.flawed(|place| Flaw::ReservedKey { key: quoted(&key), place })?;
                self.value(depth)?;
            } else {
                if map.contains_key(&key) {
                    self.flawed(|place| Flaw::DoubleKey { key: quoted(&key), place })?;
                }
                let value = self.value(depth)?;
                map.insert(key, value);
            }
            if self.eat_mark(b'}') {
                return Ok(Value::Object(map));
            }
            if !self.eat_mark(b',') {
                return Err(self.wanted("`,` or `}` was expected"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, BadJson> {
        self.at += 1;
        let mut items = Vec::new();
        if self.eat_mark(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            if self.eat_mark(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat_mark(b',') {
                return Err(self.wanted("`,` or `]` was expected"));
            }
        }
    }

    fn word(&mut self) -> Result<Value, BadJson> {
        let rest = &self.text[self.at..];
        for (word, value) in [("null", Value::Null), ("true", true.into()), ("false", false.into())] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.wanted("a value was expected"))
    }

    fn number(&mut self) -> Result<Value, BadJson> {
        let rest = &self.text[self.at..];
        let Some(length) = number::length(rest) else { return Err(self.wanted("a number was expected")) };
        let text = &rest[..length];
        let (value, exact) = number::value(text);
        if !exact {
            self.flawed(|place| Flaw::Inexact { number: quoted(text), place })?;
        }
        self.at += length;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, BadJson> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20) else {
                self.at = self.text.len();
                return Err(self.wanted("the closing quote of a text was expected"));
            };
            out.push_str(&rest[..end]);
            self.at += end;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) | None => {
                    return Err(self.wanted("a control character must be written as an escape, like \\n,"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, BadJson> {
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            Some(_) | None => {
                self.at -= 1;
                return Err(self.wanted("an escape like \\n or \\u00e9 was expected"));
            }
        })
    }

    fn unicode(&mut self) -> Result<char, BadJson> {
        let first = self.hex()?;
        if let Some(letter) = char::from_u32(first) {
            return Ok(letter);
        }
        // Characters beyond the first plane come as two halves, in their order.
        let after_first = self.at;
        if first < 0xdc00 && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let second = self.hex()?;
            let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
            let both = low.map(|low| 0x1_0000 + ((first - 0xd800) << 10) + low);
            if let Some(letter) = both.and_then(char::from_u32) {
                return Ok(letter);
            }
            // What followed is a character of its own.
            self.at = after_first;
        }
        self.flawed(Flaw::LoneSurrogate)?;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, BadJson> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(self.wanted("four hexadecimal digits after \\u were expected"));
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or_default();
        self.at += 4;
        Ok(digits.iter().fold(0, |number, byte| number * 16 + digit(byte)))
    }

    /// Passes over one value without building it, however deep it is.
    fn skip(&mut self) -> Result<Value, BadJson> {
        let mut closing = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    closing.push(b'}');
                }
                Some(b'[') => {
                    self.at += 1;
                    closing.push(b']');
                }
                Some(b'"') => drop(self.string()?),
                Some(mark @ (b'}' | b']')) if closing.last() == Some(&mark) => {
                    self.at += 1;
                    closing.pop();
                }
                Some(b',' | b':') if !closing.is_empty() => {
                    self.at += 1;
                    continue;
                }
                Some(b'-' | b'0'..=b'9') => drop(self.number()?),
                Some(_) | None => drop(self.word()?),
            }
            if closing.is_empty() {
                return Ok(Value::Null);
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    quoted
}

#[cfg(test)]
mod tests;
