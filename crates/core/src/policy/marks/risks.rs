//! Lists of what is risky by its name.

use super::Risk;
use crate::policy::programs::base_name;

const DELETES: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "srm", "trash"];
const DESTROYS: [&str; 9] =
    ["dd", "mkfs", "fdisk", "parted", "wipefs", "truncate", "reboot", "shutdown", "poweroff"];
/// A program with words or options of its own, all of which must be there.
const WITH: [(&str, &[&str], Risk); 36] = [
    ("git", &["clean"], Risk::Deletes),
    ("git", &["rm"], Risk::Deletes),
    ("git", &["branch", "-D"], Risk::Deletes),
    ("git", &["branch", "-d"], Risk::Deletes),
    ("git", &["branch", "--delete"], Risk::Deletes),
    ("git", &["tag", "-d"], Risk::Deletes),
    ("git", &["tag", "--delete"], Risk::Deletes),
    ("git", &["push", "-d"], Risk::Deletes),
    ("git", &["push", "--delete"], Risk::Deletes),
    ("git", &["stash", "drop"], Risk::Deletes),
    ("git", &["stash", "clear"], Risk::Deletes),
    ("git", &["worktree", "remove"], Risk::Deletes),
    ("find", &["-delete"], Risk::Deletes),
    ("docker", &["rm"], Risk::Deletes),
    ("docker", &["rmi"], Risk::Deletes),
    ("rsync", &["--delete"], Risk::Deletes),
    ("gh", &["delete"], Risk::Deletes),
    ("aws", &["rm"], Risk::Deletes),
    ("git", &["--hard"], Risk::Destroys),
    ("git", &["restore"], Risk::Destroys),
    ("git", &["checkout", "--"], Risk::Destroys),
    ("git", &["checkout", "."], Risk::Destroys),
    ("git", &["checkout", "-f"], Risk::Destroys),
    ("git", &["switch", "-f"], Risk::Destroys),
    ("git", &["filter-branch"], Risk::Destroys),
    ("docker", &["prune"], Risk::Destroys),
    ("kubectl", &["delete"], Risk::Destroys),
    ("helm", &["uninstall"], Risk::Destroys),
    ("terraform", &["destroy"], Risk::Destroys),
    ("tofu", &["destroy"], Risk::Destroys),
    ("npm", &["unpublish"], Risk::Destroys),
    ("dropdb", &[], Risk::Destroys),
    ("git", &["branch", "-f"], Risk::Forces),
    ("git", &["tag", "-f"], Risk::Forces),
    ("git", &["add", "-f"], Risk::Forces),
    ("git", &["worktree", "-f"], Risk::Forces),
];
const FORCES: [&str; 3] = ["--force", "--no-verify", "--no-preserve-root"];
/// What makes a push replace commits that are there already.
const REWRITES: [&str; 4] = ["--force", "-f", "--force-with-lease", "--mirror"];
const CREDENTIALS: [&str; 14] = [
    ".env",
    ".ssh",
    ".aws",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".gnupg",
    ".kube",
    "id_rsa",
    "id_ed25519",
    "credentials",
    "secret",
    "password",
    "/proc/self/environ",
];

/// What a command does by its name and its words.
pub(in crate::policy) fn risks(words: &[String]) -> impl Iterator<Item = Risk> {
    let program = words.first().map_or("", |name| base_name(name));
    let stem = program.split('.').next().unwrap_or(program);
    let named = DELETES.contains(&program).then_some(Risk::Deletes);
    let destroys = DESTROYS.contains(&stem).then_some(Risk::Destroys);
    let with = WITH.iter().filter(move |(name, all, _)| {
        *name == program && all.iter().all(|word| words[1..].iter().any(|given| is_given(given, word)))
    });
    let pushed = pushed(program, words);
    let forces = words
        .iter()
        .any(|word| FORCES.contains(&word.as_str()) && !(pushed.is_some() && word == "--force"))
        .then_some(Risk::Forces);
    named
        .into_iter()
        .chain(destroys)
        .chain(with.map(|(_, _, risk)| *risk))
        .chain(forces)
        .chain(pushed.into_iter().flat_map(of_push))
}

/// What stands behind `git push`.
fn pushed<'a>(program: &str, words: &'a [String]) -> Option<&'a [String]> {
    let at = words.iter().position(|word| word == "push").filter(|_| program == "git")?;
    (words[at - 1] != "stash").then(|| &words[at + 1..])
}

/// `:branch` deletes it there; `+branch` and some options replace what is there.
fn of_push(words: &[String]) -> impl Iterator<Item = Risk> {
    let starts = |start: char| words.iter().any(|word| word.starts_with(start));
    let rewrites = words.iter().any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        REWRITES.iter().any(|wanted| is_given(name, wanted))
    });
    [(starts(':'), Risk::Deletes), (rewrites || starts('+'), Risk::Rewrites)]
        .into_iter()
        .filter_map(|(is_so, risk)| is_so.then_some(risk))
}

/// A letter also among others: `-uf` is `-f` too.
fn is_given(given: &str, wanted: &str) -> bool {
    const LONGEST_CLUSTER: usize = 4;
    let letter = wanted.strip_prefix('-').filter(|letter| letter.len() == 1 && *letter != "-");
    let cluster = given.strip_prefix('-').filter(|letters| {
        given.len() <= LONGEST_CLUSTER && letters.bytes().all(|letter| letter.is_ascii_alphabetic())
    });
    given == wanted || letter.zip(cluster).is_some_and(|(letter, cluster)| cluster.contains(letter))
}

/// Whether a path, a word or an address has a name that secrets go by.
pub(in crate::policy) fn names_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    CREDENTIALS.iter().any(|name| text.contains(name))
}
