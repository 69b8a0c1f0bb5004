//! What a person or a program may be called, so that nobody is taken for somebody else.

const LONGEST: usize = 64;
/// Besides letters and digits.
const MARKS: &str = " -_.'@+";

/// Why a name is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    #[error("A name has 1 to {LONGEST} characters.")]
    Length,
    #[error(
        "A name has letters, digits, single spaces and - _ . ' @ + in it, and begins with a letter or a digit."
    )]
    Characters,
    #[error("A name has letters of one script in it: those of others look alike.")]
    Scripts,
}

/// The name as it is kept, if it can be one.
pub fn person_name(given: &str) -> Result<String, BadName> {
    let name = given.trim();
    if name.is_empty() || name.chars().count() > LONGEST {
        return Err(BadName::Length);
    }
    let begins = name.starts_with(char::is_alphanumeric);
    let fits = |letter: char| letter.is_alphanumeric() || MARKS.contains(letter);
    if !begins || !name.chars().all(fits) || name.contains("  ") {
        return Err(BadName::Characters);
    }
    let letters = || name.chars().filter(|letter| letter.is_alphabetic());
    if letters().any(is_latin) && !letters().all(is_latin) {
        return Err(BadName::Scripts);
    }
    Ok(name.to_owned())
}

const fn is_latin(letter: char) -> bool {
    matches!(letter, 'a'..='z' | 'A'..='Z' | '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// What nobody else of the same owner may have: one name in capitals and small letters is one name.
pub fn handle_of(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// The handle of an agent that is hosted here. No name can be like it, so it takes nobody's away.
pub fn hosted_handle(agent: &str) -> String {
    format!("hosted\n{}", agent.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_are_called_is_taken() {
        for name in
            ["ana", "Zoë O'Neill", "ci-1", "ana@example.com", "Łukasz", "Нина", "李雷", "build_2.x", "7"]
        {
            assert_eq!(person_name(name).as_deref(), Ok(name), "{name}");
        }
        assert_eq!(person_name(" ana ").as_deref(), Ok("ana"));
    }

    #[test]
    fn what_could_mislead_is_refused() {
        let long = "x".repeat(65);
        for name in ["", "  ", long.as_str()] {
            assert_eq!(person_name(name), Err(BadName::Length), "{name}");
        }
        let odd = [
            "a\u{1b}[31mb",
            "a\nb",
            "a\u{202e}b",
            "a\u{200b}b",
            "a  b",
            "-a",
            "'",
            "a\u{a0}b",
            "a\\b",
            "a<b",
        ];
        for name in odd {
            assert_eq!(person_name(name), Err(BadName::Characters), "{name:?}");
        }
        // With the first letter of another script.
        assert_eq!(person_name("\u{430}na"), Err(BadName::Scripts));
    }

    #[test]
    fn a_handle_is_one_for_capitals_and_small_letters_and_no_agents() {
        assert_eq!(handle_of("Ana"), handle_of("ANA"));
        assert_ne!(handle_of("claude"), hosted_handle("claude"));
        assert!(person_name(&hosted_handle("claude")).is_err());
    }
}
