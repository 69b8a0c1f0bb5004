//! The line that a shell is given. Codex names the whole program that it starts, `/bin/bash -lc 'ls -la'`; people and rules speak
//! of what the shell runs.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

const SHELLS: [&str; 3] = ["bash", "zsh", "sh"];

/// What the shell is given, if this starts a shell with one line and nothing else. All else stays as it is.
pub(super) fn for_shell(program: &str) -> Cow<'_, str> {
    given(program).map_or(Cow::Borrowed(program), Cow::Owned)
}

fn given(program: &str) -> Option<String> {
    let (shell, rest) = program.split_once(' ')?;
    let name = shell.rsplit_once('/').map_or(shell, |(_, name)| name);
    let is_plain = shell.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    let line = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
    (is_plain && SHELLS.contains(&name)).then(|| one_word(line)).flatten()
}

/// The word that this text is for a shell, if it is exactly one and the shell would put nothing in its place.
fn one_word(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut letters = text.chars().peekable();
    letters.peek()?;
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => until_quote(&mut letters, &mut word)?,
            '"' => until_double_quote(&mut letters, &mut word)?,
            '\\' => word.push(letters.next().filter(|letter| *letter != '\n')?),
            letter if letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter) => word.push(letter),
            // A second word, or something that the shell reads.
            _ => return None,
        }
    }
    Some(word)
}

fn until_quote(letters: &mut Peekable<Chars<'_>>, word: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            '\'' => return Some(()),
            letter => word.push(letter),
        }
    }
}

fn until_double_quote(letters: &mut Peekable<Chars<'_>>, word: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            '"' => return Some(()),
            '$' | '`' | '!' => return None,
            '\\' => match letters.next()? {
                letter @ ('$' | '`' | '"' | '\\') => word.push(letter),
                '\n' => return None,
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::for_shell;

    #[test]
    fn what_a_shell_is_given_is_what_people_and_rules_see() {
        for (program, line) in [
            ("/bin/bash -lc 'touch one.txt'", "touch one.txt"),
            ("/usr/bin/zsh -lc ls", "ls"),
            ("bash -c 'a && b'", "a && b"),
            (r#"/bin/bash -lc "echo 'it' is \$HOME""#, "echo 'it' is $HOME"),
            (r#"/bin/bash -lc 'echo '"'"'two words'"'"''"#, "echo 'two words'"),
            (r"/bin/bash -lc 'echo '\''x'\'", "echo 'x'"),
            ("/bin/bash -lc 'one\ntwo'", "one\ntwo"),
            ("/bin/bash -lc ''", ""),
        ] {
            assert_eq!(for_shell(program), line, "{program}");
        }
    }

    #[test]
    fn whatever_else_is_started_stays_as_it_is() {
        for program in [
            "ls -la",
            "/bin/bash -lc",
            "/bin/bash -lc ",
            "/bin/bash -lc 'a' b",
            "/bin/bash -lc a;b",
            "/bin/bash -lc 'open",
            "/bin/bash -lc \"$HOME\"",
            "/bin/bash -lc \"`a`\"",
            "/bin/bash -lc $'a'",
            "/bin/bash -lc *",
            "/bin/bash -lc ~",
            "/bin/bash -xc 'a'",
            "/bin/bash  -lc 'a'",
            "/bin/bash -l -c 'a'",
            "A=b /bin/bash -lc 'a'",
            "$(x)/bash -lc 'a'",
            "/bin/fish -lc 'a'",
            "/bin/rebash -lc 'a'",
        ] {
            assert_eq!(for_shell(program), program);
        }
    }
}
