//! What a program is, by its name: the table is `classes.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::base_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Changes the shell itself, or runs what it is given.
    Builtin,
    /// Runs a command it is given.
    Wrapper,
    /// Reads a script.
    Shell,
    /// Runs code.
    Interpreter,
    /// Deletes, overwrites, sends, or opens a screen of its own.
    Whole,
    /// A name for many programs.
    Family,
    /// Nothing is said of it here.
    Other,
}

static CLASSES: LazyLock<HashMap<&'static str, Class>> = LazyLock::new(|| table(include_str!("classes.txt")));

fn table(text: &'static str) -> HashMap<&'static str, Class> {
    let mut classes = HashMap::new();
    let mut class = Class::Other;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line {
            "builtin" => class = Class::Builtin,
            "wrapper" => class = Class::Wrapper,
            "shell" => class = Class::Shell,
            "interpreter" => class = Class::Interpreter,
            "whole" => class = Class::Whole,
            "family" => class = Class::Family,
            names => {
                for name in names.split_whitespace() {
                    // The first class counts: they stand in the order of what they can do.
                    classes.entry(name).or_insert(class);
                }
            }
        }
    }
    classes
}

/// By the name without folders before it and version behind it.
pub fn class_of(program: &str) -> Class {
    let name = base_name(program);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    let class = |name: &str| CLASSES.get(name).copied();
    class(name).or_else(|| class(unversioned)).unwrap_or(Class::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_folders_and_versions() {
        let cases = [
            ("eval", Class::Builtin),
            (".", Class::Builtin),
            ("/usr/bin/env", Class::Wrapper),
            ("python3.12", Class::Interpreter),
            ("pip3", Class::Family),
            ("sqlite3", Class::Interpreter),
            ("dash", Class::Shell),
            ("rm", Class::Whole),
            ("git", Class::Family),
            ("bun", Class::Interpreter),
            ("ls", Class::Other),
            ("7z", Class::Whole),
            ("", Class::Other),
        ];
        for (program, expected) in cases {
            assert_eq!(class_of(program), expected, "{program}");
        }
        assert!(CLASSES.values().all(|class| *class != Class::Other));
    }
}
