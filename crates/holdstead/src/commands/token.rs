//! Make a token.

use holdstead_protocol::SessionId;
use holdstead_protocol::api::Role;
use serde_json::json;

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;
use crate::store;

pub(super) async fn run(
    common: &Common,
    role: Role,
    name: &str,
    session: Option<&str>,
) -> Result<(), Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let config = Config::load(common, &places)?;
    let session = session
        .map(str::parse::<SessionId>)
        .transpose()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let journal = store::open(common, &places, &config).await?;
    let token = holdstead_server::issue_token(journal.as_ref(), &config.owner, role, name, session).await?;
    journal.close().await;
    if common.json {
        return super::print_json(&json!({ "token": token, "role": role, "name": name }));
    }
    println!("{token}");
    Ok(())
}
