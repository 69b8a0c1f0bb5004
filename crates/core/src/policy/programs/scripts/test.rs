//! `test` and `[`: questions about files, texts and numbers. `-v` and `-R` look variables up, and run what stands in
//! their brackets; zsh computes what is compared as a number.

use super::super::judged::{Access, Judged, Spelling};
use super::super::values::shortened;
use crate::policy::shell::Word;

const ABOUT_FILES: [&str; 20] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-N", "-O", "-G", "-p", "-r", "-s", "-S",
    "-u", "-w", "-x",
];
const ABOUT_TEXT: [&str; 2] = ["-n", "-z"];
const COMPARE_FILES: [&str; 3] = ["-nt", "-ot", "-ef"];
const COMPARE_TEXT: [&str; 3] = ["=", "==", "!="];
const COMPARE_NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
const JOIN: [&str; 2] = ["-a", "-o"];

pub(crate) fn check<'a>(
    name: &str,
    texts: &[&str],
    mut words: impl Iterator<Item = &'a Word>,
    judged: &mut Judged,
) -> Result<(), String> {
    if let Some(pattern) = words.find(|word| word.literal().is_none()) {
        return Err(format!("`{}` stands for names that are not known", shortened(pattern.text())));
    }
    let texts = match (name, texts) {
        ("[", [inside @ .., "]"]) => inside,
        ("[", _) => return Err("`[` without `]`".to_owned()),
        (_, texts) => texts,
    };
    // `a -o b`, `! a -a b`: each question by itself.
    let mut rest = texts;
    loop {
        let asked = question(rest, judged).ok_or_else(|| {
            format!("`{}` is not known to be harmless for `{name}`", shortened(&texts.join(" ")))
        })?;
        match &rest[asked..] {
            [] => return Ok(()),
            [join, more @ ..] if JOIN.contains(join) && !more.is_empty() => rest = more,
            _ => {
                return Err(format!(
                    "`{}` is not known to be harmless for `{name}`",
                    shortened(&texts.join(" "))
                ));
            }
        }
    }
}

/// How many words the first question takes.
fn question(words: &[&str], judged: &mut Judged) -> Option<usize> {
    let mut file = |path: &str| judged.name(path, Access::Read, Spelling::Literal);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_text = |text: &str| !text.contains(['[', '$', '`']);
    match words {
        ["!", rest @ ..] if !rest.is_empty() => question(rest, judged).map(|asked| asked + 1),
        [one, compare, other, ..] if COMPARE_TEXT.contains(compare) => {
            (is_text(one) && is_text(other)).then_some(3)
        }
        [one, compare, other, ..] if COMPARE_NUMBERS.contains(compare) => {
            (is_number(one) && is_number(other)).then_some(3)
        }
        [one, compare, other, ..] if COMPARE_FILES.contains(compare) => {
            file(one);
            file(other);
            Some(3)
        }
        [about, path, ..] if ABOUT_FILES.contains(about) => {
            file(path);
            Some(2)
        }
        [about, text, ..] if ABOUT_TEXT.contains(about) => is_text(text).then_some(2),
        [text, ..] => (is_text(text) && !text.starts_with('-')).then_some(1),
        [] => Some(0),
    }
}
