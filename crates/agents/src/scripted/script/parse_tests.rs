use std::time::Duration;

use holdstead_protocol::{Field, FieldKind, Hold, HoldThen, QuestionOption};

use super::*;

fn problem(line: usize, problem: Problem) -> Result<Script, ScriptError> {
    Err(ScriptError { line, problem })
}

fn question(header: &str, question: &str, options: &[&str]) -> Question {
    let option =
        |label: &&str| QuestionOption { label: (*label).to_owned(), description: None, preview: None };
    Question {
        id: header.to_lowercase(),
        header: header.to_owned(),
        question: question.to_owned(),
        options: options.iter().map(option).collect(),
        multi_select: false,
        allow_other: true,
        secret: false,
        multiline: false,
    }
}

#[test]
fn a_script_with_everything() {
    let text = r#"
# a comment
say I look first.
think Hm.
tool Read {"path":"a"} => 120 lines
tool Read {"path":"b"} =! not there
tool Read {}
approve [hold=5s:park nopark] Bash {"command":"ls"} because no rule says Lists it
ask Store: Where? | here | there
as tester > helper
form
  {"title": "T",
   "fields": []}
end
as
edit src/a.rs says Better
-    old
+    new
+
end
together
  ask
    A: First? | x
    # another comment
    B: Second?
  end
  approve Bash {}
end
repeat 3
  say again
end
wait 200ms
fail sorry
crash
"#;
    let parents = vec!["tester".to_owned(), "helper".to_owned()];
    let read = |input: Value, result: &str, is_error| Step::Tool {
        name: "Read".into(),
        input,
        result: result.into(),
        is_error,
        parents: vec![],
    };
    let questions = |questions: Vec<Question>| {
        bare("ask_user", json!({ "questions": questions }), AskKind::Questions(questions))
    };
    let hold = Some(Hold { after_ms: 5000, then: HoldThen::Park });
    let edit = json!({"file_path": "src/a.rs", "old_string": "    old", "new_string": "    new\n"});
    let expected = vec![
        Step::Say { text: "I look first.".into(), parents: vec![] },
        Step::Think { text: "Hm.".into(), parents: vec![] },
        read(json!({"path": "a"}), "120 lines", false),
        read(json!({"path": "b"}), "not there", true),
        read(json!({}), "ok", false),
        Step::Ask(ScriptAsk {
            because: Some("no rule".into()),
            says: Some("Lists it".into()),
            settings: Settings { hold, timeout_ms: None, no_park: true, timed: false },
            ..bare("Bash", json!({"command": "ls"}), AskKind::Approval)
        }),
        Step::Ask(questions(vec![question("Store", "Where?", &["here", "there"])])),
        Step::Ask(ScriptAsk {
            parents,
            ..bare(
                "show_form",
                json!({"title": "T", "fields": []}),
                AskKind::Form(Form { title: Some("T".into()), fields: vec![] }),
            )
        }),
        Step::Ask(ScriptAsk { says: Some("Better".into()), ..bare("Edit", edit, AskKind::Edit) }),
        Step::Together(vec![
            questions(vec![question("A", "First?", &["x"]), question("B", "Second?", &[])]),
            bare("Bash", json!({}), AskKind::Approval),
        ]),
        Step::Repeat { times: 3, steps: vec![Step::Say { text: "again".into(), parents: vec![] }] },
        Step::Wait(Duration::from_millis(200)),
        Step::Fail("sorry".into()),
        Step::Crash,
    ];
    assert_eq!(script(text), Ok(Script { steps: expected }));
}

#[test]
fn a_form_on_one_line_with_words() {
    let text = r#"form [timeout=1m] {"fields":[{"id":"v","label":"V","type":"text"}]} says I need it"#;
    let input = json!({"fields": [{"id": "v", "label": "V", "type": "text"}]});
    let field = Field {
        id: "v".into(),
        label: "V".into(),
        description: None,
        required: false,
        default: None,
        kind: FieldKind::Text { min_length: None, max_length: None, format: None },
    };
    let ask = ScriptAsk {
        says: Some("I need it".into()),
        settings: Settings { timeout_ms: Some(60_000), ..Settings::default() },
        ..bare("show_form", input, AskKind::Form(Form { title: None, fields: vec![field] }))
    };
    assert_eq!(script(text), Ok(Script { steps: vec![Step::Ask(ask)] }));
}

#[test]
fn every_mistake_is_named_with_its_line() {
    let missing = |verb, what| Problem::Missing { verb, what };
    let cases = [
        ("say a\ndance", 2, Problem::UnknownVerb("dance".into())),
        ("say", 1, missing("say", "words")),
        ("ask\nend", 1, missing("ask", "at least one question")),
        ("together\nend", 1, missing("together", "at least one ask")),
        ("\nwait soon", 2, Problem::BadTime("soon".into())),
        ("repeat 0\nend", 1, Problem::BadCount("0".into())),
        ("repeat many\nend", 1, Problem::BadCount("many".into())),
        ("repeat 2\nsay a", 1, Problem::NoEnd("repeat")),
        ("ask\nA: b?", 1, Problem::NoEnd("ask")),
        ("together\nask A: b?\n", 1, Problem::NoEnd("together")),
        ("say a\nend", 2, Problem::StrayEnd),
        ("together\nsay a\nend", 2, Problem::NotAnAsk),
        ("ask Authentication: How?", 1, Problem::BadHeader("Authentication".into())),
        ("ask Store:", 1, Problem::NoQuestion),
        ("ask Where?", 1, Problem::NoQuestion),
        ("ask\nA: b?\nA: c?\nend", 1, Problem::SameHeader("A".into())),
        ("ask A: b? | x | x", 1, Problem::BadOptions),
        ("ask A: b? | x |", 1, Problem::BadOptions),
        ("ask\nA: b?\nB!: c?\nend", 3, Problem::NoOptions),
        ("ask [soon] A: b?", 1, Problem::BadSetting("soon".into())),
        ("edit a\n-x\ny\nend", 3, Problem::BadEditLine),
    ];
    for (text, line, expected) in cases {
        assert_eq!(script(text), problem(line, expected), "{text}");
    }
    let deep = "repeat 1\n".repeat(9);
    assert_eq!(script(&deep), problem(9, Problem::TooDeep));
    for text in ["tool Read {", "approve Bash", "form {\"fields\":1}", "ask {\"questions\":1}"] {
        let error = script(text).expect_err(text);
        assert!(matches!(error.problem, Problem::BadJson(_)), "{text}: {error}");
    }
}

#[test]
fn repeated_steps_are_taken_as_often_as_they_are() {
    let text = "say a\nrepeat 2\nsay b\nrepeat 2\nsay c\nend\nend\nsay d";
    let script = script(text).unwrap();
    let said: Vec<_> = script
        .taken()
        .map(|step| if let Step::Say { text, .. } = step { text.as_str() } else { panic!("only words") })
        .collect();
    assert_eq!(said, ["a", "b", "c", "c", "b", "c", "c", "d"]);
}

#[test]
fn what_is_meant_as_a_script() {
    for text in ["say a", "\n# x\n  together", "as tester\nsay a", "wait"] {
        assert!(Script::is_meant(text), "{text}");
    }
    for text in ["", "hello", "Say a", "# only a comment", "/demo"] {
        assert!(!Script::is_meant(text), "{text}");
    }
}
