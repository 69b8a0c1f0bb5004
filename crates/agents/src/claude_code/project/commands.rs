//! The files that a command runs or is given, as far as its text tells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::words::{self, Command, PROJECT, Word};

/// Commands within commands.
const DEPTH: usize = 8;
/// They run what follows, after options of their own.
const WRAPPERS: [&str; 19] = [
    "!", "{", "builtin", "command", "do", "elif", "else", "env", "exec", "if", "nice", "nohup", "setsid",
    "stdbuf", "sudo", "then", "time", "until", "while",
];
/// They run what follows one more word.
const WRAPPERS_WITH_WORD: [&str; 2] = ["flock", "timeout"];
/// They run what follows `run` or `exec`.
const RUNNERS: [&str; 8] = ["bun", "bundle", "deno", "direnv", "pipenv", "poetry", "rye", "uv"];
/// They run the package that follows, or a file.
const PACKAGE_RUNNERS: [&str; 5] = ["bunx", "npx", "pipx", "uvx", "xargs"];
const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];
const INTERPRETERS: [&str; 13] = [
    "bun", "deno", "lua", "node", "nodejs", "perl", "php", "python", "python2", "python3", "ruby", "ts-node",
    "tsx",
];
/// Their words are no files that run.
const SPEAKERS: [&str; 18] = [
    "[", "[[", "case", "chmod", "done", "esac", "exit", "export", "false", "fi", "for", "mkdir", "read",
    "rm", "tee", "test", "touch", "true",
];
/// Their words and files are data, unless another program runs what they print.
const READERS: [&str; 14] = [
    "awk", "cat", "cut", "echo", "envsubst", "grep", "head", "jq", "printf", "sed", "sort", "tail", "tr",
    "wc",
];
/// They run what a file says that the command does not name.
const BY_MANIFEST: [(&str, &[&str]); 6] = [
    ("bun", &["package.json"]),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("make", &["GNUmakefile", "makefile", "Makefile"]),
    ("npm", &["package.json"]),
    ("pnpm", &["package.json"]),
    ("yarn", &["package.json"]),
];

/// Options of these that name the folder in which they run.
const FOLDER_OPTIONS: [&str; 5] = ["-C", "--directory", "--prefix", "--dir", "--cwd"];
/// What an interpreter runs in a folder that it is given.
const ENTRIES: [&str; 3] = ["index.js", "package.json", "__main__.py"];

/// Where words are looked up, and what was found.
#[derive(Debug)]
pub(super) struct Named {
    top: PathBuf,
    /// Folders that may be the project's, and those of the file that names a command.
    project: Vec<PathBuf>,
    /// Where a command may run. Nothing where the text does not tell.
    here: Vec<PathBuf>,
    pub(super) files: BTreeSet<PathBuf>,
    /// Files that would run if they were there.
    pub(super) absent: BTreeSet<PathBuf>,
    /// Files that are given to a command and are not there.
    pub(super) later: BTreeSet<PathBuf>,
    /// Paths that a command is given, or may be: one that appears there changes what is found.
    pub(super) watched: BTreeSet<PathBuf>,
    /// Folders with further files.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Words that should name a file and do not.
    pub(super) unresolved: Vec<String>,
    /// Given to programs that only read them.
    read: Vec<Word>,
    depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It runs.
    Script,
    /// A program is given it, and may run it.
    Given,
}

impl Named {
    pub(super) fn new(top: &Path, project: Vec<PathBuf>) -> Self {
        Self {
            top: top.to_owned(),
            here: project.clone(),
            project,
            files: BTreeSet::new(),
            absent: BTreeSet::new(),
            later: BTreeSet::new(),
            watched: BTreeSet::new(),
            folders: BTreeSet::new(),
            unresolved: Vec::new(),
            read: Vec::new(),
            depth: 0,
        }
    }

    /// A line for a shell.
    pub(super) fn line(&mut self, line: &str) {
        if line.contains(PROJECT) {
            return self.unresolved.push(line.to_owned());
        }
        let here = self.here.clone();
        self.line_with(line, &mut BTreeMap::new());
        self.here = here;
    }

    /// A program with its arguments, which no shell reads.
    pub(super) fn program(&mut self, command: &str, arguments: &[&str], cwd: Option<&str>) {
        let here = self.here.clone();
        if let Some(cwd) = cwd {
            self.change(&words::argument(cwd));
        }
        let words = std::iter::once(command).chain(arguments.iter().copied());
        let words: Vec<Word> = words.map(words::argument).collect();
        self.run(&words);
        self.here = here;
    }

    /// A value that some program may take for a path.
    pub(super) fn value(&mut self, name: &str, text: &str) {
        if name == "PATH" {
            return self.search_path(&words::argument(text));
        }
        for part in text.split([':', '=', ',', ' ']) {
            self.path(&words::argument(part), Role::Given);
        }
    }

    /// A folder of which every file counts.
    pub(super) fn folder(&mut self, folder: &str) {
        let word = words::argument(folder);
        if word.open {
            self.unresolved.push(shown(&word));
        } else if !folder.starts_with(['/', '~']) || Path::new(folder).starts_with(&self.top) {
            self.folders.extend(self.candidates(&word.text));
        }
    }

    /// Any word in a text that is the name of a file there.
    pub(super) fn text(&mut self, text: &str) {
        let ends = |at: char| at.is_whitespace() || "'\"`;&|()<>=[],:".contains(at);
        for word in text.split(ends).filter(|word| !word.is_empty()) {
            self.path(&words::argument(word), Role::Given);
        }
    }

    fn line_with(&mut self, line: &str, variables: &mut BTreeMap<String, Word>) {
        self.depth += 1;
        match words::commands(line, variables) {
            Some(commands) if self.depth <= DEPTH => {
                let read = std::mem::take(&mut self.read);
                for command in &commands {
                    self.command(command);
                }
                // What one of them prints, another one may run.
                if commands.iter().any(runs_its_input) {
                    for word in std::mem::take(&mut self.read) {
                        self.foreign_code(Some(&word));
                    }
                }
                self.read = read;
            }
            Some(_) | None => self.unresolved.push(line.to_owned()),
        }
        self.depth -= 1;
    }

    fn command(&mut self, command: &Command) {
        for (name, value) in &command.assigned {
            match name.as_str() {
                "PATH" => self.search_path(value),
                _ => self.path(value, Role::Given),
            }
        }
        self.read.extend(command.reads.iter().cloned());
        self.run(&command.words);
    }

    /// Programs of the project in it are not told from others by their names.
    fn search_path(&mut self, value: &Word) {
        // The rest of the value is the one that there was.
        let ours = |folder: &str| {
            !folder.is_empty()
                && (!folder.starts_with(['/', '~']) || Path::new(folder).starts_with(&self.top))
        };
        if value.text.split(':').any(ours) {
            self.unresolved.push(format!("PATH={}", shown(value)));
        }
    }

    fn run(&mut self, words: &[Word]) {
        let Some((program, rest)) = words.split_first() else { return };
        let name = program.text.rsplit('/').next().unwrap_or_default();
        if program.open || program.text.contains('/') || program.text.starts_with(PROJECT) {
            self.path(program, Role::Script);
        }
        if program.open {
            return;
        }
        if let Some((_, files)) = BY_MANIFEST.iter().find(|(runner, _)| *runner == name) {
            let here = self.here.clone();
            if let Some(folder) = folder_option(rest) {
                self.change(&folder);
                if self.here.is_empty() {
                    self.unresolved.push(shown(&folder));
                }
            }
            self.manifest(files);
            self.here = here;
        }
        let after_options = || {
            let first = rest.iter().position(|word| !word.text.starts_with('-') && !word.text.contains('='));
            &rest[first.unwrap_or(rest.len())..]
        };
        match name {
            "cd" | "pushd" => match rest {
                [folder] => self.change(folder),
                _ => self.here.clear(),
            },
            "." | "source" => rest.iter().take(1).for_each(|word| self.path(word, Role::Script)),
            "eval" => self.code(rest),
            _ if WRAPPERS.contains(&name) => self.run(after_options()),
            _ if WRAPPERS_WITH_WORD.contains(&name) => {
                self.run(after_options().get(1..).unwrap_or_default());
            }
            _ if PACKAGE_RUNNERS.contains(&name) => {
                // Options of `xargs` have values: whichever word is the program, it is looked at.
                let first = rest.iter().position(|word| {
                    !word.text.starts_with('-') && word.text.parse::<u64>().is_err() && word.text != "{}"
                });
                match rest.get(first.unwrap_or(rest.len())..).unwrap_or_default() {
                    // A published package.
                    [package, given @ ..] if package.text.starts_with('@') => {
                        given.iter().for_each(|word| self.path(word, Role::Given));
                    }
                    command => self.run(command),
                }
            }
            _ if RUNNERS.contains(&name) && rest.iter().any(is_run) => {
                let at = rest.iter().position(is_run).unwrap_or_default();
                let after = &rest[at + 1..];
                let first = after.iter().position(|word| !word.text.starts_with('-'));
                let after = &after[first.unwrap_or(after.len())..];
                // A file, or the name of a program or of a script.
                match after.first() {
                    Some(word) if is_file_name(&word.text) => self.path(word, Role::Script),
                    Some(_) | None => self.run(after),
                }
            }
            "go" if rest.first().is_some_and(is_run) => {
                for word in &rest[1..] {
                    let folders = self.folders_of(word);
                    self.folders.extend(folders);
                    self.path(word, Role::Given);
                }
            }
            _ if SHELLS.contains(&name) => self.shell(rest),
            _ if INTERPRETERS.contains(&name) => self.interpreter(rest),
            _ if READERS.contains(&name) => self.read.extend(rest.iter().cloned()),
            _ if SPEAKERS.contains(&name) => {}
            _ => rest
                .iter()
                .for_each(|word| self.path(option_value(word).as_ref().unwrap_or(word), Role::Given)),
        }
    }

    fn shell(&mut self, rest: &[Word]) {
        for (at, word) in rest.iter().enumerate() {
            let is_option = word.text.starts_with(['-', '+']);
            if is_option && !word.text.starts_with("--") && word.text.contains('c') {
                return self.code(rest.get(at + 1..at + 2).unwrap_or_default());
            }
            if !is_option {
                return self.path(word, Role::Script);
            }
        }
    }

    fn interpreter(&mut self, rest: &[Word]) {
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            match word.text.as_str() {
                "-m" => {
                    if let Some(module) = rest.next() {
                        let path = module.text.replace('.', "/");
                        self.manifest(&[&format!("{path}.py"), &format!("{path}/__main__.py")]);
                    }
                    return;
                }
                "--eval" | "--print" => self.foreign_code(rest.next()),
                // Also `-pe` and `-ne`.
                text if is_code_option(text) => self.foreign_code(rest.next()),
                "run" | "test" | "-" => {}
                text if text.starts_with('-') => {
                    if let Some(value) = option_value(word) {
                        self.path(&value, Role::Given);
                    }
                }
                text if is_file_name(text) || word.open => {
                    self.path(word, Role::Script);
                    // It may have been the value of an option.
                    return rest.for_each(|word| self.path(word, Role::Given));
                }
                // The value of an option, a folder, or a file without its ending.
                text => {
                    for folder in self.folders_of(word) {
                        ENTRIES.iter().for_each(|name| self.look(&folder.join(name)));
                    }
                    self.path(&Word { text: format!("{text}.js"), open: false }, Role::Given);
                    self.path(word, Role::Given);
                }
            }
        }
    }

    /// Text of another language: files are looked for in it.
    fn foreign_code(&mut self, code: Option<&Word>) {
        match code {
            Some(code) if code.open => self.unresolved.push(shown(code)),
            Some(code) => self.text(&code.text),
            None => {}
        }
    }

    /// Text that a shell runs.
    fn code(&mut self, words: &[Word]) {
        if let Some(open) = words.iter().find(|word| word.open) {
            self.unresolved.push(shown(open));
            return;
        }
        let line = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        // The marker stays in it, and is no character of a shell.
        self.line_with(&line, &mut BTreeMap::new());
    }

    fn change(&mut self, folder: &Word) {
        self.here = self.folders_of(folder);
    }

    /// The folders that a word may name.
    fn folders_of(&mut self, word: &Word) -> Vec<PathBuf> {
        if word.open {
            return Vec::new();
        }
        let candidates = self.candidates(&word.text);
        self.watched.extend(candidates.iter().filter(|path| path.starts_with(&self.top)).cloned());
        candidates.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    /// Any of these, wherever the command runs. Those that are not there would count as soon as they are.
    fn manifest(&mut self, names: &[&str]) {
        for folder in self.here.clone() {
            for name in names {
                self.look(&folder.join(name));
            }
        }
    }

    fn candidates(&self, text: &str) -> Vec<PathBuf> {
        let (folders, text) = match text.strip_prefix(PROJECT) {
            Some(text) => (&self.project, text.trim_start_matches('/')),
            None => (&self.here, text),
        };
        folders.iter().filter_map(|folder| normal(&folder.join(text))).collect()
    }

    fn path(&mut self, word: &Word, role: Role) {
        let home = word.text.strip_prefix("~/").zip(std::env::home_dir());
        let at_home = home.map(|(rest, home)| home.join(rest).display().to_string());
        let text = at_home.as_deref().unwrap_or(&word.text);
        if word.open {
            if role == Role::Script {
                self.unresolved.push(shown(word));
            }
            return;
        }
        // An address, or longer than any path.
        if text.is_empty() || text.len() > 4096 || text.contains('\0') || text.contains("://") {
            return;
        }
        if text.starts_with('/')
            && !Path::new(text).canonicalize().is_ok_and(|real| real.starts_with(&self.top))
        {
            // A system's program. One of the project that is not there yet is no such thing.
            if role == Role::Script && Path::new(text).starts_with(&self.top) {
                self.unresolved.push(shown(word));
            }
            return;
        }
        let candidates = self.candidates(text);
        let there = candidates.iter().filter(|path| self.is_in_project(path)).count();
        if there == 0 && role == Role::Script {
            self.unresolved.push(shown(word));
            return;
        }
        for path in &candidates {
            if path.starts_with(&self.top) {
                self.watched.insert(path.clone());
            }
            match role {
                Role::Script => self.look(path),
                Role::Given if self.is_in_project(path) => drop(self.files.insert(path.clone())),
                Role::Given if text.contains('/') && !path.exists() && path.starts_with(&self.top) => {
                    self.later.insert(path.clone());
                }
                Role::Given => {}
            }
        }
    }

    fn look(&mut self, path: &Path) {
        if self.is_in_project(path) {
            self.files.insert(path.to_owned());
        } else if path.symlink_metadata().is_err() && path.starts_with(&self.top) {
            self.absent.insert(path.to_owned());
        }
    }

    fn is_in_project(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|real| real.is_file() && real.starts_with(&self.top))
    }
}

fn is_code_option(text: &str) -> bool {
    text.starts_with('-')
        && !text.starts_with("--")
        && text.len() <= 4
        && text.ends_with(['c', 'e', 'p', 'r'])
}

/// `-C tools`, `-Ctools`, `--prefix=tools`
fn folder_option(words: &[Word]) -> Option<Word> {
    let mut after = words.iter().skip(1);
    words.iter().find_map(|word| {
        let next = after.next();
        FOLDER_OPTIONS.iter().find_map(|option| match word.text.strip_prefix(option)? {
            "" => next.cloned(),
            value if *option == "-C" => Some(Word { text: value.to_owned(), open: word.open }),
            value => Some(Word { text: value.strip_prefix('=')?.to_owned(), open: word.open }),
        })
    })
}

fn is_run(word: &Word) -> bool {
    matches!(word.text.as_str(), "run" | "exec")
}

/// A shell or another program that is given no file runs what it reads.
fn runs_its_input(command: &Command) -> bool {
    let names: Vec<&str> =
        command.words.iter().map(|word| word.text.rsplit('/').next().unwrap_or_default()).collect();
    let at = names.iter().position(|name| SHELLS.contains(name) || INTERPRETERS.contains(name));
    // `xargs` gives it what it reads.
    at.is_some_and(|at| names[at + 1..].iter().all(|given| given.starts_with('-') && !is_code_option(given)))
}

fn is_file_name(text: &str) -> bool {
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str());
    let endings =
        ["bash", "cjs", "js", "jsx", "lua", "mjs", "mts", "php", "pl", "py", "rb", "sh", "ts", "tsx", "zsh"];
    text.contains('/') || ending.is_some_and(|ending| endings.contains(&ending))
}

/// `--config=./x.js`
fn option_value(word: &Word) -> Option<Word> {
    let (_, value) = word.text.strip_prefix('-')?.split_once('=')?;
    Some(Word { text: value.to_owned(), open: word.open })
}

/// As its author wrote it, as far as that is known.
fn shown(word: &Word) -> String {
    let text = word.text.replace(PROJECT, "$CLAUDE_PROJECT_DIR");
    if word.open { format!("{text}…") } else { text }
}

/// Without `.` and `..`, as text: what a link leads to is looked at where the file is opened.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop().then_some(())?;
            }
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => normal.push(component),
        }
    }
    Some(normal)
}
