//! Goes through the words after a program's name: options, their values, and operands.

use super::form::{Counts, Follows, Form, Kind, Many, Order, Runs, Style, Switch, Value, Words};
use super::judge::{Named, split};
use super::judged::{Access, COUNTS, Judged, Spelling};
use super::scripts::{printf, test};
use super::values::{check, check_pattern, leaves, may_be_option, shortened};
use crate::policy::shell::Word;

/// The words after a form's head.
pub(super) struct Given<'a> {
    pub(super) argv: &'a [Word],
    pub(super) named: &'a Named,
    pub(super) places: &'a [usize],
}

impl Given<'_> {
    pub(super) fn judge(&self, form: &Form, judged: &mut Judged) -> Result<(), String> {
        let texts = || self.places.iter().map(|place| self.argv[*place].text());
        match form.style {
            Style::Free => {
                return self
                    .words()
                    .filter(|word| word.literal().is_none())
                    .try_for_each(|pattern| check_pattern(Kind::Text, pattern.text(), judged));
            }
            Style::Printf => return printf::check(self.words()),
            Style::Test => {
                return test::check(form.head[0], &texts().collect::<Vec<_>>(), self.words(), judged);
            }
            Style::Clusters | Style::OneDash | Style::Find => {}
        }
        // To these `--` is a word like any other: primaries of `find` go on after it.
        let has_end = match form.style {
            Style::Find | Style::OneDash => false,
            Style::Clusters | Style::Free | Style::Printf | Style::Test => true,
        };
        let is_end = |place: &usize| self.argv[*place].literal() == Some("--");
        let (before, after) = match self.places.iter().position(is_end).filter(|_| has_end) {
            Some(end) => (&self.places[..end], Some(&self.places[end + 1..])),
            None => (self.places, None),
        };
        let mut scan = Scan::new(self, form, &form.words, judged);
        scan.options(before)?;
        match (after, &form.after) {
            (None, _) => scan.finish()?,
            (Some(after), None) => {
                scan.operands_after_dashes(after);
                scan.finish()?;
            }
            (Some(after), Some(words)) => {
                scan.finish()?;
                let mut scan = Scan::new(self, form, words, judged);
                if words.options.is_empty() {
                    scan.operands_after_dashes(after);
                } else {
                    scan.options(after)?;
                }
                scan.finish()?;
                return Ok(());
            }
        }
        Ok(())
    }

    fn words(&self) -> impl Iterator<Item = &Word> {
        self.places.iter().map(|place| &self.argv[*place])
    }
}

struct Scan<'a, 'b> {
    given: &'a Given<'a>,
    form: &'a Form,
    words: &'a Words,
    judged: &'b mut Judged,
    operands: Vec<usize>,
    /// Kinds that an option gave, so that they are no operands.
    replaced: Vec<Kind>,
    seen: Vec<&'static str>,
    /// The option that was read last took a word as its value that no rule names.
    unnamed_value: bool,
    /// A rule named an option of which nothing is known: what follows it may be written.
    vague: bool,
    /// A word that no rule named was refused as an option's value.
    refused: bool,
}

impl<'a, 'b> Scan<'a, 'b> {
    fn new(given: &'a Given<'a>, form: &'a Form, words: &'a Words, judged: &'b mut Judged) -> Self {
        let (operands, replaced, seen) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            given,
            form,
            words,
            judged,
            operands,
            replaced,
            seen,
            unnamed_value: false,
            vague: false,
            refused: false,
        }
    }

    fn options(&mut self, places: &'a [usize]) -> Result<(), String> {
        let mut rest = places.iter().copied();
        while let Some(place) = rest.next() {
            let before = self.seen.len();
            self.unnamed_value = false;
            match &self.given.argv[place] {
                Word::Pattern { prefix, text, .. } => self.pattern(place, prefix, text)?,
                Word::Literal { text, .. } if !self.is_option(text) => self.operands.push(place),
                Word::Literal { text, .. } => {
                    let known = if self.is_late() {
                        Err(format!("`{}` after a word that is no option", shortened(text)))
                    } else {
                        self.option(text, &mut rest)
                    };
                    if known.is_err() && self.given.named[place] && !self.refused {
                        self.vague = true;
                    } else {
                        known?;
                    }
                }
            }
            // The author of a rule that names an option means what their program makes of it.
            if !self.given.named[place] || self.unnamed_value {
                self.judged.options.extend(&self.seen[before..]);
            }
        }
        Ok(())
    }

    fn is_option(&self, text: &str) -> bool {
        let operator = self.form.style == Style::Find && matches!(text, "(" | ")" | "!" | ",");
        operator || (text.len() > 1 && text.starts_with('-'))
    }

    /// Whether an option here may be none to some versions of the program, which would take the first operand for what
    /// this option gives.
    fn is_late(&self) -> bool {
        self.form.order == Order::OptionsFirst && !self.operands.is_empty()
    }

    /// Words after `--` are no options, whatever they look like.
    fn operands_after_dashes(&mut self, places: &[usize]) {
        self.operands.extend(places);
    }

    /// `--include=*.rs` stays that option whatever it finds; what begins with a pattern can become any option.
    fn pattern(&mut self, place: usize, prefix: &str, text: &str) -> Result<(), String> {
        if !prefix.is_empty() && !prefix.starts_with('-') {
            self.operands.push(place);
            return Ok(());
        }
        if let (Some((name, _)), Some((_, value))) = (prefix.split_once('='), text.split_once('='))
            && name.starts_with("--")
            && let Some((name, Switch { value: Value::Needed(kinds), .. })) =
                self.words.options.get_key_value(name)
            && let [kind] = kinds.as_slice()
        {
            self.seen.push(name);
            return check_pattern(*kind, value, self.judged);
        }
        Err(format!("`{}` could become an option", shortened(text)))
    }

    fn option(&mut self, text: &'a str, rest: &mut impl Iterator<Item = usize>) -> Result<(), String> {
        let counts = self.form.counts == Counts::Yes;
        if counts && text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            self.seen.push(COUNTS);
            return Ok(());
        }
        let whole = text.starts_with("--") || self.form.style != Style::Clusters;
        if whole { self.whole(text, rest) } else { self.cluster(text, rest) }
    }

    /// `--long`, `--long=value`, `-name value`
    fn whole(&mut self, text: &'a str, rest: &mut impl Iterator<Item = usize>) -> Result<(), String> {
        let (name, attached) = split(text);
        let switch = self.switch(name, text)?;
        match (&switch.value, attached) {
            (Value::None, None) => Ok(()),
            (Value::Replaces(kind), None) => {
                self.replaced.push(*kind);
                Ok(())
            }
            (Value::Attached(_), None) => Ok(()),
            (Value::Attached(kind) | Value::Joined(kind) | Value::Optional(kind), Some(value)) => {
                self.value(*kind, value)
            }
            (Value::Joined(_), None) => Err(format!("`{}` without its value", shortened(text))),
            (Value::Optional(kind), None) => self.value_if_any(*kind, text, rest),
            (Value::Needed(kinds), Some(value)) if kinds.len() == 1 => self.value(kinds[0], value),
            (Value::Needed(kinds), None) => {
                kinds.iter().try_for_each(|kind| self.next_value(*kind, text, rest))
            }
            (Value::Next(kind), None) => self.next_value(*kind, text, rest),
            (Value::None | Value::Replaces(_) | Value::Needed(_) | Value::Next(_), Some(_)) => {
                Err(unknown(text, self.form))
            }
        }
    }

    /// `-rn`, `-n5`, `-n 5`
    fn cluster(&mut self, text: &'a str, rest: &mut impl Iterator<Item = usize>) -> Result<(), String> {
        for (at, letter) in text.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let attached = &text[end..];
            // The letters are ASCII wherever a table knows them.
            let (name, switch) = self.known(&format!("-{letter}"), text)?;
            self.note(name, switch);
            match &switch.value {
                Value::None => {}
                Value::Replaces(kind) => self.replaced.push(*kind),
                Value::Attached(_) if attached.is_empty() => return Ok(()),
                Value::Attached(kind) => return self.value(*kind, attached),
                Value::Optional(kind) if attached.is_empty() => return self.value_if_any(*kind, text, rest),
                Value::Joined(_) if attached.is_empty() => return Err(unknown(text, self.form)),
                Value::Joined(kind) | Value::Optional(kind) => return self.value(*kind, attached),
                Value::Next(kind) if attached.is_empty() => return self.next_value(*kind, text, rest),
                // Letters behind it are options of their own to the program.
                Value::Next(_) => return Err(unknown(text, self.form)),
                Value::Needed(kinds) => match (kinds.as_slice(), attached) {
                    ([kind], "") => return self.next_value(*kind, text, rest),
                    ([kind], _) => return self.value(*kind, attached),
                    _ => return Err(unknown(text, self.form)),
                },
            }
        }
        Ok(())
    }

    fn switch(&mut self, name: &str, text: &str) -> Result<&'a Switch, String> {
        let (name, switch) = self.known(name, text)?;
        self.note(name, switch);
        Ok(switch)
    }

    fn known(&self, name: &str, text: &str) -> Result<(&'static str, &'a Switch), String> {
        let known = self.words.options.get_key_value(name).map(|(name, switch)| (*name, switch));
        known.ok_or_else(|| unknown(text, self.form))
    }

    fn note(&mut self, name: &'static str, switch: &Switch) {
        self.seen.push(name);
        if switch.follows == Follows::Links && self.judged.runs == Runs::Itself {
            self.judged.runs = Runs::Repository;
        }
    }

    fn next_value(
        &mut self,
        kind: Kind,
        option: &str,
        rest: &mut impl Iterator<Item = usize>,
    ) -> Result<(), String> {
        let place = rest.next().ok_or_else(|| format!("`{}` without its value", shortened(option)))?;
        self.value_at(place, kind, option)
    }

    /// What follows an option that can also be the last word.
    fn value_if_any(
        &mut self,
        kind: Kind,
        option: &str,
        rest: &mut impl Iterator<Item = usize>,
    ) -> Result<(), String> {
        rest.next().map_or(Ok(()), |place| self.value_at(place, kind, option))
    }

    fn value_at(&mut self, place: usize, kind: Kind, option: &str) -> Result<(), String> {
        let Some(value) = self.given.argv[place].literal() else {
            return Err(format!("`{}` with a pattern", shortened(option)));
        };
        // Some programs take no options after a file: this would be another file to them.
        if !self.operands.is_empty() && leaves(value) {
            self.judged.name(value, Access::Read, Spelling::Literal);
        }
        if self.given.named[place] {
            let _ = check(kind, value, self.judged);
            self.replaced.push(kind);
            return Ok(());
        }
        self.unnamed_value = true;
        let checked = if may_be_option(value, self.form.style) {
            Err(format!("`{}` may be an option of its own", shortened(value)))
        } else {
            self.value(kind, value)
        };
        self.refused = checked.is_err();
        checked
    }

    fn value(&mut self, kind: Kind, value: &str) -> Result<(), String> {
        self.replaced.push(kind);
        check(kind, value, self.judged)
    }

    fn finish(self) -> Result<(), String> {
        let needs = &self.form.needs;
        let in_main = std::ptr::eq(self.words, &self.form.words);
        if in_main && !needs.is_empty() && !needs.iter().any(|need| self.seen.contains(need)) {
            return Err(format!("`{}` without `{}`", self.form.head.join(" "), needs[0]));
        }
        // `grep -e x file`: the pattern is given, so that the first operand is a file.
        let given = |kind: Kind| self.replaced.contains(&kind);
        let leading = |kind| matches!(kind, Kind::Pattern | Kind::Sed | Kind::Awk | Kind::Jq);
        let mut kinds =
            self.words.operands.iter().filter(|operand| !(leading(operand.kind) && given(operand.kind)));
        let mut kind = kinds.next();
        for (at, place) in self.operands.iter().enumerate() {
            // What stands behind any number of operands is the last one: `cp a b c folder`.
            if at + 1 == self.operands.len() && kind.is_some_and(|kind| kind.many == Many::Any) {
                kind = kinds.next().or(kind);
            }
            let named = self.given.named[*place];
            let Some(operand) = kind else {
                if named {
                    continue;
                }
                let text = shortened(self.given.argv[*place].text());
                return Err(format!(
                    "`{text}` is one word too many for what is known of `{}`",
                    self.form.head.join(" ")
                ));
            };
            let checked = match &self.given.argv[*place] {
                Word::Literal { text, .. } => {
                    if self.vague {
                        self.judged.name(text, Access::Write, Spelling::Literal);
                    }
                    check(operand.kind, text, self.judged)
                }
                Word::Pattern { text, .. } => check_pattern(operand.kind, text, self.judged),
            };
            if !named {
                checked?;
            }
            match operand.many {
                Many::One => kind = kinds.next(),
                Many::Any => {}
            }
        }
        Ok(())
    }
}

fn unknown(option: &str, form: &Form) -> String {
    format!("`{}` is not known to be harmless for `{}`", shortened(option), form.head.join(" "))
}
