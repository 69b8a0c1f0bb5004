//! Files that a line writes, and may run afterwards.

use std::collections::HashMap;

use super::letters::{Letter, joined};
use super::reader::{Run, Writes};
use crate::policy::programs::base_name;

#[derive(Debug, Clone)]
pub(super) enum Written {
    Text(Vec<Letter>),
    /// What comes from elsewhere, or is decoded.
    Unknown,
}

const FROM_ELSEWHERE: [&str; 14] = [
    "curl", "wget", "base64", "base32", "xxd", "openssl", "nc", "ncat", "ssh", "gpg", "gunzip", "http",
    "aws", "tr",
];

/// A path without `./` before it.
pub(super) fn name(path: &str) -> &str {
    path.trim_start_matches("./")
}

pub(super) fn remember(files: &mut HashMap<String, Written>, run: &Run, upstream: &[Run]) {
    let Some(program) = run.words.first().map(|word| base_name(&word.text)) else { return };
    let comes_from_elsewhere =
        |run: &Run| run.words.first().is_some_and(|word| FROM_ELSEWHERE.contains(&base_name(&word.text)));
    let written = match program {
        _ if upstream.iter().any(comes_from_elsewhere) || comes_from_elsewhere(run) => Written::Unknown,
        "echo" | "printf" => Written::Text(joined(&run.words[1..])),
        _ => match run.bodies.first().or_else(|| upstream.first()?.bodies.first()) {
            Some(body) => Written::Text(body.clone()),
            None => {
                match upstream.first().filter(|run| run.words.first().is_some_and(|word| word.text == "echo"))
                {
                    Some(echo) => Written::Text(joined(&echo.words[1..])),
                    None => return,
                }
            }
        },
    };
    let mut paths: Vec<String> = run
        .redirects
        .iter()
        .filter(|redirect| redirect.writes != Writes::No)
        .map(|redirect| redirect.word.text.clone())
        .collect();
    let operands = || run.words[1..].iter().map(|word| word.text.as_str());
    match program {
        "tee" => paths.extend(operands().map(str::to_owned)),
        "curl" | "wget" => {
            paths.extend(operands().filter(|word| word.contains('/')).map(|word| base_name(word).to_owned()));
            let after = operands().zip(operands().skip(1));
            paths
                .extend(after.filter(|(option, _)| option.starts_with('-')).map(|(_, file)| file.to_owned()));
        }
        _ => {}
    }
    for path in paths.iter().filter(|path| !path.starts_with("/dev/")) {
        files.insert(name(path).to_owned(), written.clone());
    }
}
