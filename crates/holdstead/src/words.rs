//! Asks, receipts and ages in the words a terminal shows.

use std::time::Duration;

use holdstead_protocol::api::{DecisionBy, Ending, Interaction, Outcome, Receipt};
use holdstead_protocol::{
    AgentBox, AskBody, AskState, Decider, Delivery, HoldThen, InteractionRequest, NotRun, Origin, Risk, Rule,
    Settlement, Surface, TerminalAnswer, Timestamp, Winner,
};
use serde_json::Value;

use crate::text::safe_line;

/// Why a person should look twice.
pub(crate) const fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Deletes => "Deletes",
        Risk::Destroys => "Destroys",
        Risk::Forces => "Overrides a check",
        Risk::Rewrites => "Rewrites what others may have",
        Risk::PipesToShell => "Runs what another command prints",
        Risk::WritesOutside => "Writes outside the folder",
        Risk::RunsCode => "Runs code",
        Risk::Sends => "Sends or publishes",
        Risk::ChangesMachine => "Changes the machine",
        Risk::Other => "Has a risk that this version does not know",
        Risk::Credentials => "Names credentials",
        Risk::Listed => "A word you listed",
    }
}

/// A rule, word for word.
pub(crate) fn rule(rule: &Rule) -> String {
    match rule {
        Rule::Lines { lines } => lines.iter().map(|line| safe_line(line)).collect::<Vec<_>>().join("; "),
        Rule::ExactInput { tool_name, .. } => format!("{}, the very same input", safe_line(tool_name)),
        Rule::Key { tool_name, key } => format!("{}: {}", safe_line(tool_name), safe_line(key)),
    }
}

/// The one tool whose `command` a shell runs, as the drivers of all agents name it.
const SHELL: &str = "Bash";

/// The shell line of a call by an agent. Other tools may have a `command`, too: it is a field like any other.
fn shell_line<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    input.get("command").filter(|_| tool == SHELL).and_then(Value::as_str)
}

/// The shell line that an ask would run. Tools of servers and programs have the names that those chose.
pub(crate) fn line_of(request: &InteractionRequest) -> Option<&str> {
    let is_call = request.body.is_approval() && request.origin.is_agent();
    shell_line(&request.tool_name, &request.input).filter(|_| is_call)
}

/// Who wrote the words, the title and the diff of an ask.
pub(crate) fn author(request: &InteractionRequest) -> String {
    match request.origin {
        Origin::Agent | Origin::Attached => "Agent".to_owned(),
        Origin::Tool => safe_line(&request.tool_name),
        Origin::Caller => match &request.asked_by {
            Some(program) => format!("Program {}", safe_line(&program.name)),
            None => "A program".to_owned(),
        },
    }
}

/// Who asks, and with which tool.
pub(crate) fn asked(request: &InteractionRequest) -> String {
    let tool = safe_line(&request.tool_name);
    match request.origin {
        Origin::Agent | Origin::Attached if request.body.is_approval() => format!("Agent calls {tool}"),
        Origin::Tool if request.body.is_approval() => format!("Agent asks for approval with {tool}"),
        Origin::Caller if request.body.is_approval() => format!("{} wants to run {tool}", author(request)),
        Origin::Tool => format!("Agent asks with {tool}"),
        Origin::Agent | Origin::Attached | Origin::Caller => format!("{} asks with {tool}", author(request)),
    }
}

/// What is asked, in one line: the tool and its input, and never what the asker says about them.
pub(crate) fn headline(request: &InteractionRequest) -> String {
    match &request.body {
        AskBody::Approval { .. } if request.origin.is_agent() => doing(&request.tool_name, &request.input),
        AskBody::Approval { .. } => {
            format!("{} {}", asked(request), safe_line(&request.input.to_string()))
        }
        AskBody::Question { questions } => match questions.as_slice() {
            [one] => safe_line(&one.question),
            many => {
                let headers: Vec<String> = many.iter().map(|question| safe_line(&question.header)).collect();
                format!("{} questions: {}", many.len(), headers.join(", "))
            }
        },
        AskBody::Form { form } => {
            let title = form.title.as_deref().unwrap_or("Fill in a form");
            safe_line(title)
        }
    }
}

/// What a tool would do.
pub(crate) fn doing(tool: &str, input: &Value) -> String {
    if let Some(command) = shell_line(tool, input) {
        return format!("Run {}", safe_line(command));
    }
    if let Some(path) = input.get("file_path").and_then(Value::as_str).map(safe_line) {
        return format!("{} {path}", safe_line(tool));
    }
    format!("{} {}", safe_line(tool), safe_line(&input.to_string()))
}

/// That a gateway asks more than this version can show.
pub(crate) fn unknown(asks: usize) -> String {
    let many = if asks == 1 { "1 ask is".to_owned() } else { format!("{asks} asks are") };
    format!(
        "{many} of a kind that this version of holdstead cannot show: update it, or answer on the page (holdstead open)."
    )
}

/// Where an ask stands, or what became of it.
pub(crate) fn state(ask: &Interaction) -> &'static str {
    match (ask.ending(), &ask.state) {
        (Some(ending), _) => outcome(ending.outcome),
        (None, AskState::Open) if ask.parked => "parked",
        (None, AskState::Submitted { .. }) => "sent",
        (None, AskState::Queued) => "queued",
        (None, AskState::Open | AskState::Settled { .. } | AskState::Closed { .. }) => "waiting",
    }
}

pub(crate) const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Approved => "approved",
        Outcome::ApprovedWithEdit => "approved with changes",
        Outcome::ApprovedRanOther => "approved, and something else ran",
        Outcome::ApprovedNotRun => "approved, did not run",
        Outcome::ApprovedMayHaveRun => "approved, may have run",
        Outcome::ApprovedNotDelivered => "approved, did not reach the agent",
        Outcome::Denied => "denied",
        Outcome::Answered => "answered",
        Outcome::AnswerNotDelivered => "answered, did not reach the agent",
        Outcome::Declined => "declined",
        Outcome::ToolFailed => "answered, and the tool failed",
        Outcome::AllowedInTerminal => "allowed in the agent's terminal, and ran",
        Outcome::DeniedInTerminal => "denied in the agent's terminal",
        Outcome::AnsweredInTerminal => "answered in the agent's terminal",
        Outcome::DecidedByAgentSettings => "decided by the agent's settings",
        Outcome::NotKnown => "over in the agent's terminal",
        Outcome::Expired => "expired",
        Outcome::Cancelled => "cancelled",
        Outcome::AnsweredLate => "answered late",
        Outcome::Withdrawn => "withdrawn by the program",
    }
}

/// What became of an ask, by whom, and which answer came after that.
pub(crate) fn ending(ending: &Ending) -> String {
    let by = ending.by.as_ref().and_then(|by| named(by, ending.surface));
    let mut said = outcome(ending.outcome).to_owned();
    if let Some(by) = by {
        said.push_str(&format!(", {by}"));
    }
    if let Some(late) = &ending.too_late {
        let by = late.by.as_ref().and_then(|by| named(by, late.surface));
        let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
        said.push_str(&format!("; {}{by} too late", settled(late.settlement)));
    }
    said
}

/// Nothing where the outcome says it.
fn named(by: &DecisionBy, surface: Option<Surface>) -> Option<String> {
    match by {
        DecisionBy::Person { name } => {
            let place = surface.map(|surface| format!(" {}", on(surface))).unwrap_or_default();
            Some(format!("{}{place}", safe_line(name)))
        }
        DecisionBy::PersonInTerminal {} | DecisionBy::AgentSettings {} => None,
        DecisionBy::Rule { text, .. } => Some(format!("the rule \"{}\"", safe_line(text))),
        DecisionBy::Grant { .. } => Some("a remembered approval".to_owned()),
        DecisionBy::Earlier { .. } => Some("an earlier answer to the same call".to_owned()),
    }
}

pub(crate) const fn settled(settlement: Settlement) -> &'static str {
    match settlement {
        Settlement::Approved => "approved",
        Settlement::Denied => "denied",
        Settlement::Answered => "answered",
        Settlement::Declined => "declined",
        Settlement::Failed => "answered, and the tool failed",
    }
}

/// What was answered in the agent's own terminal.
pub(crate) const fn in_terminal(answer: TerminalAnswer) -> &'static str {
    match answer {
        TerminalAnswer::Allowed => "It was allowed in the agent's own terminal.",
        TerminalAnswer::Refused => "It was denied in the agent's own terminal.",
        TerminalAnswer::Answered => "It was answered in the agent's own terminal.",
        TerminalAnswer::NotByAPerson => "The agent's own settings decided it, or a hook of another program.",
        TerminalAnswer::NotSaid => "The agent's own terminal does not ask it here any more.",
    }
}

/// How far the answer has come.
pub(crate) const fn delivery(delivery: Option<&Delivery>) -> &'static str {
    match delivery {
        Some(Delivery::Acknowledged) => "agent has it",
        Some(Delivery::Accepted) => "kept: the agent is told when it runs again",
        Some(Delivery::Delivering { .. } | Delivery::Delivered { .. }) => "sent, not confirmed",
        Some(Delivery::Unknown { .. }) => "the agent died meanwhile: it may or may not have it",
        Some(Delivery::Undeliverable { in_terminal: Some(how), .. }) => match how.answer {
            TerminalAnswer::Allowed => "too late: it was allowed in the terminal and ran",
            TerminalAnswer::Refused => "too late: it was refused in the terminal",
            TerminalAnswer::Answered => "too late: it was answered in the terminal",
            TerminalAnswer::NotByAPerson => "too late: it was decided by the program's own settings",
            TerminalAnswer::NotSaid => "too late: it is not asked in the terminal any more",
        },
        Some(Delivery::Undeliverable { moved_to: Some(_), .. }) => {
            "given to the same call, which the agent made again"
        }
        Some(Delivery::Undeliverable { moved_to: None, in_terminal: None }) => {
            "it could not reach the agent any more"
        }
        Some(Delivery::NotRun { because: NotRun::Blocked }) => {
            "blocked by a hook or a rule of the agent: it did not run"
        }
        Some(Delivery::NotRun { because: NotRun::AskedAnew }) => {
            "a hook of the agent changed the call: it did not run, and is asked again as it is now"
        }
        Some(Delivery::NotRun { because: NotRun::NotCalledAgain }) => {
            "it did not run: the agent was started again, and did not make the call again"
        }
        None => "kept",
    }
}

/// What became of an answer.
pub(crate) fn receipt(receipt: &Receipt, origin: Origin) -> String {
    if receipt.late {
        return match origin {
            Origin::Caller => "Too late to settle it: your answer is kept for the program that asked.",
            Origin::Agent | Origin::Attached | Origin::Tool => {
                "Too late to settle it: your answer goes to the agent as a message."
            }
        }
        .to_owned();
    }
    match &receipt.state {
        AskState::Settled { settlement } => capital(settled(*settlement)),
        AskState::Open | AskState::Submitted { .. } | AskState::Queued | AskState::Closed { .. } => {
            "Sent".to_owned()
        }
    }
}

pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// What happens if nobody answers.
pub(crate) fn no_answer(request: &InteractionRequest) -> String {
    let after = duration(Duration::from_millis(request.hold.after_ms));
    match request.hold.then {
        HoldThen::Park if request.can_park => format!("No answer: parks after {after}. Nothing runs."),
        HoldThen::Park | HoldThen::Wait => "No answer: it waits. Nothing runs.".to_owned(),
        HoldThen::Deny => format!("No answer: told so after {after}. Nothing runs."),
        HoldThen::Defer => format!("No answer: queued after {after}. Nothing runs."),
    }
}

/// What keeps the agent that asks from the gateway's own.
pub(crate) fn boxed(boxed: &AgentBox) -> String {
    match boxed {
        AgentBox::Bubblewrap | AgentBox::Landlock => {
            format!("In a box ({boxed}): your files are open to it, this gateway's are not.")
        }
        AgentBox::None { why } => {
            format!("! No box ({}): what you approve can read your token.", safe_line(why))
        }
    }
}

/// Who was faster.
pub(crate) fn winner(winner: &Winner) -> String {
    let who = decider(&winner.decider);
    let did = match winner.action.as_str() {
        "approve" => "approved",
        "deny" => "denied",
        "cancel" => "declined",
        _ => "answered",
    };
    format!("{who} {did} this first. Nothing of yours was sent.")
}

pub(crate) fn decider(decider: &Decider) -> String {
    match decider {
        Decider::Person { name, surface, .. } => format!("{} {}", safe_line(name), on(*surface)),
        Decider::Grant { .. } => "A remembered approval".to_owned(),
        Decider::Rule { name } => format!("The rule \"{}\"", safe_line(name)),
        Decider::Earlier { .. } => "An earlier answer to the same call".to_owned(),
    }
}

/// As it stands behind a verb.
pub(crate) fn by(decider: &Decider) -> String {
    match decider {
        Decider::Person { .. } => self::decider(decider),
        Decider::Grant { .. } => "a remembered approval".to_owned(),
        Decider::Rule { name } => format!("the rule \"{}\"", safe_line(name)),
        Decider::Earlier { .. } => "an earlier answer to the same call".to_owned(),
    }
}

const fn on(surface: Surface) -> &'static str {
    match surface {
        Surface::Web => "in the browser",
        Surface::Terminal => "in a terminal",
        Surface::Push => "on a notification",
        Surface::Chat => "in a chat",
        Surface::AgentTerminal => "in the agent's terminal",
        Surface::Api => "over the API",
    }
}

/// How long ago, in the largest unit.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    duration(now.since(since))
}

fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
