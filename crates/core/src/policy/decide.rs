//! Decides about one call.

use std::collections::BTreeSet;

use serde_json::Value;

use super::address::{self, Port};
use super::below::Reading;
use super::call::{Call, Facts, Subject};
use super::glob::is_pattern;
use super::guarded::{guard, guard_content};
use super::line::Line;
use super::locate::{Files, Located, Met, PathRules, locate};
use super::lookup::Lookup;
use super::moved::Moved;
use super::paths;
use super::programs::{Access, NamedPath, Spelling};
use super::rule::{Domains, Effect, FETCH, SHELL, Target};
use super::rules::{Placed, Rules, strictest};
use super::shell::is_hidden;
use super::verdict::{Part, Requirement, Verdict};

/// What becomes of a call: the strictest of what its parts come to. What no rule speaks of asks.
pub fn decide(call: &Call<'_>, rules: &Rules, facts: &Facts<'_>) -> Verdict {
    let (requirements, unresolved) = (BTreeSet::new(), BTreeSet::new());
    let (moved, files) = (Moved::default(), Files::AsLookedUp);
    let mut decision = Decision { call, rules, facts, requirements, unresolved, moved, files };
    let whole = decision.whole_tool();
    let mut parts = decision.parts();
    // A rule about the whole tool, or about everything, is no weaker for what the input says.
    parts.extend(whole.map(|placed| Part::by_rule(0..0, placed)));
    Verdict::of(parts, decision.requirements, decision.unresolved)
}

pub(super) struct Decision<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) rules: &'a Rules,
    pub(super) facts: &'a Facts<'a>,
    pub(super) requirements: BTreeSet<Requirement>,
    pub(super) unresolved: BTreeSet<Lookup>,
    /// What commands of the line before this one may have put into place.
    pub(super) moved: Moved,
    pub(super) files: Files,
}

impl<'a> Decision<'a> {
    /// The word of rules that stands for tools of this kind.
    fn kind(&self) -> Option<&'static str> {
        match self.call.meaning.subject {
            Subject::Shell { .. } => Some(SHELL),
            Subject::Reads { .. } | Subject::Searches { .. } | Subject::ReadsBelow { .. } => Some("Read"),
            Subject::Edits { .. } => Some("Edit"),
            Subject::Fetches { .. } => Some(FETCH),
            Subject::Whole => None,
        }
    }

    /// Rules for this tool by its own name and by the word for its kind.
    fn of_tool(&self) -> impl Iterator<Item = &'a Placed> + use<'a> {
        let kind = self.kind().filter(|kind| *kind != self.call.tool);
        let named = self.rules.of_tool(self.call.tool, self.facts);
        named.chain(kind.into_iter().flat_map(|kind| self.rules.of_tool(kind, self.facts)))
    }

    /// The strictest ask or deny of the whole tool, of its server, or of everything.
    fn whole_tool(&self) -> Option<&'a Placed> {
        let tools = self.of_tool().filter(|placed| matches!(placed.rule.target, Target::Tool(_)));
        let wide = self.rules.wide(self.facts).filter(|placed| match &placed.rule.target {
            Target::Everything => true,
            Target::Server(server) => server_tool(server, self.call.tool).is_some(),
            Target::Tool(_)
            | Target::Command(_)
            | Target::Path { .. }
            | Target::Domain { .. }
            | Target::Stop => false,
        });
        strictest(tools.chain(wide).filter(|placed| placed.rule.effect > Effect::Allow))
    }

    fn parts(&mut self) -> Vec<Part> {
        match self.call.meaning.subject {
            Subject::Shell { field, shell } => match self.field(field) {
                Ok(Some(line)) => Line { text: line, shell }.decide(self),
                Ok(None) => vec![Part::asks(0..0, "a call without its command")],
                Err(why) => self.with_line(field, shell, why),
            },
            Subject::Reads { field } => vec![self.path(field, Access::Read)],
            Subject::Searches { field, pattern } => {
                let left = self.leaves(pattern).map(|why| Part::asks(0..0, why));
                std::iter::once(self.path(field, Access::Read)).chain(left).collect()
            }
            Subject::ReadsBelow { field, pattern } => {
                let below = self.below(field, pattern);
                std::iter::once(self.path(field, Access::Read)).chain(below).collect()
            }
            Subject::Edits { field } => vec![self.path(field, Access::Write)],
            Subject::Fetches { field } => vec![self.address(field)],
            Subject::Whole => vec![self.whole()],
        }
    }

    /// Asks because of another field; the line may still be one that is denied.
    fn with_line(&mut self, field: &str, shell: super::shell::Shell, why: String) -> Vec<Part> {
        let mut parts = match self.call.input.get(field).and_then(Value::as_str) {
            Some(line) => Line { text: line, shell }.decide(self),
            None => Vec::new(),
        };
        parts.push(Part::asks(0..0, why));
        parts
    }

    /// The text of a field, if the input has only what the driver knows.
    fn field(&self, field: &str) -> Result<Option<&'a str>, String> {
        let Value::Object(fields) = self.call.input else {
            return Err("its input is not as expected".to_owned());
        };
        let known = |name: &str| name == field || self.call.meaning.harmless.contains(&name);
        if let Some(strange) = fields.keys().find(|name| !known(name)) {
            return Err(format!("`{strange}` of its input is not known"));
        }
        match fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(format!("`{field}` of its input is no text"))
            }
        }
    }

    /// Why a pattern does not stay in the folder that it is looked for in.
    fn leaves(&self, pattern: &str) -> Option<String> {
        let text = match self.call.input.get(pattern) {
            Some(Value::String(text)) => text,
            Some(_) | None => return Some(format!("`{pattern}` of its input is no text")),
        };
        let climbs = text.split('/').any(|name| name.contains(".."));
        let leaves = climbs || text.starts_with(['/', '~', '\\']) || text.contains(is_hidden);
        leaves.then(|| format!("`{text}` may lead out of the folder"))
    }

    fn whole(&self) -> Part {
        let servers = self.rules.wide(self.facts).filter(|placed| match &placed.rule.target {
            // `mcp__a__b__c` may be a tool of `a` or of `a__b`, and `mcp__a___b` one of `a_`: the name does not tell.
            Target::Server(server) => server_tool(server, self.call.tool)
                .is_some_and(|tool| !tool.contains("__") && !tool.starts_with('_')),
            Target::Everything
            | Target::Tool(_)
            | Target::Command(_)
            | Target::Path { .. }
            | Target::Domain { .. }
            | Target::Stop => false,
        });
        let tools = self.of_tool().filter(|placed| matches!(placed.rule.target, Target::Tool(_)));
        part_of(strictest(tools.chain(servers)), "no rule speaks of it")
    }

    fn path(&mut self, field: &str, access: Access) -> Part {
        // Whatever else is wrong with the call, its path may be one that is denied.
        if let Some(denied) = self.restricted_path(field, access) {
            return denied;
        }
        let named = match self.field(field) {
            Ok(Some(path)) => path,
            Ok(None) if access == Access::Read => ".",
            Ok(None) => return Part::asks(0..0, "a call without its path"),
            Err(why) => return Part::asks(0..0, why),
        };
        if named.contains(is_hidden) {
            return Part::asks(0..0, "a path with characters that cannot be seen");
        }
        let path = NamedPath { text: named.to_owned(), access, spelling: Spelling::Literal };
        let Some(base) = self.facts.cwd.or(named.starts_with('/').then_some("/")) else {
            return Part::asks(0..0, "nobody knows in which folder it runs");
        };
        let inside = match locate(self.facts, base, &path, &mut self.unresolved) {
            Located::Refused(why) => return Part::asks(0..0, why),
            Located::Device => return Part::asks(0..0, "a device"),
            Located::Inside(paths) => paths,
        };
        if access == Access::Write
            && let Some(why) =
                guard(named, &inside, self.facts.runs).or_else(|| guard_content(named, &inside))
        {
            return Part::asks(0..0, why);
        }
        let allowed = self.of_tool().filter(|placed| allows_paths(placed, &inside));
        part_of(strictest(allowed), "no rule speaks of it")
    }

    /// The text of a field, whatever else is in the input.
    fn text(&self, field: &str) -> Option<&'a str> {
        self.call.input.get(field).and_then(Value::as_str)
    }

    /// Where a tool begins that is told no folder: in the session's, if the shell's is not known.
    fn base(&self) -> &'a str {
        self.facts.cwd.unwrap_or(self.facts.folder)
    }

    fn restricted_path(&self, field: &str, access: Access) -> Option<Part> {
        let text = self.text(field).or((access == Access::Read).then_some("."))?;
        let path = NamedPath { text: text.to_owned(), access, spelling: Spelling::Literal };
        let tools = [self.call.tool, self.kind().unwrap_or_default()];
        let mut met = Met::default();
        PathRules::new(self.rules, self.facts).meet(&path, self.base(), &tools, &mut met);
        met.part(0..0)
    }

    /// What is denied below the folder that is searched. Where the pattern names the very file, that is denied.
    fn below(&mut self, field: &str, pattern: &str) -> Option<Part> {
        let path_rules = PathRules::new(self.rules, self.facts);
        let folder = self.text(field).unwrap_or(".");
        let reading = Reading::search(folder, self.text(pattern).unwrap_or_default());
        let mut met = Met::default();
        path_rules.meet_below(&reading, self.base(), self.files, &mut self.unresolved, &mut met);
        let tools = [self.call.tool, self.kind().unwrap_or_default()];
        for glob in reading.only.iter().map(|glob| glob.trim_start_matches("**/")) {
            if !is_pattern(glob) {
                let text = paths::join(folder, glob.trim_start_matches('/'));
                let path = NamedPath { text, access: Access::Read, spelling: Spelling::Literal };
                path_rules.meet(&path, self.base(), &tools, &mut met);
            }
        }
        met.part(0..0)
    }

    fn address(&self, field: &str) -> Part {
        let text = self.text(field).unwrap_or_default();
        let read = address::read(text);
        let hosts: Vec<String> = match &read {
            Some(read) => vec![read.host.clone()],
            None => address::hosts(text).collect(),
        };
        let domains = || self.of_tool().filter(|placed| matches!(placed.rule.target, Target::Domain { .. }));
        let restricts = |placed: &&Placed| placed.rule.effect > Effect::Allow;
        // Whatever port, and whatever else is wrong with the call.
        let strict =
            domains().filter(restricts).filter(|placed| hosts.iter().any(|host| speaks_of(placed, host)));
        if let Some(placed) = strictest(strict) {
            return Part::by_rule(0..0, placed);
        }
        if let Err(why) = self.field(field) {
            return Part::asks(0..0, why);
        }
        let Some(read) = read else {
            let unsure = strictest(domains().filter(restricts)).map(|placed| Part::may_meet(0..0, placed));
            return unsure.unwrap_or_else(|| Part::asks(0..0, "an address that can be read in two ways"));
        };
        let whole = |placed: &&Placed| matches!(placed.rule.target, Target::Tool(_));
        let allowed = domains().filter(|placed| read.port == Port::Usual && speaks_of(placed, &read.host));
        let otherwise = match read.port {
            Port::Usual => "no rule speaks of it",
            Port::Other => "a port of its own, of which no rule speaks",
        };
        part_of(strictest(self.of_tool().filter(whole).chain(allowed)), otherwise)
    }
}

/// An allow of a host is of that host alone; an ask or a deny is also of all below it.
fn speaks_of(placed: &Placed, host: &str) -> bool {
    match &placed.rule.target {
        Target::Domain { host: named, depth } => {
            let below = host.strip_suffix(named.as_str()).is_some_and(|start| start.ends_with('.'));
            host == named || (below && (*depth == Domains::Below || placed.rule.effect > Effect::Allow))
        }
        Target::Tool(_)
        | Target::Everything
        | Target::Server(_)
        | Target::Command(_)
        | Target::Path { .. }
        | Target::Stop => false,
    }
}

/// Whether this is an allow that covers all these paths of the folder.
pub(super) fn allows_paths(placed: &Placed, paths: &[String]) -> bool {
    placed.rule.effect == Effect::Allow
        && match &placed.rule.target {
            Target::Tool(_) => true,
            Target::Path { glob, .. } => paths.iter().all(|path| glob.fits(path, super::glob::Case::Exact)),
            Target::Everything
            | Target::Server(_)
            | Target::Command(_)
            | Target::Domain { .. }
            | Target::Stop => false,
        }
}

fn part_of(placed: Option<&Placed>, otherwise: &str) -> Part {
    match placed {
        Some(placed) => Part::by_rule(0..0, placed),
        None => Part::asks(0..0, otherwise),
    }
}

/// The rest of a tool's name, if it is one of this server's.
fn server_tool<'a>(server: &str, tool: &'a str) -> Option<&'a str> {
    tool.strip_prefix("mcp__")?.strip_prefix(server)?.strip_prefix("__").filter(|tool| !tool.is_empty())
}
