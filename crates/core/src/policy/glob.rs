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

/// Which paths below a path are meant with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Below {
    Nothing,
    /// All but names that begin with a dot.
    Shown,
    Everything,
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
        self.only_path().is_some()
    }

    /// The path that it stands for, relative to where it begins, if it stands for one only.
    pub fn only_path(&self) -> Option<String> {
        let name = |segment: &Segment| match segment {
            Segment::Folders => None,
            Segment::Name(pieces) => pieces.iter().map(Piece::char).collect::<Option<String>>(),
        };
        self.segments.iter().map(name).collect::<Option<Vec<_>>>().map(|names| names.join("/"))
    }

    /// The last name in it, as it would be written: every path that fits has such a name in it. None if there is none.
    pub fn last_name(&self) -> Option<String> {
        self.last().map(|pieces| pieces.iter().map(Piece::written).collect())
    }

    /// Whether a folder is, or lies in, one with the last name in it.
    pub fn last_name_is_above(&self, folder: &str) -> bool {
        self.last()
            .is_some_and(|pieces| names(folder).iter().any(|name| name_fits(pieces, name, Case::Ignored)))
    }

    fn last(&self) -> Option<&[Piece]> {
        self.segments.iter().rev().find_map(|segment| match segment {
            Segment::Folders => None,
            Segment::Name(pieces) => Some(pieces.as_slice()),
        })
    }

    /// Whether it may fit, as [`Self::fits_at_any_depth`], one of the paths that a pattern of a shell stands for. `above` is
    /// where this pattern begins; both are absolute.
    pub fn may_fit(&self, above: &str, shell: &str, below: Below) -> bool {
        let mut pattern: Vec<Segment> =
            names(above).iter().map(|name| Segment::Name(name.chars().map(Piece::Char).collect())).collect();
        match (self.base, self.segments.as_slice()) {
            (Base::Folder, [name @ Segment::Name(_)]) => {
                pattern.extend([Segment::Folders, name.clone(), Segment::Folders]);
            }
            (_, segments) => pattern.extend_from_slice(segments),
        }
        // Whether the names so far fit so many segments.
        let mut fitting = vec![false; pattern.len() + 1];
        fitting[0] = true;
        skip_folders(&pattern, &mut fitting);
        for name in names(shell) {
            let name = shell_pieces(name);
            let mut next = vec![false; fitting.len()];
            for at in (0..pattern.len()).filter(|at| fitting[*at]) {
                match &pattern[at] {
                    Segment::Folders => next[at] = true,
                    Segment::Name(pieces) if !hides(pieces, &name) && overlap(pieces, &name) => {
                        next[at + 1] = true;
                    }
                    Segment::Name(_) => {}
                }
            }
            skip_folders(&pattern, &mut next);
            fitting = next;
        }
        let is_shown = |segment: &Segment| match segment {
            Segment::Folders => true,
            Segment::Name(pieces) => pieces.first() != Some(&Piece::Char('.')),
        };
        fitting[pattern.len()]
            || match below {
                Below::Nothing => false,
                Below::Shown => {
                    (0..pattern.len()).any(|at| fitting[at] && pattern[at..].iter().all(is_shown))
                }
                Below::Everything => fitting.contains(&true),
            }
    }

    /// Whether a search that keeps to these names, and leaves those out, may open what this pattern speaks of.
    pub fn may_pass(&self, only: &[String], without: &[String]) -> bool {
        let Some(Segment::Name(pieces)) = self.segments.last() else { return true };
        let last = |glob: &str| shell_pieces(names(glob).last().copied().unwrap_or_default());
        let text: Option<String> = pieces.iter().map(Piece::char).collect();
        if text.is_some_and(|text| without.iter().any(|glob| name_fits(&last(glob), &text, Case::Ignored))) {
            return false;
        }
        // Of one name without a dot it may be a folder, with any names in it.
        let may_be_folder = self.segments.len() == 1 && !pieces.contains(&Piece::Char('.'));
        only.is_empty() || may_be_folder || only.iter().any(|glob| overlap(pieces, &last(glob)))
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

impl Piece {
    fn char(&self) -> Option<char> {
        match self {
            Self::Char(c) => Some(*c),
            Self::One | Self::Any => None,
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Char(c @ ('*' | '?' | '[' | '{' | '\\')) => format!("\\{c}"),
            Self::Char(c) => c.to_string(),
            Self::One => "?".to_owned(),
            Self::Any => "*".to_owned(),
        }
    }
}

/// Whether a word stands for what a shell or a search finds.
pub(super) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// Of brackets it is taken that they stand for any character.
fn shell_pieces(name: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        pieces.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            '[' => match rest.as_str().split_once(']') {
                Some((_, after)) => {
                    rest = after.chars();
                    Piece::One
                }
                None => Piece::Char(c),
            },
            _ => Piece::Char(c),
        });
    }
    pieces
}

/// `*` at the beginning of a shell's pattern is no dot.
fn hides(pieces: &[Piece], shell: &[Piece]) -> bool {
    pieces.first() == Some(&Piece::Char('.')) && matches!(shell.first(), Some(Piece::One | Piece::Any))
}

fn skip_folders(pattern: &[Segment], fitting: &mut [bool]) {
    for at in 0..pattern.len() {
        if fitting[at] && pattern[at] == Segment::Folders {
            fitting[at + 1] = true;
        }
    }
}

/// Whether there is a name that fits both.
fn overlap(pieces: &[Piece], other: &[Piece]) -> bool {
    let mut row = vec![false; pieces.len() + 1];
    row[0] = true;
    for place in 0..=other.len() {
        let mut next = vec![false; row.len()];
        for at in 0..row.len() {
            if !row[at] {
                continue;
            }
            match (pieces.get(at), other.get(place)) {
                (Some(Piece::Any), None) => row[at + 1] = true,
                (Some(Piece::Any), Some(_)) => {
                    row[at + 1] = true;
                    next[at] = true;
                }
                (Some(_), Some(Piece::Any)) => {
                    row[at + 1] = true;
                    next[at] = true;
                }
                (None, Some(Piece::Any)) => next[at] = true,
                (Some(Piece::Char(wanted)), Some(Piece::Char(c))) => {
                    next[at + 1] |= same(*wanted, *c, Case::Ignored);
                }
                (Some(_), Some(_)) => next[at + 1] = true,
                (Some(_) | None, None) | (None, Some(_)) => {}
            }
        }
        if place == other.len() {
            break;
        }
        row = next;
    }
    row[pieces.len()]
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
