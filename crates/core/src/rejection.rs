//! Why a command was not accepted. Every refusal has a name and words for the person who meets it.

use holdstead_protocol::{
    AgentSeq, AgentState, Closing, FieldErrors, InTerminal, KnownBy, PromptId, Seq, TerminalAnswer, Winner,
};

use crate::{CannotPark, NeedsPasskey};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    #[error("there is no such session")]
    NotOpened,
    #[error("this session is open already")]
    AlreadyOpen,
    #[error("this session has ended: open a new one")]
    Ended,
    #[error("this session was erased: nothing more is written to it")]
    Erased,
    #[error(
        "{} of this session {} for a person: answer what is open or stop the turn, then archive it",
        if *open == 1 { "one ask".to_owned() } else { format!("{open} asks") },
        if *open == 1 { "waits" } else { "wait" }
    )]
    AsksOpen { open: usize },
    #[error("the agent is at work: wait until it is done or stop it, then archive the session")]
    AtWork,
    #[error("an ask is snoozed until a time to come, at most seven days from now: choose another time")]
    BadSnooze,
    #[error("this ask has been answered: there is nothing to see later")]
    Answered,
    #[error("there is no such ask in this session")]
    UnknownAsk,
    #[error(
        "this key or tool call was used before to ask something else: what is changed needs a key or call of its own"
    )]
    AskChanged,
    #[error("this ask cannot be shown: {why}")]
    BadAsk { why: String },
    #[error(
        "{open} asks of this session wait for a person already, which is as many as there may be: ask again when some \
         are answered, or take some back"
    )]
    TooManyOpen { open: usize },
    #[error(
        "with this ask, {} MB would wait for a person in this session, and {} MB may: ask again when some of the \
         {open} open asks are answered, or take some back", bytes.div_ceil(1024 * 1024), limit / (1024 * 1024)
    )]
    TooMuchOpen { open: usize, bytes: u64, limit: u64 },
    #[error("this rule cannot be read, column {column}: {what} ({hint})")]
    WrongRule { column: usize, what: String, hint: String },
    #[error("this file of rules cannot be read, line {line}, column {column}: {what} ({hint})")]
    WrongRuleFile { line: usize, column: usize, what: String, hint: String },
    #[error("`{text}` in allowedTools, column {column}: {what} ({hint})")]
    WrongAllowedTool { text: String, column: usize, what: String, hint: String },
    #[error("`{name}` cannot be set: {why}")]
    BadVariable { name: String, why: &'static str },
    #[error("a session has at most {most} variables: remove some with null")]
    TooManyVariables { most: usize },
    #[error(
        "{}: to end or erase it, you need the role admin",
        opened_by.as_ref().map_or_else(
            || "it is not known who opened this session".to_owned(),
            |name| format!("this session was opened by somebody else, named {name}")
        )
    )]
    NotTheirs { opened_by: Option<String> },
    #[error("{}", what.words())]
    PasskeyRequired { what: NeedsPasskey },
    #[error("only an admin chooses the program of a session: leave `program` out, or ask an admin")]
    ProgramIsAdmins,
    #[error("only the program that asked can withdraw this ask, with the token it asked with")]
    NotTheAsker,
    #[error("it is marked as risky: look at it and answer it by itself")]
    Marked,
    #[error("{given} answers at once, and at most {most} are taken: send them in parts")]
    TooManyAtOnce { given: usize, most: usize },
    #[error("somebody else answered first")]
    Lost { winner: Box<Winner> },
    #[error("this ask was shown again since: answer the new prompt")]
    StalePrompt { current: PromptId },
    #[error("{}: what you answered was not sent", terminal_words(*how))]
    AnsweredInTerminal { how: InTerminal },
    #[error("this ask is closed: {}", closing_words(*closing))]
    Dead { closing: Closing },
    #[error("this ask is closed: {by} stopped its turn or ended its session")]
    Stopped { by: String },
    #[error("{by} stopped this turn: nothing more of it runs")]
    TurnStopped { by: String },
    #[error("the rules changed since this call was judged: it is judged again")]
    RulesChanged,
    #[error("an answer to this very call comes before any rule")]
    OnRecord,
    #[error("the answer does not fit the ask")]
    Invalid { errors: FieldErrors },
    #[error("{why}")]
    WrongAction { why: &'static str },
    #[error("a secret came too late for its ask: as a message it would be kept. Have the agent ask again")]
    SecretTooLate,
    #[error("a secret does not belong in the journal")]
    SecretInTheClear,
    #[error(
        "a secret of this session is in the {what}, where it would be written down and cannot be masked: choose another \
         one"
    )]
    SecretInName { what: &'static str },
    #[error("this idempotency key was used with another answer: take a new key")]
    KeyReused,
    #[error("the tool has not asked its person anything that it could decide on now")]
    NothingToDecide,
    #[error("this ask was shown {attempts} times already: the tool must end it")]
    TooManyAttempts { attempts: u32 },
    #[error("this ask is not due yet, or was shown again since")]
    NotDue,
    #[error("the agent cannot be parked here: {0}")]
    CannotPark(CannotPark),
    #[error("the agent has a process already")]
    AlreadyAlive,
    #[error("that process of the agent is gone or was never started")]
    StaleIncarnation,
    #[error("the journal has what the agent said up to number {heard}: go on from there")]
    OutOfStep { heard: AgentSeq },
    #[error("the agent cannot do this while it is {}", agent_words(*agent))]
    WrongAgentState { agent: AgentState },
    #[error("no message waits for its turn")]
    NoSuchTurn,
    #[error("nothing was decided that could be delivered")]
    NotDeliverable,
    #[error("this grant exists already")]
    GrantExists,
    #[error("there is no such grant, or it was revoked")]
    UnknownGrant,
    #[error("{waiting} messages wait for the agent already: send this one when it has taken some")]
    TooManyMessages { waiting: usize },
    #[error("another message was sent with this id: send this one with an id of its own")]
    AlreadySaid { seq: Seq },
    #[error("there is no such trust, or it was taken back")]
    UnknownTrust,
    #[error("the program in this session's terminal cannot be reached now: write there, or start it again")]
    TerminalAway,
    #[error(
        "the program in this session's terminal does not read messages from elsewhere as a person's: type it in the terminal"
    )]
    TypedThere,
    #[error("this agent runs in a person's own terminal: stop it there, with Esc")]
    InTerminal,
    #[error("a message needs words")]
    EmptyMessage,
}

impl Rejection {
    pub(crate) fn invalid(field: &str, why: &str) -> Self {
        Self::Invalid { errors: FieldErrors::from([(field.to_owned(), why.to_owned())]) }
    }
}

const fn closing_words(closing: Closing) -> &'static str {
    match closing {
        Closing::Expired => "nobody answered in time",
        Closing::Cancelled => "its agent withdrew it, or its turn or session is over",
        Closing::AnsweredLate => "its answer went to the agent as a message",
        Closing::Withdrawn => "the program that asked withdrew it",
    }
}

const fn terminal_words(how: InTerminal) -> &'static str {
    match (how.answer, how.known_by) {
        (TerminalAnswer::Allowed, _) => "it was allowed in the agent's own terminal first",
        (TerminalAnswer::Refused, _) => "it was denied in the agent's own terminal first",
        (TerminalAnswer::Answered, _) => "it was answered in the agent's own terminal first",
        (TerminalAnswer::NotByAPerson, _) => {
            "the agent's own settings decided it first, or a hook of another program"
        }
        (TerminalAnswer::NotSaid, KnownBy::Closed) => "the agent's own terminal is closed",
        (TerminalAnswer::NotSaid, KnownBy::LeftToTerminal) => "it is asked in the agent's own terminal alone",
        (TerminalAnswer::NotSaid, KnownBy::Record | KnownBy::Program | KnownBy::Withdrawn) => {
            "its dialog in the agent's own terminal was over first"
        }
    }
}

const fn agent_words(agent: AgentState) -> &'static str {
    match agent {
        AgentState::Idle => "idle",
        AgentState::Running => "running",
        AgentState::Waiting => "waiting for a person",
        AgentState::Parking => "being parked",
        AgentState::Parked => "parked",
        AgentState::Detached => "detached",
        AgentState::Ended => "ended",
    }
}
