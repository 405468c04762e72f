//! Registration: `POST apps/{app}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use eurekad_wire::{AppName, DataCenterInfo, InstanceInfo, decode};

use super::body::{self, Limit};
use super::paths::AppPath;
use super::reject::Reject;
use super::{Api, negotiate, origin};
use crate::registry::{Origin, Registration};

/// `POST apps/{app}`: 204, or 400 with Eureka's sentence.
pub(super) async fn register(
    State(api): State<Arc<Api>>,
    AppPath(app): AppPath,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Reject> {
    let format = body::format(&headers)?;
    let http = &api.settings.http;
    let limit = Limit {
        bytes: http.max_body_bytes,
        setting: "eurekad.limits.body-bytes",
        timeout: http.body_timeout,
    };
    let (bytes, _held) = body::read(&headers, body, limit, &api).await?;
    let info = decode::instance(format, &bytes).map_err(|e| {
        api.metrics.bodies_unreadable.inc();
        Reject::unreadable(format, &e)
    })?;
    check(&info, &app, api.settings.http.require_amazon_instance_id)
        .map_err(|text| Reject::Sentence { format: negotiate::format(&headers), text })?;
    match api.registry.register(info, origin(&headers, Origin::Client)) {
        Registration::New | Registration::Replaced | Registration::KeptNewer | Registration::Cancelled => {
            Ok(StatusCode::NO_CONTENT)
        }
        Registration::TooLarge(oversize) => Err(Reject::oversize(&headers, oversize)),
        Registration::Full(full) => {
            Err(Reject::Overloaded { format: negotiate::format(&headers), detail: full.to_string() })
        }
    }
}

/// Whether an instance may be registered under `app`; if not, Eureka's sentence about it.
///
/// **Compat:** the checks, their order and their texts are Netflix's.
pub(super) fn check(info: &InstanceInfo, app: &AppName, amazon_id_required: bool) -> Result<(), String> {
    let refuse = |text: &str| Err(text.to_owned());
    if info.id().is_empty() {
        return refuse("Missing instanceId");
    }
    if info.host_name.is_empty() {
        return refuse("Missing hostname");
    }
    if info.ip_addr.is_empty() {
        return refuse("Missing ip address");
    }
    if info.app.is_empty() {
        return refuse("Missing appName");
    }
    if info.app != *app {
        return Err(format!("Mismatched appName, expecting {app} but was {}", info.app));
    }
    match &info.data_center_info {
        None => refuse("Missing dataCenterInfo"),
        Some(DataCenterInfo::Unnamed) => refuse("Missing dataCenterInfo Name"),
        Some(DataCenterInfo::Amazon(_)) if amazon_id_required && !has_amazon_id(info) => {
            refuse("DataCenterInfo of type class com.netflix.appinfo.AmazonInfo must contain a valid id")
        }
        Some(DataCenterInfo::Amazon(_) | DataCenterInfo::MyOwn | DataCenterInfo::Netflix) => Ok(()),
    }
}

fn has_amazon_id(info: &InstanceInfo) -> bool {
    info.data_center_info.as_ref().is_some_and(|dc| dc.unique_id().is_some())
}
