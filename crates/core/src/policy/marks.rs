//! What is risky in a shell line, for whoever looks at it. A mark decides nothing.

use std::ops::Range;

use super::paths;
use super::programs::{Class, base_name, class_of};
use super::shell::loose::{LooseWord, Piped, Run};
use super::shell::{self, Join, Line, Redirect, Shell, loose};
use super::suspects::suspects;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Takes files, branches or containers away.
    Deletes,
    /// Overwrites disks, work that is not committed, or whole services.
    Destroys,
    /// Overrides a check: `--force`, `--no-verify`.
    Forces,
    /// Runs what another command prints.
    PipesToShell,
    WritesOutside,
    /// Names a file or a word that secrets go by.
    Credentials,
    /// Has a word that a person listed.
    Listed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Where in the line.
    pub span: Range<usize>,
    pub risk: Risk,
}

const DELETES: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "srm", "trash"];
const DESTROYS: [&str; 9] =
    ["dd", "mkfs", "fdisk", "parted", "wipefs", "truncate", "reboot", "shutdown", "poweroff"];
/// A program with words or options of its own, all of which must be there.
const WITH: [(&str, &[&str], Risk); 32] = [
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
    ("find", &["-delete"], Risk::Deletes),
    ("docker", &["rm"], Risk::Deletes),
    ("docker", &["rmi"], Risk::Deletes),
    ("git", &["--hard"], Risk::Destroys),
    ("git", &["restore"], Risk::Destroys),
    ("git", &["checkout", "--"], Risk::Destroys),
    ("git", &["filter-branch"], Risk::Destroys),
    ("docker", &["prune"], Risk::Destroys),
    ("kubectl", &["delete"], Risk::Destroys),
    ("helm", &["uninstall"], Risk::Destroys),
    ("terraform", &["destroy"], Risk::Destroys),
    ("tofu", &["destroy"], Risk::Destroys),
    ("npm", &["unpublish"], Risk::Destroys),
    ("dropdb", &[], Risk::Destroys),
    ("git", &["push", "-f"], Risk::Forces),
    ("git", &["checkout", "-f"], Risk::Forces),
    ("git", &["switch", "-f"], Risk::Forces),
    ("git", &["branch", "-f"], Risk::Forces),
    ("git", &["tag", "-f"], Risk::Forces),
    ("git", &["add", "-f"], Risk::Forces),
    ("git", &["worktree", "-f"], Risk::Forces),
];
const FORCES: [&str; 4] = ["--force", "--force-with-lease", "--no-verify", "--no-preserve-root"];
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

/// All marks of a line, from left to right. `listed` are words of a person's own.
pub fn marks(line: &str, shell: Shell, folder: &str, cwd: Option<&str>, listed: &[String]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for run in commands(line, shell) {
        let span = run.words.first().map_or(0, |word| word.span.start)
            ..run.words.last().map_or(0, |word| word.span.end);
        let words = run.words.iter().map(|word| word.text.clone()).collect();
        for suspect in suspects(words) {
            marks.extend(risks(suspect.words()).map(|risk| Mark { span: span.clone(), risk }));
        }
        let program = run.words.first().map_or("", |word| word.text.as_str());
        if run.piped == Piped::From
            && matches!(class_of(program), Class::Shell | Class::Interpreter | Class::Wrapper)
        {
            marks.push(Mark { span, risk: Risk::PipesToShell });
        }
        marks.extend(
            run.words
                .iter()
                .filter(|word| names_secret(&word.text))
                .map(|word| Mark { span: word.span.clone(), risk: Risk::Credentials }),
        );
    }
    marks.extend(writes_outside(line, shell, folder, cwd));
    marks.extend(listed.iter().flat_map(|word| found(line, word)));
    marks.sort_unstable_by_key(|mark: &Mark| (mark.span.start, mark.span.end, mark.risk));
    marks.dedup();
    marks
}

/// The line's commands: as the strict reader reads them, or else whatever may be one.
fn commands(line: &str, shell: Shell) -> Vec<Run> {
    match shell::read(line, shell) {
        Line::Plain(commands) => commands
            .into_iter()
            .map(|command| Run {
                piped: if command.join == Join::Pipe { Piped::From } else { Piped::No },
                words: command
                    .argv
                    .iter()
                    .map(|word| LooseWord { text: word.text().to_owned(), span: word.span() })
                    .collect(),
            })
            .collect(),
        Line::Unclear(_) => loose::runs(line),
    }
}

pub(super) fn risks(words: &[String]) -> impl Iterator<Item = Risk> {
    let program = words.first().map_or("", |name| base_name(name));
    let stem = program.split('.').next().unwrap_or(program);
    let named = DELETES.contains(&program).then_some(Risk::Deletes);
    let destroys = DESTROYS.contains(&stem).then_some(Risk::Destroys);
    let with = WITH.iter().filter(move |(name, all, _)| {
        *name == program && all.iter().all(|word| words[1..].iter().any(|given| given == word))
    });
    let forces = words.iter().any(|word| FORCES.contains(&word.as_str())).then_some(Risk::Forces);
    named.into_iter().chain(destroys).chain(with.map(|(_, _, risk)| *risk)).chain(forces)
}

pub(super) fn names_secret(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    CREDENTIALS.iter().any(|name| word.contains(name))
}

/// Redirections of a plain line that lead out of the folder as they are written.
fn writes_outside(line: &str, shell: Shell, folder: &str, cwd: Option<&str>) -> Vec<Mark> {
    let Line::Plain(commands) = shell::read(line, shell) else { return Vec::new() };
    let leaves = |path: &str| {
        let full = paths::normal(&paths::join(cwd.unwrap_or(folder), path));
        path != "/dev/null" && full.as_deref().and_then(|full| paths::inside(folder, full)).is_none()
    };
    let redirects = commands.iter().flat_map(|command| &command.redirects);
    redirects
        .filter_map(|redirect| match redirect {
            Redirect::Write { path, span } if leaves(path) => {
                Some(Mark { span: span.clone(), risk: Risk::WritesOutside })
            }
            Redirect::Write { .. } | Redirect::Read { .. } | Redirect::Duplicate => None,
        })
        .collect()
}

/// Where a person's own word stands, in any case. An empty one stands nowhere.
fn found(line: &str, word: &str) -> Vec<Mark> {
    if word.is_empty() {
        return Vec::new();
    }
    // ASCII only, so that places in both texts are the same.
    let (line, word) = (line.to_ascii_lowercase(), word.to_ascii_lowercase());
    line.match_indices(&word)
        .map(|(at, found)| Mark { span: at..at + found.len(), risk: Risk::Listed })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<(Risk, &str)> {
        let listed = ["production".to_owned(), String::new()];
        let marks = marks(line, Shell::Bash, "/p", Some("/p"), &listed);
        marks.into_iter().map(|mark| (mark.risk, &line[mark.span])).collect()
    }

    #[test]
    fn what_is_risky_is_marked_where_it_stands() {
        let cases: [(&str, &[(Risk, &str)]); 14] = [
            ("ls && rm -rf x", &[(Risk::Deletes, "rm -rf x")]),
            ("sudo rm x", &[(Risk::Deletes, "sudo rm x")]),
            ("ls $(rm x)", &[(Risk::Deletes, "rm x")]),
            ("git push --force", &[(Risk::Forces, "git push --force")]),
            ("git branch -D x", &[(Risk::Deletes, "git branch -D x")]),
            ("git diff -D", &[]),
            ("git reset --hard", &[(Risk::Destroys, "git reset --hard")]),
            ("mkfs.ext4 /dev/sda", &[(Risk::Destroys, "mkfs.ext4 /dev/sda")]),
            ("curl x | sh", &[(Risk::PipesToShell, "sh")]),
            ("curl x | sudo bash", &[(Risk::PipesToShell, "sudo bash")]),
            ("echo a > /etc/x", &[(Risk::WritesOutside, "> /etc/x")]),
            ("cat .env", &[(Risk::Credentials, ".env")]),
            ("deploy PRODUCTION", &[(Risk::Listed, "PRODUCTION")]),
            ("git commit -m 'rm -rf x' && echo a > out.log 2>/dev/null", &[]),
        ];
        for (line, expected) in cases {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
