//! Scripts that a message can call by name.

const BUILTINS: [(&str, &str); 3] = [
    ("/demo", include_str!("scripts/demo.script")),
    ("/together", include_str!("scripts/together.script")),
    ("/edit", include_str!("scripts/edit.script")),
];

/// What a message asks the agent to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish<'a> {
    Script(&'a str),
    /// Nothing that it understands: this is its answer.
    Talk(String),
}

pub(super) fn wish(message: &str) -> Wish<'_> {
    let message = message.trim();
    let first = message.split_whitespace().next().unwrap_or_default();
    if let Some((_, script)) = BUILTINS.iter().find(|(name, _)| *name == first) {
        return Wish::Script(script);
    }
    if super::script::Script::is_meant(message) {
        return Wish::Script(message);
    }
    let names = BUILTINS.map(|(name, _)| name).join(", ");
    Wish::Talk(format!(
        "You wrote: \"{message}\". I am a scripted agent: I do what a script says and nothing else. \
        Try {names}, or write steps of your own, such as: say Hello"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::script::{AskKind, Script, Step};

    #[test]
    fn every_builtin_is_a_script() {
        for (name, text) in BUILTINS {
            assert_eq!(wish(&format!("{name} please")), Wish::Script(text));
            Script::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn the_demo_has_one_ask_of_each_kind_and_one_more() {
        let script = Script::parse(BUILTINS[0].1).unwrap();
        let kinds: Vec<_> = script
            .taken()
            .filter_map(|step| if let Step::Ask(ask) = step { Some(&ask.kind) } else { None })
            .collect();
        assert!(matches!(
            kinds[..],
            [AskKind::Questions(_), AskKind::Approval, AskKind::Form(_), AskKind::Questions(_)]
        ));
    }

    #[test]
    fn small_talk_is_answered() {
        let Wish::Talk(answer) = wish("hello") else { panic!("no script") };
        assert!(answer.contains("\"hello\"") && answer.contains("/demo"), "{answer}");
    }
}
