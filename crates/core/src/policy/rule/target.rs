//! What a rule speaks of: a tool, and what stands in its parentheses.

use super::cursor::Cursor;
use super::file::Wrong;
use super::{Effect, too_wide};
use crate::policy::glob::{Base, Glob};
use crate::policy::shell::{self, Line, Shell};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `*`: every call of every tool. Never allowed.
    Everything,
    /// A whole tool, by its name.
    Tool(String),
    /// `mcp__server__*`: all tools of a server.
    Server(String),
    /// `Bash(git status:*)`
    Command(CommandPattern),
    /// `Edit(src/**)`
    Path { tool: String, glob: Glob },
    /// `WebFetch(domain:example.org)`
    Domain { host: String, depth: Domains },
    /// `Stop`: the end of a turn. Only denied.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domains {
    /// This host alone.
    One,
    /// `*.`: this host and all below it.
    Below,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    /// The program and its first arguments. Never empty.
    pub words: Vec<String>,
    pub rest: Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// The command ends here.
    Nothing,
    /// `:*`: other arguments may follow.
    Anything,
}

/// The word of a rule that stands for every tool of its kind, whatever an agent calls it.
pub const SHELL: &str = "Bash";
pub const FETCH: &str = "WebFetch";
/// The word of a rule for the end of a turn, which is no tool.
const STOP: &str = "Stop";
/// Tools whose pattern is a path.
const PATH_TOOLS: [&str; 9] =
    ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"];

const TOOLS_HINT: &str =
    "Bash(git status:*), Edit(src/**), Read, WebFetch(domain:example.org), mcp__server__*";

pub(super) fn target(cursor: &mut Cursor<'_>, effect: Effect) -> Result<Target, Wrong> {
    cursor.skip_blanks();
    let start = *cursor;
    let tool = cursor.until(&['(', ' ', '\t']);
    if tool.is_empty() {
        return Err(start.wrong(0, "a rule without a tool", TOOLS_HINT));
    }
    if cursor.rest().starts_with('(') {
        cursor.skip(1);
        let inside = *cursor;
        let pattern = pattern(cursor, tool == SHELL)?;
        return match tool {
            SHELL => command(pattern, inside, effect),
            FETCH => domain(pattern, inside),
            _ if PATH_TOOLS.contains(&tool) => path(tool, pattern, inside, effect),
            _ => Err(misplaced_pattern(tool, start)),
        };
    }
    whole_tool(tool, start, effect)
}

/// What stands before the `)` that closes the pattern.
fn pattern<'a>(cursor: &mut Cursor<'a>, quotes: bool) -> Result<&'a str, Wrong> {
    let rest = cursor.rest();
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in rest.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None | Some('"'), '\\') => escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') if quotes => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => {
                cursor.skip(at + 1);
                return Ok(&rest[..at]);
            }
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
    }
    Err(cursor.wrong(rest.len(), "`(` without its `)`", "close the pattern: Bash(git status:*)"))
}

fn whole_tool(tool: &str, start: Cursor<'_>, effect: Effect) -> Result<Target, Wrong> {
    if tool == "*" {
        return match effect {
            Effect::Allow => Err(start.wrong(0, "this would allow everything", "name the tool")),
            Effect::Ask | Effect::Deny => Ok(Target::Everything),
        };
    }
    if let Some(server) = tool.strip_suffix("__*").and_then(|tool| tool.strip_prefix("mcp__")) {
        let server = (!server.is_empty() && is_name(server)).then(|| Target::Server(server.to_owned()));
        return server.ok_or_else(|| start.wrong(5, "no server's name", "mcp__server__*"));
    }
    if tool == STOP {
        let hint = "only `deny Stop when $tests_passed not true # Run the tests first`";
        return match effect {
            Effect::Deny => Ok(Target::Stop),
            Effect::Allow => Err(start.wrong(0, "a turn ends unless a rule denies it", hint)),
            Effect::Ask => Err(start.wrong(0, "nobody is asked whether a turn may end", hint)),
        };
    }
    if !is_name(tool) {
        return Err(start.wrong(0, format!("`{tool}` is no tool's name"), TOOLS_HINT));
    }
    if tool == SHELL && effect == Effect::Allow {
        let hint = "name the commands: Bash(git status:*)";
        return Err(start.wrong(0, "this would allow every command", hint));
    }
    Ok(Target::Tool(tool.to_owned()))
}

fn is_name(tool: &str) -> bool {
    tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/'))
}

fn misplaced_pattern(tool: &str, start: Cursor<'_>) -> Wrong {
    let alike = [SHELL, FETCH].into_iter().chain(PATH_TOOLS).find(|known| known.eq_ignore_ascii_case(tool));
    let hint =
        alike.map_or_else(|| format!("write `{tool}` alone"), |known| format!("did you mean `{known}`?"));
    start.wrong(0, format!("`{tool}` takes no pattern"), hint)
}

fn command(pattern: &str, inside: Cursor<'_>, effect: Effect) -> Result<Target, Wrong> {
    let (text, rest) = match pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *")) {
        Some(text) => (text, Rest::Anything),
        None => (pattern, Rest::Nothing),
    };
    if text.trim().is_empty() || matches!(text, "*" | ":") {
        let what = format!("this would {effect} every command");
        return match effect {
            Effect::Allow => Err(inside.wrong(0, what, "name the program: Bash(git status:*)")),
            Effect::Ask | Effect::Deny => Ok(Target::Tool(SHELL.to_owned())),
        };
    }
    let words = match effect {
        Effect::Allow => plain_words(text, inside)?,
        Effect::Ask | Effect::Deny => loose_words(text, inside)?,
    };
    let command = CommandPattern { words, rest };
    if effect == Effect::Allow {
        too_wide::check(&command).map_err(|(what, hint)| inside.wrong(0, what, hint))?;
    }
    Ok(Target::Command(command))
}

/// An allow names words that the strict reader understands.
fn plain_words(text: &str, inside: Cursor<'_>) -> Result<Vec<String>, Wrong> {
    let commands = match shell::read(text, Shell::Bash) {
        Line::Plain(commands) => commands,
        Line::Unclear(unclear) => {
            let hint = "a rule names one program and its first arguments, quoted where a shell wants quotes";
            return Err(inside.wrong(unclear.at, format!("not a plain command: {}", unclear.why), hint));
        }
    };
    let [command] = commands.as_slice() else { return Err(several(&commands[1].span, inside)) };
    if !command.redirects.is_empty() {
        let hint = "redirections are judged by themselves: Edit(out.log) allows writing there";
        return Err(inside.wrong(0, "a redirection in a rule", hint));
    }
    let literal = |word: &shell::Word| {
        let hint = "`:*` at the end stands for other arguments: Bash(git log:*)";
        let wrong = || inside.wrong(word.span().start, "`*` and `?` inside a command", hint);
        word.literal().map(str::to_owned).ok_or_else(wrong)
    };
    command.argv.iter().map(literal).collect()
}

/// An ask or a deny may name what the strict reader does not take, such as `~`.
fn loose_words(text: &str, inside: Cursor<'_>) -> Result<Vec<String>, Wrong> {
    let runs = shell::loose::runs(text);
    match runs.as_slice() {
        [run] => Ok(run.words.iter().map(|word| word.text.clone()).collect()),
        [] => Err(inside.wrong(0, "no command", "name the program: Bash(rm -rf:*)")),
        [_, second, ..] => Err(several(&second.words[0].span, inside)),
    }
}

fn several(second: &std::ops::Range<usize>, inside: Cursor<'_>) -> Wrong {
    inside.wrong(second.start, "several commands in one rule", "write one rule for each")
}

fn path(tool: &str, pattern: &str, inside: Cursor<'_>, effect: Effect) -> Result<Target, Wrong> {
    let glob = Glob::parse(pattern).map_err(|wrong| inside.wrong(wrong.at, wrong.what, wrong.hint))?;
    if effect == Effect::Allow && glob.base != Base::Folder {
        let hint = "patterns of an allow begin at the session's folder; what lies outside is always asked";
        return Err(inside.wrong(0, "a path outside the folder", hint));
    }
    Ok(Target::Path { tool: tool.to_owned(), glob })
}

fn domain(pattern: &str, inside: Cursor<'_>) -> Result<Target, Wrong> {
    const HINT: &str = "WebFetch(domain:example.org), or domain:*.example.org with all below it";
    let Some(named) = pattern.strip_prefix("domain:") else {
        return Err(inside.wrong(0, "WebFetch takes `domain:`", HINT));
    };
    let (host, depth) = match named.strip_prefix("*.") {
        Some(host) => (host, Domains::Below),
        None => (named, Domains::One),
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    if !host.split('.').all(is_label) || (depth == Domains::Below && !host.contains('.')) {
        return Err(inside.wrong(7, format!("`{named}` is no host's name"), HINT));
    }
    Ok(Target::Domain { host: host.to_ascii_lowercase(), depth })
}
