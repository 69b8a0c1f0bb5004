//! The script language. One step per line; a line that starts with `#` is a comment.
//!
//! ```text
//! say TEXT                                    speaks, word by word
//! think TEXT                                  thinks aloud
//! tool NAME JSON [=> RESULT | =! ERROR]       uses a tool that needs nobody
//! approve NAME JSON [because WHY] [says TEXT] needs an approval
//! ask HEADER: QUESTION | LABEL: DESCRIPTION | LABEL ...
//! ask                                         several questions in one ask, one per line
//!   HEADER: QUESTION | ...
//! end
//! ask {"questions": [...]}                    the same, as the protocol writes it
//! form {"title": ..., "fields": [...]}        a form; the JSON may also follow on lines up to `end`
//! edit PATH [because WHY] [says TEXT]         an approval to edit a file of the session's folder
//! -old line
//! +new line
//! end
//! together                                    asks several at once; goes on when all are resolved
//!   (ask, approve, form or edit) ...
//! end
//! repeat COUNT ... end                        runs its steps again and again
//! echo PATH                                   repeats what it was answered last, secrets too; also into that file
//! wait 200ms                                  ms, s, m or h
//! as NAME > NAME                              what follows is a subagent's doing; `as` alone ends that
//! fail WORDS                                  dies with exit code 1 and these words on stderr
//! crash                                       dies without a word
//! ```
//!
//! In a question, `HEADER*` takes several options and `HEADER!` takes nothing but the options. A header has at most 12
//! characters; the question's id is the header in lower case.
//!
//! An ask may have settings right after its verb: `approve [hold=5s:park timeout=30s nopark timed] Bash {...}`. `hold` is how
//! long the agent is kept waiting and what then (`park`, `wait`, `deny`, `defer`), `timeout` is when the ask closes by
//! itself, `nopark` makes the agent stay when it is told to park here, `timed` adds to the result when the answer came.

mod parse;
mod pieces;

use std::time::Duration;

use holdstead_protocol::{Form, Hold, Question};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the agent will do.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Say { text: String, parents: Vec<String> },
    Think { text: String, parents: Vec<String> },
    Tool { name: String, input: Value, result: String, is_error: bool, parents: Vec<String> },
    Ask(ScriptAsk),
    Together(Vec<ScriptAsk>),
    Repeat { times: u32, steps: Vec<Self> },
    Echo { path: String, parents: Vec<String> },
    Wait(Duration),
    Fail(String),
    Crash,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScriptAsk {
    pub tool: String,
    pub input: Value,
    pub kind: AskKind,
    pub because: Option<String>,
    pub says: Option<String>,
    pub parents: Vec<String>,
    pub settings: Settings,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AskKind {
    Approval,
    /// An approval whose input is an [`Edit`].
    Edit,
    Questions(Vec<Question>),
    Form(Form),
}

/// The input of an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub file_path: String,
    pub old_string: String,
    pub new_string: String,
}

/// What one ask wants otherwise than configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    pub hold: Option<Hold>,
    pub timeout_ms: Option<u64>,
    pub no_park: bool,
    pub timed: bool,
}

/// Why a text is not a script, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    pub line: usize,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("`{0}` is not a step; the steps are {steps}", steps = VERBS.join(", "))]
    UnknownVerb(String),
    #[error("`{verb}` needs {what}")]
    Missing { verb: &'static str, what: &'static str },
    #[error("this is not the JSON that is needed here: {0}")]
    BadJson(String),
    #[error("after the JSON came `{found}`; here may follow {allowed}")]
    AfterJson { found: String, allowed: &'static str },
    #[error("`{0}` is not a time; write it like 200ms, 5s, 10m or 1h")]
    BadTime(String),
    #[error(
        "`{0}` is not a setting; there are hold=5s:park (or wait, deny, defer), timeout=30s, nopark and timed"
    )]
    BadSetting(String),
    #[error("the settings have no end; close them with `]`")]
    OpenSettings,
    #[error("`{0}` is not a count; write a number from 1 to 1000000")]
    BadCount(String),
    #[error("a header has 1 to 12 characters, and `{0}` has not; shorten it")]
    BadHeader(String),
    #[error("the question needs words after its header, like `Store: Where do the orders go?`")]
    NoQuestion,
    #[error("two questions of one ask have the header `{0}`; rename one")]
    SameHeader(String),
    #[error("the options must have different names, none of them empty")]
    BadOptions,
    #[error("`!` takes nothing but the options, and there are none; add some after `|`")]
    NoOptions,
    #[error("a line of an edit starts with `-` (old) or `+` (new)")]
    BadEditLine,
    #[error("`together` holds only ask, approve, form and edit")]
    NotAnAsk,
    #[error("`{0}` has no `end`")]
    NoEnd(&'static str),
    #[error("this `end` ends nothing; remove it")]
    StrayEnd,
    #[error("blocks are nested too deeply; at most 8 levels")]
    TooDeep,
}

/// The first words of steps.
pub const VERBS: [&str; 13] = [
    "say", "think", "tool", "approve", "ask", "form", "edit", "together", "repeat", "echo", "wait", "fail",
    "crash",
];

impl Script {
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        parse::script(text)
    }

    /// Whether a message means to be a script, right or wrong: its first step starts with a verb.
    pub fn is_meant(text: &str) -> bool {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
        let verb = first.and_then(|line| line.split_whitespace().next());
        verb.is_some_and(|verb| verb == "as" || VERBS.contains(&verb))
    }

    /// The steps in the order they are taken, with the repeated ones as often as they are. A place in a script is a
    /// place in this list.
    pub fn taken(&self) -> impl Iterator<Item = &Step> {
        taken(&self.steps)
    }
}

fn taken(steps: &[Step]) -> Box<dyn Iterator<Item = &Step> + '_> {
    Box::new(steps.iter().flat_map(|step| -> Box<dyn Iterator<Item = &Step> + '_> {
        if let Step::Repeat { times, steps } = step {
            Box::new((0..*times).flat_map(move |_| taken(steps)))
        } else {
            Box::new(std::iter::once(step))
        }
    }))
}
