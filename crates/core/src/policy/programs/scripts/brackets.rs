//! Brackets in regular expressions. Versions of sed and awk differ in whether a mark inside them ends the expression, so
//! only brackets that mean the same to all of them are taken.

/// Whether every bracket is closed, without escapes or another bracket in it but `[:name:]`.
pub(super) fn are_plain(regex: &str) -> bool {
    let mut characters = regex.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '[' => match inside(characters.as_str()) {
                Some(rest) => characters = rest.chars(),
                None => return false,
            },
            _ => {}
        }
    }
    true
}

/// What follows the bracket whose inside begins here.
fn inside(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix('^').unwrap_or(text);
    // `[]a]` begins with a bracket that does not close it.
    if rest.starts_with(']') {
        return None;
    }
    loop {
        let c = rest.chars().next()?;
        rest = &rest[c.len_utf8()..];
        match c {
            ']' => return Some(rest),
            '\\' => return None,
            '[' => {
                let name = rest.strip_prefix(':')?;
                let end = name.find(|c: char| !c.is_ascii_alphabetic())?;
                rest = name[end..].strip_prefix(":]")?;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::are_plain;

    #[test]
    fn brackets_that_mean_the_same_everywhere() {
        for regex in ["", "a", "[abc]", "[^abc]d", "[[:space:]]*", "[[:alpha:]_]x[0-9]", "\\[a", "a\\\\[b]"] {
            assert!(are_plain(regex), "{regex}");
        }
        for regex in
            ["[", "[a", "[]a]", "[^]a]", "[\\]]", "[[:space:]", "[[=a=]]", "[a[b]", "[[:sp ace:]]", "[["]
        {
            assert!(!are_plain(regex), "{regex}");
        }
    }
}
