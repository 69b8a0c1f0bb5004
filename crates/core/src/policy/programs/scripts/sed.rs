//! sed: scripts that choose and change lines. What writes (`w`), reads (`r`), runs (`e`) or jumps is not taken.

use super::brackets;

pub(crate) fn is_plain(script: &str) -> bool {
    Script { rest: script }.commands().is_some()
}

struct Script<'a> {
    rest: &'a str,
}

impl Script<'_> {
    /// The whole script, or nothing.
    fn commands(mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            self.skip(&[' ', '\t', '\n', ';']);
            let Some(c) = self.rest.chars().next() else { return (depth == 0).then_some(()) };
            if c == '}' {
                depth = depth.checked_sub(1)?;
                self.take();
                self.end()?;
                continue;
            }
            self.addresses()?;
            match self.take()? {
                '{' => {
                    depth += 1;
                    continue;
                }
                'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' => {}
                'q' | 'Q' | 'l' => {
                    self.skip(&[' ']);
                    self.digits();
                }
                's' => self.substitute()?,
                'y' => {
                    let mark = self.mark()?;
                    self.until(mark)?;
                    self.until(mark)?;
                }
                _ => return None,
            }
            self.end()?;
        }
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, these: &[char]) {
        self.rest = self.rest.trim_start_matches(these);
    }

    fn digits(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        self.rest.len() < before
    }

    /// After a command: the next one, the end of a group, or nothing.
    fn end(&mut self) -> Option<()> {
        self.skip(&[' ', '\t']);
        matches!(self.rest.chars().next(), None | Some(';' | '\n' | '}')).then_some(())
    }

    fn addresses(&mut self) -> Option<()> {
        if self.address()? {
            self.skip(&[' ']);
            if self.rest.starts_with(',') {
                self.take();
                self.skip(&[' ']);
                if !self.address()? {
                    self.rest = self.rest.strip_prefix(['+', '~'])?;
                    self.digits().then_some(())?;
                }
            }
        }
        self.skip(&[' ', '\t']);
        while self.rest.starts_with('!') {
            self.take();
            self.skip(&[' ', '\t']);
        }
        Some(())
    }

    /// A line's number, `$`, `first~step`, `/regex/`. Whether there was one.
    fn address(&mut self) -> Option<bool> {
        match self.rest.chars().next()? {
            '0'..='9' => {
                self.digits();
                if let Some(step) = self.rest.strip_prefix('~') {
                    self.rest = step;
                    self.digits().then_some(())?;
                }
            }
            '$' => {
                self.take();
            }
            '/' => {
                self.take();
                self.regex('/')?;
                self.skip(&['I']);
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn substitute(&mut self) -> Option<()> {
        let mark = self.mark()?;
        self.regex(mark)?;
        self.until(mark)?;
        self.rest =
            self.rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I'));
        Some(())
    }

    /// What separates the parts of `s` and `y`.
    fn mark(&mut self) -> Option<char> {
        let mark = self.take()?;
        (mark.is_ascii_punctuation() && mark != '\\').then_some(mark)
    }

    fn regex(&mut self, mark: char) -> Option<()> {
        let regex = self.until(mark)?;
        brackets::are_plain(regex).then_some(())
    }

    /// What stands before the next mark that is not escaped.
    fn until(&mut self, mark: char) -> Option<&str> {
        let start = self.rest;
        loop {
            match self.take()? {
                '\n' => return None,
                '\\' => {
                    let escaped = self.take()?;
                    (escaped != '\n').then_some(())?;
                }
                c if c == mark => return Some(&start[..start.len() - self.rest.len() - mark.len_utf8()]),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_and_changes_lines() {
        for script in [
            "p",
            "10,40p",
            "$p",
            "1~2p",
            "/a/,/b/p",
            "/a/I,+3p",
            "5q",
            "$!d",
            "/a/!d",
            "s/a/b/",
            "s|a|b|g",
            "s/a/b/gp;d",
            "/x/{s/a/b/;p}",
            "s/^version = //p",
            "y/abc/def/",
            "1d; 3d\n5d",
            "s#\\##x#",
            "s/a\\/b/c/2",
            "=",
            "n;d",
            "G",
            "",
            "s/a/b/ ; p",
            "{p;p}",
            "s/[[:space:]]*$//",
        ] {
            assert!(is_plain(script), "{script}");
        }
    }

    #[test]
    fn what_writes_reads_runs_or_jumps() {
        for script in [
            "w /tmp/x",
            "1w x",
            "s/a/b/w x",
            "s/a/b/gw x",
            "s/a/b/e",
            "e rm x",
            "1e rm x",
            "r /etc/shadow",
            "R x",
            "W x",
            "a text",
            "i\\\ntext",
            "c x",
            ":a;ba",
            "b",
            "t",
            "T",
            "s/a/b",
            "s/a",
            "s",
            "/a",
            "{p",
            "p}",
            "p w x",
            "s/a/b/;e",
            "p;w x",
            "/a/w x",
            "s/a/b/\ne rm x",
            "#n\np",
            "F",
            "z",
            "v",
            "\\%a%p",
            "s\\a\\b\\",
            "p e",
            "s/a/b/m",
            "s/a/b/M",
            "1,p",
            "1,w x",
            "s/[/x]/w y/",
            "}e",
            "s/a/b/;\\\ne",
            "$w x",
            "s/a/b/ e",
            "s\na\nb\n",
            "y/a/b/e",
            "q5e",
            "l;e",
            "s/[/]x/",
            "s/[]x/]a/;/w y/p",
            "s/[[:space:]/]a/;/w y/p",
            "s/[\\]/a/",
        ] {
            assert!(!is_plain(script), "{script}");
        }
    }
}
