//! Reads of the registry: all of it, what changed, one application, a VIP address.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use eurekad_wire::encode::ApplicationsWriter;

use super::Api;
use super::negotiate::{self, Wanted};
use super::paths::{AppPath, NamePath};
use super::reject::Reject;
use crate::blocking::Workers;
use crate::cache::{Key, Payload};
use crate::peers::NODE_HEADER;
use crate::registry::Scope;

/// `GET apps`
pub(super) async fn all(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, Reject> {
    serve(&api, &headers, Scope::All).await
}

/// `GET apps/delta`
///
/// **Compat:** 403 when deltas are turned off; a client then takes the full registry. The same while the change log
/// has lost entries, since a delta with holes would mislead.
pub(super) async fn delta(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, Reject> {
    if api.settings.http.disable_delta {
        return Err(Reject::Forbidden);
    }
    serve(&api, &headers, Scope::Delta).await
}

/// `GET apps/{app}`
pub(super) async fn application(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    AppPath(app): AppPath,
) -> Result<Response, Reject> {
    serve(&api, &headers, Scope::App(app)).await
}

/// `GET vips/{vip}`
pub(super) async fn vip(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    NamePath(vip): NamePath,
) -> Result<Response, Reject> {
    serve(&api, &headers, Scope::Vip(vip.into())).await
}

/// `GET svips/{vip}`
pub(super) async fn secure_vip(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    NamePath(vip): NamePath,
) -> Result<Response, Reject> {
    serve(&api, &headers, Scope::SecureVip(vip.into())).await
}

async fn serve(api: &Api, headers: &HeaderMap, scope: Scope) -> Result<Response, Reject> {
    let wanted = negotiate::wanted(headers)?;
    api.gate.check()?;
    let key = Key { scope, form: wanted.form };
    // A node that copies the registry must not miss what was cancelled a second ago.
    let found = match headers.contains_key(NODE_HEADER) {
        true => api.cache.get_current(&key).await,
        false => api.cache.get(&key).await,
    };
    match found {
        Some(payload) => Ok(wanted.answer(&payload, &api.workers).await),
        None => absent(&key.scope, wanted, &api.workers).await,
    }
}

/// **Compat:** an unknown application is 404; an unknown VIP address is an empty list. A delta is absent when it would
/// have holes.
async fn absent(scope: &Scope, wanted: Wanted, workers: &Workers) -> Result<Response, Reject> {
    match scope {
        Scope::Vip(_) | Scope::SecureVip(_) => {
            let empty = ApplicationsWriter::new(wanted.form, -1, "").finish();
            Ok(wanted.answer(&Payload::new(empty), workers).await)
        }
        Scope::Delta => Err(Reject::Forbidden),
        Scope::All | Scope::App(_) => Err(Reject::NotFound),
    }
}
