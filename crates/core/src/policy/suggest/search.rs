//! Which sets of rules save most, one after the other.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use super::{Suggestion, suggestion};
use crate::policy::offers::with;
use crate::policy::past::{Decided, Past};
use crate::policy::rule::{Effect, Rest, Rule, Target};
use crate::policy::rules::{Rules, Trust};

/// So many asks a set of rules has to save. One ask is enough for a command with other arguments: those are known as
/// harmless, and commands come again with others. A rule for one input that came once saves nothing any more, and one edit
/// says little about a folder.
const MIN_SAVED: usize = 2;
const MIN_SAVED_BY_COMMAND: usize = 1;
/// So many sets may turn out to allow what a person denied before the search ends: it takes bounded time.
const MAX_REFUSED: usize = 200;

/// Rules, by their places among those that were offered.
pub(super) type Set = BTreeSet<usize>;

/// The same call, however often it came.
pub(super) struct Kind {
    /// Among the past calls. Never empty.
    pub(super) places: Vec<usize>,
    /// Sets of rules, each of which should allow it.
    pub(super) options: Vec<Set>,
}

impl Kind {
    /// How often a person was asked and approved.
    pub(super) fn asks(&self, past: &[Past<'_>]) -> usize {
        self.places.iter().filter(|place| past[**place].decided == Decided::Approved).count()
    }

    fn is_allowed(&self, past: &[Past<'_>], rules: &Rules) -> bool {
        past[self.places[0]].verdict(rules).effect == Effect::Allow
    }

    /// Whether it would be allowed at least once somebody trusts its folder.
    fn may_be_allowed(&self, past: &[Past<'_>], rules: &Rules) -> bool {
        let mut denied = past[self.places[0]];
        denied.facts.trust = Trust::Trusted;
        denied.verdict(rules).effect == Effect::Allow
    }
}

/// Open rules, all rules, and how much their texts name.
type Width = (usize, usize, Reverse<usize>);

/// The best is the smallest: what saves most for each rule that has to be read, then the narrowest.
#[derive(PartialEq, Eq)]
struct Candidate<'a> {
    saves: usize,
    width: Width,
    set: &'a Set,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // `a / b` beside `c / d` without fractions.
        let by_rule = (other.saves * self.set.len()).cmp(&(self.saves * other.set.len()));
        by_rule.then_with(|| self.width.cmp(&other.width)).then_with(|| self.set.cmp(other.set))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(super) struct Search<'a> {
    past: &'a [Past<'a>],
    /// Those of before, and what was suggested.
    rules: Rules,
    offered: Vec<Rule>,
    pub(super) approved: Vec<Kind>,
    denied: Vec<Kind>,
    pub(super) undecided: Vec<Kind>,
    refused: Vec<Set>,
}

impl<'a> Search<'a> {
    pub(super) fn new(past: &'a [Past<'a>], rules: Rules) -> Self {
        let (approved, denied, undecided) = (Vec::new(), Vec::new(), Vec::new());
        Self { past, rules, offered: Vec::new(), approved, denied, undecided, refused: Vec::new() }
    }

    /// Nothing may be suggested that allows this. What rules of before allow is not for suggestions to mend.
    pub(super) fn deny(&mut self, kind: Kind) {
        if !kind.may_be_allowed(self.past, &self.rules) {
            self.denied.push(kind);
        }
    }

    /// More allows never allow less: what all of them together do not allow, none of them does.
    pub(super) fn look_among(&mut self, offered: Vec<Rule>) {
        let all = with(&self.rules, offered.iter());
        self.denied.retain(|kind| kind.may_be_allowed(self.past, &all));
        self.undecided.retain(|kind| kind.is_allowed(self.past, &all));
        self.offered = offered;
    }

    pub(super) fn next_best(&mut self) -> Option<Suggestion> {
        for set in self.candidates() {
            if self.refused.len() == MAX_REFUSED {
                return None;
            }
            let rules = with(&self.rules, set.iter().map(|rule| &self.offered[*rule]));
            let saved: Vec<bool> = self
                .approved
                .iter()
                .map(|kind| is_touched(kind, &set) && kind.is_allowed(self.past, &rules))
                .collect();
            let saves: usize = self
                .approved
                .iter()
                .zip(&saved)
                .filter(|(_, saved)| **saved)
                .map(|(kind, _)| kind.asks(self.past))
                .sum();
            if saves < self.least(&set)
                || self.denied.iter().any(|kind| kind.may_be_allowed(self.past, &rules))
            {
                self.refused.push(set);
                continue;
            }
            return Some(self.choose(&set, rules, &saved));
        }
        None
    }

    /// Sets that may save enough, the best first.
    fn candidates(&self) -> Vec<Set> {
        let mut saves: BTreeMap<&Set, usize> = BTreeMap::new();
        for kind in &self.approved {
            for option in kind.options.iter().collect::<BTreeSet<_>>() {
                *saves.entry(option).or_default() += kind.asks(self.past);
            }
        }
        // A set also saves what needs only some of its rules.
        let total = |set: &Set| -> usize { subsets(set).iter().filter_map(|subset| saves.get(subset)).sum() };
        let mut candidates: Vec<Candidate<'_>> = saves
            .keys()
            .map(|set| Candidate { saves: total(set), width: self.width(set), set })
            .filter(|one| one.saves >= self.least(one.set))
            .filter(|one| !self.refused.iter().any(|refused| refused.is_subset(one.set)))
            .collect();
        candidates.sort_unstable();
        candidates.into_iter().map(|one| one.set.clone()).collect()
    }

    fn least(&self, set: &Set) -> usize {
        let is_open_command = |rule: &Rule| matches!(rule.target, Target::Command(_)) && is_open(rule);
        if set.iter().any(|rule| is_open_command(&self.offered[*rule])) {
            MIN_SAVED_BY_COMMAND
        } else {
            MIN_SAVED
        }
    }

    /// How much a set covers that nobody named: the number of rules that are open, then of rules, then the folders' depth.
    fn width(&self, set: &Set) -> Width {
        let rules = || set.iter().map(|rule| &self.offered[*rule]);
        (
            rules().filter(|rule| is_open(rule)).count(),
            set.len(),
            Reverse(rules().map(|rule| rule.text.len()).sum()),
        )
    }

    fn choose(&mut self, set: &Set, rules: Rules, saved: &[bool]) -> Suggestion {
        let past = self.past;
        let covered = self.undecided.iter().filter(|kind| kind.is_allowed(past, &rules));
        let unapproved: Vec<usize> = covered.flat_map(|kind| kind.places.iter().copied()).collect();
        let texts = set.iter().map(|rule| self.offered[*rule].clone()).collect();
        let which: Vec<&Kind> =
            self.approved.iter().zip(saved).filter(|(_, saved)| **saved).map(|(kind, _)| kind).collect();
        let suggestion = suggestion(texts, &which, past, unapproved);
        let mut saved = saved.iter();
        self.approved.retain(|_| !saved.next().is_some_and(|saved| *saved));
        self.undecided.retain(|kind| !suggestion.unapproved.contains(&kind.places[0]));
        for kind in &mut self.approved {
            // What should have allowed it and does not is no option.
            kind.options.retain(|option| !option.is_subset(set));
            for option in &mut kind.options {
                option.retain(|rule| !set.contains(rule));
            }
        }
        self.rules = rules;
        suggestion
    }
}

/// Whether it may be allowed with these: by an option of its own, or by a part of one and what was suggested before.
fn is_touched(kind: &Kind, set: &Set) -> bool {
    kind.options.iter().any(|option| !option.is_disjoint(set))
}

fn is_open(rule: &Rule) -> bool {
    match &rule.target {
        Target::Command(command) => command.rest == Rest::Anything,
        Target::Path { glob, .. } => !glob.is_one(),
        Target::Domain { .. } | Target::Tool(_) | Target::Server(_) | Target::Everything | Target::Stop => {
            true
        }
    }
}

/// All of a set's subsets but the empty one. An offer has few rules.
fn subsets(set: &Set) -> Vec<Set> {
    let mut all = vec![Set::new()];
    for rule in set {
        let with: Vec<Set> =
            all.iter().map(|subset| subset.iter().chain([rule]).copied().collect()).collect();
        all.extend(with);
    }
    all.split_off(1)
}
