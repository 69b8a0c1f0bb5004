//! Whether a command is one that a rule asks about or denies. An allow means no more than its words; an ask or a deny
//! means no less: any path to the program, options in any order.

use super::programs::base_name;
use super::rule::{CommandPattern, Rest};

pub(super) fn meets(pattern: &CommandPattern, words: &[String]) -> bool {
    let ([wanted, wanted_rest @ ..], [program, rest @ ..]) = (pattern.words.as_slice(), words) else {
        return false;
    };
    if base_name(wanted) != base_name(program)
        || (pattern.rest == Rest::Nothing && rest.len() != wanted_rest.len())
    {
        return false;
    }
    let given: Vec<&str> = rest.iter().map(String::as_str).filter(|word| is_option(word)).collect();
    let wanted_options = wanted_rest.iter().filter(|word| is_option(word));
    wanted_options.clone().all(|option| has(&given, option)) && operands_meet(wanted_rest, rest)
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// `--force` by its name or the beginning of it; `-rf` by its letters, wherever they stand.
fn has(given: &[&str], wanted: &str) -> bool {
    if given.contains(&wanted) {
        return true;
    }
    if wanted.starts_with("--") {
        let named = |given: &&str| {
            given.split('=').next().is_some_and(|name| name.len() > 4 && wanted.starts_with(name))
        };
        return given.iter().any(named);
    }
    let in_cluster = |letter: char| {
        given.iter().any(|given| {
            !given.starts_with("--") && given[1..].split('=').next().is_some_and(|all| all.contains(letter))
        })
    };
    wanted[1..].chars().all(in_cluster)
}

/// Other words in their order; an option before them may have taken one of those in between.
fn operands_meet(wanted: &[String], given: &[String]) -> bool {
    let wanted: Vec<&String> = wanted.iter().filter(|word| !is_option(word)).collect();
    let leading = given.iter().take_while(|word| is_option(word)).count();
    let operands: Vec<&String> = given.iter().filter(|word| !is_option(word)).collect();
    (0..=leading.min(operands.len())).any(|skipped| operands[skipped..].starts_with(&wanted))
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
            ("git push:*", "git --no-pager push origin", true),
            ("git push:*", "git commit -m push", false),
            ("git push", "git push", true),
            ("git push", "git push origin", false),
            ("curl:*", "curl http://x", true),
            ("find -delete:*", "find . -delete", true),
        ];
        for (pattern, line, expected) in cases {
            let rule = parse(&format!("deny Bash({pattern})")).expect(pattern);
            let Target::Command(pattern) = rule.target else { panic!("{pattern}") };
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(meets(&pattern, &words), expected, "{pattern:?} {line}");
        }
    }
}
