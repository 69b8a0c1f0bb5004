//! The agents: the scripted one, and the real Claude Code with a model that plays scripts.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holdstead_agents::claude_code::ClaudeCodeDriver;
use holdstead_agents::host::Host;
use holdstead_agents::scripted::ScriptedDriver;
use holdstead_agents::{BoxSetting, Boxes, Driver};
use holdstead_gateway::{GatewayConfig, HintsBy, Masks, PolicyConfig, Quota, SecretsKey};
use holdstead_protocol::{Hold, HoldThen};
use holdstead_scripted_model::Model;

use crate::gateway_process::program;
use crate::{Result, ensure};

#[derive(Debug)]
pub(super) struct Agents {
    pub(super) model: Arc<Model>,
    claude: PathBuf,
    state: PathBuf,
}

impl Agents {
    pub(super) async fn new(folder: &Path, program: &str) -> Result<Self> {
        ensure!(Path::new(program).is_file(), "there is no program {program}");
        let model = Arc::new(Model::start().await?);
        // An agent of this process gets nothing of this process' environment.
        let script = format!(
            "#!/bin/sh\nexport HOME='{}' ANTHROPIC_BASE_URL='{}' ANTHROPIC_API_KEY=sk-fake \
             CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1\nexec '{program}' \"$@\"\n",
            folder.display(),
            model.base_url(),
        );
        let claude = folder.join("claude");
        std::fs::write(&claude, script)?;
        std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o700))?;
        Ok(Self { model, claude, state: folder.join("agent") })
    }

    pub(super) fn drivers(&self) -> Result<Vec<Arc<dyn Driver>>> {
        let holdstead = program()?.display().to_string();
        let boxes = Boxes::new(BoxSetting::Best, &[]);
        let host = Host::new(vec![holdstead.clone(), "agent-host".to_owned()], boxes);
        let [launches, kept] = ["launches", "kept"].map(|name| self.state.with_file_name(name));
        let scripted = vec![holdstead, "scripted-agent".to_owned()];
        Ok(vec![
            Arc::new(ScriptedDriver::new(host.clone(), scripted, self.state.clone())),
            Arc::new(ClaudeCodeDriver::new(host, self.claude.display().to_string(), launches, kept)),
        ])
    }

    /// Short holds: some are answered while they wait, some are parked.
    pub(super) fn config(&self) -> GatewayConfig {
        GatewayConfig {
            node: None,
            hints_by: HintsBy::Notify,
            age_out: None,
            hold: Hold { after_ms: 1_500, then: HoldThen::Park },
            secrets_key: SecretsKey::generate(),
            masks: Masks::default(),
            tools: Vec::new(),
            mcp_url: None,
            quota: Quota::default(),
            policy: PolicyConfig::default(),
        }
    }
}
