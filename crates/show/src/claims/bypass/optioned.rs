//! Lines with options that the tables know, and words for what they take, of which some are meant to do harm where the
//! table is wrong.

use holdstead_core::policy::programs::{Form, Runs, Style, Value, program, programs};

use crate::dice::Dice;

/// Words of every kind, in the folder of `oracle/effects.py`. `evil` runs where it is taken for a program.
const WORDS: &str = include_str!("optioned.txt");
/// Not run: they need a network or a daemon, or only wait.
const LEFT_OUT: &str = "docker, podman, kubectl, helm, gh, sleep, npm ci, npm install, npm outdated, pnpm install, \
                        yarn list, yarn outdated, yarn why, bun, terraform, git ls-remote, go";

/// One of so many lines is of a slow program.
const SLOW_ONE_OF: usize = 10;

/// A form with its options.
type WithOptions = (&'static Form, Vec<&'static str>);

pub(super) struct Optioned {
    quick: Vec<WithOptions>,
    /// Programs that build and test take long.
    slow: Vec<WithOptions>,
    words: Vec<&'static str>,
}

impl Optioned {
    /// Forms of the programs that are installed.
    pub(super) fn new(is_installed: impl Fn(&str) -> bool) -> Self {
        let runs = |form: &&Form| {
            let head = form.head.join(" ");
            let left_out = |name: &str| head == name || head.starts_with(&format!("{name} "));
            !LEFT_OUT.split(", ").any(left_out) && is_installed(form.head[0])
        };
        let sorted = |form: &'static Form| {
            let mut options: Vec<_> = form.words.options.keys().copied().collect();
            options.sort_unstable();
            (form, options)
        };
        let mut forms: Vec<WithOptions> =
            programs().flat_map(|(_, program)| &program.forms).filter(runs).map(sorted).collect();
        forms.sort_unstable_by_key(|(form, _)| &form.head);
        let (slow, quick) = forms.into_iter().partition(|(form, _)| form.runs == Runs::Operands);
        Self { quick, slow, words: WORDS.lines().collect() }
    }

    pub(super) fn forms(&self) -> usize {
        self.quick.len() + self.slow.len()
    }

    pub(super) fn line(&self, dice: &mut Dice) -> (&'static Form, String) {
        let among = if dice.below(SLOW_ONE_OF) == 0 { &self.slow } else { &self.quick };
        let (form, options) = dice.pick(among);
        let (name, subcommand) = form.head.split_at(1);
        let mut words = vec![name[0].to_owned()];
        if let Some(known) = program(name[0]).filter(|_| dice.below(8) == 0) {
            let mut before: Vec<_> = known.before.keys().copied().collect();
            before.sort_unstable();
            if !before.is_empty() {
                let option = *dice.pick(&before);
                self.written(dice, option, &known.before[option].value, form.style, &mut words);
            }
        }
        words.extend(subcommand.iter().map(|word| (*word).to_owned()));
        words.extend((0..form.named_operands).map(|_| "build".to_owned()));
        words.extend(form.needs.first().filter(|_| dice.below(8) > 0).map(|need| (*need).to_owned()));
        let behind = if dice.below(6) == 0 { dice.below(2) } else { 0 };
        let operands = dice.below(3);
        for _ in 0..behind.min(operands) {
            words.push(self.word(dice));
        }
        for _ in 0..dice.below(4).min(options.len()) {
            let option = *dice.pick(options);
            self.written(dice, option, &form.words.options[option].value, form.style, &mut words);
        }
        if dice.below(8) == 0 {
            words.push("--".to_owned());
        }
        for _ in behind..operands {
            words.push(self.word(dice));
        }
        (form, words.join(" "))
    }

    /// An option with what it takes, in one word or in two.
    fn written(&self, dice: &mut Dice, option: &str, value: &Value, style: Style, words: &mut Vec<String>) {
        let long = option.starts_with("--") || style != Style::Clusters;
        let joined =
            |value: &str| if long { format!("{option}={value}") } else { format!("{option}{value}") };
        let first = self.word(dice);
        match value {
            Value::None | Value::Replaces(_) => words.push(option.to_owned()),
            Value::Joined(_) => words.push(joined(&first)),
            Value::Attached(_) if dice.below(2) == 0 => words.push(option.to_owned()),
            Value::Attached(_) => words.push(joined(&first)),
            Value::Needed(kinds) if kinds.len() == 1 && dice.below(2) == 0 => words.push(joined(&first)),
            Value::Needed(kinds) => {
                words.push(option.to_owned());
                words.extend(kinds.iter().map(|_| self.word(dice)));
            }
            Value::Optional(_) if dice.below(2) == 0 => words.push(joined(&first)),
            Value::Next(_) | Value::Optional(_) => words.extend([option.to_owned(), first]),
        }
    }

    /// As a shell must be told it.
    fn word(&self, dice: &mut Dice) -> String {
        let word = *dice.pick(&self.words);
        let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./=:+%-".contains(&byte));
        if plain { word.to_owned() } else { format!("'{word}'") }
    }
}
