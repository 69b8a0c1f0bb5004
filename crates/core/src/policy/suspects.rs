//! Looks through what runs other commands: `sudo rm -rf x` is also `rm -rf x`. For asking, denying and marking only.

use std::rc::Rc;

use super::programs::{Class, class_of};
use super::shell::loose;

/// So many readings of one command are looked at.
const MAX_READINGS: usize = 256;
/// So many words of a wrapper may begin the command it runs.
const MAX_STARTS: usize = 32;
/// Quotes inside quotes: `bash -c 'sudo sh -c "rm x"'`.
const MAX_DEPTH: usize = 4;
/// Options after which a command stands.
const RUNS_NEXT: [&str; 9] =
    ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "--to-command"];

/// Words in a row that may be a command.
#[derive(Debug, Clone)]
pub(super) struct Suspect {
    words: Rc<Vec<String>>,
    start: usize,
    depth: usize,
}

impl Suspect {
    pub(super) fn words(&self) -> &[String] {
        &self.words[self.start..]
    }
}

/// The command itself, and every command it may run. Never empty words.
pub(super) fn suspects(words: Vec<String>) -> Vec<Suspect> {
    let mut found: Vec<Suspect> = Vec::new();
    let mut left = vec![Suspect { words: Rc::new(words), start: 0, depth: 0 }];
    while let Some(suspect) = left.pop() {
        if suspect.words().is_empty() || found.len() == MAX_READINGS {
            continue;
        }
        left.extend(looked_through(&suspect));
        found.push(suspect);
    }
    found
}

fn looked_through(suspect: &Suspect) -> Vec<Suspect> {
    let words = suspect.words();
    let from = |start: usize| Suspect { start: suspect.start + start, ..suspect.clone() };
    let mut next = Vec::new();
    match class_of(&words[0]) {
        Class::Wrapper | Class::Shell | Class::Builtin | Class::Interpreter if suspect.depth < MAX_DEPTH => {
            for (at, word) in words.iter().enumerate().skip(1).take(MAX_STARTS) {
                if word.contains([' ', '\t', '\n', ';', '|', '&', '$', '`', '(', '{']) {
                    next.extend(loose::runs(word).into_iter().map(|run| Suspect {
                        words: Rc::new(run.words.into_iter().map(|word| word.text).collect()),
                        start: 0,
                        depth: suspect.depth + 1,
                    }));
                } else if !word.starts_with('-') {
                    // Looked through once here, so that many wrappers in a row take little time.
                    next.push(Suspect { depth: MAX_DEPTH, ..from(at) });
                }
            }
        }
        Class::Wrapper
        | Class::Shell
        | Class::Builtin
        | Class::Interpreter
        | Class::Whole
        | Class::Family
        | Class::Other => {
            let after = words.iter().position(|word| RUNS_NEXT.contains(&word.as_str()));
            next.extend(after.filter(|_| suspect.depth < MAX_DEPTH).map(|at| from(at + 1)));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sees(line: &str, program: &str) -> bool {
        let words = loose::runs(line).remove(0).words.into_iter().map(|word| word.text).collect();
        suspects(words).iter().any(|suspect| suspect.words()[0] == program)
    }

    #[test]
    fn commands_inside_commands() {
        for line in [
            "rm x",
            "sudo rm x",
            "sudo -u root rm x",
            "env A=b nice -n 5 rm x",
            "timeout 5 rm x",
            "xargs -a f rm x",
            "bash -c 'rm x'",
            "sh -c 'echo a; rm x'",
            "bash -c \"sudo sh -c 'rm x'\"",
            "eval 'rm x'",
            "find . -exec rm {} +",
            "fd -x rm",
            "command rm x",
            "nohup nice timeout 5 sudo rm x",
        ] {
            assert!(sees(line, "rm"), "{line}");
        }
        assert!(!sees("echo rm x", "rm") && !sees("git commit -m 'rm x'", "rm"));
    }

    #[test]
    fn many_wrappers_take_little_time() {
        assert!(suspects(vec!["sudo".to_owned(); 100_000]).len() <= MAX_READINGS);
        assert!(
            suspects(vec!["sh".to_owned(), "-c".to_owned(), "sh -c 'a;b;c';".repeat(10_000)]).len()
                <= MAX_READINGS
        );
    }
}
