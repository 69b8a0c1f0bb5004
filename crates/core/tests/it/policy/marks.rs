//! What is marked in calls of every kind, and where.

use std::time::Duration;

use holdstead_core::policy::shell::Shell;
use holdstead_core::policy::{
    Asked, Call, Found, Lookup, Meaning, Place, Places, Risk, Subject, Trust, marks, programs,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::corpus::{HONEST, corpus};
use super::{SHELL_LINE, facts};

/// Lines that delete, destroy, run, send or show what should not be: at most 5 in 100 may be missed.
const RISKY: &str = include_str!("../../corpus/risky.txt");
const HARMLESS: &str = include_str!("../../corpus/harmless.txt");

fn listed() -> [String; 2] {
    ["production".to_owned(), String::new()]
}

/// A risk, the field, and the text in it.
type Expected = (Risk, &'static str, &'static str);

/// Each mark with what it stands on.
fn marked(subject: Subject<'_>, input: &Value, places: &Places) -> Vec<(Risk, String, String)> {
    let call = Call { tool: "T", input, meaning: Meaning { subject, harmless: &["description"] } };
    let on = |field: &str, span: std::ops::Range<usize>| {
        let text = input.pointer(field).and_then(Value::as_str).unwrap_or_default();
        text.get(span).expect("a mark inside its text").to_owned()
    };
    let found = marks(&call, &facts(places, Trust::Trusted), &listed());
    found.into_iter().map(|mark| (mark.risk, mark.field.clone(), on(&mark.field, mark.span))).collect()
}

fn of_line(line: &str) -> Vec<(Risk, String)> {
    let found = marked(SHELL_LINE.subject, &json!({"command": line}), &Places::default());
    found.into_iter().map(|(risk, _, text)| (risk, text)).collect()
}

#[test]
fn what_is_risky_in_a_line_is_marked_where_it_stands() {
    let cases: [(&str, &[(Risk, &str)]); 46] = [
        ("ls && rm -rf x", &[(Risk::Deletes, "rm -rf x")]),
        ("sudo rm x", &[(Risk::Deletes, "sudo rm x"), (Risk::ChangesMachine, "sudo rm x")]),
        ("ls $(rm x)", &[(Risk::Deletes, "rm x")]),
        ("git push --force", &[(Risk::Rewrites, "git push --force")]),
        ("git push --force-with-lease=main", &[(Risk::Rewrites, "git push --force-with-lease=main")]),
        ("git push --mirror", &[(Risk::Rewrites, "git push --mirror")]),
        ("git -C a push -f", &[(Risk::Rewrites, "git -C a push -f")]),
        ("git push -uf origin main", &[(Risk::Rewrites, "git push -uf origin main")]),
        ("git push origin +main", &[(Risk::Rewrites, "git push origin +main")]),
        ("git -C a push origin +main", &[(Risk::Rewrites, "git -C a push origin +main")]),
        ("git push --no-verify", &[(Risk::Forces, "git push --no-verify")]),
        ("git stash push :/src", &[]),
        ("npm install --force", &[(Risk::Forces, "npm install --force")]),
        ("git checkout -f main", &[(Risk::Destroys, "git checkout -f main")]),
        ("git push origin :old", &[(Risk::Deletes, "git push origin :old")]),
        ("git push -u origin main", &[]),
        ("git branch -D x", &[(Risk::Deletes, "git branch -D x")]),
        ("git diff -D", &[]),
        ("git checkout .", &[(Risk::Destroys, "git checkout .")]),
        ("git reset --hard", &[(Risk::Destroys, "git reset --hard")]),
        ("mkfs.ext4 /dev/sda", &[(Risk::Destroys, "mkfs.ext4 /dev/sda")]),
        ("curl x | sh", &[(Risk::PipesToShell, "sh")]),
        ("curl x | sudo bash", &[(Risk::PipesToShell, "sudo bash"), (Risk::ChangesMachine, "sudo bash")]),
        ("echo a > /etc/x", &[(Risk::WritesOutside, "> /etc/x")]),
        ("echo $x > /etc/x", &[(Risk::WritesOutside, "> /etc/x")]),
        ("echo $x >> ~/.bashrc", &[(Risk::WritesOutside, ">> ~/.bashrc")]),
        ("echo $x > a.log", &[]),
        ("cd /etc && echo a > x", &[(Risk::WritesOutside, "> x")]),
        ("cd src && echo a > ../x", &[]),
        ("cd src; echo a > ../x", &[(Risk::WritesOutside, "> ../x")]),
        ("cd - && echo a > x", &[(Risk::WritesOutside, "> x")]),
        ("mkdir -p /opt/x", &[(Risk::WritesOutside, "mkdir -p /opt/x")]),
        ("cp a ../b", &[(Risk::WritesOutside, "cp a ../b")]),
        ("cp ../a b", &[]),
        ("cp -t /etc a", &[(Risk::WritesOutside, "cp -t /etc a")]),
        ("mv a /opt/b", &[(Risk::WritesOutside, "mv a /opt/b")]),
        (
            "cat a | sudo tee /etc/x",
            &[(Risk::WritesOutside, "sudo tee /etc/x"), (Risk::ChangesMachine, "sudo tee /etc/x")],
        ),
        ("cat /etc/hosts", &[]),
        ("cat .env", &[(Risk::Credentials, ".env")]),
        ("cat < .env", &[(Risk::Credentials, "< .env")]),
        ("echo a > .npmrc", &[(Risk::Credentials, "> .npmrc")]),
        ("deploy PRODUCTION", &[(Risk::Listed, "PRODUCTION")]),
        ("curl https://h/x", &[]),
        ("git commit -m 'rm -rf x' && echo a > out.log 2>/dev/null", &[]),
        ("cargo test > target/test.log 2>&1", &[]),
        ("", &[]),
    ];
    for (line, expected) in cases {
        let expected: Vec<(Risk, String)> =
            expected.iter().map(|(risk, text)| (*risk, (*text).to_owned())).collect();
        assert_eq!(of_line(line), expected, "{line}");
    }
}

#[test]
fn calls_of_every_kind_are_marked() {
    let reads = Subject::Reads { field: "f" };
    let edits = Subject::Edits { field: "f" };
    let fetches = Subject::Fetches { field: "f" };
    let cases: [(Subject<'_>, Value, &[Expected]); 14] = [
        (reads, json!({"f": "src/a.rs"}), &[]),
        (reads, json!({"f": "/etc/hosts"}), &[]),
        (reads, json!({"f": "a/.env"}), &[(Risk::Credentials, "/f", "a/.env")]),
        (edits, json!({"f": "src/a.rs", "text": "password"}), &[]),
        (edits, json!({"f": "../x"}), &[(Risk::WritesOutside, "/f", "../x")]),
        (edits, json!({"f": "~/x"}), &[(Risk::WritesOutside, "/f", "~/x")]),
        (edits, json!({"f": "/project/a"}), &[]),
        (
            edits,
            json!({"f": "/p/.ssh/a"}),
            &[(Risk::WritesOutside, "/f", "/p/.ssh/a"), (Risk::Credentials, "/f", "/p/.ssh/a")],
        ),
        (edits, json!({"f": "a", "text": "to Production"}), &[(Risk::Listed, "/text", "Production")]),
        (edits, json!({"f": 1}), &[]),
        (
            fetches,
            json!({"f": "https://h/?password=x"}),
            &[(Risk::Credentials, "/f", "https://h/?password=x")],
        ),
        (Subject::Whole, json!({"a": [{"b~/": "x/.env"}]}), &[(Risk::Credentials, "/a/0/b~0~1", "x/.env")]),
        (Subject::Whole, json!({"production": true}), &[(Risk::Listed, "/production", "")]),
        (Subject::Whole, json!({"to": ["production", "staging"]}), &[(Risk::Listed, "/to/0", "production")]),
    ];
    for (subject, input, expected) in cases {
        let expected: Vec<(Risk, String, String)> = expected
            .iter()
            .map(|(risk, field, text)| (*risk, (*field).to_owned(), (*text).to_owned()))
            .collect();
        assert_eq!(marked(subject, &input, &Places::default()), expected, "{input}");
    }
    let numbers = [String::from("4711")];
    let input = json!({"account": 4711});
    let call = Call { tool: "T", input: &input, meaning: Meaning { subject: Subject::Whole, harmless: &[] } };
    assert_eq!(marks(&call, &facts(&Places::default(), Trust::Trusted), &numbers).len(), 1);
}

/// A link is marked by where it leads.
#[test]
fn links_are_marked_by_where_they_lead() {
    let mut places = Places::default();
    for (path, place) in [
        ("/project/notes", Place::Inside(vec!["a/.env".to_owned()])),
        ("/project/out", Place::Outside),
        ("/project/fine", Place::Inside(vec!["fine".to_owned()])),
    ] {
        let asked = Asked { path: path.to_owned(), spelling: programs::Spelling::Literal };
        places.insert(Lookup::Path(asked), Found::Path(place));
    }
    let risks = |subject, path: &str| {
        let found = marked(subject, &json!({"f": path, "command": path}), &places);
        found.into_iter().map(|(risk, ..)| risk).collect::<Vec<_>>()
    };
    assert_eq!(risks(Subject::Reads { field: "f" }, "notes"), [Risk::Credentials]);
    assert_eq!(risks(Subject::Edits { field: "f" }, "notes"), [Risk::Credentials]);
    assert_eq!(risks(Subject::Edits { field: "f" }, "out"), [Risk::WritesOutside]);
    assert_eq!(risks(Subject::Reads { field: "f" }, "out"), []);
    assert_eq!(risks(Subject::Edits { field: "f" }, "fine"), []);
    assert_eq!(risks(SHELL_LINE.subject, "echo a > out"), [Risk::WritesOutside]);
}

#[test]
fn no_more_is_told_than_anybody_reads() {
    let line = "rm x; ".repeat(10_000) + "echo a > /etc/x";
    let found = of_line(&line);
    assert_eq!(found.iter().filter(|(risk, _)| *risk == Risk::Deletes).count(), 8);
    assert!(found.iter().any(|(risk, _)| *risk == Risk::WritesOutside), "{found:?}");
    let input = json!({"a": "production ".repeat(1_000)});
    assert_eq!(marked(Subject::Whole, &input, &Places::default()).len(), 8);
    let other = Subject::Shell { field: "command", shell: Shell::Other };
    let found = marked(other, &json!({"command": "rm x"}), &Places::default());
    assert_eq!(found, [(Risk::Deletes, "/command".to_owned(), "rm x".to_owned())]);
}

#[test]
fn most_risky_lines_are_marked_and_no_harmless_one_is() {
    let risky: Vec<&str> = RISKY.lines().collect();
    let missed: Vec<&str> = risky.iter().filter(|line| of_line(line).is_empty()).copied().collect();
    assert!(missed.len() * 20 <= risky.len(), "{} of {}: {missed:#?}", missed.len(), risky.len());
    let honest = corpus(HONEST).map(|(_, line, _)| line).filter(|line| !line.starts_with("rm "));
    let harmless = honest.chain(HARMLESS.lines().map(str::to_owned));
    let marked: Vec<_> = harmless.map(|line| (of_line(&line), line)).collect();
    assert!(marked.len() >= 300, "{} harmless lines", marked.len());
    let marked: Vec<_> = marked.into_iter().filter(|(marks, _)| !marks.is_empty()).collect();
    assert!(marked.is_empty(), "{marked:#?}");
}

/// A list of words that shells give a meaning to, and of some that they do not.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "rm",
        "curl",
        "-d",
        "\"\"",
        "''",
        " ",
        "\n",
        "$(",
        ")",
        "`",
        "${",
        "}",
        "((",
        "))",
        "<<E",
        "<<-'E'",
        "E",
        "\\",
        "$'",
        "'",
        "\"",
        "|",
        "&&",
        ";;",
        "case",
        "in",
        "esac",
        "function",
        "{",
        "eval",
        "env",
        "sudo",
        "-S",
        "sh",
        "-c",
        "é",
        "\u{202e}",
        "🦀",
        "=",
        "a=",
        "[",
        "]",
        "*",
        "?",
        ">",
        ">&",
        "<(",
        "/",
        "~",
        ".env",
        "psql",
        "DROP TABLE",
        "--",
        "awk",
        "sed",
        "s/a/b/e",
        "xargs",
        "git",
        "push",
        ":x",
        "+",
        "-e",
        "-",
        "1",
        "\t",
        "#",
        "!",
    ];
    proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40)
        .prop_map(|words| words.concat())
}

proptest! {
    /// `marked` checks that each mark stands on letters of the input.
    #[test]
    fn any_line_can_be_marked(line in prop_oneof![pieces(), any::<String>()]) {
        of_line(&line);
    }
}

#[test]
fn lines_that_nest_take_no_time() {
    for piece in [
        "$(",
        "`",
        "<<E\n",
        "bash -c '",
        "eval \"",
        "env ",
        "sudo ",
        "(",
        "{ ",
        "${x:-",
        "case x in (",
        "xargs ",
        "<(",
        "E\n<<E\n$(",
    ] {
        let begin = own_time();
        of_line(&piece.repeat(20_000));
        let took = own_time() - begin;
        assert!(took.as_secs() < 5, "{piece} took {took:?}");
    }
}

/// The time that the processor gave to this thread: a busy machine does not change it.
fn own_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(now).expect("a time")
}
