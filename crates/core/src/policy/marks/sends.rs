//! Programs that send: by what they are given, and to where.

use super::Risk;
use super::letters::Word;
use super::table::is_given;
use crate::policy::programs::base_name;

/// Options of curl and wget with which something is sent.
const DATA: [&str; 15] = [
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--data-ascii",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "--json",
    "--post-data",
    "--post-file",
    "--body-data",
];
const METHODS: [&str; 4] = ["-X", "--request", "--method", "-XPOST"];

pub(super) fn risk(words: &[Word]) -> Option<Risk> {
    let (program, rest) = words.split_first()?;
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    match base_name(&program.text) {
        "curl" | "wget" | "curlie" => request(rest, &texts),
        "http" | "https" | "xh" | "xhs" => httpie(&texts),
        "scp" | "rsync" | "rcp" | "sftp" => {
            let operands: Vec<&&str> = texts.iter().filter(|text| !text.starts_with('-')).collect();
            let to = operands.last().filter(|_| operands.len() > 1);
            to.is_some_and(|to| is_elsewhere(to)).then_some(Risk::Sends)
        }
        "nc" | "ncat" | "netcat" | "socat" | "telnet" => {
            let looks = texts
                .iter()
                .any(|text| is_given(text, "-z") || matches!(*text, "-h" | "--help" | "--version"));
            (!looks && !texts.is_empty() && !texts.iter().any(|text| is_here(text))).then_some(Risk::Sends)
        }
        _ => None,
    }
}

/// `host:path`, `user@host:`, `rsync://`
fn is_elsewhere(word: &str) -> bool {
    word.contains("://") || word.split('/').next().is_some_and(|first| first.contains(':') && first.len() > 2)
}

fn request(rest: &[Word], texts: &[&str]) -> Option<Risk> {
    let here = texts.iter().any(|text| is_here(text))
        && !texts.iter().any(|text| is_address(text) && !is_here(text));
    if here {
        return None;
    }
    let method = rest.iter().enumerate().find_map(|(at, word)| {
        let text = word.text.as_str();
        METHODS
            .contains(&text)
            .then(|| texts.get(at + 1).copied())
            .flatten()
            .or_else(|| text.strip_prefix("-X"))
            .or_else(|| text.strip_prefix("--request="))
            .or_else(|| text.strip_prefix("--method="))
    });
    let method = method.unwrap_or_default().to_ascii_uppercase();
    let sends = texts.iter().any(|text| {
        DATA.iter().any(|option| {
            let short = option.len() == 2 && text.starts_with(option);
            let long = option.len() > 2 && text.split('=').next() == Some(option);
            short || long || (option.len() == 2 && matches!(*text, "-sd" | "-sSd" | "-sF" | "-sT"))
        })
    });
    // What a command prints becomes a part of the address.
    let leaks = rest
        .iter()
        .any(|word| is_address(&word.text) && word.text.contains("$()") && word.text.contains('?'));
    match method.as_str() {
        "DELETE" => Some(Risk::Deletes),
        "POST" | "PUT" | "PATCH" => Some(Risk::Sends),
        "GET" | "HEAD" if !sends => None,
        _ => (sends || leaks).then_some(Risk::Sends),
    }
}

fn httpie(texts: &[&str]) -> Option<Risk> {
    if texts.iter().any(|text| is_here(text) || text.starts_with(':')) {
        return None;
    }
    let has = |method: &str| texts.iter().any(|text| text.eq_ignore_ascii_case(method));
    if has("DELETE") {
        return Some(Risk::Deletes);
    }
    let sends = ["POST", "PUT", "PATCH"].into_iter().any(has)
        || texts
            .iter()
            .skip(1)
            .any(|text| !text.starts_with('-') && !text.contains("==") && text.contains(['=', '@']));
    sends.then_some(Risk::Sends)
}

fn is_address(word: &str) -> bool {
    word.contains("://")
        || (word.contains('.') && word.contains('/') && !word.starts_with(['-', '.', '/', '@', '{', '~']))
}

/// This machine.
fn is_here(word: &str) -> bool {
    let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
    let name = rest.split('/').next().unwrap_or_default();
    matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0" | "host.docker.internal")
        || name.starts_with("[::1]")
        || host.ends_with(".localhost")
}
