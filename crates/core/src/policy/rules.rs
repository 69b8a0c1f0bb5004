//! All rules that count for a session, from every layer. Their order never matters.

use std::collections::{BTreeMap, HashMap};

use holdstead_protocol::{VariableValue, Variables};

use super::call::Facts;
use super::programs::base_name;
use super::rule::{Context, DefaultValue, Effect, FileRule, Layer, Rule, RuleFile, Target};

/// Where rules come from, and for a project whether a person trusts its file as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    Organisation,
    Person,
    Project(Trust),
    Session,
}

/// Whether a person looked at it and said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Trusted,
    Untrusted,
}

impl Source {
    const fn layer(self) -> Layer {
        match self {
            Self::BuiltIn => Layer::BuiltIn,
            Self::Organisation => Layer::Organisation,
            Self::Person => Layer::Person,
            Self::Project(_) => Layer::Project,
            Self::Session => Layer::Session,
        }
    }
}

/// A rule, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub rule: Rule,
    pub layer: Layer,
    /// The line in its file, from 1.
    pub line: usize,
}

/// A line of a project's file that does not count, because a person has not trusted the file: an allow, what could switch
/// one on, and whatever speaks to the agent or keeps it going.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: `{text}` does not count: a project's file can only ask and deny until a person trusts it as it is"
)]
pub struct Withheld {
    pub line: usize,
    pub text: String,
}

#[derive(Debug, Clone, Default)]
pub struct Rules {
    placed: Vec<Placed>,
    /// Allows of a command by the program's very name; others by its name without folders.
    allowed_commands: HashMap<String, Vec<usize>>,
    /// Asks and denies by the program's name in lower case: some file systems do not tell `RM` from `rm`.
    strict_commands: HashMap<String, Vec<usize>>,
    /// Whole tools, and tools with paths or hosts, by the tool's name.
    tools: HashMap<String, Vec<usize>>,
    /// Asks and denies of paths.
    strict_paths: Vec<usize>,
    /// Rules about servers and about everything.
    wide: Vec<usize>,
    /// Rules about the end of a turn.
    stops: Vec<usize>,
    /// Of each variable the one from the first layer that has one.
    defaults: BTreeMap<String, (Layer, VariableValue)>,
    contexts: Vec<(Layer, Context)>,
}

impl Rules {
    /// Adds a file's rules, and tells which of its lines do not count.
    pub fn add(&mut self, source: Source, file: RuleFile) -> Vec<Withheld> {
        let mut withheld = Vec::new();
        let untrusted = source == Source::Project(Trust::Untrusted);
        let layer = source.layer();
        for FileRule { rule, line, .. } in file.rules {
            if untrusted && (rule.effect == Effect::Allow || rule.target == Target::Stop) {
                withheld.push(Withheld { line, text: rule.text });
            } else {
                self.place(Placed { rule, layer, line });
            }
        }
        for DefaultValue { name, value, text, line } in file.defaults {
            if untrusted {
                withheld.push(Withheld { line, text });
            } else if self.defaults.get(&name).is_none_or(|(other, _)| layer < *other) {
                self.defaults.insert(name, (layer, value));
            }
        }
        for context in file.contexts {
            if untrusted {
                withheld.push(Withheld { line: context.line, text: context.text });
            } else {
                self.contexts.push((layer, context));
            }
        }
        withheld.sort_by_key(|withheld| withheld.line);
        withheld
    }

    fn place(&mut self, placed: Placed) {
        let index = self.placed.len();
        let (map, key) = match (&placed.rule.target, placed.rule.effect) {
            (Target::Command(command), Effect::Allow) => {
                (&mut self.allowed_commands, command.words[0].as_str())
            }
            (Target::Command(command), Effect::Ask | Effect::Deny) => {
                let name = base_name(&command.words[0]).to_ascii_lowercase();
                self.strict_commands.entry(name).or_default().push(index);
                self.placed.push(placed);
                return;
            }
            (Target::Path { tool, .. }, effect) => {
                if effect != Effect::Allow {
                    self.strict_paths.push(index);
                }
                (&mut self.tools, tool.as_str())
            }
            (Target::Tool(tool), _) => (&mut self.tools, tool.as_str()),
            (Target::Domain { .. }, _) => (&mut self.tools, super::rule::FETCH),
            (Target::Server(_) | Target::Everything, _) => {
                self.wide.push(index);
                self.placed.push(placed);
                return;
            }
            (Target::Stop, _) => {
                self.stops.push(index);
                self.placed.push(placed);
                return;
            }
        };
        map.entry(key.to_owned()).or_default().push(index);
        self.placed.push(placed);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Placed> {
        self.placed.iter()
    }

    /// What variables are while nobody set them.
    pub fn defaults(&self) -> Variables {
        self.defaults.iter().map(|(name, (_, value))| (name.clone(), value.clone())).collect()
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = (Layer, &Context)> {
        self.contexts.iter().map(|(layer, context)| (*layer, context))
    }

    /// Rules about the end of a turn, whether their conditions hold or not.
    pub(super) fn stops(&self) -> impl Iterator<Item = &Placed> {
        self.stops.iter().map(|place| &self.placed[*place])
    }

    /// Allows of a command of exactly this program.
    pub(super) fn allowing<'a>(
        &'a self,
        program: &str,
        facts: &'a Facts<'_>,
    ) -> impl Iterator<Item = &'a Placed> {
        self.at(self.allowed_commands.get(program), facts)
    }

    /// Asks and denies of a command of this program, whatever its path.
    pub(super) fn restricting<'a>(
        &'a self,
        program: &str,
        facts: &'a Facts<'_>,
    ) -> impl Iterator<Item = &'a Placed> {
        let name = base_name(program);
        let places = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => self.strict_commands.get(&name.to_ascii_lowercase()),
            false => self.strict_commands.get(name),
        };
        self.at(places, facts)
    }

    pub(super) fn of_tool<'a>(
        &'a self,
        tool: &str,
        facts: &'a Facts<'_>,
    ) -> impl Iterator<Item = &'a Placed> {
        self.at(self.tools.get(tool), facts)
    }

    pub(super) fn restricting_paths<'a>(&'a self, facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Placed> {
        self.at(Some(&self.strict_paths), facts)
    }

    pub(super) fn wide<'a>(&'a self, facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Placed> {
        self.at(Some(&self.wide), facts)
    }

    fn at<'a>(
        &'a self,
        places: Option<&'a Vec<usize>>,
        facts: &'a Facts<'_>,
    ) -> impl Iterator<Item = &'a Placed> {
        let placed = places.into_iter().flatten().map(|place| &self.placed[*place]);
        placed.filter(|placed| super::conditions::hold(&placed.rule, facts))
    }
}

/// Of several rules the strictest; of equals the one that stands first, so that the same is told every time. What is built in
/// comes last: where somebody said the same, it is their word.
pub(super) fn strictest<'a>(rules: impl Iterator<Item = &'a Placed>) -> Option<&'a Placed> {
    let built_in = |placed: &Placed| placed.layer == Layer::BuiltIn;
    rules.min_by_key(|placed| {
        (std::cmp::Reverse(placed.rule.effect), built_in(placed), placed.layer, placed.line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_only_narrows_until_its_file_is_trusted() {
        let file =
            RuleFile::parse("allow Read\ndeny Bash(rm:*)\nask Edit\nallow Edit(src/**)").expect("rules");
        let mut rules = Rules::default();
        let withheld = rules.add(Source::Project(Trust::Untrusted), file.clone());
        assert_eq!(withheld.iter().map(|rule| rule.line).collect::<Vec<_>>(), [1, 4]);
        assert!(withheld[0].to_string().contains("until a person trusts it"));
        assert_eq!(rules.iter().map(|placed| placed.line).collect::<Vec<_>>(), [2, 3]);
        assert!(
            rules.iter().all(|placed| placed.rule.effect > Effect::Allow && placed.layer == Layer::Project)
        );
        for source in [Source::Project(Trust::Trusted), Source::Person, Source::Organisation, Source::Session]
        {
            let mut rules = Rules::default();
            assert_eq!(rules.add(source, file.clone()), []);
            assert_eq!(rules.iter().count(), 4);
        }
    }
}
