//! Finds the gateway and the token to talk to it.

use holdstead_client::Http;

use crate::cli::Common;
use crate::config::Config;
use crate::failure::Failure;
use crate::places::Places;

/// The gateway the flags name, or the one on this machine.
pub(crate) fn connect(common: &Common) -> Result<Http, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    let url = url(common)?;
    let token = std::env::var("HOLDSTEAD_TOKEN").ok().or_else(|| places.read_token()).ok_or_else(|| {
        Failure::Usage(format!(
            "There is no token in {}. Start the gateway once (holdstead serve), or set HOLDSTEAD_TOKEN.",
            places.token_file().display()
        ))
    })?;
    Ok(Http::new(url, token).at_terminal())
}

/// Where it is reached.
pub(crate) fn url(common: &Common) -> Result<String, Failure> {
    let places = Places::new(common.dir.as_deref())?;
    Ok(match (&common.url, places.running()) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(running)) => running.url,
        (None, None) => format!("http://{}", Config::load(common, &places)?.listen),
    })
}
