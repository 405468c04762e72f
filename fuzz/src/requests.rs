//! Whole requests, through all routes of a node in virtual time.
//!
//! An input is text: requests one after the other, with lines of `====` between them. Each is a line with method and
//! path, lines with headers, an empty line, and the body, which is all the rest. `WAIT n` lets n seconds pass; a header
//! `pack` sends the body as gzip. What is no request is left out.

use std::future::Future;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::node::{Env, Node};
use eurekad::peers::{Failure, SystemResolver, Transport, TransportError};
use eurekad::settings::{Settings, from_arguments, split_arguments};
use eurekad_wire::{Applications, Format, decode};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::well_formed::assert_well_formed;

/// When virtual time begins, epoch milliseconds.
const EPOCH: i64 = 1_750_000_000_000;

/// The most requests of one input.
const MOST_REQUESTS: usize = 32;

/// The most that one `WAIT` and all of them together let pass, seconds.
const LONGEST_WAIT: u64 = 600;
const LONGEST_RUN: u64 = 1800;

/// The codes that the API is documented to answer with.
const CODES: [u16; 12] = [200, 204, 400, 403, 404, 405, 406, 408, 409, 413, 415, 503];

/// Bounds that a handful of requests reaches, and reads that are current at once.
const SETTINGS: [&str; 7] = [
    "--eureka.server.use-read-only-response-cache=false",
    "--eureka.server.eviction-interval-timer-in-ms=10000",
    "--eurekad.self-preservation.min-leases=3",
    "--eurekad.limits.instances=4",
    "--eurekad.limits.changes=4",
    "--eurekad.limits.metadata-bytes=512",
    "--eurekad.limits.body-bytes=65536",
];

/// Sends the requests to a new node. Each is answered with a code that is documented, nothing panics, and afterwards the
/// node serves what it holds.
pub fn requests(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without IO needs nothing of the system").block_on(run(bytes));
}

async fn run(bytes: &[u8]) {
    let node = node();
    let mut left = LONGEST_RUN;
    for part in parts(bytes).take(MOST_REQUESTS) {
        match Part::read(part) {
            Some(Part::Wait(secs)) => {
                let secs = secs.min(LONGEST_WAIT).min(left);
                left -= secs;
                tokio::time::sleep(Duration::from_secs(secs)).await;
            }
            Some(Part::Request(request)) => answered(&node, *request).await,
            None => {}
        }
    }
    serves(&node).await;
    assert!(!node.stopper().is_cancelled(), "a background task has panicked");
}

fn node() -> Node {
    let env = Env {
        clock: Clock::simulated(EPOCH),
        seed: 1,
        transport: Arc::new(NoNetwork),
        resolver: Arc::new(SystemResolver::default()),
        freezer: Arc::default(),
        dropped_lines: Default::default(),
    };
    let node = Node::new(settings(), env, 8761);
    node.open();
    node
}

fn settings() -> Settings {
    let (dotted, others) = split_arguments(SETTINGS.map(str::to_owned));
    assert!(others.is_empty(), "not a setting: {others:?}");
    from_arguments(&dotted).expect("these settings are valid")
}

// ---- what an input says --------------------------------------------------------------------------------------------

enum Part {
    Wait(u64),
    Request(Box<Request<Body>>),
}

fn parts(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    const BETWEEN: &[u8] = b"\n====\n";
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let at = bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        let (part, rest) = match at {
            Some(at) => (&bytes[..at], &bytes[at + BETWEEN.len()..]),
            None => (bytes, &[][..]),
        };
        bytes = rest;
        Some(part)
    })
}

impl Part {
    fn read(part: &[u8]) -> Option<Self> {
        let (first, mut rest) = line(part);
        let space = first.iter().position(|byte| *byte == b' ')?;
        let (method, path) = (&first[..space], &first[space + 1..]);
        if method == b"WAIT" {
            return std::str::from_utf8(path).ok()?.parse().ok().map(Self::Wait);
        }
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(method).ok()?;
        *request.uri_mut() = Uri::try_from(path).ok()?;
        let mut pack = false;
        while !rest.is_empty() {
            let (header, after) = line(rest);
            rest = after;
            if header.is_empty() {
                break;
            }
            let Some(colon) = header.iter().position(|byte| *byte == b':') else { continue };
            let name = HeaderName::from_bytes(&header[..colon]);
            let value = HeaderValue::from_bytes(header[colon + 1..].trim_ascii());
            if let (Ok(name), Ok(value)) = (name, value) {
                pack |= name == "pack";
                request.headers_mut().append(name, value);
            }
        }
        let body = if pack {
            request.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
            packed(rest)
        } else {
            rest.to_vec()
        };
        Some(Self::Request(Box::new(request.map(|()| Body::from(body)))))
    }
}

/// The first line and what follows it.
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]), &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(plain).and_then(|()| gzip.finish()).expect("memory can be written to")
}

// ---- what has to hold ----------------------------------------------------------------------------------------------

async fn answered(node: &Node, request: Request<Body>) {
    let what = format!("{} {}", request.method(), request.uri());
    let (status, headers, body) = send(node, request).await;
    assert!(CODES.contains(&status), "{what}: {status}");
    assert!(!matches!(status, 204 | 404) || body.is_empty(), "{what}: {status} with a body");
    assert!(status != 503 || headers.contains_key("retry-after"), "{what}: 503, and nobody says until when");
    assert!(status != 405 || headers.contains_key("allow"), "{what}: 405, and nobody says what is allowed");
    let content_type = headers.get("content-type").map(HeaderValue::as_bytes);
    // **Compat:** Eureka's sentences about a registration are bare text, whatever they are called.
    let bare = status == 400 && (body.starts_with(b"Missing ") || body.starts_with(b"Mismatched "));
    if body.is_empty() || bare {
        return;
    }
    if content_type.is_some_and(|value| value.starts_with(b"application/json")) {
        assert_well_formed(Format::Json, &body);
    } else if content_type.is_some_and(|value| value.starts_with(b"application/xml")) {
        assert_well_formed(Format::Xml, &body);
    }
}

/// The whole registry is served, the same in JSON and in XML; and so are the other documents about it.
async fn serves(node: &Node) {
    let mut json = applications(node, Format::Json).await;
    let mut xml = applications(node, Format::Xml).await;
    for all in [&mut json, &mut xml] {
        // A renewal is no change: a document that was made before it is served on.
        let leases = all.applications.iter_mut().flat_map(|app| &mut app.instances);
        leases.filter_map(|info| info.lease_info.as_mut()).for_each(|lease| lease.last_renewal_timestamp = 0);
    }
    assert_eq!(json, xml);
    assert_eq!(json.hash_code, Some(json.reconcile_hash_code().to_string()));
    assert_eq!(json.instances().count(), node.registry().len());
    for path in ["/eureka/apps/delta", "/eureka/status", "/", "/health/live"] {
        let (status, _, _) = send(node, get(path, "application/json")).await;
        // Of more changes than there is room for, no delta is made.
        assert!(status == 200 || (path.ends_with("delta") && status == 403), "{path}: {status}");
    }
}

async fn applications(node: &Node, format: Format) -> Applications {
    let accept = match format {
        Format::Json => "application/json",
        Format::Xml => "application/xml",
    };
    let (status, _, body) = send(node, get("/eureka/apps", accept)).await;
    assert_eq!(status, 200, "GET /eureka/apps, {accept}");
    assert_well_formed(format, &body);
    decode::applications(format, &body)
        .unwrap_or_else(|e| panic!("{e} in {}", String::from_utf8_lossy(&body)))
}

fn get(path: &'static str, accept: &'static str) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = Uri::from_static(path);
    request.headers_mut().insert("accept", HeaderValue::from_static(accept));
    request
}

/// The answer: its status, its headers, and its body, unpacked.
async fn send(node: &Node, request: Request<Body>) -> (u16, HeaderMap, Bytes) {
    let Ok(response) = node.router().oneshot(request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body of the node's is whole").to_bytes();
    let body = match parts.headers.get("content-encoding") {
        None => body,
        Some(encoding) => {
            assert_eq!(encoding, "gzip");
            let mut plain = Vec::new();
            GzDecoder::new(&*body).read_to_end(&mut plain).expect("what is called gzip can be unpacked");
            plain.into()
        }
    };
    (parts.status.as_u16(), parts.headers, body)
}

/// The network of a node that has no peers.
#[derive(Debug)]
struct NoNetwork;

type Sent<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>>;

impl Transport for NoNetwork {
    fn send<'a>(&'a self, _: Request<Bytes>) -> Sent<'a> {
        let detail = "there is no network here".to_owned();
        Box::pin(async { Err(TransportError { failure: Failure::Unreachable, detail }) })
    }
}
