//! What each program lets us do in a person's own terminal. `docs/guides/terminals.md` has this table.

/// Something that people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    SeeAsks,
    Allow,
    Deny,
    WordsWithNo,
    Edit,
    Questions,
    KnowWhoWon,
    Conversation,
    Messages,
    Stop,
    RulesFirst,
    WithoutGateway,
}

impl Wish {
    pub(crate) const ALL: [Self; 12] = [
        Self::SeeAsks,
        Self::Allow,
        Self::Deny,
        Self::WordsWithNo,
        Self::Edit,
        Self::Questions,
        Self::KnowWhoWon,
        Self::Conversation,
        Self::Messages,
        Self::Stop,
        Self::RulesFirst,
        Self::WithoutGateway,
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::SeeAsks => "the ask is a card on every screen while the dialog is open",
            Self::Allow => "a card can allow",
            Self::Deny => "a card can deny",
            Self::WordsWithNo => "with words for the model",
            Self::Edit => "with a changed input",
            Self::Questions => "questions and plans",
            Self::KnowWhoWon => "who was faster is known",
            Self::Conversation => "the conversation is in the session",
            Self::Messages => "messages from elsewhere",
            Self::Stop => "a turn can be stopped from elsewhere",
            Self::RulesFirst => "rules decide before anybody is asked",
            Self::WithoutGateway => "without the gateway it works as ever",
        }
    }
}

/// How far a wish comes true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Can {
    Yes,
    But(&'static str),
    No(&'static str),
}

impl std::fmt::Display for Can {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Yes => write!(formatter, "yes"),
            Self::But(words) => write!(formatter, "yes, {words}"),
            Self::No(why) => write!(formatter, "no: {why}"),
        }
    }
}

/// A program, and what it lets us do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InTerminals {
    product: &'static str,
    /// The version that this was seen with.
    version: &'static str,
    can: fn(Wish) -> Can,
}

const PROGRAMS: &[InTerminals] = &[
    InTerminals { product: "Claude Code", version: "2.1.325", can: claude_code },
    InTerminals { product: "Codex", version: "0.166.0", can: codex },
    InTerminals { product: "opencode", version: "1.18.33", can: opencode },
];

const ESC: Can = Can::No("press Esc in the terminal");
const FLASHES: Can = Can::But("the dialog may flash; what the program allows by itself is not looked at");

const fn claude_code(wish: Wish) -> Can {
    match wish {
        Wish::SeeAsks => {
            Can::But("in a subagent the dialog comes after 20 s, and then it is asked there alone")
        }
        Wish::Allow | Wish::Deny | Wish::WordsWithNo => Can::Yes,
        Wish::Edit => Can::But("and its model is told what ran"),
        Wish::Questions => Can::But("forms of MCP servers are asked in the terminal alone"),
        Wish::KnowWhoWon => {
            Can::But("that its dialog is over within a second, what was answered when the command has ended")
        }
        Wish::Conversation => Can::But("from when it was connected on, half a second behind at most"),
        Wish::Messages => Can::No("type them in the terminal, or start it with `holdstead run claude`"),
        Wish::Stop => ESC,
        Wish::RulesFirst => FLASHES,
        Wish::WithoutGateway => Can::Yes,
    }
}

const fn codex(wish: Wish) -> Can {
    match wish {
        Wish::SeeAsks => Can::But("where it uses its daemon: not with `--no-daemon`, not in `codex exec`"),
        Wish::Allow => Can::Yes,
        Wish::Deny => Can::But("and its turn goes on, where a no in the terminal ends it"),
        Wish::WordsWithNo => Can::No("it takes no words"),
        Wish::Edit => Can::No("it takes no changed input"),
        Wish::Questions => Can::But("forms of MCP servers are asked in the terminal alone"),
        Wish::KnowWhoWon => Can::But("that it is over at once, who it was by what came of it"),
        Wish::Conversation => Can::But("from when it was connected on"),
        Wish::Messages => Can::Yes,
        Wish::Stop => ESC,
        Wish::RulesFirst => FLASHES,
        Wish::WithoutGateway => Can::Yes,
    }
}

const fn opencode(wish: Wish) -> Can {
    match wish {
        Wish::SeeAsks | Wish::Allow => Can::Yes,
        Wish::Deny => Can::But("and it is a no to all that is asked in its session then"),
        Wish::WordsWithNo => Can::But("with them its turn goes on, without them it stops"),
        Wish::Edit => Can::No("it takes no changed input"),
        Wish::Questions | Wish::KnowWhoWon => Can::Yes,
        Wish::Conversation => Can::But("from when it was connected on"),
        Wish::Messages => Can::Yes,
        Wish::Stop => ESC,
        Wish::RulesFirst => FLASHES,
        Wish::WithoutGateway => Can::Yes,
    }
}

/// The table, for people.
pub fn terminal_table() -> String {
    let heads: Vec<_> = PROGRAMS.iter().map(|it| format!("{} {}", it.product, it.version)).collect();
    let mut table = format!("| | {} |\n| --- |{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for wish in Wish::ALL {
        let cells: Vec<_> = PROGRAMS.iter().map(|it| (it.can)(wish).to_string()).collect();
        table.push_str(&format!("| {} | {} |\n", wish.words(), cells.join(" | ")));
    }
    table
}
