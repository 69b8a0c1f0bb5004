//! Lines that use what programs make of their words. Each of them runs, writes or reads something that its words do not
//! say, so that each must ask.

use holdstead_core::policy::programs::{Form, Value, programs};

use crate::dice::Dice;

/// What programs take for an option, where the table may say that it is the value of the option before.
const OPTIONS: [&str; 12] = [
    "--output=.git/config",
    "--output",
    "-o.git/config",
    "--config=a.txt",
    "--exec=sh",
    "-exec",
    "--pre=sh",
    "-p",
    "-w",
    "--write",
    "-delete",
    "-fa.txt",
];
/// Files that make other programs run something, wherever they lie.
const GUARDED: [&str; 16] = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".envrc",
    ".husky/pre-push",
    ".claude/settings.json",
    "CLAUDE.md",
    "AGENTS.md",
    ".github/workflows/ci.yml",
    ".vscode/tasks.json",
    ".devcontainer.json",
    ".cargo/config.toml",
    "mise.toml",
    "lefthook.yaml",
    "x.code-workspace",
    "HEAD",
    "lib/config",
];
/// Output by its name, which no program runs unless it is told to.
const OUTPUTS: [&str; 6] = ["a.txt", "run.log", "tmp/x.out", "build/report.json", "err.tmp", "trace.csv"];
/// Programs that build and test: they run what they are given.
const RUNNERS: [&str; 12] = [
    "pytest",
    "python3 -m pytest",
    "npx jest",
    "npx vitest run",
    "npx eslint",
    "npx tsc -p",
    "npm test --",
    "npm run build --",
    "npm run lint -- --config",
    "cargo run --",
    "mypy",
    "ruff check",
];
/// What puts a link, or another folder, into `D`.
const MOVERS: [&str; 7] = [
    "mv S D",
    "git mv S D",
    "cp -P S D",
    "cp --no-dereference S D",
    "git stash pop",
    "git stash apply",
    "git pull",
];
const READERS: [&str; 6] = ["cat", "head -5", "wc -l", "grep a", "rg a", "sort"];
const FOLDERS: [&str; 4] = ["src", "web", "crates/core", "d"];
/// An awk program that writes, in the head of a loop.
const HEADS: [&str; 4] = [
    "for(print \"a\" > \"f\";0;);",
    "for(;0;print \"a\" > \"f\");",
    "for(printf \"a\" > \"f\";0;);",
    "for(;0;printf(\"a\") > \"f\");",
];

pub(super) struct Walked {
    /// Forms that have options with a value, each with those options.
    forms: Vec<(&'static Form, Vec<&'static str>)>,
}

impl Walked {
    pub(super) fn new() -> Self {
        let with_value = |form: &'static Form| {
            let takes = |value: &Value| match value {
                Value::Needed(kinds) => kinds.len() == 1,
                Value::Next(_) => true,
                // Behind these an option is one of its own.
                Value::None
                | Value::Joined(_)
                | Value::Attached(_)
                | Value::Optional(_)
                | Value::Replaces(_) => false,
            };
            let options = form.words.options.iter().filter(|(_, switch)| takes(&switch.value));
            let mut options: Vec<_> = options.map(|(name, _)| *name).collect();
            options.sort_unstable();
            (form, options)
        };
        let mut forms: Vec<_> = programs()
            .flat_map(|(_, program)| &program.forms)
            .map(with_value)
            .filter(|(_, options)| !options.is_empty())
            .collect();
        forms.sort_unstable_by_key(|(form, _)| &form.head);
        Self { forms }
    }

    pub(super) fn line(&self, dice: &mut Dice) -> String {
        let reader = *dice.pick(&READERS);
        let (folder, other) = (*dice.pick(&FOLDERS), *dice.pick(&FOLDERS));
        let climbs = "../".repeat(folder.split('/').count());
        match dice.below(10) {
            0..=2 => self.dashed(dice),
            3 => {
                let start = *dice.pick(&["true || ", "ls | ", "cd web || ", "false | ", "pwd || "]);
                let way = *dice.pick(&["cat U", "cat < U", "rg a U", "echo a > U", "git add U"]);
                format!("{start}cd {folder} && {}", way.replace('U', &format!("{climbs}secret.txt")))
            }
            4 => {
                let ends =
                    ["-delete", "-exec sh -c 'rm x' ';'", "-fprint f", "-ok rm {} ';'", "-execdir a ';'"];
                format!("find -- {folder} -name '*.rs' {}", dice.pick(&ends).replace("{}", "'{}'"))
            }
            5 => {
                let way =
                    *dice.pick(&["cp a.txt F", "mv a.txt F", "echo a > F", "echo a >> F", "git mv a.txt F"]);
                let spelling = *dice.pick(&["", "./", "src/../", "web/", "crates/core/"]);
                way.replace('F', &format!("{spelling}{}", dice.pick(&GUARDED)))
            }
            6 => {
                let output = *dice.pick(&OUTPUTS);
                let writes = *dice.pick(&["", "echo a > O && ", "printf a >> O; ", "ls | sort > O\n"]);
                format!("{}{} {output}", writes.replace('O', output), dice.pick(&RUNNERS))
            }
            7 => {
                let (from, to) = (format!("{folder}/l"), format!("{other}2"));
                let moves = dice.pick(&MOVERS).replace('S', folder).replace('D', &to);
                let at = if moves.starts_with("git stash") || moves == "git pull" { &from } else { &to };
                let join = *dice.pick(&[" && ", "; ", "\n"]);
                format!("{moves}{join}{reader} {at}/x")
            }
            8 => {
                let bundles = [
                    "tar I ./a -tf x.tar",
                    "tar f /etc/x.tar -t",
                    "tree -Po x f",
                    "tree -Io x f",
                    "sed 'w f' -e p a.txt",
                    "sed 'e rm x' -ne p f",
                    "mypy @*",
                    "npx tsc @a*",
                    "cp -r d e",
                    "cp -a d/. .",
                    "echo /etc/*",
                    "cat '\\'*",
                ];
                (*dice.pick(&bundles)).to_owned()
            }
            _ => {
                format!("{} 'BEGIN{{{}}}' {folder}/a", dice.pick(&["awk", "gawk", "mawk"]), dice.pick(&HEADS))
            }
        }
    }

    /// A value that a program may take for an option of its own.
    fn dashed(&self, dice: &mut Dice) -> String {
        let (form, options) = dice.pick(&self.forms);
        let (option, value) = (*dice.pick(options), *dice.pick(&OPTIONS));
        let named = if form.named_operands > 0 { " build" } else { "" };
        let end = *dice.pick(&["", " src", " -- src"]);
        format!("{}{named} {option} {value}{end}", form.head.join(" "))
    }
}
