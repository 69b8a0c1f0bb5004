//! Any file of rules: what is taken is read from its own text again, and mistakes are told where they are.

use holdstead_core::policy::rule::{RuleFile, parse, remark};

use super::text;

pub fn run(bytes: &[u8]) {
    let text = text(bytes);
    match RuleFile::parse(text) {
        Ok(file) => {
            for rule in file.rules {
                let again = parse(&rule.rule.text).expect("a rule that was read");
                assert_eq!(again, rule.rule);
                let _ = remark(&again);
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty(), "refused without a word");
            let lines = text.lines().count().max(1);
            assert!(
                mistakes.iter().all(|wrong| (1..=lines).contains(&wrong.line) && wrong.column > 0),
                "{mistakes:?}"
            );
        }
    }
}
