//! Statements of SQL that take away or overwrite data, or run programs.

use super::Risk;

/// How sure it is that a text is SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    /// A database client takes it.
    Yes,
    /// It may be prose: only whole statements count.
    No,
}

/// What the text does, and where, in bytes.
pub(super) fn risks(text: &str, sure: Sure) -> Vec<(std::ops::Range<usize>, Risk)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for statement in tokens.split(|token| token.text == ";") {
        let starts: Vec<usize> = match sure {
            Sure::Yes => (0..statement.len()).collect(),
            Sure::No => vec![0],
        };
        let risk =
            starts.into_iter().find_map(|at| risk(&statement[at..], sure, at == 0).map(|risk| (at, risk)));
        if let Some((at, risk)) = risk {
            let end = statement.last().map_or(0, |last| last.end);
            found.push((statement[at].start..end, risk));
        }
    }
    found
}

/// What is dropped, altered or emptied.
const THINGS: [&str; 21] = [
    "table",
    "database",
    "schema",
    "index",
    "view",
    "user",
    "role",
    "column",
    "function",
    "trigger",
    "sequence",
    "constraint",
    "keyspace",
    "type",
    "extension",
    "procedure",
    "materialized",
    "owned",
    "tablespace",
    "partition",
    "collection",
];

fn risk(words: &[Token], sure: Sure, is_first: bool) -> Option<Risk> {
    let word = |at: usize| words.get(at).map_or("", |token| token.text.as_str());
    let ends =
        |at: usize, with: &[&str]| sure == Sure::Yes || word(at).is_empty() || with.contains(&word(at));
    match word(0) {
        "drop" if THINGS.contains(&word(1)) => {
            let name = if word(2) == "if" { 4 } else { 2 };
            let name = if word(2) == "concurrently" { 3 } else { name };
            (!word(name).is_empty()
                && (sure == Sure::Yes || is_name_list(&words[name..], &["cascade", "restrict", "on"])))
            .then_some(Risk::Destroys)
        }
        "truncate" if is_first || word(1) == "table" => {
            let name = if word(1) == "table" { 2 } else { 1 };
            (!word(name).is_empty()
                && word(name) != "("
                && (sure == Sure::Yes
                    || is_name_list(&words[name..], &["cascade", "restrict", "restart", "continue"])))
            .then_some(Risk::Destroys)
        }
        "delete" if word(1) == "from" && !word(2).is_empty() => {
            ends(3, &["where", "using", "returning", "as"]).then_some(Risk::Deletes)
        }
        "delete" if sure == Sure::Yes && is_first => Some(Risk::Deletes),
        "alter" if word(1) == "table" && words.iter().any(|token| token.text == "drop") => {
            Some(Risk::Destroys)
        }
        "alter" if matches!(word(1), "system" | "role" | "user") && sure == Sure::Yes => {
            Some(Risk::ChangesMachine)
        }
        "update" if words.iter().any(|token| token.text == "set") && is_first => {
            let all = !words.iter().any(|token| token.text == "where");
            all.then_some(Risk::Destroys)
        }
        "grant" | "revoke"
            if is_first
                && words.iter().any(|token| matches!(token.text.as_str(), "to" | "from"))
                && (sure == Sure::Yes || words.iter().any(|token| token.text == "on")) =>
        {
            Some(Risk::ChangesMachine)
        }
        "create" | "rename" if sure == Sure::Yes && matches!(word(1), "user" | "role" | "extension") => {
            Some(Risk::ChangesMachine)
        }
        "set" if sure == Sure::Yes && matches!(word(1), "global" | "password") => Some(Risk::ChangesMachine),
        "program" if sure == Sure::Yes && !is_first => Some(Risk::RunsCode),
        "outfile" | "dumpfile" if sure == Sure::Yes => Some(Risk::WritesOutside),
        "xp_cmdshell" | "lo_export" | "sys_exec" | "sp_configure" if sure == Sure::Yes => {
            Some(Risk::RunsCode)
        }
        "pg_terminate_backend" | "pg_drop_replication_slot" | "dropcollection" if sure == Sure::Yes => {
            Some(Risk::Destroys)
        }
        "\\!" | "!" | ".shell" | ".system" if sure == Sure::Yes && is_first => Some(Risk::RunsCode),
        "reset" | "purge" if sure == Sure::Yes && matches!(word(1), "master" | "binary" | "slave") => {
            Some(Risk::Destroys)
        }
        "shutdown" if sure == Sure::Yes && is_first => Some(Risk::Destroys),
        "detach" | "remove" if sure == Sure::Yes && is_first && matches!(word(1), "delete" | "partition") => {
            Some(Risk::Destroys)
        }
        "replace" if sure == Sure::Yes && is_first && word(1) == "into" => Some(Risk::Destroys),
        _ => None,
    }
}

/// `a, b CASCADE` and no other words.
fn is_name_list(words: &[Token], ends: &[&str]) -> bool {
    let mut words = words.iter();
    while words.next().is_some_and(|name| name.text != ",") {
        match words.next().map(|next| next.text.as_str()) {
            None => return true,
            Some(",") => {}
            Some(end) => return ends.contains(&end),
        }
    }
    false
}

#[derive(Debug)]
struct Token {
    /// In lower case.
    text: String,
    start: usize,
    end: usize,
}

/// Words and signs, without comments and texts in quotes. What MySQL runs of a comment, and the body of a block, counts.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut characters = text.char_indices().peekable();
    let mut word: Option<Token> = None;
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        if c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '`' | '\\' | '!') {
            let token = word.get_or_insert(Token { text: String::new(), start: at, end: at });
            if !matches!(c, '"' | '`') {
                token.text.extend(c.to_lowercase());
            }
            token.end = at + c.len_utf8();
            continue;
        }
        tokens.extend(word.take());
        match (c, next) {
            ('-', Some('-')) | ('#', _) => while characters.next_if(|(_, c)| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                characters.next();
                let runs = characters.next_if(|(_, c)| matches!(c, '!' | '+')).is_some();
                let mut last = ' ';
                while let Some((_, c)) = characters.next_if(|_| !runs) {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ('\'', _) => while characters.next().is_some_and(|(_, c)| c != '\'') {},
            (';' | ',' | '(', _) => tokens.push(Token { text: c.to_string(), start: at, end: at + 1 }),
            _ => {}
        }
    }
    tokens.extend(word);
    tokens
}

/// Programs that send statements to a database.
pub(super) const CLIENTS: [&str; 30] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "bq",
    "clickhouse-client",
    "clickhouse",
    "duckdb",
    "cockroach",
    "snowsql",
    "usql",
    "cqlsh",
    "influx",
    "sqlplus",
    "mycli",
    "pgcli",
    "litecli",
    "trino",
    "presto",
    "hive",
    "beeline",
    "impala-shell",
    "spark-sql",
    "turso",
    "wrangler",
    "pscale",
    "supabase",
    "prisma",
];
