//! Programs that read whatever lies below a folder: `grep -r`, `rg`, `find -exec`. Told generously, for asking only.

use super::glob::{Below, is_pattern};
use super::marks;
use super::programs::{NamedPath, base_name, form_of, judge};
use super::shell::Word;
use super::shell::braces;
use super::shell::loose::Piped;

/// What is read below folders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// As the command names them.
    pub(super) folders: Vec<String>,
    pub(super) below: Below,
    /// Only files with names like these, if there are any.
    pub(super) only: Vec<String>,
    pub(super) without: Vec<String>,
}

const FIND_RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
const FD_RUNS: [&str; 4] = ["-x", "-X", "--exec", "--exec-batch"];

pub(super) fn reading(words: &[String], piped: Piped) -> Option<Reading> {
    let (program, rest) = words.split_first()?;
    let gives = |letters: &[char], long: &[&str]| rest.iter().any(|word| is_given(word, letters, long));
    let reading = match base_name(program) {
        "grep" | "egrep" | "fgrep" | "ggrep" | "zgrep" => {
            let long = ["--recursive", "--dereference-recursive", "--directories=recurse"];
            let recurses = gives(&['r', 'R'], &long) || rest.iter().any(|word| word == "recurse");
            recurses.then(|| grep(words))?
        }
        "rgrep" => grep(words),
        "rg" if gives(&[], &["--files", "--type-list"]) => return None,
        "rg" => {
            let (without, only): (Vec<_>, Vec<_>) =
                values(rest, &["-g", "--glob", "--iglob"]).partition(|glob| glob.starts_with('!'));
            let without = without.into_iter().map(|glob| glob[1..].to_owned()).collect();
            // A glob that names them finds hidden files.
            let all = !only.is_empty() || gives(&['u', '.'], &["--hidden", "--unrestricted"]);
            let below = if all { Below::Everything } else { Below::Shown };
            Reading { folders: folders(words, piped)?, below, only, without }
        }
        "ag" | "fd" | "fdfind" | "ack" => {
            let runs = base_name(program).starts_with('a')
                || rest.iter().any(|word| FD_RUNS.contains(&word.as_str()));
            let all = gives(&['u', 'H', 'a'], &["--hidden", "--unrestricted", "--all-types"]);
            let below = if all { Below::Everything } else { Below::Shown };
            runs.then(|| Reading::of(vec![".".to_owned()], below))?
        }
        "find" | "gfind" | "bfs" => find(rest)?,
        "git" => {
            // After `--` stand paths; before it they may as well be revisions.
            let paths = rest.iter().skip_while(|word| *word != "--").skip(1).cloned().collect::<Vec<_>>();
            let folders = if paths.is_empty() { vec![".".to_owned()] } else { paths };
            let subcommand = marks::operands(rest, marks::values_of("git")).first().copied();
            (subcommand == Some("grep")).then(|| Reading::of(folders, Below::Everything))?
        }
        _ => return None,
    };
    Some(reading)
}

impl Reading {
    fn of(folders: Vec<String>, below: Below) -> Self {
        Self { folders, below, only: Vec::new(), without: Vec::new() }
    }

    /// A search for files of these patterns, as the built-in ones take them: `*.ts !*.d.ts`.
    pub(super) fn search(folder: &str, patterns: &str) -> Self {
        let globs = patterns.split_whitespace().flat_map(braces);
        let (without, only): (Vec<_>, Vec<_>) = globs.partition(|glob| glob.starts_with('!'));
        let without = without.into_iter().map(|glob| glob[1..].to_owned()).collect();
        Self { folders: vec![folder.to_owned()], below: Below::Everything, only, without }
    }
}

fn grep(words: &[String]) -> Reading {
    let only = values(&words[1..], &["--include"]).collect();
    let without = values(&words[1..], &["--exclude"]).collect();
    let folders = folders(words, Piped::No).unwrap_or_default();
    Reading { folders, below: Below::Everything, only, without }
}

fn find(words: &[String]) -> Option<Reading> {
    words.iter().any(|word| FIND_RUNS.contains(&word.as_str())).then_some(())?;
    let starts = words.iter().skip_while(|word| matches!(word.as_str(), "-H" | "-L" | "-P"));
    let folders: Vec<String> =
        starts.take_while(|word| !word.starts_with(['-', '(', '!'])).cloned().collect();
    let folders = if folders.is_empty() { vec![".".to_owned()] } else { folders };
    let joined = |word: &String| matches!(word.as_str(), "!" | "-not" | "-o" | "-or" | ",");
    let only = match words.iter().any(joined) {
        true => Vec::new(),
        false => values(words, &["-name", "-iname"]).collect(),
    };
    Some(Reading { only, ..Reading::of(folders, Below::Everything) })
}

/// What a search's words name, by what is known of the program; the folder itself if they name nothing, but the input of a
/// pipe where that is what is read then.
fn folders(words: &[String], piped: Piped) -> Option<Vec<String>> {
    let argv: Vec<Word> = words.iter().map(|word| as_word(word)).collect();
    let judged = form_of(&argv).and_then(|_| judge(&argv, &vec![true; argv.len()]).ok());
    let named: Vec<String> = match judged {
        Some(judged) => judged.paths.into_iter().map(|NamedPath { text, .. }| text).collect(),
        None => words[1..].iter().filter(|word| !word.starts_with('-')).cloned().collect(),
    };
    match (named.is_empty(), piped) {
        (false, _) => Some(named),
        (true, Piped::No) => Some(vec![".".to_owned()]),
        (true, Piped::From) => None,
    }
}

/// A word of which it is not known whether it was quoted.
pub(super) fn as_word(text: &str) -> Word {
    match text.find(['*', '?', '[']).filter(|_| is_pattern(text)) {
        Some(at) => Word::Pattern { prefix: text[..at].to_owned(), text: text.to_owned(), span: 0..0 },
        None => Word::Literal { text: text.to_owned(), span: 0..0 },
    }
}

/// One of the letters, also among others, or one of the long options, also shortened.
fn is_given(word: &str, letters: &[char], long: &[&str]) -> bool {
    if word.starts_with("--") {
        return word.len() > 3 && long.iter().any(|long| long.starts_with(word));
    }
    word.starts_with('-') && word.contains(letters)
}

/// `--glob value`, `--glob=value`, and `-gvalue`
fn values<'a>(words: &'a [String], options: &'a [&str]) -> impl Iterator<Item = String> + use<'a> {
    let found = words.iter().enumerate().filter_map(|(at, word)| {
        options.iter().find_map(|option| match word.strip_prefix(option)? {
            "" => words.get(at + 1).map(String::as_str),
            rest if option.starts_with("--") => rest.strip_prefix('='),
            rest if option.len() == 2 => Some(rest),
            _ => None,
        })
    });
    found.flat_map(braces)
}
