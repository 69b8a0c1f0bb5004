//! What the fields of an agent's tools mean to rules: which is a shell line, a path, an address.

use holdstead_protocol::{Meaning, Shell, Subject};

const GREP: [&str; 17] = [
    "pattern",
    "glob",
    "type",
    "output_mode",
    "head_limit",
    "offset",
    "multiline",
    "context",
    "case_sensitive",
    "-A",
    "-B",
    "-C",
    "-i",
    "-n",
    "-o",
    "-r",
    "include",
];

/// Tools by the names that Claude Code gave them, which other agents took up.
pub(crate) fn usual(tool: &str, shell: Shell) -> Meaning<'static> {
    let of = |subject, harmless| Meaning { subject, harmless };
    match tool {
        "Bash" => of(
            Subject::Shell { field: "command", shell },
            &["description", "timeout", "run_in_background"][..],
        ),
        "Read" => of(Subject::Reads { field: "file_path" }, &["offset", "limit", "pages"]),
        "NotebookRead" => of(Subject::Reads { field: "notebook_path" }, &["cell_id"]),
        "LS" => of(Subject::Reads { field: "path" }, &["ignore"]),
        "Grep" => of(Subject::ReadsBelow { field: "path", pattern: "glob" }, &GREP),
        "Glob" => of(Subject::Searches { field: "path", pattern: "pattern" }, &["pattern"]),
        "Edit" => of(Subject::Edits { field: "file_path" }, &["old_string", "new_string", "replace_all"]),
        "MultiEdit" => of(Subject::Edits { field: "file_path" }, &["edits"]),
        "Write" => of(Subject::Edits { field: "file_path" }, &["content"]),
        "NotebookEdit" => of(
            Subject::Edits { field: "notebook_path" },
            &["new_source", "cell_id", "cell_type", "edit_mode"],
        ),
        "WebFetch" => of(Subject::Fetches { field: "url" }, &["prompt"]),
        _ => of(Subject::Whole, &[]),
    }
}
