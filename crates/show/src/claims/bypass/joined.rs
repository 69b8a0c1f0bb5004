//! An allowed line joined with something that no rule allows, in every way in which a shell would run it.

use holdstead_core::policy::Rules;
use holdstead_core::policy::shell::Shell;

use crate::dice::Dice;
use crate::policy_lines::Asked;

const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Sh, Shell::Zsh];
/// What joins two commands. The line before has no comment that would swallow it.
const OPERATORS: [&str; 16] = [
    "&&", "||", ";", "|", "|&", "&", "\n", "\n\n", ";\n", "&&\n", "||\n", "|\n", "\\\n&&", "\\\n;", "& ",
    "#\n",
];
const BLANKS: [&str; 8] = ["", " ", "  ", "\t", " \\\n", " \t ", "\\\n ", " "];
/// `P` is what no rule allows, `A` an allowed line. Each runs `P`, or would in one of the shells.
const FRAMES: [&str; 66] = [
    "A $(P)",
    "A `P`",
    "A \"$(P)\"",
    "A \"`P`\"",
    "A \"a$(P)b\"",
    "A a\"$(P)\"'b'",
    "A <(P)",
    "A >(P)",
    "A > >(P)",
    "A < <(P)",
    "A =(P)",
    "A ${x:-$(P)}",
    "A \"${x:=`P`}\"",
    "A ${x+$(P)}",
    "A ${x/a/$(P)}",
    "A $((a[$(P)]))",
    "A $[a[$(P)]]",
    "A $((1+$(P)))",
    "A <<EOF\n$(P)\nEOF",
    "A <<EOF\n`P`\nEOF",
    "A <<-EOF\n\t$(P)\n\tEOF",
    "A <<'EOF'\nEOF\nP",
    "A <<EOF; P\nEOF",
    "A <<< $(P)",
    "A <<<\"$(P)\"",
    "A {a,$(P)}",
    "A *(e:'P':)",
    "A @(a|$(P))",
    "A $'a'$(P)",
    "A \\\n$(P)",
    "$(P) A",
    "x=$(P) A",
    "x=`P`; A",
    "x=$(P)\nA",
    "a[$(P)]=1 A",
    "PATH=. A",
    "PAGER='P' A",
    "GIT_SSH_COMMAND='P' A",
    "LD_PRELOAD=./x A",
    "IFS=$(P) A",
    "(P) && A",
    "(A; P)",
    "{ P; }; A",
    "{ A; P; }",
    "if A; then P; fi",
    "if P; then A; fi",
    "while A; do P; done",
    "until P; do A; done",
    "for x in a; do P; done; A",
    "case a in a) P;; esac; A",
    "! P && A",
    "time P; A",
    "coproc P; A",
    "ls() { P; }; A",
    "function git { P; }; A",
    "eval 'P'; A",
    "trap 'P' EXIT; A",
    "env P; A",
    "A | xargs P",
    "A | sudo P",
    "A; command P",
    "A; exec P",
    "A && nohup P",
    "A | sh -c 'P'",
    "A; bash <<< 'P'",
    "[[ a ]] && P; A",
];
/// Where nobody allowed to write, and nobody to read.
const TARGETS: [&str; 14] = [
    ">/etc/x",
    ">>~/.bashrc",
    ">.git/config",
    ">.git/hooks/x.log",
    "2>../x",
    "&>/etc/x.log",
    ">|x.log",
    "<>x.log",
    ">&x.log",
    "1>src/main.rs",
    "3>x.log",
    "</etc/passwd",
    ">/dev/tcp/h/1",
    "> \"$(P)\"",
];
/// Ways to spell a program's name that is not to be seen.
const SPELLINGS: [fn(&str) -> String; 8] = [
    |name| format!("'{name}'"),
    |name| format!("\"{name}\""),
    |name| format!("\\{name}"),
    |name| format!("{}''{}", &name[..1], &name[1..]),
    |name| format!("{}\\\n{}", &name[..1], &name[1..]),
    |name| format!("$'{name}'"),
    |name| format!("{}$@{}", &name[..1], &name[1..]),
    |name| format!("{{{name},}}"),
];
/// Programs that no rule names, with words that are text to any quoting around them.
const PAYLOADS: [&str; 10] = [
    "rm x",
    "rm -rf build",
    "curl http://h/x",
    "sh x.sh",
    "python3 x.py",
    "git push --force",
    "find . -delete",
    "sed -i s/a/b/ f",
    "make deploy",
    "node x.js",
];

pub(crate) struct Joined<'a> {
    /// Lines that rules allow.
    allowed: Vec<&'a str>,
    /// Lines that they do not.
    hostile: Vec<&'a str>,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(honest: &'a [String], hostile: &'a [String], rules: &Rules) -> Self {
        let no_comment = |line: &&str| !line.contains('#');
        let allowed = honest.iter().map(String::as_str).filter(|line| Asked::trusted(line).is_allowed(rules));
        Self {
            allowed: allowed.filter(no_comment).collect(),
            hostile: hostile.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn line(&self, dice: &mut Dice) -> (String, Shell) {
        let shell = *dice.pick(&SHELLS);
        let allowed = *dice.pick(&self.allowed);
        let payload = *dice.pick(&PAYLOADS);
        let line = match dice.below(4) {
            0 => {
                // From a folder below, `..` may still be inside.
                let hostile = *dice.pick(&self.hostile);
                let inside = allowed.contains("cd ") && hostile.contains("..");
                let payload = if inside { payload } else { hostile };
                format!(
                    "{allowed}{}{}{}{payload}",
                    dice.pick(&BLANKS),
                    dice.pick(&OPERATORS),
                    dice.pick(&BLANKS)
                )
            }
            1 => dice.pick(&FRAMES).replace('A', allowed).replace('P', payload),
            2 => format!("{allowed} {}{}", dice.pick(&BLANKS), dice.pick(&TARGETS).replace('P', payload)),
            _ => {
                let (name, rest) = payload.split_once(' ').unwrap_or((payload, ""));
                let spelled = dice.pick(&SPELLINGS)(name);
                format!("{allowed}{}{} {spelled} {rest}", dice.pick(&BLANKS), dice.pick(&OPERATORS))
            }
        };
        (line, shell)
    }
}
