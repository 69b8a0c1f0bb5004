//! Notations of hooks, and what each of them names.

use serde_json::json;

use super::*;

/// A project in which these files are, with one hook.
fn found_with(command: &str, files: &[&str]) -> FoundFiles {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    for (name, text) in
        files.iter().map(|name| (*name, "true")).chain([(".claude/settings.json", &*hook.to_string())])
    {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    look(&project, None).found.unwrap()
}

#[test]
fn a_script_is_found_in_every_notation() {
    let script = "scripts/x.sh";
    for command in [
        "$CLAUDE_PROJECT_DIR/scripts/x.sh",
        "\"$CLAUDE_PROJECT_DIR\"/scripts/x.sh",
        "\"$CLAUDE_PROJECT_DIR/scripts/x.sh\"",
        "${CLAUDE_PROJECT_DIR}/scripts/x.sh --fast",
        "\"${CLAUDE_PROJECT_DIR}\"/scripts/x.sh",
        "$PWD/scripts/x.sh",
        "\"$PWD\"/scripts/x.sh",
        "$(pwd)/scripts/x.sh",
        "`pwd`/scripts/x.sh",
        "\"$(git rev-parse --show-toplevel)\"/scripts/x.sh",
        "cd scripts && ./x.sh",
        "cd scripts; \"$CLAUDE_PROJECT_DIR\"/scripts/x.sh",
        "cd \"$CLAUDE_PROJECT_DIR/scripts\" && sh x.sh",
        "./scripts/x.sh",
        "scripts/x.sh",
        "'scripts'/x.sh",
        "scripts\\/x.sh",
        "sh -c './scripts/x.sh'",
        "bash -lc \"cd scripts && exec ./x.sh\"",
        "bash -c \"$CLAUDE_PROJECT_DIR/scripts/x.sh\"",
        "FAST=1 scripts/x.sh",
        "D=\"$CLAUDE_PROJECT_DIR\"/scripts; \"$D\"/x.sh",
        ". scripts/x.sh",
        "eval 'scripts/x.sh'",
        "jq -r .cwd | xargs -I {} sh scripts/x.sh {}",
        "timeout 5 scripts/x.sh",
        "env A=b nice -n 5 scripts/x.sh",
        "if [ -n \"$X\" ]; then scripts/x.sh; fi",
        "true || { scripts/x.sh; }",
        "echo $(scripts/x.sh)",
        "cat scripts/x.sh | sh",
        "echo 'exec ./scripts/x.sh' | bash -s",
        "bash < scripts/x.sh",
        "unheard-of --config=scripts/x.sh",
        "node --import ./scripts/x.sh --eval 1",
        "uv run scripts/x.sh",
        "2>/dev/null scripts/x.sh",
        "python3 -c \"exec(open('scripts/x.sh').read())\"",
    ] {
        let found = found_with(command, &[script]);
        assert!(found.files.iter().any(|file| file == script), "{command}: {found:?}");
        assert!(found.digest.is_some(), "{command}: {:?}", found.unresolved);
    }
    for (command, file) in [
        ("python3 -m tools.check", "tools/check.py"),
        ("python3 tools/check.py", "tools/check.py"),
        ("python3 check", "check"),
        ("node ./x.mjs", "x.mjs"),
        ("npx tsx ./x.ts", "x.ts"),
        ("npm run -s check", "package.json"),
        ("make lint", "Makefile"),
        ("make -C tools lint", "tools/Makefile"),
        ("npm --prefix tools run lint", "tools/package.json"),
        ("pnpm --dir=tools lint", "tools/package.json"),
        ("node hooks", "hooks/index.js"),
        ("cd hooks && node .", "hooks/index.js"),
        ("node check", "check.js"),
        ("python3 hooks", "hooks/__main__.py"),
        ("go run ./tools/hook", "tools/hook/main.go"),
    ] {
        let found = found_with(command, &[file]);
        assert!(found.files.iter().any(|found| found == file), "{command}: {found:?}");
        assert!(found.digest.is_some(), "{command}: {:?}", found.unresolved);
    }
}

#[test]
fn a_script_that_nobody_can_find_is_named_and_not_trusted() {
    for (command, named) in [
        ("./scripts/y.sh", "./scripts/y.sh"),
        ("\"$CLAUDE_PROJECT_DIR\"/y.sh", "$CLAUDE_PROJECT_DIR/y.sh"),
        ("\"$TOOLS\"/x.sh", "/x.sh…"),
        ("$(cat name)", "…"),
        ("sh \"$X\"", "…"),
        ("bash -c \"$X\"", "…"),
        ("eval \"$X\"", "…"),
        ("scripts/*.sh", "scripts/*.sh…"),
        ("cd \"$X\" && ./x.sh", "./x.sh"),
        ("cd nowhere && ./x.sh", "./x.sh"),
        ("sh ../x.sh", "../x.sh"),
        ("node y.mjs", "y.mjs"),
        ("PATH=./bin:$PATH check", "PATH=./bin:…"),
        ("sh -c 'sh -c \"./y.sh\"'", "./y.sh"),
        ("echo 'never closed", "echo 'never closed"),
        ("\u{e000}/scripts/x.sh", "scripts/x.sh"),
        ("cat scripts/* | sh", "scripts/*…"),
        ("cat \"$X\" | sudo bash", "…"),
    ] {
        let found = found_with(command, &["scripts/x.sh"]);
        assert_eq!(found.digest, None, "{command}");
        let told = found.unresolved.join(" ");
        assert!(told.contains(named) && told.contains(".claude/settings.json"), "{command}: {told}");
    }
}

#[test]
fn hooks_as_people_write_them_can_be_trusted() {
    for command in [
        "npx prettier --write \"$CLAUDE_FILE_PATHS\"",
        "npx prettier --write \"src/**/*.ts\"",
        "npx @biomejs/biome check --write $CLAUDE_PROJECT_DIR/src",
        "jq -r .tool_input.file_path | xargs gofmt -w",
        "jq -r '.tool_input.file_path' | { read f; if echo \"$f\" | grep -q '\\.ts$'; then npx prettier --write \"$f\"; fi; }",
        "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check.py",
        "python3 \"$CLAUDE_PROJECT_DIR/.claude/hooks/check.py\"",
        "uv run --quiet $CLAUDE_PROJECT_DIR/.claude/hooks/check.py",
        "jq -r '\"\\(.tool_input.command) - \\(.tool_input.description)\"' >> ~/.claude/bash-log.txt",
        "python3 -c \"import json, sys; data=json.load(sys.stdin); sys.exit(2 if '.env' in data.get('p','') else 0)\"",
        "notify-send 'Claude Code' 'Awaiting your input'",
        "echo \"Today is $(date +%F), see docs/guide.md\"",
        "/usr/bin/env true",
        "f=$(jq -r .tool_input.file_path); [[ \"$f\" == *.rs ]] && rustfmt \"$f\" || true",
        "case \"$F\" in *.py) black \"$F\" ;; esac",
        "git diff --name-only origin/main | head -20",
        "curl -s https://example.org/a/b | jq .x",
        "sed -i 's/a/b/' notes.txt",
        "perl -pe 's/a/b/' notes.txt",
        "cat \"$F\" | python3 -c 'import sys; print(sys.stdin.read())'",
        "cd \"$CLAUDE_PROJECT_DIR\" && npm test",
        "npm run lint --silent 2>&1 | tail -5",
        "make -s check",
        "mkdir -p .cache/x && touch .cache/x/y",
        "date >> \"$CLAUDE_PROJECT_DIR\"/log.txt",
        "~/.claude/hooks/mine.sh",
        "terminal-notifier -title 'a/b' -message done; exit 0",
    ] {
        let found = found_with(command, &[".claude/hooks/check.py", "package.json"]);
        assert!(found.digest.is_some(), "{command}: {:?}", found.unresolved);
    }
    // What a hook only shows or writes may change.
    let found = found_with("cat NOTES.md; date | tee log.txt", &["NOTES.md", "log.txt"]);
    assert_eq!(found.files, [".claude/settings.json"]);
}

#[test]
fn commands_stand_in_more_places_than_hooks() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir_all(project.join(".git")).unwrap();
    let put = |name: &str, text: &str| {
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let servers = json!({"mcpServers": {
        "a": {"command": "node", "args": ["${CLAUDE_PROJECT_DIR}/one.mjs"]},
        "b": {"command": "./two", "args": []},
        "c": {"command": "python3", "args": ["three.py"], "cwd": "tools"},
    }});
    let settings = json!({
        "statusLine": {"type": "command", "command": "bash four.sh"},
        "apiKeyHelper": "./five",
        "awsAuthRefresh": "./six",
        "otelHeadersHelper": "sh ./seven",
        "env": {"NODE_OPTIONS": "--require=./eight.js"},
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./nine", "args": ["./ten"]}]}]},
        "extraKnownMarketplaces": {"m": {"source": {"source": "directory", "path": "./plugins"}}},
        "permissions": {"allow": ["Edit(never.txt)"]},
    });
    let agent = "---\nname: x\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: \"./eleven\"\n---\n";
    let command = "---\ndescription: y\n---\nNow: !`sh twelve.sh $ARGUMENTS`\n";
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"command": "${CLAUDE_PLUGIN_ROOT}/thirteen"}]}]}});
    let named = [
        "one.mjs",
        "two",
        "tools/three.py",
        "four.sh",
        "five",
        "six",
        "seven",
        "eight.js",
        "nine",
        "ten",
        "eleven",
        "twelve.sh",
        "plugins/p/thirteen",
    ];
    for name in named.into_iter().chain(["never.txt"]) {
        put(name, "true");
    }
    put(".mcp.json", &servers.to_string());
    put(".claude/settings.json", &settings.to_string());
    put(".claude/agents/x.md", agent);
    put(".claude/commands/y.md", command);
    put("plugins/p/hooks/hooks.json", &hooks.to_string());
    let found = look(&project, None).found.unwrap();
    assert!(found.digest.is_some(), "{:?}", found.unresolved);
    for name in named {
        assert!(found.files.iter().any(|file| file == name), "{name}: {:?}", found.files);
        let before = look(&project, None).found.unwrap().digest;
        put(name, "false");
        assert_ne!(look(&project, None).found.unwrap().digest, before, "{name}");
    }
    assert!(!found.files.iter().any(|file| file == "never.txt"), "a rule about a file runs nothing");
    put(".claude/settings.local.json", "{ // a comment\n}");
    assert_eq!(look(&project, None).found.unwrap().digest, None, "settings that nobody can read");
}

#[test]
fn a_file_that_would_run_if_it_were_there_counts_when_it_comes() {
    let found = found_with("make lint", &["Makefile"]);
    let comes = found_with("make lint", &["Makefile", "GNUmakefile"]);
    assert!(found.digest.is_some() && comes.digest.is_some() && found.digest != comes.digest);
    assert!(found.runs.iter().any(|path| path.ends_with("GNUmakefile")));
    let later = found_with("unheard-of ./later.sh", &[]);
    assert!(later.digest.is_some() && later.runs.iter().any(|path| path.ends_with("later.sh")));
}
