//! The paths that a command may open, as far as its words tell. Told generously: for asking and denying only.

use super::below::as_word;
use super::locate::{READ_AND_WRITTEN, tools_for};
use super::programs::{Access, Class, NamedPath, Spelling, base_name, class_of, form_of, judge, program};
use super::shell::Word;
use super::shell::loose::{self, Begins, Role};

/// A path, and the tools whose rules speak of it.
pub(super) struct Mention {
    pub(super) path: NamedPath,
    pub(super) tools: &'static [&'static str],
}

impl Mention {
    /// The same path in a folder that the text went to.
    fn below(&self, folder: &str) -> Option<Self> {
        let text = below(folder, &self.path.text)?;
        Some(Self { path: NamedPath { text, ..self.path.clone() }, tools: self.tools })
    }
}

#[derive(Default)]
pub(super) struct Mentions {
    pub(super) paths: Vec<Mention>,
    /// Folders where the program goes first, one after the other.
    pub(super) folders: Vec<String>,
}

/// Quotes inside quotes: `bash -c 'sudo sh -c "cat x"'`.
const MAX_DEPTH: usize = 4;
/// The longest path that a kernel takes.
const MAX_PATH: usize = 4_096;
/// Between these a path may stand in a word of which nothing is known.
const BETWEEN: [char; 17] =
    ['=', ',', ':', ';', '@', '\'', '"', '(', ')', '<', '>', '|', '&', '`', ' ', '\t', '\n'];

impl Mentions {
    /// Of a command whose words are known.
    pub(super) fn of(argv: &[Word]) -> Self {
        Self::of_command(argv, MAX_DEPTH)
    }

    fn of_command(argv: &[Word], depth: usize) -> Self {
        let mut named = vec![false; argv.len()];
        // A name with folders is the only thing that must be named to be looked at.
        named[..argv.len().min(1)].fill(true);
        let name = argv.first().map_or("", Word::text);
        // Scripts take any words.
        let known = match class_of(name) {
            Class::Interpreter | Class::Shell => form_of(argv).is_some(),
            Class::Builtin | Class::Wrapper | Class::Whole | Class::Family | Class::Other => {
                program(name).is_some()
            }
        };
        let judged = if known { judge(argv, &named).ok() } else { None };
        let Some(judged) = judged else { return Self::within(argv, FirstWord::Program, depth) };
        let mention = |path: NamedPath| {
            let tools = match path.access {
                Access::Read => tools_for(Access::Read),
                Access::Write => READ_AND_WRITTEN,
            };
            Mention { path, tools }
        };
        let mut paths: Vec<Mention> = judged.paths.into_iter().map(mention).collect();
        paths.extend(of_revisions(argv));
        Self { paths, folders: judged.folders }
    }

    /// Of words whose meaning is not known: each may be a path, and so may be what stands in it.
    pub(super) fn of_any(argv: &[Word], first: FirstWord) -> Self {
        Self::within(argv, first, MAX_DEPTH)
    }

    /// Of a command that the loose reader found. The meaning of its words is not known where a variable may stand for any
    /// number of them, or where they begin in the middle.
    pub(super) fn of_run(run: &loose::Run) -> Self {
        Self::of_run_within(run, MAX_DEPTH)
    }

    fn of_run_within(run: &loose::Run, depth: usize) -> Self {
        let words = run.words.iter().filter(|word| word.role == Role::Argument);
        let argv: Vec<Word> = words.map(|word| as_word(&word.text)).collect();
        match run.begins {
            Begins::Within => Self::within(&argv, FirstWord::Argument, depth),
            Begins::Anew if argv.iter().any(|word| word.text().contains('$')) => {
                Self::within(&argv, FirstWord::Program, depth)
            }
            Begins::Anew => Self::of_command(&argv, depth),
        }
    }

    fn within(argv: &[Word], first: FirstWord, depth: usize) -> Self {
        // `sh -c 'cat key'`, `find . -exec sh -c 'cat key' ';'`
        let runs_text = argv.iter().enumerate().any(|(at, word)| match class_of(word.text()) {
            Class::Shell => true,
            Class::Wrapper | Class::Builtin => at == 0,
            Class::Interpreter | Class::Whole | Class::Family | Class::Other => false,
        });
        let is_name =
            |at: usize, word: &Word| at == 0 && first == FirstWord::Program && !word.text().contains('/');
        let words = argv.iter().enumerate().filter(|(at, word)| !is_name(*at, word));
        let pieces = words.flat_map(|(_, word)| pieces(word.text(), runs_text));
        let mention = |text: &str| Mention { path: named(text), tools: READ_AND_WRITTEN };
        let mut paths: Vec<Mention> = pieces.map(mention).collect();
        paths.extend(of_revisions(argv));
        let texts = argv.iter().map(Word::text).filter(|text| runs_text && text.contains(BETWEEN));
        paths.extend(texts.flat_map(|text| of_text(text, depth)));
        Self { paths, folders: Vec::new() }
    }
}

/// The path from a folder that the text went to.
fn below(folder: &str, path: &str) -> Option<String> {
    (!folder.is_empty() && !path.starts_with(['/', '~', '$'])).then(|| format!("{folder}/{path}"))
}

/// What a shell that is given this text would open.
fn of_text(text: &str, depth: usize) -> Vec<Mention> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let loose::Loose { runs, assigned } = loose::read(text);
    let mut found = Vec::new();
    let mut folder = String::new();
    for run in runs {
        let of_role = |role| run.words.iter().filter(move |word| word.role == role);
        let mut opened = Mentions::of_run_within(&run, depth).paths;
        for (role, access) in [(Role::Input, Access::Read), (Role::Output, Access::Write)] {
            let files = of_role(role).map(|word| NamedPath { access, ..named(&word.text) });
            opened.extend(files.map(|path| Mention { path, tools: tools_for(access) }));
        }
        for mention in opened {
            found.extend(mention.below(&folder));
            found.push(mention);
        }
        if let [program, target, ..] = run.words.as_slice()
            && program.text == "cd"
        {
            folder = below(&folder, &target.text).unwrap_or_else(|| target.text.clone());
            // No path is longer, so that many folders take little time.
            folder.truncate(folder.floor_char_boundary(MAX_PATH));
        }
    }
    let assigned: Vec<Word> = assigned.iter().map(|word| as_word(&word.text)).collect();
    for mention in Mentions::within(&assigned, FirstWord::Argument, depth).paths {
        found.extend(mention.below(&folder));
        found.push(mention);
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWord {
    /// A program's name is opened only where it names folders.
    Program,
    Argument,
}

fn named(text: &str) -> NamedPath {
    let spelling = match as_word(text) {
        Word::Literal { .. } => Spelling::Literal,
        Word::Pattern { .. } => Spelling::Pattern,
    };
    NamedPath { text: text.to_owned(), access: Access::Write, spelling }
}

/// `HEAD:.env`, `:.env`, `-L1,9:.env`, `:(top).env`, `:/.env`: git reads that path. In `fix: .env` there is none.
fn of_revisions(argv: &[Word]) -> impl Iterator<Item = Mention> + use<'_> {
    // Other programs may run git.
    let words = argv.iter().skip_while(|word| base_name(word.text()) != "git").skip(1);
    let paths = words.filter_map(|word| {
        let (_, path) = word.text().rsplit_once(':')?;
        let path = path.rsplit_once(')').map_or(path, |(_, path)| path).trim_start_matches('/');
        (!path.is_empty()).then_some(path)
    });
    paths.map(|path| Mention {
        path: NamedPath { access: Access::Read, ..named(path) },
        tools: tools_for(Access::Read),
    })
}

/// What may be paths in a word: `--file=.env`, `-f.env`, `@.env`, `a:.env`, `open('.env')`. In a sentence only what looks
/// like a path is one.
fn pieces(word: &str, runs_text: bool) -> impl Iterator<Item = &str> {
    let is_sentence = !runs_text && word.contains([' ', '\t', '\n']);
    let parts = if word.starts_with('-') || word.contains(BETWEEN) { word } else { "" };
    let between = parts.split(BETWEEN).filter(move |piece| {
        piece.len() < word.len()
            && (!is_sentence || piece.contains('/') || piece.starts_with(['.', '~', '$']))
    });
    let options = parts.split(BETWEEN).filter(|piece| piece.starts_with('-'));
    let values = options.flat_map(|piece| {
        let letter = piece.char_indices().nth(2).map(|(at, _)| at);
        [letter, piece.find(['.', '/', '~'])].into_iter().flatten().map(|at| &piece[at..])
    });
    std::iter::once(word).chain(between).chain(values).filter(|piece| !piece.is_empty())
}
