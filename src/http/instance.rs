//! One instance: show, renew, cancel, set its status or metadata.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use eurekad_wire::{InstanceStatus, Metadata, Shown, encode, first_unwritable};

use super::negotiate;
use super::paths::{InstancePath, NamePath};
use super::query::Query;
use super::reject::Reject;
use super::{Api, origin};
use crate::cache::Payload;
use crate::registry::{Cancellation, Heartbeat, HeartbeatOutcome, Origin, Registered, StatusChange};

/// `GET apps/{app}/{id}`. Not cached, and not behind the gate.
pub(super) async fn show(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    headers: HeaderMap,
) -> Result<Response, Reject> {
    document(&api, &headers, StatusCode::OK, api.registry.instance(&app, &id)).await
}

/// `GET instances/{id}`
pub(super) async fn find(
    State(api): State<Arc<Api>>,
    NamePath(id): NamePath,
    headers: HeaderMap,
) -> Result<Response, Reject> {
    document(&api, &headers, StatusCode::OK, api.registry.find(&id)).await
}

async fn document(
    api: &Api,
    headers: &HeaderMap,
    status: StatusCode,
    found: Option<Registered>,
) -> Result<Response, Reject> {
    let wanted = negotiate::wanted(headers)?;
    let entry = found.ok_or(Reject::NotFound)?;
    let shown = Shown { info: &entry.info, lease: Some(entry.lease.to_info()) };
    // **Compat:** one instance is always shown in full.
    let form = eurekad_wire::Form { format: wanted.form.format, detail: eurekad_wire::Detail::Full };
    let mut response = wanted.answer(&Payload::new(encode::instance(form, shown)), &api.workers).await;
    *response.status_mut() = status;
    Ok(response)
}

/// `PUT apps/{app}/{id}`: 200, or 404 when the client has to register, or 409 with the record here.
///
/// **Compat:** the parameter `status` is read by nobody. All answers but the 409 are empty.
pub(super) async fn heartbeat(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Reject> {
    let origin = origin(&headers, Origin::Client);
    let overridden = match origin {
        Origin::Replica => {
            query.first("overriddenstatus").map(|word| status_word(&headers, word)).transpose()?
        }
        Origin::Client | Origin::Operator | Origin::Ours | Origin::Sync | Origin::Evictor => None,
    };
    let beat = Heartbeat { last_dirty: query.last_dirty(&headers)?, overridden };
    match api.registry.heartbeat(&app, &id, beat, origin) {
        HeartbeatOutcome::Renewed | HeartbeatOutcome::Cancelled => Ok(StatusCode::OK.into_response()),
        // Its lease may be among what is being copied: a 404 would make the client register for nothing, and a whole
        // fleet at once.
        HeartbeatOutcome::NotFound if origin == Origin::Client && api.gate.state().is_starting() => {
            api.gate.note_missed();
            Err(Reject::Overloaded {
                format: negotiate::format(&headers),
                detail: "this node is still copying its peers' registry".to_owned(),
            })
        }
        HeartbeatOutcome::NotFound | HeartbeatOutcome::MustRegister | HeartbeatOutcome::SenderIsNewer => {
            Err(Reject::NotFound)
        }
        HeartbeatOutcome::SenderIsOlder(ours) => {
            document(&api, &headers, StatusCode::CONFLICT, Some(ours)).await
        }
    }
}

/// `DELETE apps/{app}/{id}`
pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    headers: HeaderMap,
) -> Result<StatusCode, Reject> {
    match api.registry.cancel(&app, &id, origin(&headers, Origin::Client)) {
        Cancellation::Cancelled => Ok(StatusCode::OK),
        Cancellation::NotFound => Err(Reject::NotFound),
    }
}

/// `PUT apps/{app}/{id}/status?value=`
///
/// **Compat:** an unknown instance is 404 whatever else is wrong. A missing or unknown value is a 500 in Java.
pub(super) async fn set_status(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    query: Query,
    headers: HeaderMap,
) -> Result<StatusCode, Reject> {
    if api.registry.instance(&app, &id).is_none() {
        return Err(Reject::NotFound);
    }
    let status = match query.first("value") {
        Some(word) => status_word(&headers, word)?,
        None => return Err(bad_status(&headers, "value is missing".to_owned())),
    };
    let dirty = query.last_dirty(&headers)?;
    let origin = origin(&headers, Origin::Operator);
    let outcome = api.registry.override_status(&app, &id, status, dirty, origin);
    if outcome == StatusChange::Changed
        && origin == Origin::Operator
        && let Some(suppressed) = api.logged.status_set.admit(api.clock.tick())
    {
        let suppressed = suppressed.times();
        tracing::info!(?app, ?id, %status, suppressed, "a status was set from outside");
    }
    changed(&headers, outcome)
}

/// `DELETE apps/{app}/{id}/status?value=`
pub(super) async fn clear_status(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    query: Query,
    headers: HeaderMap,
) -> Result<StatusCode, Reject> {
    if api.registry.instance(&app, &id).is_none() {
        return Err(Reject::NotFound);
    }
    let value = query.first("value").map(|word| status_word(&headers, word)).transpose()?;
    let dirty = query.last_dirty(&headers)?;
    let origin = origin(&headers, Origin::Operator);
    let value = value.unwrap_or(InstanceStatus::Unknown);
    let outcome = api.registry.clear_override(&app, &id, value, dirty, origin);
    if outcome == StatusChange::Changed
        && origin == Origin::Operator
        && let Some(suppressed) = api.logged.status_removed.admit(api.clock.tick())
    {
        tracing::info!(
            ?app, ?id, until_it_speaks = %value, suppressed = suppressed.times(),
            "a status that was set from outside was removed"
        );
    }
    changed(&headers, outcome)
}

/// `PUT apps/{app}/{id}/metadata?key=value…`
///
/// **Compat:** of a repeated key the first value counts; the replication header is ignored.
pub(super) async fn set_metadata(
    State(api): State<Arc<Api>>,
    InstancePath { app, id }: InstancePath,
    query: Query,
    headers: HeaderMap,
) -> Result<StatusCode, Reject> {
    if api.registry.instance(&app, &id).is_none() {
        return Err(Reject::NotFound);
    }
    let mut changes = Metadata::new();
    for (key, value) in query.into_pairs() {
        if key.is_empty() {
            return Err(Reject::bad_request(
                &headers,
                "bad metadata",
                "a key is empty, which XML cannot hold",
            ));
        }
        if key == "@class" {
            // In a document this key is Java's own marker, and every reader drops it.
            return Err(Reject::bad_request(&headers, "bad metadata", "the key @class is taken"));
        }
        if let Some(c) = first_unwritable(&key).or_else(|| first_unwritable(&value)) {
            let detail = format!("{key:?}: the character U+{:04X} cannot stand in XML", u32::from(c));
            return Err(Reject::bad_request(&headers, "bad metadata", detail));
        }
        changes.entry(key.into()).or_insert_with(|| value.into());
    }
    changed(&headers, api.registry.update_metadata(&app, &id, changes, Origin::Operator))
}

fn changed(headers: &HeaderMap, outcome: StatusChange) -> Result<StatusCode, Reject> {
    match outcome {
        StatusChange::Changed | StatusChange::Unchanged => Ok(StatusCode::OK),
        StatusChange::NotFound => Err(Reject::NotFound),
        StatusChange::TooLarge(oversize) => Err(Reject::oversize(headers, oversize)),
    }
}

fn status_word(headers: &HeaderMap, word: &str) -> Result<InstanceStatus, Reject> {
    word.parse().map_err(|e| bad_status(headers, format!("{word:?}: {e}")))
}

fn bad_status(headers: &HeaderMap, detail: String) -> Reject {
    Reject::bad_request(headers, "bad status", detail)
}
