//! A node in virtual time, asked through its router, and instances to register.

use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::node::{Env, Node};
use eurekad::peers::{Failure, SystemResolver, Transport, TransportError};
use eurekad::registry::Registry;
use eurekad::settings::{from_arguments, split_arguments};
use eurekad::telemetry::DroppedLines;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use quick_xml::events::Event;
use serde_json::{Value, json};
use tower::ServiceExt;

/// When virtual time begins, epoch milliseconds.
pub(crate) const EPOCH: i64 = 1_750_000_000_000;

/// A node whose time is tokio's paused time.
pub(crate) struct TestNode {
    pub(crate) node: Node,
    pub(crate) clock: Clock,
}

impl TestNode {
    /// A node that is open, with such settings on top of the defaults. Reads are current at once unless they say
    /// otherwise.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let this = Self::booting(settings);
        this.node.open();
        this
    }

    /// A node that has not opened yet.
    pub(crate) fn booting(settings: &[&str]) -> Self {
        let current = "--eureka.server.use-read-only-response-cache=false";
        let arguments = std::iter::once(&current).chain(settings).map(|s| (*s).to_owned());
        let (dotted, others) = split_arguments(arguments);
        assert!(others.is_empty(), "not a setting: {others:?}");
        let clock = Clock::simulated(EPOCH);
        let env = Env {
            clock: clock.clone(),
            seed: 1,
            transport: Arc::new(NoNetwork),
            resolver: Arc::new(SystemResolver::default()),
            freezer: Arc::default(),
            dropped_lines: DroppedLines::default(),
        };
        Self { node: Node::new(from_arguments(&dotted).unwrap(), env, 8761), clock }
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.node.registry()
    }

    pub(crate) fn get(&self, path: &str) -> Call<'_> {
        self.call(Method::GET, path)
    }

    pub(crate) fn put(&self, path: &str) -> Call<'_> {
        self.call(Method::PUT, path)
    }

    pub(crate) fn post(&self, path: &str) -> Call<'_> {
        self.call(Method::POST, path)
    }

    pub(crate) fn delete(&self, path: &str) -> Call<'_> {
        self.call(Method::DELETE, path)
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call<'_> {
        let request = Request::builder().method(method).uri(path);
        Call { node: self, request, body: Body::empty() }
    }

    /// Registers an instance as its client does.
    pub(crate) async fn register(&self, instance: &Instance) -> Answer {
        self.post(&instance.app_path()).json_body(&instance.wrapped()).send().await
    }

    /// A client's bare heartbeat.
    pub(crate) async fn beat(&self, path: &str) -> StatusCode {
        self.put(path).send().await.status
    }

    /// One instance as JSON, unwrapped; null if it is not there.
    pub(crate) async fn instance(&self, path: &str) -> Value {
        self.get(path).json().send().await.json()["instance"].clone()
    }

    /// The status that one instance shows, or nothing.
    pub(crate) async fn status(&self, path: &str) -> String {
        self.instance(path).await["status"].as_str().unwrap_or_default().to_owned()
    }

    /// All applications as JSON.
    pub(crate) async fn apps(&self) -> Value {
        self.get("/eureka/apps").json().send().await.json()["applications"].clone()
    }

    /// The delta as JSON.
    pub(crate) async fn delta(&self) -> Value {
        self.get("/eureka/apps/delta").json().send().await.json()["applications"].clone()
    }

    /// What a counter stands at, by its name and labels.
    pub(crate) async fn metrics_of(&self, name: &str) -> u64 {
        let text = self.get("/metrics").send().await.text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// How often a limit was reached, by its setting.
    pub(crate) async fn reached(&self, setting: &str) -> u64 {
        self.metrics_of(&format!("eurekad_limit_reached_total{{limit=\"{setting}\"}}")).await
    }

    /// Sends a batch and returns its items' codes.
    pub(crate) async fn batch(&self, items: &Value) -> Vec<u64> {
        let answer = self.send_batch(items).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        let answer = answer.json();
        let list = answer["responseList"].as_array().unwrap();
        list.iter().map(|r| r["statusCode"].as_u64().unwrap()).collect()
    }

    /// Sends a batch.
    pub(crate) async fn send_batch(&self, items: &Value) -> Answer {
        let batch = json!({ "replicationList": items });
        self.post("/eureka/peerreplication/batch/").json().json_body(&batch).send().await
    }
}

/// The network of a node that has no peers.
#[derive(Debug)]
struct NoNetwork;

impl Transport for NoNetwork {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<axum::http::Response<Bytes>, TransportError>> + Send + 'a>> {
        Box::pin(async {
            Err(TransportError {
                failure: Failure::Unreachable,
                detail: "there is no network here".to_owned(),
            })
        })
    }
}

/// A request in the making.
pub(crate) struct Call<'a> {
    node: &'a TestNode,
    request: axum::http::request::Builder,
    body: Body,
}

impl Call<'_> {
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    /// Asks for JSON.
    pub(crate) fn json(self) -> Self {
        self.header("accept", "application/json")
    }

    /// Asks for XML.
    pub(crate) fn xml(self) -> Self {
        self.header("accept", "application/xml")
    }

    /// Says that another server has had this call.
    pub(crate) fn replicated(self) -> Self {
        self.header("x-netflix-discovery-replication", "true")
    }

    pub(crate) fn body(mut self, content_type: &str, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// A body that does not say what it is.
    pub(crate) fn bare_body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json_body(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) async fn send(self) -> Answer {
        let request = self.request.body(self.body).unwrap();
        let response = self.node.node.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

/// A response, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("bodies are UTF-8")
    }

    /// The body as text, unpacked if it says that it is packed.
    pub(crate) fn unpacked(&self) -> String {
        match self.header("content-encoding") {
            None => self.text(),
            Some("gzip") => std::io::read_to_string(GzDecoder::new(&*self.body)).unwrap(),
            Some(other) => panic!("packed with {other}"),
        }
    }

    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|v| v.to_str().unwrap())
    }

    /// Status and whether the body is empty.
    pub(crate) fn is_empty_with(&self, status: u16) -> bool {
        self.status == status && self.body.is_empty() && self.header("content-encoding").is_none()
    }
}

/// An instance as a client sends it.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) fields: Value,
}

/// An instance with everything that Eureka asks for.
pub(crate) fn instance(app: &str, id: &str) -> Instance {
    let low = app.to_lowercase();
    Instance {
        fields: json!({
            "instanceId": id,
            "hostName": "n1.test",
            "app": app,
            "ipAddr": "10.9.0.1",
            "status": "UP",
            "overriddenstatus": "UNKNOWN",
            "port": {"$": 8080, "@enabled": "true"},
            "securePort": {"$": 8443, "@enabled": "false"},
            "countryId": 1,
            "dataCenterInfo": {
                "@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
            "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90},
            "metadata": {},
            "vipAddress": low,
            "secureVipAddress": low,
            "lastUpdatedTimestamp": "1700000000000",
            "lastDirtyTimestamp": "1700000000000",
        }),
    }
}

impl Instance {
    /// With a field set.
    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.fields[field] = value.into();
        self
    }

    /// Without a field.
    pub(crate) fn without(mut self, field: &str) -> Self {
        self.fields.as_object_mut().unwrap().remove(field);
        self
    }

    pub(crate) fn status(self, status: &str) -> Self {
        self.with("status", status)
    }

    /// With such a `lastDirtyTimestamp`.
    pub(crate) fn dirty(self, millis: i64) -> Self {
        self.with("lastDirtyTimestamp", millis.to_string())
    }

    /// With such a lease, in seconds.
    pub(crate) fn lease(self, interval: u32, duration: u32) -> Self {
        self.with("leaseInfo", json!({"renewalIntervalInSecs": interval, "durationInSecs": duration}))
    }

    /// As the body of a registration.
    pub(crate) fn wrapped(&self) -> Value {
        json!({ "instance": self.fields })
    }

    /// Where it is registered.
    pub(crate) fn app_path(&self) -> String {
        format!("/eureka/apps/{}", self.fields["app"].as_str().unwrap_or("NONE"))
    }

    /// Where it is found.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.app_path(), self.fields["instanceId"].as_str().unwrap())
    }
}

/// What gzip makes of it.
pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(plain).unwrap();
    packed.finish().unwrap()
}

/// Everything but letters and digits percent-encoded, as a segment of a path or a part of a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Fails unless this is one well-formed XML document, as a parser without a schema sees it.
pub(crate) fn assert_well_formed(xml: &str) {
    let (mut reader, mut depth, mut roots) = (quick_xml::Reader::from_str(xml), 0, 0);
    reader.config_mut().check_comments = true;
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e} in {xml}")) {
            Event::Start(element) => {
                element.attributes().for_each(|a| assert!(a.is_ok(), "{xml}"));
                roots += usize::from(depth == 0);
                depth += 1;
            }
            Event::Empty(_) => roots += usize::from(depth == 0),
            Event::End(_) => depth -= 1,
            Event::Text(text) => assert!(depth > 0 || text.trim().is_empty(), "text beside the root: {xml}"),
            Event::DocType(_) => panic!("a document type: {xml}"),
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, roots), (0, 1), "{xml}");
    assert_eq!(eurekad_wire::first_unwritable(xml), None, "{xml}");
}

/// Lets virtual time pass, and the node's background work run.
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Lets so many seconds of virtual time pass.
pub(crate) async fn pass_secs(seconds: u64) {
    pass(Duration::from_secs(seconds)).await;
}

/// The ids of all instances in a document of applications, sorted.
pub(crate) fn ids(applications: &Value) -> Vec<String> {
    let mut ids: Vec<String> = applications["application"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|app| app["instance"].as_array().unwrap())
        .map(|i| i["instanceId"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}
