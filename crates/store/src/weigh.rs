//! How much a command brings, before it is queued.

use std::io;

use holdstead_core::{Command, Output, Verdict};
use serde::Serialize;

/// What the parts of an item that have no text of their own come to.
const SMALL: usize = 256;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) total: usize,
    /// The largest part that becomes one event.
    pub(crate) largest: usize,
}

impl Weight {
    fn add(self, bytes: usize) -> Self {
        Self { total: self.total + SMALL + bytes, largest: self.largest.max(bytes) }
    }
}

pub(crate) fn weigh(command: &Command) -> Weight {
    let none = Weight::default();
    match command {
        Command::Fenced(fenced) => weigh(&fenced.command),
        Command::Based(based) => weigh(&based.command),
        Command::Open(opened) => none.add(json(opened)),
        Command::Message(message) => none.add(json(&message.said)),
        Command::Record(outputs) => {
            outputs.iter().fold(none, |weight, output| weight.add(self::output(output)))
        }
        Command::Request(request) => none.add(json(&request.request)),
        Command::Respond(respond) => none.add(json(&respond.response)),
        Command::Outcome(outcome) => match &outcome.verdict {
            Verdict::Complete { result } => none.add(result.as_ref().map_or(0, json)),
            Verdict::Reprompt(request) => none.add(json(request)),
            Verdict::Pending { message } | Verdict::Failed { message } => none.add(message.len()),
        },
        Command::Retell(retell) => none.add(json(&retell.response) + retell.result.as_ref().map_or(0, json)),
        Command::Queue { message, .. } => none.add(message.len()),
        Command::Identify { agent_ref, .. } => none.add(agent_ref.len()),
        Command::Resume(resume) => none.add(resume.left_out.as_ref().map_or(0, json) + json(&resume.boxed)),
        Command::Exit(exit) => none.add(exit.message.as_ref().map_or(0, String::len)),
        Command::Finish(finish) => none.add(finish.words.as_ref().map_or(0, String::len)),
        Command::Allow(allow) => none.add(allow.rules.len()),
        Command::Grant(grant) => none.add(json(grant)),
        Command::Trust(trust) => none.add(json(trust)),
        Command::SeeRulesFile { changed, .. } => none.add(json(changed)),
        Command::RanOther(other) => none.add(other.ran.as_ref().map_or(0, json)),
        Command::SetVariables(set) => none.add(json(set)),
        Command::Begin { start, .. } => {
            none.add(json(&start.defaults) + json(&start.context) + json(&start.not_kept))
        }
        Command::Overhear(heard) => {
            none.add(json(&heard.message) + json(&heard.start.defaults) + json(&heard.start.not_kept))
        }
        Command::BlockEnd(blocked) => none.add(json(blocked)),
        Command::Archive(_)
        | Command::Unarchive(_)
        | Command::Snooze(_)
        | Command::Unsnooze(_)
        | Command::Expire(_)
        | Command::Cancel(_)
        | Command::Withdraw(_)
        | Command::Park { .. }
        | Command::Stay { .. }
        | Command::Start { .. }
        | Command::Forget { .. }
        | Command::Delivering { .. }
        | Command::Delivered { .. }
        | Command::Acknowledge { .. }
        | Command::Overtake { .. }
        | Command::NotRun { .. }
        | Command::RuleSaved { .. }
        | Command::Revoke { .. }
        | Command::Distrust { .. }
        | Command::RemoveRunner { .. }
        | Command::End { .. } => none.add(0),
    }
}

fn output(output: &Output) -> usize {
    match output {
        Output::Text(data) => json(data),
        Output::Thinking(data) => json(data),
        Output::ToolCallStart(data) => json(data),
        Output::ToolCallDelta(data) => json(data),
        Output::ToolCallEnd(data) => json(data),
        Output::ToolResult(data) => json(data),
        Output::Error(data) => json(data),
    }
}

/// The length of the value's JSON, without making it.
fn json(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What cannot be written as JSON is refused when its bytes are made.
    match serde_json::to_writer(&mut count, value) {
        Ok(()) | Err(_) => count.0,
    }
}
