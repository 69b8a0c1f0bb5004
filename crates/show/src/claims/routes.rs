//! Every route of the OpenAPI document refuses whoever should not get in, and lets in who should.

mod call;
mod prepared;

use holdstead_protocol::Code;
use serde_json::Value;

use crate::database::{Database, Kind};
use crate::gateway_process::GatewayProcess;
use crate::{Result, ensure};
use call::{Caller, Route, Wrong};
use prepared::Prepared;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub(crate) async fn show() -> Result<String> {
    let database = Database::new(Kind::Sqlite).await?;
    let gateway = GatewayProcess::serve(Some(&database.url())).await?;
    let prepared = Prepared::new(&gateway, &database.url()).await?;
    let mut routes = routes(&prepared.person.get("/openapi.json").await?)?;
    routes.sort_by_key(Route::order);

    let before = prepared.fingerprint().await?;
    let (mut calls, mut looks) = (0, 0);
    for route in &routes {
        for wrong in route.wrongs() {
            refused(&prepared, route, wrong).await?;
            calls += 1;
        }
    }
    let after = prepared.fingerprint().await?;
    ensure!(before == after, "a refused call changed something: {before} became {after}");

    // Those who may look, as the document says.
    for route in &routes {
        for caller in route.readers() {
            let (status, body) = prepared.call(route, caller, None).await?;
            ensure!(route.lets_in(status), "{route} refuses {caller:?}: {status} {body}");
            looks += 1;
        }
    }

    // The same calls with nothing wrong: what was refused was refused for what was wrong with it.
    for route in &routes {
        let (status, body) = prepared.call(route, Caller::Right, None).await?;
        ensure!(route.lets_in(status), "{route} refuses the right caller: {status} {body}");
    }
    gateway.stop().await?;
    database.remove().await?;
    Ok(format!(
        "{0} routes, {calls} calls, {calls} refused; {looks} of those who may look and {0} right callers let in",
        routes.len()
    ))
}

/// What the document lists.
fn routes(document: &Value) -> Result<Vec<Route>> {
    let paths = document["paths"].as_object().ok_or("the document has no paths")?;
    let mut routes = Vec::new();
    for (path, methods) in paths {
        for method in METHODS.iter().filter(|method| methods.get(**method).is_some()) {
            let scopes = methods[*method]["security"].as_array().and_then(|ways| ways.last()).cloned();
            let roles = serde_json::from_value(scopes.unwrap_or_default()["bearer"].take())?;
            routes.push(Route { method: method.to_uppercase().parse()?, path: path.clone(), roles });
        }
    }
    ensure!(!routes.is_empty(), "the document lists no routes");
    Ok(routes)
}

/// Makes the call, and fails unless it is refused for what is wrong with it.
async fn refused(prepared: &Prepared, route: &Route, wrong: Wrong) -> Result<()> {
    let (status, body) = prepared.call(route, wrong.caller(), Some(wrong)).await?;
    let code: Option<Code> = serde_json::from_value(body["code"].clone()).ok();
    let (wanted, why) = wrong.refusal();
    // The short forms have words alone.
    let says_why = if route.is_short() { body["error"].is_string() } else { code == Some(why) };
    ensure!(
        status == wanted && says_why,
        "{route} with {wrong:?} answered {status} {body}, not {wanted} {why:?}"
    );
    Ok(())
}
