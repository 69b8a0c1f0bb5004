//! Files that make other programs run something, or that decide what agents may do. No rule allows writing them.

/// Folders and files, wherever they lie in the folder.
const GUARDED: [&str; 64] = [
    // Version control: hooks, drivers, filters, submodules.
    ".git",
    ".gitmodules",
    ".gitattributes",
    ".gitconfig",
    ".hg",
    ".svn",
    ".jj",
    "git~1",
    // Agents and what they may do, our own rules among them.
    ".holdstead",
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".opencode",
    ".windsurf",
    ".continue",
    ".aider.conf.yml",
    ".cursorrules",
    ".clinerules",
    ".windsurfrules",
    "claude.md",
    "claude.local.md",
    "agents.md",
    "gemini.md",
    "opencode.json",
    "opencode.jsonc",
    // Hooks.
    ".husky",
    ".githooks",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".pre-commit-config.yaml",
    // What a host of repositories runs when they are pushed.
    ".github",
    ".gitlab-ci.yml",
    // Editors and shells that run tasks when a folder is opened.
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".devcontainer.json",
    ".envrc",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".rprofile",
    // Which version of a program runs, or with which options, wherever it is started in the folder.
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo",
    ".mvn",
    ".pnpmfile.cjs",
    "bunfig.toml",
    "sitecustomize.py",
    "usercustomize.py",
    // Where packages come from, and with which credentials.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    "pip.conf",
    ".netrc",
    ".ssh",
];

/// Why a path that is written as `named`, and leads to one of these in the folder, may not be written unasked. `runs` are
/// files that run in a trusted folder.
pub(super) fn guard(named: &str, inside: &[String], runs: &[String]) -> Option<String> {
    if inside.iter().any(|path| is_guarded(path)) {
        return Some(format!("`{named}` decides what others run, so that writing it is always asked"));
    }
    let runs = inside.iter().any(|path| runs.iter().any(|file| is_or_has(path, file)));
    runs.then(|| format!("`{named}` runs by itself in this trusted folder: if it changes, the trust ends"))
}

/// Whether the path is that file, a folder that it is in, or a file of the same name in another folder: a hook may name it
/// from wherever it runs.
fn is_or_has(path: &str, file: &str) -> bool {
    let (path, file) = (path.to_lowercase(), file.to_lowercase());
    let ends_in = |whole: &str, end: &str| {
        whole.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    path.is_empty()
        || ends_in(&path, &file)
        || file.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))
}

/// Why the content of these files is not written unasked: git takes a folder with `HEAD`, `config`, `objects` and `refs` for a
/// repository, and runs what its configuration says.
pub(super) fn guard_content(named: &str, inside: &[String]) -> Option<String> {
    let name = |path: &String| path.rsplit('/').next().map(str::to_lowercase).unwrap_or_default();
    let is_of_git = inside.iter().any(|path| matches!(name(path).as_str(), "head" | "config"));
    is_of_git.then(|| format!("`{named}` would be a part of a git repository, which decides what git runs"))
}

fn is_guarded(path: &str) -> bool {
    path.split('/').any(|name| {
        // Some file systems drop dots and blanks at the end, case, or characters that are not seen.
        let name = name.trim_end_matches(['.', ' ']).to_lowercase();
        GUARDED.contains(&name.as_str())
            || name.ends_with(".code-workspace")
            || (name.starts_with('.') && !name.is_ascii())
    })
}

/// Endings of files that programs print into and none reads by itself.
const OUTPUT: [&str; 13] =
    ["log", "out", "err", "txt", "tmp", "patch", "diff", "csv", "tsv", "trace", "prof", "bak", "orig"];
/// Endings that are output where output is kept.
const OUTPUT_IN_FOLDERS: [&str; 5] = ["jsonl", "html", "svg", "dot", "lcov"];
/// The same, but programs read files with these endings, unless they have such a name.
const OUTPUT_BY_NAME: [&str; 2] = ["json", "xml"];
const OUTPUT_NAMES: [&str; 15] = [
    "report",
    "reports",
    "result",
    "results",
    "test-results",
    "out",
    "output",
    "coverage",
    "junit",
    "stats",
    "summary",
    "bench",
    "profile",
    "trace",
    "metrics",
];
const OUTPUT_FOLDERS: [&str; 8] = ["target", "build", "out", "tmp", "logs", "log", "coverage", "reports"];
/// Texts that programs do read by themselves.
const INPUT: [&str; 8] =
    ["cmakelists", "manifest", "robots", "conanfile", "packages", "dependencies", "brewfile", "gemfile"];
/// The same, wherever it stands in a path.
const INPUT_ANYWHERE: [&str; 3] = ["requirements", "constraints", "patches"];

/// Whether a redirection into this path only keeps what was printed. Anything else is an edit, for which `Edit` rules
/// stand.
pub(super) fn is_output(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", &path));
    let Some((stem, ending)) = file.rsplit_once('.') else { return false };
    let kept = folders.split('/').next().is_some_and(|first| OUTPUT_FOLDERS.contains(&first));
    let is_hidden = path.split('/').any(|name| name.starts_with('.'));
    let is_input = INPUT.iter().any(|input| stem.starts_with(input))
        || INPUT_ANYWHERE.iter().any(|input| path.contains(input))
        // pytest runs the examples in it.
        || (ending == "txt" && stem.starts_with("test"))
        // Named after a package and its version: a package manager applies it.
        || (ending == "patch" && stem.contains('+'));
    let by_name = OUTPUT_BY_NAME.contains(&ending) && OUTPUT_NAMES.contains(&stem);
    let in_folder = kept && (OUTPUT_IN_FOLDERS.contains(&ending) || by_name);
    !stem.is_empty() && !is_hidden && !is_input && (OUTPUT.contains(&ending) || in_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded() {
        for path in [
            ".git/hooks/pre-commit",
            "a/.GIT/config",
            ".git",
            ".husky/x",
            "web/.claude/settings.json",
            ".mcp.json",
            ".envrc",
            ".git./x",
            ".git /x",
            ".g\u{e9}t/x",
            ".holdstead/rules",
            "GIT~1/x",
            "CLAUDE.md",
            ".github/workflows/ci.yml",
            "web/.cargo/config.toml",
            "x.code-workspace",
        ] {
            assert!(is_guarded(path), "{path}");
        }
        for path in ["", "src/main.rs", ".gitignore", "docs/README.md", "git/x", "a.git", "src/.hidden"] {
            assert!(!is_guarded(path), "{path}");
        }
    }

    #[test]
    fn what_runs_in_a_trusted_folder_is_guarded_with_its_folders() {
        let runs = ["scripts/x.sh".to_owned()];
        for path in ["scripts/x.sh", "Scripts/X.sh", "scripts", "", "web/scripts/x.sh"] {
            assert!(guard(path, &[path.to_owned()], &runs).is_some(), "{path}");
        }
        for path in ["scripts/y.sh", "x.sh", "script", "myscripts/x.sh", "scripts/x.sh/y"] {
            assert_eq!(guard(path, &[path.to_owned()], &runs), None, "{path}");
        }
    }

    #[test]
    fn what_is_output() {
        for path in
            ["test.log", "target/test.log", "target/report.json", "a/b.txt", "x.patch", "Build/out.XML"]
        {
            assert!(is_output(path), "{path}");
        }
        for path in [
            "src/main.rs",
            "package.json",
            "Makefile",
            "requirements.txt",
            "requirements-dev.txt",
            "CMakeLists.txt",
            "build.rs",
            "a/target/x.json",
            "build/package.json",
            "build/.eslintrc.json",
            "build/pom.xml",
            "out/GEMINI.md",
            "test_x.txt",
            "tests/test_a.txt",
            "requirements/base.txt",
            "dev-requirements.txt",
            "patches/a+1.2.0.patch",
            "tmp/.x/a.log",
            ".log",
            "x",
            "target/debug/x",
        ] {
            assert!(!is_output(path), "{path}");
        }
    }
}
