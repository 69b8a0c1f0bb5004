//! All rules that count for a session, from every layer. Their order never matters.

use super::rule::{Effect, FileRule, Layer, Rule, RuleFile};

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

/// An allow of a project's file that does not count, because a person has not trusted the file.
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
}

impl Rules {
    /// Adds a file's rules, and tells which of them do not count.
    pub fn add(&mut self, source: Source, file: RuleFile) -> Vec<Withheld> {
        let mut withheld = Vec::new();
        for FileRule { rule, line, .. } in file.rules {
            if source == Source::Project(Trust::Untrusted) && rule.effect == Effect::Allow {
                withheld.push(Withheld { line, text: rule.text });
            } else {
                self.placed.push(Placed { rule, layer: source.layer(), line });
            }
        }
        withheld
    }

    pub fn iter(&self) -> impl Iterator<Item = &Placed> {
        self.placed.iter()
    }
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
