//! Files that make other programs run something, or that decide what agents may do. No rule allows writing them.

/// Folders and files, wherever they lie in the folder.
const GUARDED: [&str; 33] = [
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
    // Hooks.
    ".husky",
    ".githooks",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    // Editors and shells that run tasks when a folder is opened.
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".envrc",
    // Where packages come from, and with which credentials.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
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

fn is_guarded(path: &str) -> bool {
    path.split('/').any(|name| {
        // Some file systems drop dots and blanks at the end, case, or characters that are not seen.
        let name = name.trim_end_matches(['.', ' ']).to_lowercase();
        GUARDED.contains(&name.as_str()) || (name.starts_with('.') && !name.is_ascii())
    })
}

/// Endings of files that programs print into and none reads by itself.
const OUTPUT: [&str; 11] =
    ["log", "out", "err", "txt", "tmp", "patch", "diff", "csv", "tsv", "trace", "prof"];
/// Endings that are output where output is kept.
const OUTPUT_IN_FOLDERS: [&str; 8] = ["json", "jsonl", "xml", "html", "md", "svg", "dot", "lcov"];
const OUTPUT_FOLDERS: [&str; 8] = ["target", "build", "out", "tmp", "logs", "log", "coverage", "reports"];
/// Texts that programs do read by themselves.
const INPUT: [&str; 5] = ["requirements", "constraints", "cmakelists", "manifest", "robots"];

/// Whether a redirection into this path only keeps what was printed. Anything else is an edit, for which `Edit` rules
/// stand.
pub(super) fn is_output(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", &path));
    let Some((stem, ending)) = file.rsplit_once('.') else { return false };
    let kept = folders.split('/').next().is_some_and(|first| OUTPUT_FOLDERS.contains(&first));
    !stem.is_empty()
        && !INPUT.iter().any(|input| stem.starts_with(input))
        && (OUTPUT.contains(&ending) || (kept && OUTPUT_IN_FOLDERS.contains(&ending)))
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
        ] {
            assert!(is_guarded(path), "{path}");
        }
        for path in ["", "src/main.rs", ".gitignore", ".github/CODEOWNERS", "git/x", "a.git", "src/.hidden"] {
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
            ".log",
            "x",
            "target/debug/x",
        ] {
            assert!(!is_output(path), "{path}");
        }
    }
}
