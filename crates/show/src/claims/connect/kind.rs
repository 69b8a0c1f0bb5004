//! The programs, as far as a person at their terminals sees a difference.

use std::path::{Path, PathBuf};

use holdstead_scripted_model::{Part, Script, call, say};
use serde_json::json;

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Claude,
    Codex,
    Opencode,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
        }
    }

    pub(super) fn variables(self) -> Vec<(&'static str, String)> {
        let set = |names: &[&'static str]| names.iter().map(|name| (*name, "1".to_owned())).collect();
        match self {
            Self::Claude => Vec::new(),
            Self::Codex => vec![("SCRIPTED_KEY", "none".to_owned())],
            Self::Opencode => set(&["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"]),
        }
    }

    /// As if somebody had used it before: no questions at its first start, and the model is the scripted one.
    pub(super) fn prepare(self, home: &Path, model: &str) -> Result<()> {
        let project = home.join("project");
        let write = |file: &str, text: &str| -> Result<()> {
            let file = home.join(file);
            std::fs::create_dir_all(file.parent().ok_or("a file is in a folder")?)?;
            Ok(std::fs::write(file, text)?)
        };
        match self {
            Self::Claude => {
                let known = json!({
                    "hasCompletedOnboarding": true,
                    "theme": "dark",
                    "hasSeenAutoDefaultNudge": true,
                    "hasResetAutoModeOptInForDefaultOffer": true,
                    "customApiKeyResponses": { "approved": ["sk-fake"], "rejected": [] },
                    "projects": { project.display().to_string(): {
                        "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
                    } },
                });
                write(".claude.json", &known.to_string())?;
                // Written by hand, so that what comes back after a disconnect is seen to be the very same.
                write(".claude/settings.json", "{ \"permissions\":\n  {\"defaultMode\": \"default\"} }\n")
            }
            Self::Codex => {
                let project = project.display();
                let config = format!(
                    "model = \"scripted\"\nmodel_provider = \"scripted\"\napproval_policy = \"on-request\"\n\
                     sandbox_mode = \"read-only\"\n[model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{model}/v1\"\n\
                     env_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n[projects.\"{project}\"]\ntrust_level = \"trusted\"\n\
                     [features]\ndefault_mode_request_user_input = true\n"
                );
                write(".codex/config.toml", &config)
            }
            Self::Opencode => {
                let config = json!({
                    "$schema": "https://opencode.ai/config.json",
                    "autoupdate": false,
                    "share": "disabled",
                    "model": "scripted/scripted",
                    "small_model": "scripted/scripted",
                    "enabled_providers": ["scripted"],
                    "provider": { "scripted": {
                        "npm": "@ai-sdk/openai-compatible",
                        "name": "Scripted",
                        "options": { "baseURL": format!("{model}/v1"), "apiKey": "none" },
                        "models": { "scripted": { "name": "scripted" } },
                    } },
                    "permission": { "bash": "ask", "edit": "ask", "external_directory": "ask" },
                });
                write(".config/opencode/opencode.json", &config.to_string())
            }
        }
    }

    /// The model runs this command.
    pub(super) fn runs(self, command: &str) -> Script {
        Script::new().reply([say("I do it."), self.command(command)]).reply([say("That was it.")])
    }

    /// A call of the model's.
    pub(super) fn command(self, command: &str) -> Part {
        match self {
            Self::Claude => call("Bash", json!({ "command": command, "description": "Does it" })),
            Self::Codex => call(
                "exec_command",
                json!({ "cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?" }),
            ),
            Self::Opencode => call("bash", json!({ "command": command, "description": "Does it" })),
        }
    }

    /// The model writes a file of one line.
    pub(super) fn writes(self, file: &Path) -> Script {
        let made = match self {
            Self::Claude => call("Write", json!({ "file_path": file, "content": "hello\n" })),
            Self::Codex => {
                let patch =
                    format!("*** Begin Patch\n*** Add File: {}\n+hello\n*** End Patch", file.display());
                call("exec_command", json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF\n") }))
            }
            Self::Opencode => call("write", json!({ "filePath": file, "content": "hello\n" })),
        };
        Script::new().reply([made]).reply([say("Written.")])
    }

    /// The model asks a person something.
    pub(super) fn question(self) -> Script {
        let options = json!([{ "label": "SQLite", "description": "one file" },
            { "label": "PostgreSQL", "description": "for a team" }]);
        let text = "Where do the orders go?";
        let made = match self {
            Self::Claude => {
                let one =
                    json!({ "question": text, "header": "Store", "multiSelect": false, "options": options });
                call("AskUserQuestion", json!({ "questions": [one] }))
            }
            Self::Codex => {
                let one = json!({ "id": "store", "question": text, "header": "Store", "options": options });
                call("request_user_input", json!({ "questions": [one] }))
            }
            Self::Opencode => {
                let one = json!({ "question": text, "header": "Store", "options": options });
                call("question", json!({ "questions": [one] }))
            }
        };
        Script::new().reply([made]).reply([say("Good.")])
    }

    /// What a person wrote there, and nobody else changes for good.
    pub(super) fn settings(self, home: &Path) -> Option<PathBuf> {
        match self {
            Self::Claude => Some(home.join(".claude/settings.json")),
            // It writes down more there by itself.
            Self::Codex => None,
            Self::Opencode => Some(home.join(".config/opencode/opencode.json")),
        }
    }

    /// A file that is there while it is connected, if there is one in its own folders.
    pub(super) fn plugin(self, home: &Path) -> PathBuf {
        match self {
            Self::Claude | Self::Codex => home.join("nothing of ours"),
            Self::Opencode => home.join(".config/opencode/plugin/holdstead.js"),
        }
    }

    /// It takes a message.
    pub(super) const fn ready(self) -> &'static str {
        match self {
            Self::Claude => "manual mode on",
            Self::Codex => "Ask Codex to do anything",
            Self::Opencode => "Ask anything",
        }
    }

    /// It asks whether a command may run.
    pub(super) const fn dialog(self) -> &'static str {
        match self {
            Self::Claude => "Do you want to",
            Self::Codex => "Would you like to run",
            Self::Opencode => "Permission required",
        }
    }

    /// It asks whether a file may be written.
    pub(super) const fn edit_dialog(self) -> &'static str {
        match self {
            Self::Claude | Self::Opencode => self.dialog(),
            Self::Codex => "Would you like to make",
        }
    }

    /// How many cards two calls of one message make at once.
    pub(super) const fn asks_at_once(self) -> usize {
        match self {
            Self::Claude | Self::Opencode => 1,
            Self::Codex => 2,
        }
    }

    /// The key for yes in that dialog.
    pub(super) const fn yes(self) -> &'static str {
        match self {
            Self::Claude => "1",
            Self::Codex => "y",
            Self::Opencode => "Enter",
        }
    }
}
