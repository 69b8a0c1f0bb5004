//! Which programs, and which versions of them, the tables were verified with. The list is `versions.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// What a name stands for on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Installed {
    /// The machine has no program of this name on its PATH.
    Missing,
    /// It has one that does not say what it is.
    Unknown,
    /// The one that came with macOS or a BSD.
    Bsd,
    Known {
        implementation: String,
        version: String,
        kept_by: KeptBy,
    },
}

/// Who can put another program in its place, or change what says its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptBy {
    Administrator,
    /// The user, and so the user's agents.
    User,
}

/// From one version to another; `2` as the end is every 2.x.
struct Range {
    implementation: &'static str,
    from: Version,
    to: Version,
}

type Version = Vec<u64>;

/// In the list, an implementation that has the name of its program.
const SELF: &str = "self";

static VERIFIED: LazyLock<HashMap<&'static str, Vec<Range>>> =
    LazyLock::new(|| table(include_str!("versions.txt")).unwrap_or_else(|wrong| panic!("{wrong}")));

fn table(text: &'static str) -> Result<HashMap<&'static str, Vec<Range>>, String> {
    let mut table: HashMap<&str, Vec<Range>> = HashMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (range, programs) = line.split_once(": ").ok_or_else(|| format!("no programs: {line}"))?;
        let [implementation, from, to] =
            range.split(' ').collect::<Vec<_>>().try_into().map_err(|_| format!("no range: {line}"))?;
        for program in programs.split(' ') {
            let (from, to) = (version(from), version(to));
            table.entry(program).or_default().push(Range { implementation, from, to });
        }
    }
    Ok(table)
}

/// The numbers at the beginning: `2.39.5` of `2.39.5-rc1`.
fn version(text: &str) -> Version {
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    numbers.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Whether the tables were verified with this version of a program.
pub fn is_verified(program: &str, implementation: &str, found: &str) -> bool {
    let found = version(found);
    VERIFIED.get(program).into_iter().flatten().any(|range| {
        let named = match range.implementation {
            SELF => implementation == program,
            name => implementation == name,
        };
        let start = &found[..found.len().min(range.to.len())];
        named && range.from <= found && *start <= *range.to
    })
}

/// Whether a version of this program can be verified at all.
pub fn is_listed(program: &str) -> bool {
    VERIFIED.contains_key(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::programs::program;

    #[test]
    fn the_list_is_read_and_names_programs_of_the_tables() {
        let table = table(include_str!("versions.txt")).expect("a list");
        for (name, ranges) in &table {
            assert!(program(name).is_some(), "{name} is in no table");
            for range in ranges {
                assert!(!range.from.is_empty() && !range.to.is_empty(), "{name} {}", range.implementation);
                assert!(range.from[..range.from.len().min(range.to.len())] <= range.to[..], "{name}");
            }
        }
    }

    #[test]
    fn a_version_is_verified_from_the_first_to_the_last() {
        for (version, verified) in
            [("3.8", true), ("3.11", true), ("3.7", false), ("4.0", false), ("3.8-rc", true), ("", false)]
        {
            assert_eq!(is_verified("grep", "grep", version), verified, "{version}");
        }
        assert!(is_verified("egrep", "grep", "3.8") && !is_verified("grep", "busybox", "3.8"));
        assert!(!is_verified("nothing", "nothing", "1"));
    }
}
