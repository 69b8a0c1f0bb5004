//! A day of calls.
//!
//! Taken as they are, the lines of the corpus would come again word for word, and exact grants would look better than they
//! are: in real work an agent looks at other files, runs other tests and writes other messages each time. So what varies
//! there is drawn anew in every honest line: names of files, crates and branches, what is searched for, messages,
//! revisions, and numbers of two digits or more. Names come from pools such as a middling repository has, those at the front
//! more often, because work stays with some files for a while. Lines in which nothing varies (`git status`, `npm test`) stay
//! as they are, and so do names that every repository has (`README.md`, `package.json`).

use crate::dice::Dice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meant {
    Honestly,
    Badly,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) meant: Meant,
}

/// One of so many calls is hostile: 5 %.
const ONE_HOSTILE_OF: usize = 20;

pub(super) fn draw(dice: &mut Dice, honest: &[String], hostile: &[String], calls: usize) -> Vec<Line> {
    let mut day = Vec::with_capacity(calls);
    while day.len() < calls {
        let bad = dice.below(ONE_HOSTILE_OF);
        for place in 0..ONE_HOSTILE_OF {
            day.push(if place == bad {
                Line { text: dice.pick(hostile).clone(), meant: Meant::Badly }
            } else {
                let line = dice.pick(honest);
                Line { text: varied(dice, line), meant: Meant::Honestly }
            });
        }
    }
    day
}

#[derive(Debug, Clone, Copy)]
enum Varies {
    /// `parser`
    Noun,
    /// `read_parser`
    Symbol,
    /// `Parser`
    Type,
    /// `Read the parser`
    Message,
    Crate,
    Digit,
    Commit,
}

/// What is drawn anew: what stands before it and stays, the words themselves, and what they are.
const VARIES: [(&str, &[&str], Varies); 20] = [
    ("", &["lib.rs", "main.rs", "a.rs", "names.txt", "notes.txt", "scores.txt", "a.txt"], Varies::Noun),
    ("", &["b.txt", "rows.csv", "old.json", "new.json", "notes.md", "app.db", "new_module"], Varies::Noun),
    ("tests/", &["it.rs"], Varies::Noun),
    ("target/", &["build.log", "test.log", "report.json", "ids.txt", "sizes.txt"], Varies::Noun),
    ("test_", &["policy.py", "api.py"], Varies::Noun),
    ("test_", &["create"], Varies::Symbol),
    ("fn ", &["main"], Varies::Symbol),
    ("struct ", &["Policy"], Varies::Type),
    ("for ", &["Rules"], Varies::Type),
    ("", &["unwrap", "'deny or ask'"], Varies::Symbol),
    ("", &["TODO"], Varies::Type),
    ("rs ", &["parser "], Varies::Noun),
    ("core ", &["policy"], Varies::Symbol),
    ("src/", &["cards"], Varies::Noun),
    ("", &["Fix the parser", "say what is wrong"], Varies::Message),
    ("crates/", &["core", "gateway"], Varies::Crate),
    ("holdstead-", &["core"], Varies::Crate),
    ("fix/", &["quotes"], Varies::Noun),
    ("HEAD~", &[""], Varies::Digit),
    ("cherry-pick ", &["a1b2c3d"], Varies::Commit),
];
/// Split at the blanks.
const NOUNS: &str = "parser session journal policy router cache token cursor window buffer worker queue schema column \
    index filter signal socket stream packet folder widget layout dialog editor report invoice account \
    payment search vector matrix kernel driver bridge logger clock timer retry batch digest secret_box \
    frame shape color theme locale plugin";
const VERBS: &str = "read write open close merge split check build find load keep drop";
const CRATES: &str = "core gateway store server client protocol agents show";

/// One of the pool, the first ones more often.
fn near_the_front(dice: &mut Dice, pool: &'static str) -> &'static str {
    let pool: Vec<&str> = pool.split(' ').collect();
    pool[dice.below(pool.len()).min(dice.below(pool.len()))]
}

fn varied(dice: &mut Dice, line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let known = VARIES.iter().find_map(|(before, words, varies)| {
            let behind = rest.strip_prefix(before)?;
            let itself = words.iter().find(|word| behind.starts_with(**word))?;
            Some((*before, *itself, *varies))
        });
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if let Some((before, itself, varies)) = known {
            text += before;
            text += &drawn(dice, itself, varies);
            rest = &rest[before.len() + itself.len()..];
            if matches!(varies, Varies::Digit) {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            }
        } else if digits >= 2 {
            text += &(10 + dice.below(90)).to_string();
            rest = &rest[digits..];
        } else {
            text.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    text
}

fn drawn(dice: &mut Dice, itself: &str, varies: Varies) -> String {
    let noun = near_the_front(dice, NOUNS);
    let verb = near_the_front(dice, VERBS);
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    match varies {
        // The ending stays, or the blank behind it.
        Varies::Noun => noun.to_owned() + itself.find(['.', ' ']).map_or("", |at| &itself[at..]),
        Varies::Symbol => format!("{verb}_{noun}"),
        Varies::Type => capital(noun),
        Varies::Message => format!("{} the {noun}", capital(verb)),
        Varies::Crate => near_the_front(dice, CRATES).to_owned(),
        Varies::Digit => (1 + dice.below(9)).to_string(),
        Varies::Commit => format!("{:07x}", dice.below(0xfff_ffff)),
    }
}
