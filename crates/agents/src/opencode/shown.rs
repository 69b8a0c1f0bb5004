//! What a person is shown of an ask of opencode's, under the names by which rules know it.

use std::path::Path;

use holdstead_protocol::{AskBody, Capabilities, MayAllow, Question, QuestionOption};
use serde_json::{Map, Value, json};

use super::wire::{Called, OneQuestion, Permission, Questions};
use crate::private::{Near, Private, Search};

/// The longest chip of a question.
const HEADER: usize = 12;
/// Beside what a call does: it leaves the folder. The call itself may be asked about, too.
pub(super) const OUTSIDE: &str = "external_directory";
/// The program asks because its model makes the same call again and again.
const LOOP: &str = "doom_loop";

/// What a person alone decides, they decide once, and as it is.
const ONCE_AS_IT_IS: Capabilities = Capabilities { reason: true, edit_input: false, scopes: false };
/// A question that is dismissed carries no words.
const AS_ANSWERED: Capabilities = Capabilities { reason: false, edit_input: false, scopes: false };

/// What an ask is about.
#[derive(Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) tool_name: String,
    pub(super) input: Value,
    pub(super) body: AskBody,
    pub(super) agent_says: Option<String>,
    pub(super) cwd: String,
    pub(super) may_allow: MayAllow,
    pub(super) capabilities: Option<Capabilities>,
}

/// Nothing, if it is about the gateway's own files: the terminal alone asks that.
pub(super) fn permission(
    asked: &Permission,
    called: Option<&Called>,
    directory: &str,
    private: &Private,
) -> Option<Shown> {
    let About { tool_name, input, preview, all_known } = about(asked, called);
    let may_allow = match private.near(&input, search(&tool_name)) {
        Near::Inside => return None,
        Near::Around => MayAllow::PersonOnly,
        Near::No if !all_known || asked.permission == LOOP => MayAllow::PersonOnly,
        // The program asks because its own rules do not allow it.
        Near::No => MayAllow::RulesOfPeople,
    };
    let text = |key: &str| called.and_then(|called| called.input.get(key)).and_then(Value::as_str);
    let cwd = text("workdir").map(|workdir| Path::new(directory).join(workdir));
    Some(Shown {
        tool_name,
        input,
        body: AskBody::Approval { preview, offered_scopes: Vec::new(), is_plan: false },
        agent_says: text("description").filter(|_| asked.permission == "bash").map(str::to_owned),
        cwd: cwd.map_or_else(|| directory.to_owned(), |cwd| cwd.display().to_string()),
        may_allow,
        capabilities: (may_allow == MayAllow::PersonOnly).then_some(ONCE_AS_IT_IS),
    })
}

struct About {
    tool_name: String,
    input: Value,
    preview: Option<String>,
    /// All that decides what would happen is in the input. What is not must be left to a person.
    all_known: bool,
}

fn about(asked: &Permission, called: Option<&Called>) -> About {
    let text = |key: &str| asked.metadata.get(key).and_then(Value::as_str);
    if asked.permission == "bash"
        && let Some(command) = text("command")
    {
        // Without the call nobody knows the folder in which it would run.
        let input = json!({ "command": command });
        return About { tool_name: "Bash".to_owned(), input, preview: None, all_known: called.is_some() };
    }
    let diff = text("diff");
    let preview = diff.map(str::to_owned);
    if asked.permission == "edit"
        && let (Some(path), [_]) = (text("filepath"), asked.patterns.as_slice())
    {
        let input = json!({ "file_path": path, "diff": diff });
        return About { tool_name: "Edit".to_owned(), input, preview, all_known: true };
    }
    match called {
        Some(called) if called.tool == asked.permission => {
            let (tool_name, input) = tool(&called.tool, &called.input);
            About { tool_name, input, preview, all_known: true }
        }
        Some(_) | None => {
            let mut input = Map::from_iter([("patterns".to_owned(), json!(asked.patterns))]);
            input.extend(asked.metadata.clone());
            if let Some(called) = called {
                let (tool, arguments) = tool(&called.tool, &called.input);
                input.extend([("tool".to_owned(), json!(tool)), ("arguments".to_owned(), arguments)]);
            }
            About { tool_name: asked.permission.clone(), input: input.into(), preview, all_known: true }
        }
    }
}

/// A call as other agents would name it, so that the same rules and the same pictures are for it.
pub(super) fn tool(name: &str, input: &Value) -> (String, Value) {
    let usual = match name {
        "bash" => "Bash",
        "edit" => "Edit",
        "write" => "Write",
        "read" => "Read",
        "grep" => "Grep",
        "glob" => "Glob",
        "list" => "LS",
        "webfetch" => "WebFetch",
        other => return (other.to_owned(), input.clone()),
    };
    let Value::Object(fields) = input else { return (usual.to_owned(), input.clone()) };
    let field = |name: &str| match name {
        "filePath" => "file_path".to_owned(),
        "oldString" => "old_string".to_owned(),
        "newString" => "new_string".to_owned(),
        "replaceAll" => "replace_all".to_owned(),
        other => other.to_owned(),
    };
    let fields = fields.iter().map(|(name, value)| (field(name), value.clone()));
    (usual.to_owned(), Value::Object(fields.collect()))
}

fn search(tool: &str) -> Search {
    match tool {
        "Glob" => Search::Pattern,
        "Grep" | "LS" => Search::Folder,
        _ => Search::Nothing,
    }
}

/// Nothing, if nothing is asked.
pub(super) fn questions(asked: &Questions, directory: &str) -> Option<Shown> {
    let questions: Vec<_> = asked.questions.iter().enumerate().map(question).collect();
    let plain: Vec<_> = asked.questions.iter().map(|question| json!(question.question)).collect();
    (!questions.is_empty()).then(|| Shown {
        tool_name: "question".to_owned(),
        input: json!({ "questions": plain }),
        body: AskBody::Question { questions },
        agent_says: None,
        cwd: directory.to_owned(),
        may_allow: MayAllow::PersonOnly,
        capabilities: Some(AS_ANSWERED),
    })
}

fn question((at, asked): (usize, &OneQuestion)) -> Question {
    let header = if asked.header.trim().is_empty() { "Question" } else { &asked.header };
    let options = asked.options.iter().map(|choice| QuestionOption {
        label: choice.label.clone(),
        description: choice.description.clone().filter(|words| !words.is_empty()),
        preview: None,
    });
    Question {
        id: format!("q{}", at + 1),
        header: header.chars().take(HEADER).collect(),
        question: asked.question.clone(),
        options: options.collect(),
        multi_select: asked.multiple,
        // Without anything to choose from, own words are the only answer.
        allow_other: asked.custom || asked.options.is_empty(),
        secret: false,
        multiline: false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde::Deserialize as _;

    use super::*;

    fn asked(permission: &str, patterns: &[&str], metadata: Value) -> Permission {
        let asked =
            json!({ "id": "per_1", "permission": permission, "patterns": patterns, "metadata": metadata });
        Permission::deserialize(asked).unwrap()
    }

    fn called(tool: &str, input: Value) -> Called {
        Called { tool: tool.to_owned(), input }
    }

    fn shown(asked: &Permission, called: Option<&Called>) -> Option<Shown> {
        let gateway = PathBuf::from("/nowhere/gateway");
        permission(
            asked,
            called,
            "/nowhere/project",
            &Private::new(&[gateway], Path::new("/nowhere/project"), None),
        )
    }

    #[test]
    fn a_command_is_decided_with_its_folder_or_by_a_person() {
        let command = asked("bash", &["npm test"], json!({ "command": "npm test" }));
        let call =
            called("bash", json!({ "command": "npm test", "workdir": "web", "description": "Runs tests" }));
        let whole = shown(&command, Some(&call)).unwrap();
        // Where it runs is no part of what it is: a rule about the command fits in any folder that it knows.
        assert_eq!((whole.tool_name.as_str(), &whole.input), ("Bash", &json!({ "command": "npm test" })));
        assert_eq!((whole.cwd.as_str(), whole.may_allow), ("/nowhere/project/web", MayAllow::RulesOfPeople));
        assert_eq!(whole.agent_says.as_deref(), Some("Runs tests"));
        assert_eq!(shown(&command, None).unwrap().may_allow, MayAllow::PersonOnly);
    }

    #[test]
    fn only_a_change_of_one_file_is_an_edit_of_it() {
        let metadata = json!({ "filepath": "/nowhere/project/a.txt", "diff": "+a" });
        let one = shown(&asked("edit", &["a.txt"], metadata), None).unwrap();
        assert_eq!(one.tool_name, "Edit");
        let metadata = json!({ "filepath": "a.txt, b.txt", "diff": "+a+b" });
        let two = shown(&asked("edit", &["a.txt", "b.txt"], metadata), None).unwrap();
        // A rule about one path would allow the other one.
        assert_eq!((two.tool_name.as_str(), &two.input["patterns"]), ("edit", &json!(["a.txt", "b.txt"])));
        assert!(matches!(two.body, AskBody::Approval { preview: Some(diff), .. } if diff == "+a+b"));
    }

    #[test]
    fn tools_have_the_names_that_rules_know() {
        let read = called("read", json!({ "filePath": "/nowhere/project/a.txt", "limit": 5 }));
        let it = shown(&asked("read", &["a.txt"], json!({})), Some(&read)).unwrap();
        assert_eq!(it.tool_name, "Read");
        assert_eq!(it.input, json!({ "file_path": "/nowhere/project/a.txt", "limit": 5 }));
        // What is asked beside a call is shown with it, and is not the call itself.
        let outside = asked("external_directory", &["/etc/*"], json!({}));
        let it = shown(&outside, Some(&called("read", json!({ "filePath": "/etc/hosts" })))).unwrap();
        assert_eq!(it.tool_name, OUTSIDE);
        assert_eq!(it.input["arguments"], json!({ "file_path": "/etc/hosts" }));
        // It is asked so that a person looks.
        let again = asked("doom_loop", &["bash"], json!({ "tool": "bash", "input": {} }));
        assert_eq!(shown(&again, None).unwrap().may_allow, MayAllow::PersonOnly);
    }

    #[test]
    fn the_gateways_own_files_are_nothing_for_a_card() {
        let metadata = json!({ "filepath": "/nowhere/gateway/token", "diff": "+x" });
        assert_eq!(shown(&asked("edit", &["token"], metadata), None), None);
        let read = called("read", json!({ "filePath": "/nowhere/project/../gateway/token" }));
        assert_eq!(shown(&asked("read", &["token"], json!({})), Some(&read)), None);
        let command = asked("bash", &["cat"], json!({ "command": "cat /nowhere/gateway/token" }));
        let call = called("bash", json!({ "command": "cat /nowhere/gateway/token" }));
        assert_eq!(shown(&command, Some(&call)).unwrap().may_allow, MayAllow::PersonOnly);
    }

    #[test]
    fn a_question_without_a_choice_takes_words() {
        let asked = json!({ "id": "que_1", "questions": [
            { "question": "Which?", "header": "A header that is long", "options": [{ "label": "A" }], "multiple": true, "custom": false },
            { "question": "Why?" },
        ] });
        let it = questions(&Questions::deserialize(asked).unwrap(), "/p").unwrap();
        let AskBody::Question { questions } = it.body else { panic!("{:?}", it.body) };
        let shapes: Vec<_> =
            questions.iter().map(|it| (it.header.as_str(), it.multi_select, it.allow_other)).collect();
        assert_eq!(shapes, [("A header tha", true, false), ("Question", false, true)]);
        let none = json!({ "id": "que_1", "questions": [] });
        assert_eq!(super::questions(&Questions::deserialize(none).unwrap(), "/p"), None);
    }
}
