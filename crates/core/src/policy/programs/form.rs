//! What is known of one program or subcommand: the options that only read and print, and what its other words are.

use std::collections::HashMap;

use super::judged::Access;

/// What a word means to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Digits, signs and a unit.
    Number,
    /// A name without blanks, quotes and shell characters.
    Word,
    /// Letters, digits, `_` and `-`.
    Name,
    /// A name of a target: no `=`, no `%`.
    Target,
    /// A branch or a tag.
    Ref,
    /// The name of a remote, never an address or a path.
    Remote,
    /// A revision, a path in the repository, or both.
    Revision,
    /// Any text. It is not opened.
    Text,
    /// Text that a script may hand to a shell: nothing that a shell reads.
    Safe,
    /// The same, with blanks.
    Spaced,
    /// `+%F`
    PlusText,
    /// `name=text`
    Assignment,
    /// A pretty format of git: none that runs gpg.
    Format,
    /// What to look for; the first word unless an option gave it.
    Pattern,
    /// A file or folder that is read.
    Read,
    /// The same for awk, to which `a=b` is no file.
    ReadNotAssigned,
    /// The same for pytest, with `::` and names behind it.
    ReadTest,
    /// An archive on this machine: `host:file` would be one elsewhere.
    Archive,
    /// A file or folder that is made, or that gets another date.
    Write,
    /// A file or folder that gets other content, is copied or is moved away: an `Edit` rule must allow it.
    Edit,
    /// A file that is copied, under its own name if a folder is what it is copied to.
    Copied,
    /// What a script of the repository is given, which may read it, run it or write it.
    Given,
    /// A kind of things in a cluster: not its secrets.
    Resource,
    /// Where the program goes first: other paths begin there.
    Folder,
    Sed,
    Awk,
    Jq,
}

/// What follows an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    None,
    /// In the same word (`-n5`, `--lines=5`) or the next one; several for `--arg name text`.
    Needed(Vec<Kind>),
    /// Only in the next word.
    Next(Kind),
    /// Only in the same word, and it must be there: the next word is something else.
    Joined(Kind),
    /// None, or one in the same word.
    Attached(Kind),
    /// None where nothing follows, or one in the same word or the next one.
    Optional(Kind),
    /// None, and with it the operand of this kind is not there.
    Replaces(Kind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    pub value: Value,
    pub follows: Follows,
}

/// Whether an option makes the program follow symbolic links that it meets, which only a trusted folder may lay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    Nothing,
    Links,
}

/// How options are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `-rn`, `-n5`, `--long=5`
    Clusters,
    /// `-name x`, `-run=x`: one dash, whole words.
    OneDash,
    /// As `OneDash`, and `(`, `)`, `!` and `,` are words of its own language.
    Find,
    /// No options: every word is text.
    Free,
    /// `printf`
    Printf,
    /// `test` and `[`
    Test,
}

/// Whether a program runs what the repository says: hooks, scripts, plugins, configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    Itself,
    Repository,
    /// The same, and files that it is given may run as well.
    Operands,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    pub kind: Kind,
    pub many: Many,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Many {
    One,
    Any,
}

/// Options by their spelling with dashes; operands in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub options: HashMap<&'static str, Switch>,
    pub operands: Vec<Operand>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The program, and its subcommand if it has one.
    pub head: Vec<&'static str>,
    pub style: Style,
    pub runs: Runs,
    pub words: Words,
    /// What may stand after `--`, where that differs.
    pub after: Option<Words>,
    /// `-20` counts.
    pub counts: Counts,
    pub order: Order,
    /// At least one of these options must be there.
    pub needs: Vec<&'static str>,
    /// So many operands belong to the name of what runs: `npm run build`.
    pub named_operands: usize,
}

impl Form {
    /// Whether its words may name files that are read, or written.
    pub fn names_files(&self, access: Access) -> bool {
        let of_option = |switch: &Switch| match &switch.value {
            Value::None | Value::Replaces(_) => Vec::new(),
            Value::Needed(kinds) => kinds.clone(),
            Value::Next(kind) | Value::Joined(kind) | Value::Attached(kind) | Value::Optional(kind) => {
                vec![*kind]
            }
        };
        let options = self.words.options.values().flat_map(of_option);
        let operands = self.words.operands.iter().map(|operand| operand.kind);
        options.chain(operands).any(|kind| kind.names_file() == Some(access))
    }
}

impl Kind {
    fn names_file(self) -> Option<Access> {
        match self {
            Self::Revision
            | Self::Read
            | Self::ReadNotAssigned
            | Self::ReadTest
            | Self::Archive
            | Self::Safe
            | Self::Spaced => Some(Access::Read),
            Self::Write | Self::Edit | Self::Copied | Self::Given => Some(Access::Write),
            Self::Number
            | Self::Word
            | Self::Resource
            | Self::Name
            | Self::Target
            | Self::Ref
            | Self::Remote
            | Self::Text
            | Self::PlusText
            | Self::Assignment
            | Self::Format
            | Self::Pattern
            | Self::Folder
            | Self::Sed
            | Self::Awk
            | Self::Jq => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    Yes,
    No,
}

/// Where options may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Anywhere,
    /// Before all operands: some versions take options for operands after the first one.
    OptionsFirst,
}

/// A program, and what may stand between its name and its subcommand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The longest heads first.
    pub forms: Vec<Form>,
    pub before: HashMap<&'static str, Switch>,
}
