//! Tools of which nothing is known: fields whose name says that they are run are looked at, and names of files.

use serde_json::Value;

use super::secrets::names_secret;
use super::{Found, Mark, Risk, look, pointer, sql};
use crate::policy::call::Facts;

const LINES: [&str; 13] = [
    "command",
    "cmd",
    "commands",
    "script",
    "shell",
    "bash",
    "sh",
    "shell_command",
    "command_line",
    "commandline",
    "cmdline",
    "run",
    "exec",
];
const CODE: [&str; 12] = [
    "code",
    "source_code",
    "python",
    "python_code",
    "javascript",
    "js",
    "js_code",
    "eval",
    "expression",
    "program",
    "lua",
    "typescript",
];
const SQL: [&str; 6] = ["sql", "statement", "statements", "sql_query", "sqlquery", "ddl"];
const QUERY: [&str; 4] = ["query", "queries", "q", "mutation"];
/// Arguments beside a command.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "argv", "params"];
/// An input that a person reads is not longer than this.
const MAX_DEPTH: usize = 16;

pub(super) fn marks(input: &Value, facts: &Facts<'_>) -> Vec<Mark> {
    let mut fields = Fields { facts, marks: Vec::new() };
    fields.look("", "", input, 0);
    fields.marks
}

struct Fields<'a> {
    facts: &'a Facts<'a>,
    marks: Vec<Mark>,
}

impl Fields<'_> {
    fn look(&mut self, at: &str, name: &str, value: &Value, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.text(at, name, text),
            Value::Array(items) => {
                let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                let is_command = LINES.contains(&name) || ARGUMENTS.contains(&name);
                if let Some(words) = words.filter(|_| is_command) {
                    self.words(&pointer(at, "0"), &words);
                }
                for (index, item) in items.iter().enumerate().filter(|_| depth < MAX_DEPTH) {
                    // The words of one command are no lines each.
                    let name = if name == "commands" || name == "statements" { name } else { "" };
                    self.look(&pointer(at, &index.to_string()), name, item, depth + 1);
                }
            }
            Value::Object(fields) => {
                let text = |names: &[&str]| {
                    fields
                        .iter()
                        .find(|(name, value)| names.contains(&lower(name).as_str()) && value.is_string())
                };
                let given = fields.iter().find(|(name, _)| ARGUMENTS.contains(&lower(name).as_str()));
                if let (Some((name, program)), Some((_, Value::Array(given)))) = (text(&LINES), given) {
                    let given = given.iter().filter_map(Value::as_str);
                    let words: Vec<&str> = program.as_str().into_iter().chain(given).collect();
                    self.words(&pointer(at, name), &words);
                }
                for (name, value) in fields.iter().filter(|_| depth < MAX_DEPTH) {
                    self.look(&pointer(at, name), &lower(name), value, depth + 1);
                }
            }
        }
    }

    fn text(&mut self, at: &str, name: &str, text: &str) {
        let found = if LINES.contains(&name) {
            look::marks(text, self.facts)
        } else if CODE.contains(&name) {
            is_code(text).then_some((0..text.len(), Risk::RunsCode)).into_iter().collect()
        } else if SQL.contains(&name) {
            sql::risks(text, sql::Sure::Yes)
        } else if QUERY.contains(&name) {
            queries(text)
        } else {
            names_secret(text).then_some((0..text.len(), Risk::Credentials)).into_iter().collect()
        };
        self.marks.extend(found.into_iter().map(|(span, risk)| Mark { field: at.to_owned(), span, risk }));
    }

    /// A command as a list of words: the first one is quoted.
    fn words(&mut self, at: &str, words: &[&str]) {
        let span = 0..words.first().map_or(0, |word| word.len());
        let risks = look::marks_of_words(words, self.facts);
        self.marks.extend(risks.into_iter().map(|risk| Mark {
            field: at.to_owned(),
            span: span.clone(),
            risk,
        }));
    }
}

fn lower(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// A code of a country is no program.
fn is_code(text: &str) -> bool {
    text.contains(['(', '=', ';', '{', '\n']) && text.len() > 3
}

/// A query may be words to search for, SQL, or GraphQL.
fn queries(text: &str) -> Vec<Found> {
    let trimmed = text.trim_start();
    let is_mutation = trimmed.strip_prefix("mutation").is_some_and(|rest| rest.contains('{'));
    if is_mutation {
        return vec![(text.len() - trimmed.len()..text.len(), Risk::Sends)];
    }
    sql::risks(text, sql::Sure::No)
}
