//! Calls of before, and what people decided about them.
//!
//! They are looked at as if there were no symbolic links: what a path led to then is not kept. Whether a call that comes
//! is allowed is never decided here.

use super::call::{Call, Facts};
use super::decide::decide;
use super::lookup::{Lookup, Places};
use super::offers::{Offers, offers};
use super::rules::Rules;
use super::verdict::Verdict;

/// One call of before. The places of its facts are not used.
#[derive(Debug, Clone, Copy)]
pub struct Past<'a> {
    pub call: Call<'a>,
    pub facts: Facts<'a>,
    pub decided: Decided,
}

/// What a person made of it, from what says least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decided {
    /// No person decided: it was withdrawn, it expired, or a rule decided.
    ByNobody,
    Approved,
    Denied,
}

impl Past<'_> {
    /// What these rules make of it.
    pub fn verdict(&self, rules: &Rules) -> Verdict {
        self.with_places(|facts| {
            let verdict = decide(&self.call, rules, facts);
            (verdict.unresolved.clone(), verdict)
        })
    }

    pub(super) fn offers(&self, rules: &Rules, listed: &[String]) -> Offers {
        self.with_places(|facts| {
            let offers = offers(&self.call, rules, facts, listed);
            (offers.unresolved.clone(), offers)
        })
    }

    fn with_places<T>(&self, decided: impl Fn(&Facts<'_>) -> (std::collections::BTreeSet<Lookup>, T)) -> T {
        let (unresolved, first) = decided(&Facts { places: &Places::default(), ..self.facts });
        if unresolved.is_empty() {
            return first;
        }
        let places = Places::without_links(self.facts.folder, &unresolved);
        decided(&Facts { places: &places, ..self.facts }).1
    }
}
