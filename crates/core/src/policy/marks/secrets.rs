//! Names that secrets go by.

use super::letters::Word;
use crate::policy::programs::base_name;

/// Folders in which everything is secret.
const FOLDERS: [&str; 8] =
    [".ssh", ".aws", ".gnupg", ".kube", ".azure", ".password-store", "keychains", "gcloud"];
const FILES: [&str; 24] = [
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".htpasswd",
    ".s3cfg",
    ".boto",
    ".dockercfg",
    ".dockerconfigjson",
    ".envrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "master.key",
    ".bash_history",
    ".zsh_history",
    "shadow",
    "gshadow",
    "environ",
];
const ENDINGS: [&str; 10] =
    [".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".key", "key.pem", "_rsa", "_ed25519"];
/// Names of files with secrets if they are files of data, and not of code.
const STEMS: [&str; 9] = [
    "credentials",
    "credential",
    "secrets",
    "secret",
    "password",
    "passwords",
    "private_key",
    "access_token",
    "api_key",
];
const DATA: [&str; 12] =
    ["json", "yml", "yaml", "toml", "ini", "cfg", "conf", "txt", "csv", "env", "properties", "enc"];
/// Settings that are there to be copied.
const EXAMPLES: [&str; 9] =
    ["example", "sample", "template", "dist", "defaults", "schema", "test", "ci", "tpl"];
/// Programs that do not show what is in the files that they are given.
const BLIND: [&str; 28] = [
    "ls",
    "stat",
    "test",
    "[",
    "[[",
    "echo",
    "printf",
    "touch",
    "mkdir",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "find",
    "fd",
    "fdfind",
    "which",
    "tree",
    "file",
    "du",
    "chmod",
    "export",
    "ssh-add",
    "ssh-keygen",
    "rm",
    "source",
    ".",
    "cd",
];
/// Programs whose first operand is what they look for.
const SEARCH: [&str; 9] = ["grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "jq"];
/// Programs that show or send any file that they are given.
const SHOW: [&str; 20] = [
    "cat", "less", "more", "head", "tail", "bat", "cp", "mv", "scp", "base64", "xxd", "od", "strings", "tar",
    "zip", "gpg", "openssl", "curl", "nl", "tac",
];
/// Options whose value is used and not shown.
const USED: [&str; 5] = ["-i", "--env-file", "--kubeconfig", "--key-file", "-name"];

/// Whether a path has a name that secrets go by.
pub(super) fn names_secret(path: &str) -> bool {
    if path.contains(char::is_whitespace) {
        return false;
    }
    let path = path.to_ascii_lowercase();
    let parts: Vec<&str> = path.split(['/', '\\', ':', '=', '@', ',', '\'', '"']).collect();
    let strong = parts.iter().enumerate().any(|(at, part)| {
        let parent = at.checked_sub(1).map_or("", |parent| parts[parent]);
        match *part {
            "shadow" | "gshadow" => parent == "etc",
            "environ" => path.contains("/proc/"),
            "gcloud" => parent == ".config",
            "config.json" => parent == ".docker",
            "hosts.yml" => parent == "gh",
            _ => FOLDERS.contains(part) || is_secret_file(part),
        }
    });
    let last = base_name(&path);
    let stem = last.split_once('.').unwrap_or((last, ""));
    let below = path.strip_suffix(last).unwrap_or_default().trim_end_matches('/');
    let in_settings = below.is_empty() || path.starts_with(['/', '~', '.']) || below.ends_with("config");
    let is_data = DATA.contains(&stem.1) || stem.1.ends_with(".enc") || (stem.1.is_empty() && in_settings);
    strong || (STEMS.contains(&stem.0) && is_data) || path.contains("/run/secrets/")
}

fn is_secret_file(name: &str) -> bool {
    let settings = match name.strip_prefix(".env") {
        Some("") => true,
        Some(rest) => {
            rest.starts_with('.') && !EXAMPLES.iter().any(|example| rest.rsplit('.').next() == Some(example))
        }
        None => {
            name.ends_with(".env")
                && name.len() > ".env".len()
                && !name.starts_with("process.")
                && !name.contains("meta")
        }
    };
    let pattern = name.contains(['*', '?', '['])
        && name.chars().filter(|c| c.is_alphanumeric() || *c == '.').count() > 2;
    let fits = |known: &&str| (known.starts_with('.') || known.starts_with("id_")) && is_fit(name, known);
    settings
        || FILES.contains(&name)
        || ENDINGS
            .iter()
            .any(|ending| name.ends_with(ending) && name.len() > ending.len() && !name.starts_with('*'))
        || (pattern && (FILES.iter().chain(&FOLDERS).any(fits) || is_fit(name, ".env")))
}

/// A pattern of file names, without the ranges in `[ ]`.
fn is_fit(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // The places in the name that the pattern may have reached.
    let mut reached: Vec<bool> = (0..=name.len()).map(|at| at == 0).collect();
    let mut at = 0;
    while let Some(c) = pattern.get(at) {
        let mut next = vec![false; name.len() + 1];
        let range = pattern[at..].iter().position(|c| *c == ']').filter(|_| *c == '[');
        for (place, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
            match c {
                '*' => next[place..].fill(true),
                _ if place == name.len() => {}
                '?' | '[' => next[place + 1] = true,
                c => next[place + 1] = name[place] == *c,
            }
        }
        reached = next;
        at += 1 + range.unwrap_or(0);
    }
    reached[name.len()]
}

/// Whether an address carries a secret.
pub(super) fn carries_secret(address: &str) -> bool {
    let query = address.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    let is_secret = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        ["password", "passwd", "secret", "token", "api_key", "apikey"].iter().any(|word| name.contains(word))
    };
    query.split('&').any(is_secret) || names_secret(address.split('?').next().unwrap_or_default())
}

/// The words of a command that name files with secrets which it may show.
pub(super) fn shown(words: &[Word]) -> Vec<&Word> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let name = base_name(&program.text);
    let is_dotfile = |word: &Word| base_name(&word.text).starts_with(".env");
    let prints_variable = |word: &&Word| word.is_expanded() && names_variable(&word.text);
    match name {
        "echo" | "printf" => return rest.iter().filter(prints_variable).collect(),
        "printenv" if !rest.is_empty() => {
            return rest.iter().filter(|word| names_variable(&word.text)).collect();
        }
        "env" | "printenv" | "set" | "export" | "declare" if is_listing(rest) => return vec![program],
        "git"
            if rest.iter().any(|word| {
                matches!(word.text.as_str(), "check-ignore" | "--cached" | "commit" | "log" | "grep")
            }) =>
        {
            return Vec::new();
        }
        _ if BLIND.contains(&name) => return Vec::new(),
        _ => {}
    }
    let mut shown = Vec::new();
    let mut pattern =
        SEARCH.contains(&name) && !rest.iter().any(|word| matches!(word.text.as_str(), "-f" | "-e"));
    for (at, word) in rest.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| rest[before].text.as_str());
        let is_target = matches!(name, "cp" | "mv" | "install" | "ln") && at + 1 == rest.len() && at > 0;
        let is_option = word.text.starts_with('-');
        if pattern && !is_option {
            pattern = false;
        } else if !(USED.contains(&before)
            || USED.iter().any(|used| word.text.starts_with(&format!("{used}=")))
            || (is_target && is_dotfile(word)))
            && (SHOW.contains(&name) || word.text.contains(['/', '.', '_']))
            && names_secret(&word.text)
            && !word.text.starts_with("http")
        {
            shown.push(word);
        }
    }
    shown
}

/// Whether it shows all variables, of which a search then leaves no secret: `env | grep NODE`.
pub(super) fn is_filtered(words: &[Word], next: &[Word]) -> bool {
    let names = |words: &[Word], known: &[&str]| {
        words.first().is_some_and(|program| known.contains(&base_name(&program.text)))
    };
    let looks_for_secret = next.iter().skip(1).any(|word| {
        let text = word.text.to_ascii_uppercase();
        text.starts_with("-V")
            || ["TOKEN", "KEY", "SECRET", "PASS", "AUTH", "CRED"].iter().any(|name| text.contains(name))
    });
    let looks_for_any =
        next.iter().skip(1).any(|word| word.text.chars().filter(char::is_ascii_alphanumeric).count() > 2);
    names(words, &["env", "printenv", "set", "export"])
        && names(next, &SEARCH)
        && looks_for_any
        && !looks_for_secret
}

/// `env` alone, `set` alone, `export -p`: all variables are shown.
fn is_listing(rest: &[Word]) -> bool {
    rest.iter().all(|word| matches!(word.text.as_str(), "-p" | "-x" | "-xp" | "-px" | "-0" | "--null"))
}

/// `GITHUB_TOKEN`, also as `$GITHUB_TOKEN`
fn names_variable(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ends = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "ACCESS_KEY",
        "CREDENTIALS",
    ];
    names.into_iter().any(|name| ends.iter().any(|end| name.ends_with(end)))
}
