//! A person's devices: look at them, log them out.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holdstead_protocol::api::{Device, DevicePage, Role};
use holdstead_protocol::{DeviceId, Problem};

use crate::App;
use crate::auth::Caller;
use crate::body::{Asked, NoParams};
use crate::problem::ApiError;

/// Your browsers, terminals and tokens.
#[utoipa::path(get, operation_id = "list_devices", path = "/v1/devices", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 200, body = DevicePage), (status = "default", body = Problem)))]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    _: Asked<NoParams>,
) -> Result<Json<DevicePage>, ApiError> {
    caller.rights()?;
    let journal = app.gateway.journal();
    let (found, now) = (journal.devices(caller.person_id).await?, journal.now().await?);
    let good = found.into_iter().filter(|device| device.expires_at.is_none_or(|at| at > now));
    let devices = good.map(|device| Device {
        device_id: device.id,
        kind: device.kind,
        name: device.name,
        identified_by: device.identified_by,
        current: device.id == caller.device_id,
        created_at: device.created_at,
        last_used_at: device.last_used_at,
        expires_at: device.expires_at,
    });
    Ok(Json(DevicePage { devices: devices.collect() }))
}

/// Log a device out: yours, or as an admin anybody's. Its streams and sockets end at once.
#[utoipa::path(delete, operation_id = "log_device_out", path = "/v1/devices/{id}", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    params(("id" = DeviceId, Path)),
    responses((status = 204, description = "its token is good no longer"), (status = "default", body = Problem)))]
pub(super) async fn log_out(
    State(app): State<App>,
    caller: Caller,
    id: Result<Path<DeviceId>, PathRejection>,
    _: Asked<NoParams>,
) -> Result<StatusCode, ApiError> {
    caller.rights()?;
    let Path(id) = id?;
    let (_, whose) = app.gateway.journal().device(id).await?.ok_or(ApiError::NotFound)?;
    let may = match caller.role {
        Role::Admin => whose.owner == caller.now()?.owner,
        Role::Person | Role::Viewer | Role::Agent | Role::Runner | Role::Metrics => {
            whose.id == caller.person_id
        }
    };
    // Somebody else's does not exist.
    if !may {
        return Err(ApiError::NotFound);
    }
    app.gateway.revoke_device(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Log out everywhere: all your devices, this one too.
#[utoipa::path(delete, operation_id = "log_out_everywhere", path = "/v1/devices", tag = "login",
    security(("bearer" = ["person", "viewer", "admin"])),
    responses((status = 204, description = "none of your tokens is good any longer"), (status = "default", body = Problem)))]
pub(super) async fn log_out_everywhere(
    State(app): State<App>,
    caller: Caller,
    _: Asked<NoParams>,
) -> Result<StatusCode, ApiError> {
    caller.rights()?;
    caller.now()?;
    app.gateway.revoke_devices(caller.person_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
