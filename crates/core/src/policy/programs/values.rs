//! Whether a word is what a program takes at its place, and which paths it names.

use super::form::{Kind, Style};
use super::judged::{Access, Judged, Spelling};
use super::scripts::{awk, jq, sed};

/// `@file`: some programs read more words from it.
fn is_response_file(kind: Kind, text: &str) -> bool {
    matches!(kind, Kind::Read | Kind::ReadTest | Kind::Safe | Kind::Spaced | Kind::Given | Kind::Write)
        && text.starts_with('@')
}

/// Refuses, in words, what is not known to be harmless.
pub(super) fn check(kind: Kind, text: &str, judged: &mut Judged) -> Result<(), String> {
    let plain = |extra: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c));
    let known = match kind {
        Kind::Number => plain(".+-%,:") && !text.is_empty(),
        Kind::Word => plain("_.,:@%+=/^~{}*-") && !leaves(text),
        Kind::Name => plain("_-") && !text.is_empty(),
        Kind::Target => plain("_./-") && !text.starts_with('-') && !leaves(text),
        Kind::Ref => plain("_./#-") && !text.starts_with('-') && !leaves(text),
        // To git a name that is no remote's is a folder, or a bundle.
        Kind::Remote => {
            judged.name(text, Access::Read, Spelling::Literal);
            plain("_-") && !text.starts_with('-') && !text.is_empty()
        }
        Kind::PlusText => text.starts_with('+'),
        Kind::Assignment => text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        }),
        // `%G?` and its like run gpg, or whatever the repository names instead.
        Kind::Format => !text.contains("%G") && !text.contains("signature"),
        Kind::Text | Kind::Pattern => true,
        Kind::Revision => {
            judged.name(text, Access::Read, Spelling::Literal);
            !text.contains("://") && !text.contains("::")
        }
        Kind::Safe | Kind::Spaced => {
            for piece in paths_in(text) {
                judged.name(piece, Access::Read, Spelling::Literal);
            }
            plain("_.,:@%+=/-") || (kind == Kind::Spaced && plain("_.,:@%+=/- "))
        }
        Kind::Read => {
            judged.name(text, Access::Read, Spelling::Literal);
            true
        }
        Kind::ReadNotAssigned => {
            judged.name(text, Access::Read, Spelling::Literal);
            !text.contains('=')
        }
        Kind::ReadTest => {
            judged.name(text.split("::").next().unwrap_or(text), Access::Read, Spelling::Literal);
            true
        }
        Kind::Archive => {
            judged.name(text, Access::Read, Spelling::Literal);
            !text.contains(':')
        }
        Kind::Write => {
            judged.name(text, Access::Write, Spelling::Literal);
            true
        }
        Kind::Edit => {
            judged.edit(text);
            true
        }
        Kind::Copied => {
            judged.name(text, Access::Read, Spelling::Literal);
            judged.name(text, Access::Write, Spelling::Literal);
            true
        }
        Kind::Given => {
            for piece in paths_in(text).chain(named_alone(text)) {
                judged.name(piece, Access::Read, Spelling::Literal);
                judged.name(piece, Access::Write, Spelling::Literal);
            }
            plain("_.,:@%+=/- ")
        }
        Kind::Resource => plain("_.,:@/-") && !leaves(text) && !text.to_ascii_lowercase().contains("secret"),
        Kind::Folder => {
            judged.folders.push(text.to_owned());
            !text.is_empty() && !text.starts_with('-')
        }
        Kind::Sed => sed::is_plain(text),
        Kind::Awk => awk::is_plain(text),
        Kind::Jq => jq::is_plain(text),
    };
    if known && !is_response_file(kind, text) {
        Ok(())
    } else {
        Err(format!("`{}` is not known to be harmless here", shortened(text)))
    }
}

/// Whether a program may read this word as an option, although the table says that it is the value of the option before it:
/// some versions take that value in the same word only, or do not have that option. `find` counts its words, so that a
/// number may have a unit there.
pub(super) fn may_be_option(value: &str, style: Style) -> bool {
    let Some(rest) = value.strip_prefix('-').filter(|rest| !rest.is_empty()) else { return false };
    let number = match style {
        Style::Find => rest.strip_suffix(|unit: char| unit.is_ascii_alphabetic()).unwrap_or(rest),
        Style::Clusters | Style::OneDash | Style::Free | Style::Printf | Style::Test => rest,
    };
    number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// A pattern stands for file names, so it can only be where files are read or text is printed.
pub(super) fn check_pattern(kind: Kind, text: &str, judged: &mut Judged) -> Result<(), String> {
    match kind {
        Kind::Read if is_response_file(kind, text) => {
            Err(format!("`{}` may name a file with further options", shortened(text)))
        }
        Kind::Read | Kind::Revision | Kind::Text => {
            judged.name(text, Access::Read, Spelling::Pattern);
            Ok(())
        }
        Kind::Number
        | Kind::Word
        | Kind::Name
        | Kind::Target
        | Kind::Ref
        | Kind::Remote
        | Kind::Safe
        | Kind::Spaced
        | Kind::Given
        | Kind::Resource
        | Kind::Edit
        | Kind::Copied
        | Kind::PlusText
        | Kind::Assignment
        | Kind::Format
        | Kind::Pattern
        | Kind::ReadNotAssigned
        | Kind::ReadTest
        | Kind::Archive
        | Kind::Write
        | Kind::Folder
        | Kind::Sed
        | Kind::Awk
        | Kind::Jq => Err(format!("`{}` stands for names that are not known", shortened(text))),
    }
}

/// Whether a text that should be no path is one that leaves the folder.
pub(super) fn leaves(text: &str) -> bool {
    text.starts_with(['/', '~']) || text.split('/').any(|name| name == "..")
}

/// What may be paths in a word whose meaning is not known: `-I/usr/include`, `out=../x`, `a:b`.
pub(super) fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(['=', ',', ':', ';', '@', ' ', '\'', '"']).filter_map(|piece| {
        let piece = match piece.strip_prefix('-') {
            Some(option) => &option[option.find(['/', '~', '.'])?..],
            None => piece,
        };
        (piece.contains('/') || piece.starts_with(['~', '.'])).then_some(piece)
    })
}

/// A word, or the value of an option, that may be a file without a folder: `a.txt`, `--config=a.txt`.
fn named_alone(text: &str) -> Option<&str> {
    let value = match text.strip_prefix('-') {
        Some(option) => option.split_once('=')?.1,
        None => text,
    };
    (!value.contains('/') && value.contains('.')).then_some(value)
}

/// Enough of a word for a message.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
