//! Request bodies: how large, how packed, in which format.

use std::io::Read;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use eurekad_wire::Format;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use prometheus_client::metrics::counter::Counter;

use super::Api;
use super::reject::Reject;
use crate::telemetry::HttpMetrics;

/// Packed bodies of this many bytes and more are unpacked by the workers.
const LARGE: usize = 256 * 1024;

/// The setting that limits batches and what nodes tell.
pub(super) const BATCH_BYTES: &str = "eurekad.limits.batch-bytes";

/// How much of a body is taken, and the setting that says so; and how long it may take to come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) bytes: usize,
    pub(super) setting: &'static str,
    pub(super) timeout: Duration,
}

impl Limit {
    fn counter(self, metrics: &HttpMetrics) -> &Counter {
        if self.setting == BATCH_BYTES { &metrics.batches_too_large } else { &metrics.bodies_too_large }
    }
}

/// Reads a body whole, unpacked.
///
/// **Compat:** Netflix's server takes gzip bodies, Spring's answers them 400. Both sides of the limit are checked, so
/// a small body that unpacks to gigabytes is refused before it does.
pub(super) async fn read(headers: &HeaderMap, body: Body, limit: Limit, api: &Api) -> Result<Bytes, Reject> {
    let metrics = &api.metrics;
    let too_large = || {
        limit.counter(metrics).inc();
        Reject::too_large(headers, limit.setting, limit.bytes)
    };
    let gzip = is_gzip(headers)?;
    let bytes = match tokio::time::timeout(limit.timeout, Limited::new(body, limit.bytes).collect()).await {
        Err(_elapsed) => {
            metrics.bodies_too_slow.inc();
            return Err(Reject::too_slow(headers, limit.timeout));
        }
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(e)) if e.is::<LengthLimitError>() => return Err(too_large()),
        Ok(Err(e)) => {
            metrics.bodies_unreadable.inc();
            return Err(Reject::bad_request(headers, "cannot read request body", e.to_string()));
        }
    };
    if !gzip {
        return Ok(bytes);
    }
    let max = limit.bytes;
    let unpacked = if bytes.len() < LARGE {
        unpack(&bytes, max)
    } else {
        api.workers.run(move || unpack(&bytes, max)).await
    };
    match unpacked {
        Ok(Some(plain)) => Ok(plain.into()),
        Ok(None) => Err(too_large()),
        Err(e) => {
            metrics.bodies_unreadable.inc();
            Err(Reject::bad_request(headers, "cannot unpack request body", format!("not gzip: {e}")))
        }
    }
}

/// What `packed` unpacks to; `None` if that is more than `max` bytes.
fn unpack(packed: &[u8], max: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut plain = Vec::new();
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(packed).take(most).read_to_end(&mut plain)?;
    Ok((plain.len() <= max).then_some(plain))
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Reject> {
    let encoding = headers.get(header::CONTENT_ENCODING).map(|v| v.to_str().unwrap_or("?").trim());
    match encoding {
        None | Some("") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("identity") => Ok(false),
        Some(word) if word.eq_ignore_ascii_case("gzip") || word.eq_ignore_ascii_case("x-gzip") => Ok(true),
        Some(word) => Err(Reject::unsupported(
            headers,
            format!("Content-Encoding {word:?}: only gzip and identity are read"),
        )),
    }
}

/// The format of a body.
///
/// **Compat:** `application/json` and `application/xml`; a wildcard counts as XML; everything else, and none, is 415,
/// as is a charset other than UTF-8 and ISO-8859-1.
pub(super) fn format(headers: &HeaderMap) -> Result<Format, Reject> {
    let refused = |detail: String| Err(Reject::unsupported(headers, detail));
    let Some(content_type) = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()) else {
        return refused("Content-Type is missing: send application/json or application/xml".to_owned());
    };
    let mut parts = content_type.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|p| p.to_ascii_lowercase().strip_prefix("charset=").map(str::to_owned));
    if let Some(charset) = charset {
        let charset = charset.trim_matches('"');
        if charset != "utf-8" && charset != "iso-8859-1" {
            return refused(format!("charset {charset:?}: send UTF-8"));
        }
    }
    match media.as_str() {
        "application/json" => Ok(Format::Json),
        "application/xml" | "*/*" | "application/*" => Ok(Format::Xml),
        _ => refused(format!("Content-Type {media:?}: send application/json or application/xml")),
    }
}
