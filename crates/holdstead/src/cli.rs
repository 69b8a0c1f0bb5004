//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use holdstead_protocol::PermissionMode;
use holdstead_protocol::api::Role;

use crate::answer_flags::AnswerFlags;

/// Agents stop here and wait for you.
#[derive(Debug, Parser)]
#[command(name = "holdstead", version = env!("HOLDSTEAD_VERSION"), disable_help_subcommand = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// One folder for settings, token and data, instead of those of your account
    #[arg(long, global = true, env = "HOLDSTEAD_DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The journal: sqlite:FILE or postgres://…
    #[arg(long, global = true)]
    pub(crate) store: Option<String>,
    /// The gateway to talk to, instead of the one on this machine: https://… or unix:SOCKET
    #[arg(long, global = true, env = "HOLDSTEAD_URL")]
    pub(crate) url: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try it: an agent that asks, in a page and in this terminal. No keys, no account
    Demo(DemoFlags),
    /// Start an agent in this folder, and answer what it asks
    Run(RunFlags),
    /// Come back to a session: what was said last, then as in `run`
    Attach {
        /// The session, by its id or the end of it
        session: String,
    },
    /// Let a program in your own terminals ask on every screen, too
    Connect(ConnectFlags),
    /// Undo that
    Disconnect(ConnectFlags),
    /// Run the gateway
    Serve(ServeFlags),
    /// Run agents on this machine for a gateway elsewhere
    Runner(RunnerFlags),
    /// The machines that run agents and are connected
    Runners {
        #[command(subcommand)]
        command: Option<Runners>,
    },
    /// End the gateway of this folder, whoever started it. What waits for you stays in the journal
    Stop,
    /// Open the page in a browser
    Open {
        /// Print the link only
        #[arg(long)]
        no_open: bool,
    },
    /// Let a phone in: a QR code with an address that works in your local network
    Pair(PairFlags),
    /// What agents are doing
    Sessions {
        /// Also those that have ended
        #[arg(long)]
        all: bool,
    },
    /// What waits for you
    Inbox {
        /// The whole screen, with the keys of the page
        #[arg(long)]
        watch: bool,
    },
    /// Approve, deny or reply
    Answer(AnswerFlags),
    /// See asks and answers as they come, or one session's whole journal
    Watch {
        /// A session
        session: Option<String>,
    },
    /// Make a token for a screen, a program or an agent; list and revoke them
    #[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
    Token {
        #[command(flatten)]
        new: Option<NewToken>,
        #[command(subcommand)]
        command: Option<TokenCommand>,
    },
    /// Who may do what: list people, add one, change a role, remove one
    People {
        #[command(subcommand)]
        command: Option<People>,
    },
    /// Log in again: a link for a browser, and a new token for this terminal if its own was revoked
    Login {
        /// Somebody else, who is then logged in where the link is opened
        name: Option<String>,
        /// Print the link only
        #[arg(long)]
        no_open: bool,
    },
    /// What is decided without asking you: look at rules, add or revoke one, try them on calls
    Rules {
        #[command(subcommand)]
        command: Option<Rules>,
    },
    /// Let a folder's own settings, hooks and servers work, exactly as they are now
    Trust(TrustFlags),
    /// The tools that reach you, on standard input and output, for an agent that speaks MCP
    Mcp {
        /// How long a call may wait before it says that nobody has answered yet, like 50s: less than the agent's limit
        #[arg(long)]
        wait: Option<String>,
    },
    /// Prove that nobody changed the journal, hand it to somebody else, or erase a session from it
    #[command(subcommand)]
    Audit(Audit),
    /// Copy the journal to a file, while the gateway runs
    Backup {
        /// Where to; nothing is overwritten
        file: PathBuf,
    },
    /// Bring a session back from the file that it went to when it was old
    Import {
        /// The file
        file: PathBuf,
    },
    /// Check that everything is in order
    Doctor,
    /// Print the settings in force
    Config,
    /// What a connected program runs at each step
    #[command(hide = true)]
    Hook(HookFlags),
    /// The process that an agent runs under
    #[command(hide = true, disable_help_flag = true)]
    AgentHost {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The agent of the demo
    #[command(hide = true, disable_help_flag = true)]
    ScriptedAgent {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ConnectFlags {
    /// Which
    #[arg(value_enum)]
    pub(crate) program: Program,
    /// Without asking you first
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A program that people run in their own terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    /// Claude Code
    Claude,
    Codex,
    Opencode,
}

impl Program {
    pub(crate) const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Opencode];

    /// As it is named on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct HookFlags {
    /// Whose hook it is, as sessions name the agent
    pub(crate) agent: String,
    /// Wait for a message to wake the program with
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NewToken {
    #[arg(long, value_enum)]
    pub(crate) role: RoleFlag,
    /// Whose it is: this name stands behind its answers and asks
    #[arg(long)]
    pub(crate) name: String,
    /// The one session an agent's token belongs to
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// How long it is good, like 12h or 30d. Left out: until it is revoked
    #[arg(long)]
    pub(crate) expires: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Every browser, terminal and token that lets somebody in, and when it was used
    List,
    /// Revoke one: it sees and decides nothing more, also where it is connected
    Revoke {
        /// By its id or the end of it
        #[arg(required_unless_present = "name")]
        id: Option<String>,
        /// All of this person or program
        #[arg(long, conflicts_with = "id")]
        name: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Rules {
    /// All rules that count in your sessions, where each comes from, and how often it was used
    List,
    /// Save a rule for all your sessions, like 'deny Bash(git push:*) # Ask me first'
    Add { line: String },
    /// What rules would make of a call. Nothing runs and nobody is asked
    Explain {
        /// 'Bash(git status && rm x)', or a tool and its input: 'Edit {"file_path":"a.rs"}'
        call: String,
        /// As if this session's agent made it. Left out: the newest
        #[arg(long)]
        session: Option<String>,
    },
    /// What a file of rules, in place of your organisation's, would have made of past calls. Fails if it would allow what
    /// a person denied
    Simulate { file: PathBuf },
    /// The rules that would have saved you most asks
    Suggest,
    /// Take a rule back: the next call it covered asks you again
    Revoke {
        /// By its id or the end of it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Runners {
    /// Those that are connected, and what each can run
    List,
    /// A machine goes for good: its token is taken back, and its sessions end
    Remove { name: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum People {
    /// Everybody, programs too, with a role
    List,
    /// Add a person. Then let them in: holdstead login NAME
    Add {
        name: String,
        #[arg(long, value_enum, default_value_t = PersonRole::Person)]
        role: PersonRole,
    },
    /// Give a person another role
    Role {
        name: String,
        #[arg(value_enum)]
        role: PersonRole,
    },
    /// Forget a person's passkeys, if they lost them: none is required any longer
    ForgetPasskeys { name: String },
    /// Remove a person or a program, with all browsers and tokens
    Remove { name: String },
}

/// The roles of people. Programs get theirs with a token.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PersonRole {
    /// May answer
    Person,
    /// May look
    Viewer,
    /// Manages everything
    Admin,
}

impl From<PersonRole> for Role {
    fn from(role: PersonRole) -> Self {
        match role {
            PersonRole::Person => Self::Person,
            PersonRole::Viewer => Self::Viewer,
            PersonRole::Admin => Self::Admin,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TrustFlags {
    /// The folder; this one, if none is named
    pub(crate) folder: Option<PathBuf>,
    /// The kind of agent whose files they are
    #[arg(long, default_value = "claude")]
    pub(crate) agent: String,
    /// Show which folders are trusted
    #[arg(long, conflicts_with = "folder")]
    pub(crate) list: bool,
    /// Take a trust back
    #[arg(long, value_name = "ID", conflicts_with_all = ["folder", "list"])]
    pub(crate) revoke: Option<String>,
    /// You have looked at the files
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check every session, or one: its chain, what was signed, and what is stored beside it
    Verify {
        /// A session, by its id or the end of it
        session: Option<String>,
        /// Whose signatures count: a public key or a file with one, in place of this machine's own. May be repeated
        #[arg(long)]
        key: Vec<String>,
        /// The checkpoints.log of another node on the same database, besides this machine's own. May be repeated
        #[arg(long, conflicts_with = "file")]
        log: Vec<PathBuf>,
        /// Check an export in place of the journal
        #[arg(long, conflicts_with = "session")]
        file: Option<PathBuf>,
    },
    /// Write all sessions, or one, as lines of JSON that anybody can check
    Export {
        /// A session, by its id or the end of it
        session: Option<String>,
        /// Where to, in place of the standard output
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Sign where all journals stand now, without waiting for the gateway to do it
    Checkpoint,
    /// Drop what was said in an ended session. That it was said, and that you erased it, is kept
    Erase {
        /// The session, by its id or the end of it
        session: String,
    },
    /// Print the public key that checks what this machine signed
    Key,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeFlags {
    /// Where to listen; port 0 takes a free one
    #[arg(long)]
    pub(crate) listen: Option<SocketAddr>,
    /// Allow listening beyond this machine
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// Stop when the standard input ends: with whoever started it
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    /// Nobody sits before it: it has no terminal, and ends when nothing was open for an hour
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PairFlags {
    /// Where the phone reaches the gateway: an address of this machine, or https://NAME of a proxy
    #[arg(long, value_name = "URL")]
    pub(crate) at: Option<String>,
    /// Let the local network reach the gateway until it stops, without being asked
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunnerFlags {
    /// Where the gateway is reached
    #[arg(long, value_name = "URL")]
    pub(crate) gateway: String,
    /// A file with the runner's token. Left out: HOLDSTEAD_TOKEN
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DemoFlags {
    #[command(flatten)]
    pub(crate) serve: ServeFlags,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunFlags {
    /// Which agent: claude, or scripted
    pub(crate) agent: String,
    /// What it shall do. Left out: say it here or in the page
    pub(crate) prompt: Option<String>,
    /// What it may do unasked
    #[arg(long, value_enum, default_value_t = ModeFlag::Default)]
    pub(crate) mode: ModeFlag,
    /// The model, by the agent's own name for it
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Words that are added to the agent's instructions
    #[arg(long)]
    pub(crate) system_prompt: Option<String>,
    /// After how many turns of its model it stops
    #[arg(long)]
    pub(crate) max_turns: Option<u32>,
    /// A tool that need not ask, by its whole name. May be repeated
    #[arg(long = "allow", value_name = "TOOL")]
    pub(crate) allowed_tools: Vec<String>,
    /// The agent's program, in place of the configured one
    #[arg(long)]
    pub(crate) program: Option<String>,
    /// The machine that runs it, by its name in `holdstead runners`. Left out: this one, or the only one there is
    #[arg(long)]
    pub(crate) runner: Option<String>,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeFlag {
    /// Whatever is not read-only asks
    Default,
    /// Edits of files in the folder do not ask
    AcceptEdits,
    /// It only plans, and asks before it begins
    Plan,
    /// Nothing asks but questions; the journal says so at each call
    Auto,
}

impl From<ModeFlag> for PermissionMode {
    fn from(flag: ModeFlag) -> Self {
        match flag {
            ModeFlag::Default => Self::Default,
            ModeFlag::AcceptEdits => Self::AcceptEdits,
            ModeFlag::Plan => Self::Plan,
            ModeFlag::Auto => Self::Auto,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleFlag {
    /// May answer
    Person,
    /// May look
    Viewer,
    /// May ask in its own session, never answer
    Agent,
    /// Hosts agents elsewhere, never answers
    Runner,
    /// May read /metrics, and nothing else
    Metrics,
    /// Manages everything
    Admin,
}

impl From<RoleFlag> for Role {
    fn from(flag: RoleFlag) -> Self {
        match flag {
            RoleFlag::Person => Self::Person,
            RoleFlag::Viewer => Self::Viewer,
            RoleFlag::Agent => Self::Agent,
            RoleFlag::Runner => Self::Runner,
            RoleFlag::Metrics => Self::Metrics,
            RoleFlag::Admin => Self::Admin,
        }
    }
}
