//! Whether a command is one that a rule asks about or denies. An allow means no more than its words; an ask or a deny
//! means no less: any path to the program, options in any order.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::programs::{Class, base_name, class_of};
use super::rule::{CommandPattern, Rest};

static SAME: LazyLock<HashMap<&'static str, Vec<Group>>> =
    LazyLock::new(|| table(include_str!("strict.txt")));

/// Options that mean the same.
struct Group {
    subcommand: Option<&'static str>,
    spellings: Vec<&'static str>,
}

fn table(text: &'static str) -> HashMap<&'static str, Vec<Group>> {
    let mut table: HashMap<&str, Vec<Group>> = HashMap::new();
    for (heads, groups) in
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "))
    {
        for head in heads.split(',') {
            let (program, subcommand) =
                head.split_once(' ').map_or((head, None), |(name, sub)| (name, Some(sub)));
            let group =
                |group: &'static str| Group { subcommand, spellings: group.split_whitespace().collect() };
            table.entry(program).or_default().extend(groups.split(", ").map(group));
        }
    }
    table
}

pub(super) fn meets(pattern: &CommandPattern, words: &[String]) -> bool {
    let ([wanted, wanted_rest @ ..], [program, rest @ ..]) = (pattern.words.as_slice(), words) else {
        return false;
    };
    // Some file systems do not tell `RM` from `rm`.
    if !base_name(wanted).eq_ignore_ascii_case(base_name(program)) {
        return false;
    }
    // Most rules speak of another subcommand. A value may stand in the same word as its option.
    let stands = |wanted: &String| rest.iter().any(|word| word.ends_with(wanted.as_str()));
    if !wanted_rest.iter().all(|wanted| is_option(wanted) || stands(wanted)) {
        return false;
    }
    let wanted = Wanted {
        program: base_name(wanted),
        words: wanted_rest.iter().map(String::as_str).collect(),
        rest: pattern.rest,
    };
    // `cargo +nightly publish`: the program's version.
    let is_version = |word: &&String| word.starts_with('+') && !wanted_rest.contains(word);
    let given: Vec<&str> = rest
        .iter()
        .skip(usize::from(rest.first().is_some_and(|word| is_version(&word))))
        .map(String::as_str)
        .collect();
    wanted.is_met(&given) || wanted.opened(&given).is_some_and(|given| wanted.is_met(&given))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// What a rule speaks of, after the program's name.
struct Wanted<'a> {
    program: &'a str,
    words: Vec<&'a str>,
    rest: Rest,
}

impl<'a> Wanted<'a> {
    fn options(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().copied().filter(|word| is_option(word))
    }

    fn is_met(&self, given: &[&str]) -> bool {
        self.options().all(|option| self.has(given, option))
            && (self.operands_meet(&self.words, given) || {
                let (wanted, given) = self.without_pairs(given);
                wanted.len() < self.words.len() && self.operands_meet(&wanted, &given)
            })
    }

    /// `--request=DELETE` and `-sXDELETE` as two words, if that changes anything.
    fn opened<'b>(&self, given: &[&'b str]) -> Option<Vec<&'b str>> {
        // Letters that take no value may stand before the one that does.
        let after_letter = |word: &str| {
            let wanted = |letter: char| {
                self.options().any(|option| option.strip_prefix('-') == Some(letter.encode_utf8(&mut [0; 4])))
            };
            let mut letters = word.char_indices().skip(1);
            letters.find(|(_, letter)| wanted(*letter)).map(|(at, letter)| at + letter.len_utf8())
        };
        let open = |word: &'b str| match word.split_once('=') {
            Some((name, value)) if word.starts_with("--") => vec![name, value],
            _ if is_option(word) && !word.starts_with("--") => match after_letter(word) {
                Some(end) if end < word.len() => vec![&word[..end], &word[end..]],
                Some(_) | None => vec![word],
            },
            _ => vec![word],
        };
        let opened: Vec<&str> = given.iter().copied().flat_map(open).collect();
        (opened.len() > given.len()).then_some(opened)
    }

    /// Leaves out options with the word after them, wherever they stand: `-X DELETE`.
    fn without_pairs<'b>(&self, given: &[&'b str]) -> (Vec<&'a str>, Vec<&'b str>) {
        let (mut wanted, mut given) = (self.words.clone(), given.to_vec());
        while let Some((at, there)) = (1..wanted.len()).find_map(|at| {
            let (option, value) = (wanted[at - 1], wanted[at]);
            let is_pair = is_option(option) && !is_option(value);
            let same = |pair: &[&str]| {
                let open = self.rest == Rest::Anything || self.is_named(pair[0]);
                pair[1] == value && is_option(pair[0]) && open && self.has(&pair[..1], option)
            };
            is_pair.then(|| given.windows(2).position(same)).flatten().map(|there| (at, there))
        }) {
            wanted.drain(at - 1..=at);
            given.drain(there..there + 2);
        }
        (wanted, given)
    }

    /// All spellings of an option: those of its program, and of the subcommands that the rule names.
    fn spellings(&self, option: &str) -> impl Iterator<Item = &'static str> {
        let groups = SAME.get(self.program).into_iter().flatten();
        let subcommand = |group: &&Group| group.subcommand.is_none_or(|name| self.words.contains(&name));
        let groups = groups.filter(subcommand).filter(move |group| group.spellings.contains(&option));
        groups.flat_map(|group| group.spellings.iter().map(|spelling| spelling.trim_start_matches('<')))
    }

    fn has(&self, given: &[&str], wanted: &str) -> bool {
        let simply = |option: &str| {
            is_given(given, option)
                || self.spellings(option).any(|spelling| match spelling.strip_suffix('*') {
                    Some(start) => {
                        given.iter().any(|word| word.len() > start.len() && word.starts_with(start))
                    }
                    None => is_given(given, spelling),
                })
        };
        let both = |spelling: &str| spelling.contains('&') && spelling.split('&').all(simply);
        let letters =
            || wanted.len() > 2 && !wanted.starts_with("--") && each_letter(wanted).all(|one| simply(&one));
        simply(wanted) || self.spellings(wanted).any(both) || letters()
    }

    /// Other words in their order; options before them may have taken those in between. If nothing else may follow, there
    /// are no other operands, and no other options but before a subcommand.
    fn operands_meet(&self, wanted: &[&str], given: &[&str]) -> bool {
        let wanted: Vec<&str> = wanted.iter().copied().filter(|word| !is_option(word)).collect();
        // Each operand with its place.
        let mut operands: Vec<(usize, &str)> = Vec::new();
        let (mut options, mut skippable) = (0, 0);
        for (at, word) in given.iter().enumerate() {
            if is_option(word) {
                options += 1;
            } else {
                if skippable == operands.len() && options > skippable {
                    skippable += 1;
                }
                operands.push((at, word));
            }
        }
        let begins = |from: usize| {
            operands.len() - from >= wanted.len()
                && wanted.iter().zip(&operands[from..]).all(|(wanted, (_, word))| wanted == word)
        };
        (0..=skippable).filter(|from| begins(*from)).any(|from| match self.rest {
            Rest::Anything => true,
            Rest::Nothing => {
                let has_subcommands = class_of(self.program) == Class::Family && !wanted.is_empty();
                let first = operands.get(from).map_or(given.len(), |(at, _)| *at);
                let counted = if has_subcommands { &given[first..] } else { given };
                operands.len() - from == wanted.len() && counted.iter().all(|word| self.is_named(word))
            }
        })
    }

    /// Whether the rule itself gives this option, in any spelling.
    fn is_named(&self, given: &str) -> bool {
        let is_cluster = given.len() > 2 && !given.starts_with("--");
        let one = |given: &str| {
            let same = |option: &str| self.spellings(option).any(|spelling| is_given(&[given], spelling));
            let letter =
                |wanted: &str| !wanted.starts_with("--") && each_letter(wanted).any(|one| same(&one));
            self.options().any(|wanted| is_given(&[wanted], given) || same(wanted) || letter(wanted))
        };
        !is_option(given)
            || given == "--"
            || self.options().any(|wanted| wanted == given)
            || if is_cluster { each_letter(given).all(|letter| one(&letter)) } else { one(given) }
    }
}

fn each_letter(cluster: &str) -> impl Iterator<Item = String> {
    cluster.chars().skip(1).map(|letter| format!("-{letter}"))
}

/// `--force` by its name or the beginning of it; a letter wherever it stands; `-delete` with one dash or two.
fn is_given(given: &[&str], wanted: &str) -> bool {
    let name = wanted.trim_start_matches('-');
    given.iter().any(|given| {
        let option = given.split('=').next().unwrap_or(given);
        let named = option.trim_start_matches('-');
        match (wanted.starts_with("--"), option.starts_with("--")) {
            _ if *given == wanted => true,
            _ if !is_option(given) || named.is_empty() => false,
            (true, true) => name.starts_with(named),
            (false, false) => name.chars().count() == 1 && named.contains(name),
            (_, _) => name.len() > 2 && named == name,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rule::{Target, parse};

    #[test]
    fn an_ask_or_a_deny_means_no_less_than_its_words() {
        let cases = [
            ("rm -rf:*", "rm -rf x", true),
            ("rm -rf:*", "rm -fr x", true),
            ("rm -rf:*", "rm -r -v -f x", true),
            ("rm -rf:*", "rm x -rf", true),
            ("rm -rf:*", "/bin/rm -rf x", true),
            ("rm -rf:*", "rm -r x", false),
            ("rm -rf /:*", "rm -rf /", true),
            ("rm -rf /:*", "rm -rf build", false),
            ("git push --force:*", "git push origin main --force", true),
            ("git push --force:*", "git push --force-with-lease", false),
            ("git push --force:*", "git push --forc", true),
            ("git push --force:*", "git push", false),
            ("git push:*", "git -C x push", true),
            ("git push --force:*", "git push --mirror", true),
            ("cargo publish:*", "cargo +nightly -q publish", true),
            ("curl -X DELETE:*", "curl -sXDELETE http://x", true),
            ("curl -X DELETE:*", "curl -sX DELETE http://x", true),
            ("git push:*", "git --no-pager push origin", true),
            ("git push:*", "git commit -m push", false),
            ("git push", "git push", true),
            ("git push", "git push origin", false),
            ("curl:*", "curl http://x", true),
            ("find -delete:*", "find . -delete", true),
            ("git checkout -- :*", "git checkout -- x", true),
            ("git checkout -- :*", "git checkout x", false),
            ("curl -X DELETE:*", "curl http://x -X DELETE", true),
            ("curl -X DELETE:*", "curl -X GET x", false),
        ];
        for (pattern, line, expected) in cases {
            let rule = parse(&format!("deny Bash({pattern})")).expect(pattern);
            let Target::Command(pattern) = rule.target else { panic!("{pattern}") };
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(meets(&pattern, &words), expected, "{pattern:?} {line}");
        }
    }
}
