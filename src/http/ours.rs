//! What nodes of this kind tell and ask each other: `POST peerreplication/ours/…`.
//!
//! All of it may come twice, late, or in another order: what nodes tell is what they know, and merging it again changes
//! nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::{self, Limit};
use super::gate::NodeState;
use super::in_flight::Held;
use super::reject::Reject;
use super::{Api, register, with_type};
use crate::clock::Tick;
use crate::peers::protocol::{Compare, Compared, CopyBuckets, Tell, Told, WireDigest, WireState, hex};
use crate::peers::{CLOCK_HEADER, LOST_HEADER, NODE_HEADER, NodeId, REFUSED_HEADER};
use crate::registry::{BUCKETS, How, Key, KeyState, Merged, Registry, Stamp};

/// After so many keys other tasks get their turn.
const KEYS_AT_A_STRETCH: usize = 256;

/// Bodies of this many bytes and more are left to the workers.
const LARGE: usize = 512 * 1024;

/// Registries of so many instances are walked through by the workers.
const LARGE_REGISTRY: usize = 1000;

/// Nodes send four megabytes and one record at once.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The most buckets of one copy; nodes ask for eight.
const MOST_COPIED: usize = 32;

/// The most bytes of records in the answer to what was told; the next comparison brings the rest.
const MOST_KNOWN: usize = 16 * 1024 * 1024;

/// The most keys of one comparison, but for one bucket that has more; the next comparison brings the rest.
const MOST_COMPARED: usize = 20_000;

/// `POST peerreplication/ours/tell`
pub(super) async fn tell(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Reject> {
    let (tell, _held): (Tell, _) = read(&api, &headers, body).await?;
    let now = api.clock.tick();
    let mut told = Told::default();
    let mut bytes = 0;
    for (position, state) in tell.keys.into_iter().enumerate() {
        if position % KEYS_AT_A_STRETCH == KEYS_AT_A_STRETCH - 1 {
            tokio::task::yield_now().await;
        }
        let known = match merge(&api, state, tell.asks, now) {
            Ok(Outcome { needed, known }) => {
                told.needed.extend(needed.then_some(position));
                known
            }
            Err((code, why)) => {
                told.refused.push((position, code.as_u16()));
                told.why.get_or_insert(why);
                None
            }
        };
        if let Some(known) = known.map(|known| WireState::of(&known, now))
            && bytes + known.bytes() <= MOST_KNOWN
        {
            bytes += known.bytes();
            told.known.push(known);
        }
    }
    Ok(answer(&told))
}

/// What one key's state came to.
struct Outcome {
    needed: bool,
    known: Option<KeyState>,
}

fn merge(api: &Api, state: WireState, asks: bool, now: Tick) -> Result<Outcome, (StatusCode, String)> {
    let refuse = |why: String| {
        tracing::debug!(?why, "what a node tells of a key is refused");
        (StatusCode::BAD_REQUEST, why)
    };
    let state = state.read(now).map_err(|e| refuse(e.to_string()))?;
    if let Some(content) = state.record.as_ref().and_then(|record| record.content.as_ref()) {
        register::check(content, &state.key.app, api.settings.http.require_amazon_instance_id)
            .map_err(refuse)?;
    }
    let theirs = state.named();
    let how = if asks { How::Asks } else { How::Told };
    let needed = match api.registry.merge(state, how) {
        Merged::Same => return Ok(Outcome { needed: false, known: None }),
        Merged::Known | Merged::Changed => false,
        Merged::NeedsRecord => true,
        Merged::TooLarge(oversize) => return Err((StatusCode::PAYLOAD_TOO_LARGE, oversize.to_string())),
        Merged::Full(full) => return Err((StatusCode::SERVICE_UNAVAILABLE, full.to_string())),
        Merged::FromTheFuture(e) => return Err(refuse(e.to_string())),
    };
    let here = api.registry.key_state_named(&theirs.key);
    let stamp = |state: &KeyState| state.record.as_ref().map(|record| record.stamp);
    let heard = |state: &KeyState| state.heard.map(|heard| heard.at);
    let known = if stamp(&here) > stamp(&theirs) {
        Some(api.registry.key_state(&theirs.key))
    } else if here.is_ahead_of(&theirs) || (asks && heard(&here) > heard(&theirs)) {
        Some(here)
    } else {
        None
    };
    Ok(Outcome { needed, known })
}

/// `POST peerreplication/ours/compare`
pub(super) async fn compare(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Reject> {
    let (theirs, _held): (Compare, _) = read(&api, &headers, body).await?;
    let theirs_of = |bucket: usize| theirs.buckets.get(bucket).map(String::as_str);
    let here = aside(&api, Registry::digests).await;
    let differs: Vec<bool> = here
        .buckets
        .iter()
        .enumerate()
        .map(|(bucket, digest)| theirs_of(bucket).is_some_and(|text| text != hex(*digest)))
        .collect();
    let keys = api.registry.bucket_keys(|bucket| differs.get(bucket).copied().unwrap_or(false));
    let told = told_buckets(&differs, &keys, api.clock.tick());
    let keys = keys.into_iter().filter(|(key, _)| told.contains(&key.bucket())).map(|(key, digest)| {
        WireDigest { app: key.app.to_string(), id: key.id.to_string(), digest: digest.map(hex) }
    });
    let compared = Compared {
        count: here.count,
        digest: hex(here.whole()),
        keys: keys.collect(),
        differs: told.into_iter().collect(),
    };
    Ok(answer(&compared))
}

/// Of the buckets that differ as many as there is room for, each whole: of a bucket that is cut off, what is missing
/// would seem to differ. Where it begins moves on, so that what cannot be put right holds up nothing else.
fn told_buckets(differs: &[bool], keys: &[(Key, Option<u64>)], now: Tick) -> BTreeSet<usize> {
    let mut sizes = [0; BUCKETS];
    keys.iter().for_each(|(key, _)| sizes[key.bucket()] += 1);
    let first = usize::try_from(now.0 / 60_000 * 61 % BUCKETS as u64).unwrap_or(0);
    let in_turn =
        (first..BUCKETS).chain(0..first).filter(|bucket| differs.get(*bucket).copied().unwrap_or(false));
    let mut room = MOST_COMPARED;
    let fits = |bucket: &usize| {
        let fits = sizes[*bucket] <= room || room == MOST_COMPARED;
        room = room.saturating_sub(sizes[*bucket]);
        fits
    };
    in_turn.take_while(fits).collect()
}

/// `POST peerreplication/ours/copy`
pub(super) async fn copy(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Reject> {
    let (CopyBuckets { from, to }, _held) = read(&api, &headers, body).await?;
    match api.gate.state() {
        NodeState::Open | NodeState::Draining => {}
        NodeState::Booting | NodeState::Copying => return Err(Reject::Forbidden),
    }
    let now = api.clock.tick();
    let to = to.min(from.saturating_add(MOST_COPIED)).min(BUCKETS);
    let told = aside(&api, move |registry| {
        let keys = registry.copied_keys(|bucket| (from..to).contains(&bucket));
        let states = keys.iter().map(|key| WireState::of(&registry.key_state(key), now));
        json(&Told { known: states.collect(), ..Told::default() })
    });
    Ok(with_type("application/json", told.await))
}

/// Computes something over a registry; over a large one on a thread of its own.
async fn aside<T: Send + 'static>(api: &Api, work: impl FnOnce(&Registry) -> T + Send + 'static) -> T {
    if api.registry.len() < LARGE_REGISTRY {
        return work(&api.registry);
    }
    let registry = Arc::clone(&api.registry);
    api.workers.run(move || work(&registry)).await
}

/// Reads what a node of this kind sent. What it holds is to be kept until it is dealt with.
async fn read<T: DeserializeOwned + Send + 'static>(
    api: &Api,
    headers: &HeaderMap,
    body: Body,
) -> Result<(T, Held), Reject> {
    let refuse = |why: String| Reject::bad_request(headers, "not from a node of this kind", why);
    if sender(headers).is_none() {
        return Err(refuse(format!("the header {NODE_HEADER} names no node")));
    }
    let http = &api.settings.http;
    let limit = Limit {
        bytes: http.max_batch_bytes.min(MOST_BYTES.max(http.max_body_bytes.saturating_mul(2))),
        setting: body::BATCH_BYTES,
        timeout: http.body_timeout,
    };
    let (bytes, held) = body::read(headers, body, limit, api).await?;
    let parsed = if bytes.len() < LARGE {
        serde_json::from_slice(&bytes)
    } else {
        api.workers.run(move || serde_json::from_slice(&bytes)).await
    };
    parsed.map(|parsed| (parsed, held)).map_err(|e| {
        api.metrics.bodies_unreadable.inc();
        refuse(e.to_string())
    })
}

fn sender(headers: &HeaderMap) -> Option<NodeId> {
    headers.get(NODE_HEADER)?.to_str().ok()?.parse().ok()
}

/// How long ago the sender last knew of a loss.
pub(super) fn lost_ago(headers: &HeaderMap) -> Option<Duration> {
    headers.get(LOST_HEADER)?.to_str().ok()?.parse().ok().map(Duration::from_millis)
}

/// Takes notice of the clock of a node that calls. One that is too far ahead gets no further: taking its stamps would
/// put this whole cluster's clocks ahead.
pub(super) fn check_clock(api: &Api, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let stamp: Option<Stamp> = headers.get(CLOCK_HEADER).and_then(|text| text.to_str().ok()?.parse().ok());
    let Some(refused) = stamp.and_then(|stamp| api.registry.observe(stamp).err()) else {
        return Ok(());
    };
    api.metrics.clocks_refused.inc();
    if let Some(suppressed) = api.logged.clocks.admit(api.clock.tick()) {
        let suppressed = suppressed.times();
        tracing::warn!(node = ?sender(headers), suppressed, "a node's call is refused: {refused}");
    }
    let mut response = (StatusCode::BAD_REQUEST, refused.to_string()).into_response();
    response.headers_mut().insert(REFUSED_HEADER, HeaderValue::from_static("clock"));
    Err(Box::new(response))
}

fn answer(answer: &impl Serialize) -> Response {
    with_type("application/json", json(answer))
}

fn json(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer).expect("texts, numbers and lists are always JSON")
}
