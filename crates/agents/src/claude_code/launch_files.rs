//! What a process is started with and others must not read: files for its account alone, gone when it is gone.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::policy::OWN_SERVER;
use super::project;
use crate::account::Account;
use crate::private::Private;
use crate::process::Folder;
use crate::{Launch, ProjectFiles};

/// Where the program finds the token for our tools.
pub(super) const TOKEN_VARIABLE: &str = "HOLDSTEAD_AGENT_TOKEN";

#[derive(Debug)]
pub(super) struct LaunchFiles {
    pub(super) folder: Folder,
    pub(super) settings: PathBuf,
    pub(super) servers: PathBuf,
    pub(super) prompt: Option<PathBuf>,
}

impl LaunchFiles {
    pub(super) fn write(
        launches: &Path,
        launch: &Launch,
        private: &Private,
        account: Option<&Account>,
    ) -> io::Result<Self> {
        let path = launches.join(Uuid::new_v4().to_string());
        // Another account reads them by its group, and changes nothing there. Folders on the way are passed, not listed.
        let (way, folder_mode, file_mode) = match account {
            Some(_) => (0o711, 0o750, 0o640),
            None => (0o700, 0o700, 0o600),
        };
        DirBuilder::new().recursive(true).mode(way).create(launches)?;
        DirBuilder::new().mode(folder_mode).create(&path)?;
        let readable = |path: &Path| match account {
            Some(account) => std::os::unix::fs::chown(path, None, Some(account.gid())),
            None => Ok(()),
        };
        readable(&path)?;
        let folder = Folder(path);
        let write = |name: &str, text: String| {
            let path = folder.0.join(name);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(file_mode).open(&path)?;
            file.write_all(text.as_bytes())?;
            readable(&path)?;
            Ok::<_, io::Error>(path)
        };
        let settings = write("settings.json", settings(private).to_string())?;
        let servers =
            write("servers.json", json!({ "mcpServers": servers(launch, private, account) }).to_string())?;
        let prompt = launch.system_prompt.clone().map(|text| write("prompt.txt", text)).transpose()?;
        Ok(Self { folder, settings, servers, prompt })
    }
}

/// The program's own rules keep its tools out of the gateway's folders, whoever else allows them.
fn settings(private: &Private) -> Value {
    let rules = private.folders().iter().flat_map(|folder| {
        // One slash more than the path has: with one alone it would begin at the settings' folder.
        ["Read", "Edit"].into_iter().flat_map(move |tool| {
            let path = folder.display();
            [format!("{tool}(/{path})"), format!("{tool}(/{path}/**)")]
        })
    });
    json!({ "permissions": { "deny": rules.collect::<Vec<_>>() } })
}

/// The user's own, those of the folder if it is trusted, those of the session, and ours. Later ones win, and ours is
/// the last: nobody else's is called like it.
fn servers(launch: &Launch, private: &Private, account: Option<&Account>) -> Map<String, Value> {
    let mut servers = project::user_servers(private.folders(), account);
    match launch.project_files {
        ProjectFiles::Closed => {}
        ProjectFiles::Trusted => servers.extend(project::servers_of(&launch.cwd)),
    }
    servers.extend(launch.mcp_servers.clone());
    servers.retain(|name, _| name != OWN_SERVER);
    if let Some(server) = &launch.tool_server {
        // The program puts the variable's value in its place.
        let token = format!("Bearer ${{{TOKEN_VARIABLE}}}");
        let ours = json!({"type": "http", "url": server.url, "headers": {"Authorization": token}});
        servers.insert(OWN_SERVER.to_owned(), ours);
    }
    servers
}
