//! What peers send: `POST peerreplication/batch/`.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use eurekad_wire::{
    DecodeError, Format, InstanceInfo, InstanceStatus, ReplicationAction, ReplicationInstance,
    ReplicationInstanceResponse, ReplicationListResponse, decode, encode,
};

use super::body::{self, Limit};
use super::reject::Reject;
use super::{Api, negotiate, register};
use crate::cache::Payload;
use crate::registry::{
    Cancellation, Heartbeat, HeartbeatOutcome, Key, Origin, Registered, Registration, StatusChange,
};

/// After so many items other tasks get their turn.
const ITEMS_AT_A_STRETCH: usize = 256;

/// Batches, and answers, of this many bytes and more are left to the workers.
const LARGE: usize = 512 * 1024;

/// `POST peerreplication/batch/`: 200 with one answer per item, in order.
///
/// **Compat:** the replication header is implied. Where Java refuses a whole batch for one bad item, or reports a
/// refused registration as done, each item here has its own, true code.
pub(super) async fn apply(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Reject> {
    let format = body::format(&headers)?;
    let http = &api.settings.http;
    let limit = Limit { bytes: http.max_batch_bytes, setting: body::BATCH_BYTES, timeout: http.body_timeout };
    let (bytes, _held) = body::read(&headers, body, limit, &api).await?;
    let wanted = negotiate::wanted(&headers)?;
    let list = match format {
        Format::Xml => Err(DecodeError::new("", "a batch is JSON")),
        Format::Json if bytes.len() < LARGE => decode::replication_list(&bytes),
        Format::Json => api.workers.run(move || decode::replication_list(&bytes)).await,
    };
    let list = list.map_err(|e| {
        api.metrics.bodies_unreadable.inc();
        Reject::unreadable(format, &e)
    })?;
    let mut records = Records::default();
    let mut responses = Vec::with_capacity(list.items.len());
    for (n, item) in list.items.into_iter().enumerate() {
        if n % ITEMS_AT_A_STRETCH == ITEMS_AT_A_STRETCH - 1 {
            tokio::task::yield_now().await;
        }
        responses.push(match item {
            Ok(item) => apply_item(&api, item, &mut records),
            Err(e) => refuse(&e.to_string()),
        });
    }
    let (format, response) = (wanted.form.format, ReplicationListResponse { responses });
    let body = if records.bytes < LARGE {
        encode::replication_response(format, &response)
    } else {
        api.workers.run(move || encode::replication_response(format, &response)).await
    };
    Ok(wanted.answer(&Payload::new(body), &api.workers).await)
}

/// The records that go back with 409s. A batch of a few bytes an item must not be answered with gigabytes: each record
/// goes back once, and only so much of them; the sender's next heartbeat asks again.
#[derive(Debug, Default)]
struct Records {
    told: HashSet<Key>,
    bytes: usize,
}

impl Records {
    /// The most bytes of records in one answer.
    const MOST: usize = 16 * 1024 * 1024;

    fn conflict(&mut self, ours: &Registered) -> ReplicationInstanceResponse {
        let bytes = ours.info.text_bytes();
        let tell = self.bytes + bytes <= Self::MOST && self.told.insert(ours.key());
        let record = tell.then(|| {
            self.bytes += bytes;
            let mut info = (*ours.info).clone();
            info.lease_info = Some(ours.lease.to_info());
            info
        });
        ReplicationInstanceResponse { status_code: StatusCode::CONFLICT.as_u16(), response_entity: record }
    }
}

fn apply_item(api: &Api, item: ReplicationInstance, records: &mut Records) -> ReplicationInstanceResponse {
    let ReplicationInstance { app_name: app, id, last_dirty_timestamp, overridden_status, .. } = item;
    let (origin, app) = (Origin::Replica, &app);
    let word = |word: Option<Box<str>>| word.as_deref().map(str::parse::<InstanceStatus>).transpose();
    match item.action {
        ReplicationAction::Register => match item.instance_info {
            Some(info) => register_item(api, info, app),
            None => code(StatusCode::BAD_REQUEST),
        },
        ReplicationAction::Heartbeat => {
            let Ok(overridden) = word(overridden_status) else { return code(StatusCode::BAD_REQUEST) };
            let beat = Heartbeat { last_dirty: last_dirty_timestamp, overridden };
            match api.registry.heartbeat(app, &id, beat, origin) {
                // To "cancelled" too: a 404 would make the peer send the record, which is what is not wanted.
                HeartbeatOutcome::Renewed | HeartbeatOutcome::Cancelled => code(StatusCode::OK),
                HeartbeatOutcome::NotFound
                | HeartbeatOutcome::MustRegister
                | HeartbeatOutcome::SenderIsNewer => code(StatusCode::NOT_FOUND),
                HeartbeatOutcome::SenderIsOlder(ours) => records.conflict(&ours),
            }
        }
        ReplicationAction::Cancel => match api.registry.cancel(app, &id, origin) {
            Cancellation::Cancelled => code(StatusCode::OK),
            Cancellation::NotFound => code(StatusCode::NOT_FOUND),
        },
        ReplicationAction::StatusUpdate => match word(item.status) {
            _ if api.registry.instance(app, &id).is_none() => code(StatusCode::NOT_FOUND),
            Ok(Some(status)) => {
                changed(api.registry.override_status(app, &id, status, last_dirty_timestamp, origin))
            }
            Ok(None) | Err(_) => code(StatusCode::BAD_REQUEST),
        },
        ReplicationAction::DeleteStatusOverride => match word(item.status) {
            _ if api.registry.instance(app, &id).is_none() => code(StatusCode::NOT_FOUND),
            Ok(status) => {
                let value = status.unwrap_or(InstanceStatus::Unknown);
                changed(api.registry.clear_override(app, &id, value, last_dirty_timestamp, origin))
            }
            Err(_) => code(StatusCode::BAD_REQUEST),
        },
    }
}

fn register_item(api: &Api, info: InstanceInfo, app: &eurekad_wire::AppName) -> ReplicationInstanceResponse {
    if let Err(sentence) = register::check(&info, app, api.settings.http.require_amazon_instance_id) {
        return refuse(&format!("{app}/{}: {sentence}", info.id()));
    }
    match api.registry.register(info, Origin::Replica) {
        Registration::New | Registration::Replaced | Registration::KeptNewer | Registration::Cancelled => {
            code(StatusCode::OK)
        }
        Registration::TooLarge(_) => code(StatusCode::PAYLOAD_TOO_LARGE),
        Registration::Full(_) => code(StatusCode::SERVICE_UNAVAILABLE),
    }
}

/// An item that is refused. At debug level: a peer repeats what it sends, and a batch has many items; the sender is
/// told each one's code, and that is where it is logged.
fn refuse(why: &str) -> ReplicationInstanceResponse {
    tracing::debug!(?why, "a replicated item is refused");
    code(StatusCode::BAD_REQUEST)
}

fn changed(outcome: StatusChange) -> ReplicationInstanceResponse {
    code(match outcome {
        StatusChange::Changed | StatusChange::Unchanged => StatusCode::OK,
        StatusChange::NotFound => StatusCode::NOT_FOUND,
        StatusChange::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
    })
}

fn code(status: StatusCode) -> ReplicationInstanceResponse {
    ReplicationInstanceResponse { status_code: status.as_u16(), response_entity: None }
}
