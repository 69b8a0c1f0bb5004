use proptest::prelude::*;

use super::*;

fn argv(line: &str) -> Vec<Vec<String>> {
    let Line::Plain(commands) = read(line, Shell::Bash) else {
        panic!("{line:?}: {:?}", read(line, Shell::Bash))
    };
    commands.iter().map(|command| command.argv.iter().map(|word| word.text().to_owned()).collect()).collect()
}

fn why(line: &str, shell: Shell) -> Option<&'static str> {
    match read(line, shell) {
        Line::Plain(_) => None,
        Line::Unclear(unclear) => {
            assert!(unclear.at <= line.len() && !unclear.why.is_empty(), "{line:?}");
            Some(unclear.why)
        }
    }
}

#[test]
fn words_are_what_the_program_gets() {
    let cases: [(&str, &[&[&str]]); 24] = [
        ("git status", &[&["git", "status"]]),
        ("  git\tstatus  ", &[&["git", "status"]]),
        ("a && b || c; d | e\nf", &[&["a"], &["b"], &["c"], &["d"], &["e"], &["f"]]),
        ("a&&b", &[&["a"], &["b"]]),
        ("a |\n  b &&\n\n c;", &[&["a"], &["b"], &["c"]]),
        ("# first\ngit status # then\nls", &[&["git", "status"], &["ls"]]),
        ("pytest -q \\\n  tests", &[&["pytest", "-q", "tests"]]),
        ("echo 'a b' \"c d\" e\\ f ''", &[&["echo", "a b", "c d", "e f", ""]]),
        ("echo 'Don'\\''t' \"it's\" 'a'\"b\"c", &[&["echo", "Don't", "it's", "abc"]]),
        (
            "echo '$(rm x)' \"\\$(rm x) \\`x\\` \\\"q\\\" a\\b\"",
            &[&["echo", "$(rm x)", "$(rm x) `x` \"q\" a\\b"]],
        ),
        ("echo \"a\\\nb\"", &[&["echo", "ab"]]),
        ("grep -E \"a$|b$\" \"cost $\" x", &[&["grep", "-E", "a$|b$", "cost $", "x"]]),
        (
            "git diff HEAD~3..HEAD stash@{0} a^{tree} @{u} x^",
            &[&["git", "diff", "HEAD~3..HEAD", "stash@{0}", "a^{tree}", "@{u}", "x^"]],
        ),
        ("make FOO=bar a#b a:b,c@d%e+f", &[&["make", "FOO=bar", "a#b", "a:b,c@d%e+f"]]),
        (
            "find . ! -name x \\( -type f \\) -o -path './t/*'",
            &[&["find", ".", "!", "-name", "x", "(", "-type", "f", ")", "-o", "-path", "./t/*"]],
        ),
        ("[ a = b ]", &[&["[", "a", "=", "b", "]"]]),
        ("[ a == b ]", &[&["[", "a", "==", "b", "]"]]),
        ("test a != b", &[&["test", "a", "!=", "b"]]),
        (": x", &[&[":", "x"]]),
        ("echo \"naïve – ✓\"", &[&["echo", "naïve – ✓"]]),
        ("cat a2>b", &[&["cat", "a2"]]),
        ("./run.sh a", &[&["./run.sh", "a"]]),
        (
            "git commit -m \"$(cat <<'EOF'\nFix (a `b`; $HOME) isn't \"it\"\n\nmore\nEOF\n)\" -q",
            &[&["git", "commit", "-m", "Fix (a `b`; $HOME) isn't \"it\"\n\nmore", "-q"]],
        ),
        ("echo \"a $(cat << 'X_1'\nb\n\n\nX_1\n  ) c\"", &[&["echo", "a b c"]]),
    ];
    for (line, expected) in cases {
        assert_eq!(argv(line), expected, "{line:?}");
    }
}

#[test]
fn what_is_not_plain_is_unclear() {
    let lines = [
        "",
        " ",
        "\n",
        "# only a comment",
        ";",
        "a ;; b",
        "a &",
        "a & b",
        "a |& b",
        "a &&",
        "a |",
        "&& a",
        "a && ; b",
        "a;;b",
        "a ;& b",
        "$x",
        "a $x",
        "a \"$x\"",
        "a ${x}",
        "a $(b)",
        "a \"$(b)\"",
        "a `b`",
        "a \"`b`\"",
        "a $((1))",
        "a $'b'",
        "a $\"b\"",
        "a \"$'b'\"",
        "a <(b)",
        "a >(b)",
        "a > >(b)",
        "a <<EOF\nEOF",
        "a <<'EOF'\nEOF\n",
        "a <<<b",
        "a <>b",
        "a >|b",
        "a >&b",
        "a >&-",
        "a <&0",
        "a 3>b",
        "a 12>b",
        "a 2>&1b",
        "a {v}>b",
        "> b",
        "2>a b",
        "a >",
        "a > # b",
        "a > *",
        "a > ''",
        "a >!b",
        "a > /dev/tcp/h/1",
        "a < /dev/udp/h/1",
        "a > /dev/sda",
        "a <1-9>",
        "a <-",
        "(a)",
        "{ a; }",
        "! a",
        "if a; then b; fi",
        "for x in a; do b; done",
        "while a; do b; done",
        "case a in b) c;; esac",
        "[[ a ]]",
        "((a))",
        "a() { b; }",
        "function a { b; }",
        "time a",
        "coproc a",
        "select x in a; do b; done",
        "repeat 3 a",
        "noglob a",
        "- a",
        "x=1",
        "x=1 a",
        "x+=1 a",
        "a[0]=1",
        "\\a b",
        "'a' b",
        "\"a\" b",
        "a'' b",
        "a* b",
        "a? b",
        "{a,b}",
        "~/a b",
        "-a",
        "+a",
        "%1",
        "a{b,c} d",
        "é a",
        "12 a",
        "a ~",
        "a ~/b",
        "a ~b",
        "a x=~/b",
        "a b:~/c",
        "a =b",
        "a ^b",
        "a {b,c}",
        "a {b..c}",
        "a {}",
        "a b{",
        "a [b]",
        "a b[c",
        "a !b",
        "a !(b)",
        "a @(b|c)",
        "a (b)",
        "a @{b,c}",
        "a 'b'#c",
        "a é",
        "a \\b",
        "a b\\",
        "a b\\\nc",
        "a 'b",
        "a \"b",
        "a \"b\\\"",
        "a\rb",
        "a\r\nb",
        "a\u{a0}b",
        "a '\u{202e}b'",
        "a \u{200b}b",
        "a\u{2028}b",
        "a\0b",
        "a \u{b}b",
        "a 'b\u{85}c'",
        "a '\u{e0041}'",
        "a \"$(cat <<EOF\nb\nEOF\n)\"",
        "a \"$(cat <<'EOF'\nb)\"; rm x; \"\nEOF\n)\"",
        "a \"$(cat <<'EOF'\n(a) b)\" && rm x && echo \"\nEOF\n)\"",
        "a \"$(cat <<-'EOF'\nb\nEOF\n)\"",
        "a \"$(cat <<'EOF' b\nc\nEOF\n)\"",
        "a \"$(cat <<'EOF'\nb\nEOF)\"",
        "a \"$(cat <<'EOF'\nb\nEOF) x\nEOF\n)\"",
        "a \"$(cat <<'EOF'\nb\nEOF\n; c)\"",
        "a \"$(cat <<''\nb\n\n)\"",
        "a $(cat <<'EOF'\nb\nEOF\n)",
        "a \"$(tac <<'EOF'\nb\nEOF\n)\"",
        "a \"$(cat b <<'EOF'\nb\nEOF\n)\"",
        "a \"$(cat <<'E F'\nb\nE F\n)\"",
        "a \"$(cat <<'EOF'\nb\n",
    ];
    for line in lines {
        for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
            assert!(why(line, shell).is_some(), "{line:?} {shell:?}: {:?}", read(line, shell));
        }
    }
}

#[test]
fn shells_differ() {
    let differ = [
        ("a &> b", [true, false, true]),
        ("a &>> b", [true, false, true]),
        ("[ a == b ]", [true, true, false]),
        ("[ a != b ]", [true, true, false]),
        ("a # -delete", [true, true, false]),
        ("# a note\na", [true, true, true]),
        ("# $(b)\na", [true, true, false]),
        ("a 'b''c'", [true, true, false]),
        ("a 'b'\\''c'", [true, true, true]),
    ];
    for (line, plain) in differ {
        for (shell, plain) in [Shell::Bash, Shell::Sh, Shell::Zsh].into_iter().zip(plain) {
            assert_eq!(why(line, shell).is_none(), plain, "{line:?} {shell:?}");
        }
        assert!(why(line, Shell::Other).is_some(), "{line:?}");
    }
}

#[test]
fn joins_redirections_and_places_are_told() {
    let line = "a x 2>&1 >o <'i n' && b&>>c | d # e";
    let Line::Plain(commands) = read(line, Shell::Bash) else { panic!("plain") };
    assert_eq!(
        commands.iter().map(|command| command.join).collect::<Vec<_>>(),
        [Join::First, Join::And, Join::Pipe]
    );
    assert_eq!(
        commands.iter().map(|command| &line[command.span.clone()]).collect::<Vec<_>>(),
        ["a x 2>&1 >o <'i n'", "b&>>c", "d"]
    );
    assert_eq!(
        commands[0].redirects,
        [
            Redirect::Duplicate,
            Redirect::Write { path: "o".into(), span: 9..11 },
            Redirect::Read { path: "i n".into(), span: 12..18 },
        ],
    );
    assert_eq!(commands[1].redirects, [Redirect::Write { path: "c".into(), span: 23..27 }]);
    assert_eq!(commands[0].argv[1].span(), 2..3);
    assert_eq!(read("a\nb 'c", Shell::Bash), Line::Unclear(Unclear { why: "a quote without an end", at: 4 }));
}

#[test]
fn patterns_keep_what_stands_before_them() {
    let Line::Plain(commands) = read("wc src/'a b'*.rs ?x --include=*.rs", Shell::Bash) else {
        panic!("plain")
    };
    let prefixes: Vec<_> = commands[0].argv[1..]
        .iter()
        .map(|word| match word {
            Word::Pattern { prefix, text, .. } => (prefix.as_str(), text.as_str()),
            Word::Literal { .. } => panic!("{word:?}"),
        })
        .collect();
    assert_eq!(prefixes, [("src/a b", "src/a b*.rs"), ("", "?x"), ("--include=", "--include=*.rs")]);
}

#[test]
fn long_lines_are_bounded() {
    assert_eq!(why(&"a".repeat(MAX_BYTES), Shell::Bash), None);
    assert_eq!(why(&"a".repeat(MAX_BYTES + 1), Shell::Bash), Some("too long"));
    assert_eq!(why(&"a;".repeat(MAX_COMMANDS), Shell::Bash), None);
    assert_eq!(why(&"a;".repeat(MAX_COMMANDS + 1), Shell::Bash), Some("too many commands"));
    for deep in ["((", "$(", "{ ", "\"$(", "[[", "`", "<(", "!"] {
        assert!(why(&deep.repeat(200_000), Shell::Bash).is_some(), "{deep}");
    }
}

/// Pieces that mean something to a shell, in any order.
fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => prop::sample::select(vec!["a", "git", "-x", "b.c", "1", "2", "/", "=", "~", "é"]),
        3 => prop::sample::select(vec![" ", "\n", "\t", ";", "&", "|", "<", ">", "&&", "||"]),
        3 => prop::sample::select(vec!["'", "\"", "\\", "$", "`", "(", ")", "{", "}", "[", "]", "!", "*", "?", "#", "^"]),
        1 => prop::sample::select(vec!["$(cat <<'EOF'\n", "\nEOF\n)", "EOF", "\r", "\u{202e}", "@{0}", "2>&1"]),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn an_old_bash_is_given_no_text_that_it_may_misread() {
    let cases = [
        ("a \"$(cat <<'EOF'\nb\n\nc: d\nEOF\n)\"", true),
        ("a \"$(cat <<'EOF'\nisn't\nEOF\n)\"", false),
        ("a \"$(cat <<'EOF'\n(b)\nEOF\n)\"", false),
        ("a &> b", false),
        ("a > b", true),
    ];
    for (line, expected) in cases {
        assert_eq!(matches!(read(line, Shell::Bash3), Line::Plain(_)), expected, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(line in prop_oneof![noise(), any::<String>()]) {
        for shell in [Shell::Bash, Shell::Bash3, Shell::Sh, Shell::Zsh, Shell::Other] {
            match read(&line, shell) {
                Line::Unclear(unclear) => prop_assert!(unclear.at <= line.len()),
                Line::Plain(commands) => {
                    prop_assert!(!commands.is_empty() && commands[0].join == Join::First);
                    let mut end = 0;
                    for command in &commands {
                        prop_assert!(end <= command.span.start && command.span.end <= line.len());
                        prop_assert_eq!(&line[command.argv[0].span()], command.program());
                        for word in &command.argv {
                            prop_assert!(command.span.start <= word.span().start && word.span().end <= command.span.end);
                        }
                        // A command is read alike wherever it stands.
                        let Line::Plain(alone) = read(&line[command.span.clone()], shell) else { panic!("{line:?}") };
                        prop_assert_eq!(alone.len(), 1);
                        let words = |command: &Simple| command.argv.iter().map(|word| word.text().to_owned()).collect::<Vec<_>>();
                        prop_assert_eq!(words(&alone[0]), words(command));
                        end = command.span.end;
                    }
                }
            }
        }
    }

    #[test]
    fn a_quoted_word_is_read_back(words in prop::collection::vec(any::<String>(), 1..5)) {
        prop_assume!(!words.iter().any(|word| word.contains(is_hidden)));
        let line = words.iter().fold("echo".to_owned(), |line, word| format!("{line} {}", quote(word)));
        for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
            // zsh may read `''` inside quotes as one quote.
            if shell == Shell::Zsh && line.contains("''") {
                continue;
            }
            let Line::Plain(commands) = read(&line, shell) else { panic!("{line:?}") };
            let read: Vec<_> = commands[0].argv[1..].iter().map(|word| word.literal().expect("quoted")).collect();
            prop_assert_eq!(&read, &words);
        }
    }
}
