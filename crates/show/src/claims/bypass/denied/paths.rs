//! Denied files, how else they may be called, and what reads or writes them.

use super::words::quoted;
use super::{Act, sections};
use crate::dice::Dice;

const USES: &str = include_str!("paths.txt");

pub(super) struct Denied {
    pub(super) rule: &'static str,
    /// From the folder, or from the top.
    names: &'static [&'static str],
    uses: &'static [Use],
}

/// What is done with the file: a part of the table each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    ReadByLine,
    Git,
    Write,
    WriteByLine,
}

const READS: &[Use] = &[Use::Read, Use::ReadByLine];
const ALL_READS: &[Use] = &[Use::Read, Use::ReadByLine, Use::Git];
const WRITES: &[Use] = &[Use::Write, Use::WriteByLine];

pub(super) const DENIED: [Denied; 8] = [
    Denied { rule: "Read(.env)", names: &[".env", "web/.env"], uses: ALL_READS },
    Denied { rule: "Read(config/prod.yml)", names: &["config/prod.yml"], uses: ALL_READS },
    Denied { rule: "Read(keys/**)", names: &["keys/a", "keys/b/c.pem"], uses: ALL_READS },
    Denied { rule: "Read(~/.ssh/**)", names: &["/people/u/.ssh/id_rsa"], uses: READS },
    Denied { rule: "Read(/etc/**)", names: &["/etc/shadow"], uses: READS },
    Denied { rule: "Edit(.github/**)", names: &[".github/workflows/ci.yml", ".github/a"], uses: WRITES },
    Denied { rule: "Edit(src/gen.rs)", names: &["src/gen.rs"], uses: WRITES },
    Denied { rule: "Edit(~/.bashrc)", names: &["/people/u/.bashrc"], uses: WRITES },
];

pub(super) struct Uses([Vec<String>; 5]);

impl Uses {
    pub(super) fn new() -> Self {
        Self(sections(USES))
    }

    pub(super) fn spelled(&self, dice: &mut Dice, denied: &Denied) -> Act {
        let name = *dice.pick(denied.names);
        let does = *dice.pick(denied.uses);
        let template = dice.pick(&self.0[does as usize]);
        let below = !name.starts_with('/') && dice.below(10) == 0;
        // Inside quotes a name can be spelled in few ways.
        let inside = template.contains(['"', '\'', ':', '@']);
        let by_line = matches!(does, Use::ReadByLine | Use::WriteByLine);
        let spelled = match does {
            _ if below => format!("../{name}"),
            Use::Git => name.to_owned(),
            Use::Read | Use::ReadByLine | Use::Write | Use::WriteByLine if inside => plain(dice, name),
            Use::Read | Use::ReadByLine | Use::Write | Use::WriteByLine => other(dice, name),
        };
        // A redirection goes to one file.
        let several = by_line && spelled.contains('{') && !spelled.contains('$');
        let spelled = if several { plain(dice, name) } else { spelled };
        let text = template.replace("file://P", &format!("file://{}", absolute(name))).replace('P', &spelled);
        match below {
            true => Act { text: format!("cd src && {text}"), simple: false },
            false => Act { text, simple: !by_line },
        }
    }
}

fn absolute(name: &str) -> String {
    if name.starts_with('/') { name.to_owned() } else { format!("/project/{name}") }
}

/// Another name of the same file.
fn plain(dice: &mut Dice, name: &str) -> String {
    let full = absolute(name);
    match dice.below(8) {
        0 => full,
        1 if !name.starts_with('/') => format!("./{name}"),
        2 if !name.starts_with('/') => format!("src/../{name}"),
        3 if !name.starts_with('/') => format!("../project/{name}"),
        4 => full.replacen('/', "//", 2),
        5 => full.replacen('/', "/./", 1),
        6 => format!("/tmp/..{full}"),
        _ => name.to_owned(),
    }
}

/// The same, as a shell may be told it.
fn other(dice: &mut Dice, name: &str) -> String {
    let full = absolute(name);
    let plain = plain(dice, name);
    let (folder, last) =
        plain.rsplit_once('/').map_or(("", plain.as_str()), |(folder, last)| (&plain[..=folder.len()], last));
    let (first, rest) = last.split_at(1);
    match dice.below(14) {
        0 => quoted(dice, &plain),
        1 => format!("{folder}{first}{{{rest},x}}"),
        2 => format!("{{{plain},a}}"),
        3 => format!("{folder}{first}*"),
        4 => format!("{folder}{}?", &last[..last.len() - 1]),
        5 => format!("{folder}{first}''{rest}"),
        6 => format!("{folder}\"{last}\""),
        7 => match full.strip_prefix("/project/") {
            Some(inside) => format!("{}/{inside}", dice.pick(&["$PWD", "${PWD}", "\"$PWD\""])),
            None => full,
        },
        8 => match full.strip_prefix("/people/u/") {
            Some(inside) => format!("{}/{inside}", dice.pick(&["~", "$HOME", "${HOME}", "\"$HOME\""])),
            None => full,
        },
        9 => format!("$'{plain}'"),
        _ => plain,
    }
}
