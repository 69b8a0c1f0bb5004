//! Denied commands, and how their programs let them be written.

use super::words::{quoted, split};
use crate::Result;
use crate::dice::Dice;

const TABLE: &str = include_str!("commands.txt");
/// To these `-ab` is one option.
const WHOLE_WORDS: [&str; 2] = ["find", "terraform"];

pub(super) struct Command {
    pub(super) rule: &'static str,
    program: &'static str,
    /// What may stand before the subcommand.
    before: Vec<&'static str>,
    subcommand: &'static str,
    /// One of each must be there.
    needed: Vec<Vec<&'static str>>,
    harmless: Vec<&'static str>,
    operands: Vec<&'static str>,
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split('|').map(str::trim).filter(|item| !item.is_empty()).collect()
}

pub(super) fn commands() -> Result<Vec<Command>> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (commands, before): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains(';'));
    let before: Vec<_> = before.into_iter().map(list).collect();
    let command = |line: &'static str| {
        let columns: Vec<&str> = line.splitn(5, ';').map(str::trim).collect();
        let [rule, subcommand, needed, harmless, operands] = columns[..] else {
            return Err(format!("{line:?} has not five columns").into());
        };
        let program = rule.split([' ', ':']).next().unwrap_or_default();
        let before = before.iter().find(|before| before[0] == program);
        Ok(Command {
            rule,
            program,
            before: before.map(|before| before[1..].to_vec()).unwrap_or_default(),
            subcommand,
            needed: needed.split('&').map(list).filter(|group| !group.is_empty()).collect(),
            harmless: list(harmless),
            operands: list(operands.trim_end_matches(';')),
        })
    };
    commands.into_iter().map(command).collect()
}

impl Command {
    pub(super) fn spelled(&self, dice: &mut Dice) -> String {
        let mut words = some(dice, &self.before);
        // The version that Rust's programs take, first.
        words.sort_by_key(|word| !word.starts_with('+'));
        words.dedup();
        words.push(self.subcommand.to_owned());
        words.extend(self.rest(dice));
        let mut words: Vec<String> = words.iter().flat_map(|word| split(word)).collect();
        let plain = |word: &String| !word.contains(['{', ',', '\'', ' ']);
        if dice.below(30) == 0 && !words.is_empty() && words.iter().all(plain) {
            return format!("{{{},{}}}", self.program, words.join(","));
        }
        for word in &mut words {
            if dice.below(6) == 0 && !word.contains(['\'', '*']) {
                *word = quoted(dice, word);
            }
        }
        let program = program(dice, self.program);
        let blank = *dice.pick(&[" ", " ", " ", "  ", "\t", " \\\n"]);
        std::iter::once(program).chain(words).collect::<Vec<_>>().join(blank)
    }

    /// Options in any order, alone or together, before, between and after what they are for.
    fn rest(&self, dice: &mut Dice) -> Vec<String> {
        let mut options = some(dice, &self.harmless);
        for group in &self.needed {
            options.insert(dice.below(options.len() + 1), (*dice.pick(group)).to_owned());
        }
        if !WHOLE_WORDS.contains(&self.program) && dice.below(2) == 0 {
            let (letters, others): (Vec<_>, Vec<_>) = options
                .into_iter()
                .partition(|option| option.len() == 2 && option.starts_with('-') && option != "--");
            options = others;
            if !letters.is_empty() {
                let together: String = letters.iter().map(|letter| &letter[1..]).collect();
                options.insert(dice.below(options.len() + 1), format!("-{together}"));
            }
        }
        for operand in self.operands.iter().take(1 + dice.below(2)) {
            // Most programs take options behind operands as well.
            let place = if dice.below(3) == 0 { dice.below(options.len() + 1) } else { options.len() };
            options.insert(place, (*operand).to_owned());
        }
        options
    }
}

/// None, one or two of them.
fn some(dice: &mut Dice, among: &[&str]) -> Vec<String> {
    let count = if among.is_empty() { 0 } else { dice.below(3) };
    (0..count).map(|_| (*dice.pick(among)).to_owned()).collect()
}

fn program(dice: &mut Dice, name: &str) -> String {
    let folders = ["/usr/bin/", "/bin/", "/usr/local/bin/", "../../usr/bin/", "/usr//bin/"];
    let name = match dice.below(8) {
        0 => format!("{}{name}", dice.pick(&folders)),
        // Some file systems do not tell them apart.
        1 => name.to_uppercase(),
        _ => name.to_owned(),
    };
    if dice.below(4) == 0 { quoted(dice, &name) } else { name }
}
