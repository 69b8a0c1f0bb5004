//! Patterns of paths: `**` stands for any number of folders, `*` and `?` for what is inside one name.

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The session's folder.
    Folder,
    /// `/`
    Root,
    /// `~/`
    Home,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    pub base: Base,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`
    Folders,
    Name(Vec<Piece>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Char(char),
    /// `?`
    One,
    /// `*`
    Any,
}

/// Which spellings of a name count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// For an allow: the very name.
    Exact,
    /// For an ask or a deny: some file systems do not tell `.ENV` from `.env`.
    Ignored,
}

/// What is wrong with a pattern, and the byte where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongGlob {
    pub at: usize,
    pub what: &'static str,
    pub hint: &'static str,
}

impl Glob {
    pub fn parse(text: &str) -> Result<Self, WrongGlob> {
        let wrong = |at, what, hint| Err(WrongGlob { at, what, hint });
        let (base, rest) = match text {
            "" => return wrong(0, "an empty pattern", "`**` is everything in the folder"),
            _ if text.starts_with("~/") => (Base::Home, &text[2..]),
            _ if text.starts_with('/') => (Base::Root, text.trim_start_matches('/')),
            _ => (Base::Folder, text.strip_prefix("./").unwrap_or(text)),
        };
        let mut segments = Vec::new();
        let mut at = text.len() - rest.len();
        for name in rest.split('/') {
            match name {
                "" => return wrong(at, "an empty name in a path", "a whole folder is `src/**`"),
                "." | ".." => {
                    return wrong(at, "`.` and `..` in a pattern", "patterns begin at the folder: `**`");
                }
                "**" => segments.push(Segment::Folders),
                _ => segments.push(Segment::Name(pieces(name, at)?)),
            }
            at += name.len() + 1;
        }
        Ok(Self { base, segments })
    }

    /// Whether it stands for one path only.
    pub fn is_one(&self) -> bool {
        self.segments.iter().all(|segment| match segment {
            Segment::Folders => false,
            Segment::Name(pieces) => pieces.iter().all(|piece| matches!(piece, Piece::Char(_))),
        })
    }

    /// Whether this path, relative to where the pattern begins, fits.
    pub fn fits(&self, path: &str, case: Case) -> bool {
        fits(&self.segments, &names(path), case)
    }

    /// As [`Self::fits`], and a pattern of one name fits at any depth, with all that lies below: `.env` fits `a/.env`.
    pub fn fits_at_any_depth(&self, path: &str, case: Case) -> bool {
        match (self.base, self.segments.as_slice()) {
            (Base::Folder, [Segment::Name(pieces)]) => {
                names(path).iter().any(|name| name_fits(pieces, name, case))
            }
            _ => self.fits(path, case),
        }
    }
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !matches!(*name, "" | ".")).collect()
}

fn pieces(name: &str, at: usize) -> Result<Vec<Piece>, WrongGlob> {
    let mut pieces = Vec::new();
    let mut characters = name.char_indices();
    while let Some((offset, c)) = characters.next() {
        let at = at + offset;
        match c {
            '*' if pieces.last() == Some(&Piece::Any) => {
                let hint = "`**` stands alone between two `/`: `src/**/*.rs`";
                return Err(WrongGlob { at, what: "`**` inside a name", hint });
            }
            '*' => pieces.push(Piece::Any),
            '?' => pieces.push(Piece::One),
            '[' | '{' => {
                let hint = "write one rule for each, or `\\` before it if the name has it";
                return Err(WrongGlob { at, what: "brackets and braces are not understood", hint });
            }
            '\\' => match characters.next() {
                Some((_, escaped)) => pieces.push(Piece::Char(escaped)),
                None => {
                    let hint = "`\\` stands before the character it is about";
                    return Err(WrongGlob { at, what: "`\\` at the end of a name", hint });
                }
            },
            _ => pieces.push(Piece::Char(c)),
        }
    }
    Ok(pieces)
}

/// Goes back to the last `**` only: what lies before it already fits.
fn fits(pattern: &[Segment], names: &[&str], case: Case) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(Segment::Folders) => {
                again = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(Segment::Name(pieces)) if names.get(n).is_some_and(|name| name_fits(pieces, name, case)) => {
                p += 1;
                n += 1;
                continue;
            }
            None if n == names.len() => return true,
            Some(Segment::Name(_)) | None => {}
        }
        match again {
            Some((after, skipped)) if skipped < names.len() => {
                again = Some((after, skipped + 1));
                (p, n) = (after, skipped + 1);
            }
            Some(_) | None => return false,
        }
    }
}

fn name_fits(pieces: &[Piece], name: &str, case: Case) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    loop {
        match (pieces.get(p), name.get(n)) {
            (None, None) => return true,
            (Some(Piece::Any), _) => {
                again = Some((p + 1, n));
                p += 1;
                continue;
            }
            (Some(Piece::One), Some(_)) => {
                p += 1;
                n += 1;
                continue;
            }
            (Some(Piece::Char(wanted)), Some(c)) if same(*wanted, *c, case) => {
                p += 1;
                n += 1;
                continue;
            }
            (Some(Piece::One | Piece::Char(_)), _) | (None, Some(_)) => {}
        }
        match again {
            Some((after, skipped)) if skipped < name.len() => {
                again = Some((after, skipped + 1));
                (p, n) = (after, skipped + 1);
            }
            Some(_) | None => return false,
        }
    }
}

fn same(wanted: char, c: char, case: Case) -> bool {
    match case {
        Case::Exact => wanted == c,
        Case::Ignored => wanted == c || wanted.to_lowercase().eq(c.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits() {
        let cases = [
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src/a", true),
            ("src/**", "srcs/a", false),
            ("src/**", "a/src/b", false),
            ("**", "a/b", true),
            ("**/*.rs", "a.rs", true),
            ("**/*.rs", "a/b/c.rs", true),
            ("**/*.rs", "a/b/c.rsx", false),
            ("a/**/b/**/c", "a/x/b/y/b/z/c", true),
            ("a/**/b/**/c", "a/x/b/y/c/z", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "a/b.rs", false),
            ("a*b*c", "aXbYbZc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a\\*c", "a*c", true),
            ("a\\*c", "abc", false),
            ("./src/a", "src/a", true),
            ("Src/a", "src/a", false),
            ("app/(shop)/**", "app/(shop)/a", true),
        ];
        for (pattern, path, expected) in cases {
            let glob = Glob::parse(pattern).expect(pattern);
            assert_eq!(glob.fits(path, Case::Exact), expected, "{pattern} {path}");
        }
        let env = Glob::parse(".env").expect("a pattern");
        assert!(
            env.fits_at_any_depth("a/.env", Case::Exact) && env.fits_at_any_depth("a/.ENV/b", Case::Ignored)
        );
        assert!(!env.fits_at_any_depth("a/.envrc", Case::Ignored) && !env.fits("a/.env", Case::Exact));
    }

    #[test]
    fn wrong_patterns_say_where() {
        for (pattern, at) in [
            ("", 0),
            ("a//b", 2),
            ("a/../b", 2),
            (".", 0),
            ("a/b**", 4),
            ("a[b]", 1),
            ("{a,b}", 0),
            ("a/", 2),
            ("a\\", 1),
            ("~/../x", 2),
        ] {
            assert_eq!(Glob::parse(pattern).map_err(|wrong| wrong.at), Err(at), "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_little_time() {
        let glob = Glob::parse(&["**/a*a*a*a*b"; 20].join("/")).expect("a pattern");
        let path = format!("{}{}", "a/".repeat(2_000), "a".repeat(2_000));
        assert!(!glob.fits(&path, Case::Exact));
    }
}
