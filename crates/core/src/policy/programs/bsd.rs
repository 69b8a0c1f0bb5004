//! Calls of the programs of macOS and the BSDs that only read, by their manual pages. The list is `bsd.txt`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

static READS: LazyLock<HashMap<&'static str, HashSet<&'static str>>> = LazyLock::new(|| {
    let lines = include_str!("bsd.txt").lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &'static str| {
        line.split_once(": ").map(|(name, options)| (name, options.split(' ').collect()))
    };
    lines.filter_map(entry).collect()
});

/// Whether this option of the program only reads, and takes what the tables say, on macOS and all BSDs.
pub fn reads(program: &str, option: &str) -> bool {
    READS.get(program).is_some_and(|options| options.contains(option))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::programs::{COUNTS, program};

    #[test]
    fn the_list_knows_no_more_than_the_tables() {
        assert!(READS.len() > 10);
        for (name, options) in READS.iter() {
            let known = program(name).unwrap_or_else(|| panic!("{name} is in no table"));
            for option in options {
                let in_table = |form: &super::super::Form| form.words.options.contains_key(option);
                assert!(*option == COUNTS || known.forms.iter().any(in_table), "{name} {option}");
            }
        }
    }
}
