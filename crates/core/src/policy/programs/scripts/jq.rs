//! jq: filters that read nothing but their input.

/// Words that read the environment or other files.
const READS_ELSEWHERE: [&str; 7] =
    ["env", "ENV", "import", "include", "modulemeta", "get_search_list", "input_filename"];

/// Looks at every word, inside strings too: `"\(env)"` is code.
pub(crate) fn is_plain(filter: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = filter;
    let mut before = ' ';
    while let Some(start) = rest.find(is_word) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        let two_dots = rest[..start].ends_with("..");
        let word = &rest[start..];
        let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        // `.env` is a field.
        let is_field = before == '.' && !two_dots;
        if READS_ELSEWHERE.contains(&&word[..end]) && !is_field {
            return false;
        }
        before = word[..end].chars().next_back().unwrap_or(' ');
        rest = &word[end..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_its_input_alone() {
        for filter in [
            ".",
            ".dependencies",
            ".scripts | keys[]",
            ".a.env",
            ".[] | select(.environment == \"x\")",
            "input",
            ".envs",
        ] {
            assert!(is_plain(filter), "{filter}");
        }
        for filter in [
            "env",
            "$ENV.HOME",
            "env.HOME",
            "\"\\(env)\"",
            ".a|env",
            "..env",
            ".. |env",
            "import \"a\" as $x; .",
            "include \"a\"; .",
            "(env)",
            ". env",
            "[env]",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }
}
