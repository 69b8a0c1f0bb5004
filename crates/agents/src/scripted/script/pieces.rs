//! The small parts of a line: times, settings, JSON, questions.

use std::collections::BTreeSet;
use std::time::Duration;

use holdstead_protocol::json::read_first;
use holdstead_protocol::{Hold, HoldThen, Question, QuestionOption};
use serde_json::Value;

use super::{Problem, Settings};

const HEADER_LIMIT: usize = 12;

pub(super) fn time(text: &str) -> Result<Duration, Problem> {
    let bad = || Problem::BadTime(text.to_owned());
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = text.split_at(unit_at);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(bad()),
    };
    let number: u64 = number.parse().map_err(|_| bad())?;
    number.checked_mul(factor).map(Duration::from_millis).ok_or_else(bad)
}

fn millis(text: &str) -> Result<u64, Problem> {
    u64::try_from(time(text)?.as_millis()).map_err(|_| Problem::BadTime(text.to_owned()))
}

/// Settings in brackets, if there are any, and what follows.
pub(super) fn settings(text: &str) -> Result<(Settings, &str), Problem> {
    let mut settings = Settings::default();
    let Some(inside) = text.strip_prefix('[') else { return Ok((settings, text)) };
    let (inside, rest) = inside.split_once(']').ok_or(Problem::OpenSettings)?;
    for word in inside.split_whitespace() {
        let bad = || Problem::BadSetting(word.to_owned());
        if word == "nopark" {
            settings.no_park = true;
        } else if word == "timed" {
            settings.timed = true;
        } else if let Some(timeout) = word.strip_prefix("timeout=") {
            settings.timeout_ms = Some(millis(timeout)?);
        } else {
            let (after, then) =
                word.strip_prefix("hold=").and_then(|hold| hold.split_once(':')).ok_or_else(bad)?;
            let then = match then {
                "park" => HoldThen::Park,
                "wait" => HoldThen::Wait,
                "deny" => HoldThen::Deny,
                "defer" => HoldThen::Defer,
                _ => return Err(bad()),
            };
            settings.hold = Some(Hold { after_ms: millis(after)?, then });
        }
    }
    Ok((settings, rest.trim_start()))
}

/// The JSON value that the text starts with, and what follows.
pub(super) fn json(text: &str) -> Result<(Value, &str), Problem> {
    let (value, rest) = read_first(text).map_err(|bad| Problem::BadJson(bad.to_string()))?;
    Ok((value, rest.trim()))
}

/// `because WHY says TEXT`, each of them optional.
pub(super) fn reasons(text: &str) -> Result<(Option<String>, Option<String>), Problem> {
    if text.is_empty() {
        return Ok((None, None));
    }
    if let Some(says) = text.strip_prefix("says ") {
        return Ok((None, Some(says.trim().to_owned())));
    }
    let Some(because) = text.strip_prefix("because ") else {
        return Err(Problem::AfterJson { found: text.to_owned(), allowed: "`because WHY` and `says TEXT`" });
    };
    match because.split_once(" says ") {
        Some((because, says)) => Ok((Some(because.trim().to_owned()), Some(says.trim().to_owned()))),
        None => Ok((Some(because.trim().to_owned()), None)),
    }
}

/// `HEADER: QUESTION | LABEL: DESCRIPTION | ...`
pub(super) fn question(text: &str) -> Result<Question, Problem> {
    let mut parts = text.split('|').map(str::trim);
    let asked = parts.next().unwrap_or_default();
    let (marked, question) = asked.split_once(':').ok_or(Problem::NoQuestion)?;
    let header = marked.trim().trim_end_matches(['*', '!']).trim_end();
    let marks = &marked.trim()[header.len()..];
    let options = parts.map(|option| {
        let (label, description) = match option.split_once(": ") {
            Some((label, description)) => (label, Some(description.trim().to_owned())),
            None => (option, None),
        };
        QuestionOption { label: label.trim().to_owned(), description, preview: None }
    });
    let question = Question {
        id: header.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_"),
        header: header.to_owned(),
        question: question.trim().to_owned(),
        options: options.collect(),
        multi_select: marks.contains('*'),
        allow_other: !marks.contains('!'),
        secret: false,
        multiline: false,
    };
    if !question.allow_other && question.options.is_empty() { Err(Problem::NoOptions) } else { Ok(question) }
}

/// What every ask with questions must keep to, however it was written.
pub(super) fn check_questions(questions: &[Question]) -> Result<(), Problem> {
    let mut ids = BTreeSet::new();
    for question in questions {
        let header = &question.header;
        if header.is_empty() || header.chars().count() > HEADER_LIMIT {
            return Err(Problem::BadHeader(header.clone()));
        }
        if question.question.is_empty() {
            return Err(Problem::NoQuestion);
        }
        if !ids.insert(&question.id) {
            return Err(Problem::SameHeader(header.clone()));
        }
        let labels: BTreeSet<_> = question.options.iter().map(|option| &option.label).collect();
        if labels.len() < question.options.len() || labels.iter().any(|label| label.is_empty()) {
            return Err(Problem::BadOptions);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times() {
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7200)));
        for bad in ["", "5", "s", "5 s", "-1s", "5d", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(time(bad), Err(Problem::BadTime(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn settings_are_optional_and_checked() {
        let hold = Some(Hold { after_ms: 5000, then: HoldThen::Defer });
        let all = Settings { hold, timeout_ms: Some(30_000), no_park: true, timed: true };
        assert_eq!(settings("[hold=5s:defer timeout=30s nopark timed] Bash {}"), Ok((all, "Bash {}")));
        assert_eq!(settings("Bash {}"), Ok((Settings::default(), "Bash {}")));
        assert_eq!(settings("[nopark Bash"), Err(Problem::OpenSettings));
        for bad in ["hold=5s", "hold=5s:allow", "hold", "park"] {
            assert_eq!(settings(&format!("[{bad}] x")), Err(Problem::BadSetting(bad.to_owned())));
        }
    }

    #[test]
    fn json_ends_where_it_ends() {
        assert_eq!(json(r#"{"a":"} says"} says b"#), Ok((json!({"a": "} says"}), "says b")));
        assert!(matches!(json(""), Err(Problem::BadJson(_))));
        assert!(matches!(json("{"), Err(Problem::BadJson(_))));
    }

    #[test]
    fn a_question_with_marks() {
        let option = |label: &str, description: Option<&str>| QuestionOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
            preview: None,
        };
        let expected = Question {
            id: "deploy_to".to_owned(),
            header: "Deploy to".to_owned(),
            question: "Where: here?".to_owned(),
            options: vec![option("http://a", None), option("b", Some("the second"))],
            multi_select: true,
            allow_other: false,
            secret: false,
            multiline: false,
        };
        assert_eq!(question("Deploy to*!: Where: here? | http://a | b: the second"), Ok(expected));
        assert_eq!(question("Store!: Where?"), Err(Problem::NoOptions));
        assert_eq!(question("Where | a"), Err(Problem::NoQuestion));
    }
}
