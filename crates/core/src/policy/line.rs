//! A shell line: every command by itself.

use super::below::{as_word, reading};
use super::decide::{Decision, allows_paths};
use super::folders::Folders;
use super::guarded::{guard, guard_content, is_output};
use super::locate::{Files, Located, Met, PathRules, locate, tools_for};
use super::mentions::{FirstWord, Mention, Mentions};
use super::paths;
use super::programs::{
    Access, Class, Judged, NamedPath, Runs, Spelling, base_name, class_of, core_places, form_of, judge,
};
use super::rule::{CommandPattern, Rest, Target};
use super::rules::{Placed, Trust, strictest};
use super::shell::loose::{Piped, Role};
use super::shell::{self, Join, Redirect, Shell, Simple, Word, braces, loose};
use super::strict::meets;
use super::suspects::{Suspect, suspects};
use super::verdict::{Part, Requirement};

pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) shell: Shell,
}

impl Line<'_> {
    pub(super) fn decide(&self, decision: &mut Decision<'_>) -> Vec<Part> {
        let commands = match shell::read(self.text, self.shell) {
            shell::Line::Plain(commands) => commands,
            shell::Line::Unclear(unclear) => return self.unclear(unclear, decision),
        };
        let path_rules = PathRules::new(decision.rules, decision.facts);
        let mut folders = Folders::new(decision.facts.cwd);
        let mut parts = Vec::with_capacity(commands.len());
        for command in &commands {
            folders.join(command.join);
            parts.push(decision.command(command, &folders, &path_rules));
            if command.program() == "cd" {
                folders.change(cd_target(command));
            } else {
                decision.files = Files::MayHaveChanged;
            }
        }
        parts
    }

    /// What is not understood asks. What it mentions may be denied.
    fn unclear(&self, unclear: shell::Unclear, decision: &mut Decision<'_>) -> Vec<Part> {
        let why = format!("not a plain command: {}", unclear.why);
        let mut parts = vec![Part::asks(0..self.text.len(), why)];
        decision.files = Files::MayHaveChanged;
        let path_rules = PathRules::new(decision.rules, decision.facts);
        let mut folders = Folders::new(decision.facts.cwd);
        let loose::Loose { runs, assigned } = loose::read(self.text);
        for run in &runs {
            let span = run.words.first().map_or(0, |word| word.span.start)
                ..run.words.last().map_or(0, |word| word.span.end);
            let all = suspects(run.words.iter().map(|word| word.text.clone()).collect());
            let mut met = Met::default();
            met.surely(decision.restricted_command(&all));
            if !path_rules.is_empty() {
                folders.join(Join::Then);
                decision.meet_paths(&Opened::of_run(run), &all, run.piped, &folders, &path_rules, &mut met);
                if let [program, target, ..] = run.words.as_slice()
                    && program.text == "cd"
                {
                    folders.change(Some(&target.text));
                }
            }
            parts.extend(met.part(span));
        }
        if !path_rules.is_empty() {
            let assigned = assigned.iter().map(|word| as_word(&word.text));
            // The loose reader takes words with braces apart.
            let raw = self.text.split([' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>']);
            let in_braces = raw.filter(|word| word.contains('{') && word.contains(','));
            let plain = |word: String| as_word(&word.replace(['\'', '"', '\\'], ""));
            let words: Vec<Word> = assigned.chain(in_braces.flat_map(braces).map(plain)).collect();
            let opened =
                Opened { mentions: Mentions::of_any(&words, FirstWord::Argument), redirects: Vec::new() };
            let mut met = Met::default();
            decision.meet_paths(&opened, &[], Piped::No, &folders, &path_rules, &mut met);
            parts.extend(met.part(0..self.text.len()));
        }
        parts
    }
}

/// What a command may open.
struct Opened {
    mentions: Mentions,
    redirects: Vec<NamedPath>,
}

impl Opened {
    fn of_run(run: &loose::Run) -> Self {
        let of_role = |role| run.words.iter().filter(move |word| word.role == role);
        let file = |word: &loose::LooseWord, access| NamedPath {
            text: word.text.clone(),
            access,
            spelling: Spelling::Literal,
        };
        let read = of_role(Role::Input).map(|word| file(word, Access::Read));
        let written = of_role(Role::Output).map(|word| file(word, Access::Write));
        Self { mentions: Mentions::of_run(run), redirects: read.chain(written).collect() }
    }
}

fn cd_target(command: &Simple) -> Option<&str> {
    match command.argv.as_slice() {
        [_, target] => target.literal().filter(|target| !target.starts_with('-')),
        _ => None,
    }
}

impl<'a> Decision<'a> {
    fn command(&mut self, command: &Simple, folders: &Folders, path_rules: &PathRules<'a>) -> Part {
        let all = suspects(command.argv.iter().map(|word| word.text().to_owned()).collect());
        let mut met = Met::default();
        met.surely(self.restricted_command(&all));
        if !path_rules.is_empty() {
            let opened =
                Opened { mentions: Mentions::of(&command.argv), redirects: redirected(command).collect() };
            let piped = if command.join == Join::Pipe { Piped::From } else { Piped::No };
            self.meet_paths(&opened, &all, piped, folders, path_rules, &mut met);
        }
        // Looked at in any case, so that every path is named at once.
        let allowed = self.allowed(command, folders);
        met.part(command.span.clone()).unwrap_or_else(|| match allowed {
            Ok(placed) => Part::by_rule(command.span.clone(), placed),
            Err(why) => Part::asks(command.span.clone(), why),
        })
    }

    /// The strictest ask or deny that this command, or one it runs, meets.
    fn restricted_command(&self, all: &[Suspect]) -> Option<&'a Placed> {
        strictest(all.iter().flat_map(|suspect| {
            let words = suspect.words();
            self.rules.restricting(&words[0], self.facts).filter(|placed| match &placed.rule.target {
                Target::Command(pattern) => meets(pattern, words),
                Target::Everything
                | Target::Tool(_)
                | Target::Server(_)
                | Target::Path { .. }
                | Target::Domain { .. }
                | Target::Stop => false,
            })
        }))
    }

    /// Adds the asks and denies of paths that this command may open, and of what it may read below folders.
    fn meet_paths(
        &mut self,
        opened: &Opened,
        all: &[Suspect],
        piped: Piped,
        folders: &Folders,
        path_rules: &PathRules<'a>,
        met: &mut Met<'a>,
    ) {
        // Where the folder is not known, rules begin at the session's.
        let here = [self.facts.folder.to_owned()];
        let possible = folders.possible().unwrap_or(&here);
        let readings: Vec<_> = all.iter().filter_map(|suspect| reading(suspect.words(), piped)).collect();
        for base in possible {
            for path in &opened.redirects {
                path_rules.meet(path, base, tools_for(path.access), met);
            }
            let mut within = base.clone();
            for folder in std::iter::once("").chain(opened.mentions.folders.iter().map(String::as_str)) {
                within = if folder.is_empty() { within } else { paths::join(&within, folder) };
                for Mention { path, tools } in &opened.mentions.paths {
                    path_rules.meet(path, &within, tools, met);
                }
            }
            for reading in &readings {
                path_rules.meet_below(reading, base, self.files, &mut self.unresolved, met);
            }
        }
    }

    /// The rule that allows this command, or why none does.
    fn allowed(&mut self, command: &Simple, folders: &Folders) -> Result<&'a Placed, String> {
        let name = command.program();
        let named_by_rule = command.argv.len() > 1;
        match class_of(name) {
            Class::Builtin => return Err(format!("`{name}` changes the shell itself or runs its arguments")),
            Class::Wrapper => return Err(format!("`{name}` runs its arguments")),
            Class::Shell if !named_by_rule => return Err(format!("`{name}` runs whatever it is given")),
            Class::Shell | Class::Interpreter | Class::Whole | Class::Family | Class::Other => {}
        }
        let core = core_places(&command.argv);
        let whole: Vec<usize> = (0..command.argv.len()).collect();
        let mut why = format!("no rule allows `{name}`");
        let mut found = None;
        for placed in self.rules.allowing(name, self.facts) {
            let Target::Command(pattern) = &placed.rule.target else { continue };
            let named = fits(pattern, &command.argv, &whole).or_else(|| fits(pattern, &command.argv, &core));
            let Some(named) = named else { continue };
            match judge(&command.argv, &named) {
                Ok(judged) => {
                    found = Some((placed, judged));
                    break;
                }
                Err(doubt) => why = doubt,
            }
        }
        let (placed, judged) = found.ok_or(why)?;
        let paths = self.check_paths(command, &judged, folders);
        let redirects = self.check_redirects(command, folders);
        let moved = self.check_moved(command, &judged, folders);
        let verified = self.check_version(command, &judged, folders);
        self.check_trust(command, &judged, folders)?;
        paths.and(redirects).and(moved).and(verified)?;
        self.moved.after(command, &judged, folders.possible().unwrap_or_default());
        Ok(placed)
    }

    /// What earlier commands of the line wrote or moved was looked up before they ran.
    fn check_moved(&self, command: &Simple, judged: &Judged, folders: &Folders) -> Result<(), String> {
        for cwd in folders.possible().unwrap_or_default() {
            let base = judged.folders.iter().fold(cwd.clone(), |base, folder| paths::join(&base, folder));
            for path in judged.paths.iter().cloned().chain(redirected(command)) {
                let runs = judged.runs == Runs::Operands && path.access == Access::Read;
                let written = runs.then(|| self.moved.wrote(&base, &path.text)).flatten();
                written.or_else(|| self.moved.hides(&base, &path.text)).map_or(Ok(()), Err)?;
            }
            // At the top everything that was written lies below.
            if judged.runs == Runs::Operands && base != self.facts.folder {
                self.moved.wrote(&base, ".").map_or(Ok(()), Err)?;
            }
        }
        Ok(())
    }

    fn check_trust(&mut self, command: &Simple, judged: &Judged, folders: &Folders) -> Result<(), String> {
        if judged.runs == Runs::Itself {
            return Ok(());
        }
        let name = command.program();
        // A rule names a program or a script of the folder from where the folder begins.
        let script = match class_of(name) {
            Class::Shell => true,
            Class::Interpreter => form_of(&command.argv).is_none(),
            Class::Builtin | Class::Wrapper | Class::Whole | Class::Family | Class::Other => {
                name.contains('/') && !name.starts_with('/')
            }
        };
        let from_the_top =
            folders.possible().is_some_and(|all| all.iter().all(|folder| folder == self.facts.folder));
        if script && !from_the_top {
            return Err(format!("`{name}` is another program in another folder"));
        }
        self.requirements.insert(Requirement::FolderTrust);
        match self.facts.trust {
            Trust::Trusted => Ok(()),
            Trust::Untrusted => Err(format!(
                "`{}` runs what the repository says, and nobody trusts this folder yet",
                base_name(name)
            )),
        }
    }

    /// Every path, from every folder where the command may run. All are looked at, so that all are named at once.
    fn check_paths(&mut self, command: &Simple, judged: &Judged, folders: &Folders) -> Result<(), String> {
        let Some(possible) = folders.possible() else {
            return Err("nobody knows in which folder it runs".to_owned());
        };
        let mut checked = Ok(());
        for cwd in possible {
            if command.program() == "cd" {
                checked = checked.and(self.check_cd(cwd, cd_target(command)));
                continue;
            }
            let mut base = cwd.clone();
            for folder in &judged.folders {
                checked = checked.and(self.check_path(&base, &read(folder)).map(|_| ()));
                base = paths::join(&base, folder);
            }
            // A folder in which a program runs is itself one.
            for path in &judged.paths {
                let inside = self.check_path(&base, path);
                checked = checked.and(inside.and_then(|inside| not_output(judged.runs, path, &inside)));
            }
            for path in &judged.edits {
                let inside = self.check_path(&base, path);
                checked = checked.and(inside.and_then(|inside| self.check_output(path, &inside)));
            }
        }
        checked
    }

    fn check_cd(&mut self, cwd: &str, target: Option<&str>) -> Result<(), String> {
        let Some(target) = target else { return Err("`cd` to a folder that is not named".to_owned()) };
        let Some(normal) = paths::normal(&paths::join(cwd, target)) else {
            return Err(format!("`{target}` is outside the folder"));
        };
        self.check_path("/", &read(&normal)).map(|_| ())
    }

    fn check_path(&mut self, base: &str, path: &NamedPath) -> Result<Vec<String>, String> {
        let inside = match locate(self.facts, base, path, &mut self.unresolved) {
            Located::Inside(paths) => paths,
            Located::Device => return Ok(Vec::new()),
            Located::Refused(why) => return Err(why),
        };
        match path.access {
            Access::Read => Ok(inside),
            Access::Write if path.spelling == Spelling::Pattern => {
                Err(format!("`{}` is written by a pattern", path.text))
            }
            Access::Write => match guard(&path.text, &inside, self.facts.runs) {
                Some(why) => Err(why),
                None => Ok(inside),
            },
        }
    }

    fn check_redirects(&mut self, command: &Simple, folders: &Folders) -> Result<(), String> {
        let possible = folders.possible().unwrap_or_default();
        let mut checked = Ok(());
        for path in redirected(command) {
            for base in possible {
                let one = self.check_path(base, &path).and_then(|inside| self.check_output(&path, &inside));
                checked = checked.and(one);
            }
        }
        checked
    }

    /// Keeping what was printed is harmless; writing anything else is an edit.
    fn check_output(&self, path: &NamedPath, inside: &[String]) -> Result<(), String> {
        if path.access == Access::Read || inside.iter().all(|path| is_output(path)) {
            return Ok(());
        }
        if let Some(why) = guard_content(&path.text, inside) {
            return Err(why);
        }
        let edits = tools_for(Access::Write).iter().flat_map(|tool| self.rules.of_tool(tool, self.facts));
        match edits.filter(|placed| allows_paths(placed, inside)).count() {
            0 => Err(format!("it writes `{}`, and no `Edit` rule allows that", path.text)),
            _ => Ok(()),
        }
    }
}

/// Output is written without an `Edit` rule, so it must not run.
fn not_output(runs: Runs, path: &NamedPath, inside: &[String]) -> Result<(), String> {
    let may_run = runs == Runs::Operands && path.access == Access::Read;
    if may_run && inside.iter().any(|path| is_output(path)) {
        return Err(format!("`{}` may be output of a program, and would run", path.text));
    }
    Ok(())
}

fn read(path: &str) -> NamedPath {
    NamedPath { text: path.to_owned(), access: Access::Read, spelling: Spelling::Literal }
}

/// The files that a command's redirections open.
fn redirected(command: &Simple) -> impl Iterator<Item = NamedPath> {
    command.redirects.iter().filter_map(|redirect| {
        let (path, access) = match redirect {
            Redirect::Read { path, .. } => (path, Access::Read),
            Redirect::Write { path, .. } => (path, Access::Write),
            Redirect::Duplicate => return None,
        };
        Some(NamedPath { text: path.clone(), access, spelling: Spelling::Literal })
    })
}

/// Which words the pattern names, if it fits the words at these places.
fn fits(pattern: &CommandPattern, argv: &[Word], places: &[usize]) -> Option<Vec<bool>> {
    let enough = match pattern.rest {
        Rest::Nothing => places.len() == pattern.words.len(),
        Rest::Anything => places.len() >= pattern.words.len(),
    };
    let same = |(word, place): (&String, &usize)| argv[*place].literal() == Some(word);
    if !enough || !pattern.words.iter().zip(places).all(same) {
        return None;
    }
    let mut named = vec![false; argv.len()];
    for place in &places[..pattern.words.len()] {
        named[*place] = true;
    }
    Some(named)
}
