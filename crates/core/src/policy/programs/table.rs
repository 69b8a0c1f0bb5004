//! Reads the tables of programs.
//!
//! ```text
//! git log                      a program, or a program with its subcommand
//!   like git diff              takes over what is known of another
//!   runs repository            hooks, scripts, plugins or configuration of the repository run
//!   runs operands              the same, and files that it is given
//!   before --no-pager          options between the program and its subcommand
//!   options -n=NUMBER --stat[=WORD] --oneline
//!   links -L                   options that follow the repository's symbolic links
//!   lacks --cached             options of the other that it does not have
//!   operands REVISION*
//!   after --check              options after `--`
//!   after-operands TEXT*
//!   needs -m --message         one of them must be there
//!   counts                     `-20`
//!   options-first              an option after an operand is not known
//!   style find
//!   named-operands 1           they belong to the name in a rule that is offered
//! ```
//!
//! An option is `-x` or `--long`. Behind it stands what it takes, as `just show-tables` finds it in the programs:
//!
//! ```text
//! -n=KIND      a value in the same word or the next one: `-n5`, `-n 5`, `--lines=5`, `--lines 5`
//! -n==KIND     a value in the same word
//! -n_KIND      a value in the next word
//! -n[=KIND]    nothing, or a value in the same word
//! -n[KIND]     nothing where no word follows, or a value in the same word or the next one
//! -n/KIND      nothing, but it takes the place of that operand
//! ```

use std::collections::HashMap;
use std::sync::LazyLock;

use super::form::{
    Counts, Follows, Form, Kind, Many, Operand, Order, Program, Runs, Style, Switch, Value, Words,
};

const TABLES: [&str; 6] = [
    include_str!("git.txt"),
    include_str!("files.txt"),
    include_str!("text.txt"),
    include_str!("shell.txt"),
    include_str!("build.txt"),
    include_str!("remote.txt"),
];

type Programs = HashMap<&'static str, Program>;

/// A test reads every table, so that none can fail here.
static PROGRAMS: LazyLock<Programs> =
    LazyLock::new(|| read(&TABLES).unwrap_or_else(|wrong| panic!("{wrong}")));

/// All programs, by their names.
pub fn programs() -> impl Iterator<Item = (&'static str, &'static Program)> {
    PROGRAMS.iter().map(|(name, program)| (*name, program))
}

/// What is known of a program, by its name without folders.
pub fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.get(super::base_name(name))
}

fn read(tables: &[&'static str]) -> Result<Programs, String> {
    let mut forms: Vec<Form> = Vec::new();
    let mut before = HashMap::new();
    // The heads that the lines below them speak of.
    let mut group = 0..0;
    for line in tables.iter().flat_map(|table| table.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            group.start = forms.len();
            forms.extend(line.split(", ").map(form));
            group.end = forms.len();
            continue;
        }
        let (key, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        for index in group.clone() {
            let read = if key == "like" {
                like(&mut forms, index, rest)
            } else {
                entry(&mut forms[index], &mut before, key, rest.trim())
            };
            read.map_err(|wrong| format!("{:?}: {key}: {wrong}", forms[index].head))?;
        }
    }
    let mut programs = Programs::new();
    for form in forms {
        let name = form.head[0];
        let program = programs.entry(name);
        let before = || before.get(name).cloned().unwrap_or_default();
        program.or_insert_with(|| Program { forms: Vec::new(), before: before() }).forms.push(form);
    }
    for program in programs.values_mut() {
        program.forms.sort_by_key(|form| std::cmp::Reverse(form.head.len()));
    }
    Ok(programs)
}

fn form(head: &'static str) -> Form {
    Form {
        head: head.split(' ').collect(),
        style: Style::Clusters,
        runs: Runs::Itself,
        words: Words { options: HashMap::new(), operands: Vec::new() },
        after: None,
        counts: Counts::No,
        order: Order::Anywhere,
        needs: Vec::new(),
        named_operands: 0,
    }
}

/// Takes over what is known of another head.
fn like(forms: &mut [Form], index: usize, other: &str) -> Result<(), String> {
    let words: Vec<&str> = other.split(' ').collect();
    let other = forms.iter().find(|form| form.head == words).ok_or("nothing to be like")?.clone();
    forms[index] = Form { head: forms[index].head.clone(), ..other };
    Ok(())
}

fn entry(
    form: &mut Form,
    before: &mut HashMap<&'static str, HashMap<&'static str, Switch>>,
    key: &str,
    rest: &'static str,
) -> Result<(), String> {
    let after = |form: &mut Form| {
        form.after.take().unwrap_or_else(|| Words { options: HashMap::new(), operands: Vec::new() })
    };
    match (key, rest) {
        ("runs", "repository") => form.runs = Runs::Repository,
        ("runs", "operands") => form.runs = Runs::Operands,
        ("before", _) => before.entry(form.head[0]).or_default().extend(options(rest, Follows::Nothing)?),
        ("options", _) => form.words.options.extend(options(rest, Follows::Nothing)?),
        ("links", _) => form.words.options.extend(options(rest, Follows::Links)?),
        ("lacks", _) => {
            for option in rest.split(' ') {
                form.words.options.remove(option).ok_or(format!("{option} is not there"))?;
            }
        }
        ("operands", _) => form.words.operands = operands(rest)?,
        ("after", _) => {
            let mut words = after(form);
            words.options.extend(options(rest, Follows::Nothing)?);
            form.after = Some(words);
        }
        ("after-operands", _) => {
            let words = after(form);
            form.after = Some(Words { operands: operands(rest)?, ..words });
        }
        ("needs", _) => form.needs = rest.split(' ').collect(),
        ("counts", "") => form.counts = Counts::Yes,
        ("options-first", "") => form.order = Order::OptionsFirst,
        ("named-operands", _) => form.named_operands = rest.parse().map_err(|_| "no number".to_owned())?,
        ("style", "one-dash") => form.style = Style::OneDash,
        ("style", "find") => form.style = Style::Find,
        ("style", "free") => form.style = Style::Free,
        ("style", "printf") => form.style = Style::Printf,
        ("style", "test") => form.style = Style::Test,
        _ => return Err("not known".to_owned()),
    }
    Ok(())
}

fn options(rest: &'static str, follows: Follows) -> Result<Vec<(&'static str, Switch)>, String> {
    rest.split_whitespace()
        .map(|option| {
            let (name, value) = if let Some((name, kind)) = option.split_once("[=") {
                (name, Value::Attached(kind_of(kind.strip_suffix(']').ok_or("`[` without `]`")?)?))
            } else if let Some((name, kind)) = option.split_once('[') {
                (name, Value::Optional(kind_of(kind.strip_suffix(']').ok_or("`[` without `]`")?)?))
            } else if let Some((name, kind)) = option.split_once("==") {
                (name, Value::Joined(kind_of(kind)?))
            } else if let Some((name, kinds)) = option.split_once('=') {
                (name, Value::Needed(kinds.split('+').map(kind_of).collect::<Result<_, _>>()?))
            } else if let Some((name, kind)) = option.split_once('_') {
                (name, Value::Next(kind_of(kind)?))
            } else if let Some((name, kind)) = option.split_once('/') {
                (name, Value::Replaces(kind_of(kind)?))
            } else {
                (option, Value::None)
            };
            if !name.starts_with('-') && !matches!(name, "(" | ")" | "!" | ",") {
                return Err(format!("{name} is no option"));
            }
            Ok((name, Switch { value, follows }))
        })
        .collect()
}

fn operands(rest: &str) -> Result<Vec<Operand>, String> {
    if rest == "none" {
        return Ok(Vec::new());
    }
    let operand = |text: &str| {
        let (kind, many) = text.strip_suffix('*').map_or((text, Many::One), |kind| (kind, Many::Any));
        Ok(Operand { kind: kind_of(kind)?, many })
    };
    rest.split(' ').map(operand).collect()
}

fn kind_of(name: &str) -> Result<Kind, String> {
    Ok(match name {
        "NUMBER" => Kind::Number,
        "WORD" => Kind::Word,
        "NAME" => Kind::Name,
        "TARGET" => Kind::Target,
        "REF" => Kind::Ref,
        "REMOTE" => Kind::Remote,
        "REVISION" => Kind::Revision,
        "TEXT" => Kind::Text,
        "SAFE" => Kind::Safe,
        "SPACED" => Kind::Spaced,
        "PLUS-TEXT" => Kind::PlusText,
        "ASSIGNMENT" => Kind::Assignment,
        "FORMAT" => Kind::Format,
        "PATTERN" => Kind::Pattern,
        "READ" => Kind::Read,
        "READ-NOT-ASSIGNED" => Kind::ReadNotAssigned,
        "READ-TEST" => Kind::ReadTest,
        "ARCHIVE" => Kind::Archive,
        "WRITE" => Kind::Write,
        "EDIT" => Kind::Edit,
        "COPIED" => Kind::Copied,
        "GIVEN" => Kind::Given,
        "RESOURCE" => Kind::Resource,
        "FOLDER" => Kind::Folder,
        "SED" => Kind::Sed,
        "AWK" => Kind::Awk,
        "JQ" => Kind::Jq,
        _ => return Err(format!("{name} is no kind")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::programs::{Class, class_of};

    #[test]
    fn every_table_is_read() {
        let programs = read(&TABLES).expect("tables");
        assert!(programs.len() > 50, "{}", programs.len());
        for (name, program) in &programs {
            let class = class_of(name);
            assert!(!matches!(class, Class::Builtin | Class::Wrapper | Class::Shell), "{name}: {class:?}");
            for form in &program.forms {
                let heads = program.forms.iter().filter(|other| other.head == form.head).count();
                assert_eq!(heads, 1, "{:?} twice", form.head);
                for option in &form.needs {
                    assert!(form.words.options.contains_key(option), "{:?} {option}", form.head);
                }
            }
        }
    }

    /// Options that run, write, load or leave the folder are in no table, whatever else changes.
    #[test]
    fn what_harms_is_in_no_table() {
        let never = [
            ("git diff", "--output --ext-diff --textconv --no-index -O"),
            ("git log", "--output --ext-diff --textconv --show-signature -O"),
            ("git grep", "-O --open-files-in-pager --textconv --no-index -f"),
            ("git branch", "-d -D -m -M -f --delete --force --edit-description"),
            ("git commit", "--amend --no-verify -n -S --gpg-sign -F -t -e --author"),
            ("git fetch", "--upload-pack -u -f --force"),
            ("git ls-remote", "--upload-pack --exec -o --server-option"),
            ("find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"),
            ("fd", "-x -X --exec --exec-batch -l --list-details"),
            ("rg", "--pre --pre-glob --hostname-bin -z --search-zip -f --file --ignore-file"),
            ("sort", "-o --output --compress-program -T --temporary-directory --files0-from"),
            ("sed", "-i --in-place -f --file"),
            ("awk", "-f --file -i --include -l --load -E --exec -W -o -p -d"),
            ("tree", "-o -R -H --fromfile"),
            (
                "tar",
                "-x -c -r -u -A --to-command --checkpoint-action -I --use-compress-program -F -C --rsh-command",
            ),
            ("jq", "-f --from-file -L --rawfile --slurpfile --args --run-tests"),
            ("diff", "-l --paginate --to-file --from-file -X -D"),
            ("uniq", "-o --output"),
            ("date", "-s --set -f --file"),
            ("cargo test", "--config -Z -C --artifact-dir --out-dir"),
            ("npm test", "--script-shell --prefix --node-options --userconfig --shell --ignore-scripts -g"),
            ("make", "-f --file --makefile --eval -I --include-dir -E -e --environment-overrides"),
            (
                "pytest",
                "-p -c --rootdir --confcutdir -o --override-ini --pyargs --basetemp --import-mode --pdb --pdbcls -W",
            ),
            ("just", "-f --justfile --shell --shell-arg --set --working-directory -d --chooser --command -c"),
            ("go test", "-exec -toolexec -o -ldflags -gcflags -overlay -modfile -vettool"),
            ("gh pr view", "-w --web -R --repo"),
        ];
        let programs = read(&TABLES).expect("tables");
        for (head, options) in never {
            let words: Vec<&str> = head.split(' ').collect();
            let form = programs[words[0]].forms.iter().find(|form| form.head == words).expect(head);
            for option in options.split(' ') {
                assert!(!form.words.options.contains_key(option), "{head} {option}");
            }
        }
    }
}
