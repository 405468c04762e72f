//! Bodies that no client should send, whatever their format: cut off, late, damaged, random, one too many.
//!
//! All tests of bad input hold the server to the same: the answer is a 4xx that says what is wrong, nothing
//! is stored, and what was there is served as before.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::Method;
use eurekad_wire::Format;
use hyper::body::Frame;
use serde_json::Value;

use crate::support::*;

/// Eureka's text for a body that cannot be read.
pub(crate) const UNREADABLE: &str = "cannot parse request body";

pub(crate) const FORMATS: [Format; 2] = [Format::Json, Format::Xml];

pub(crate) fn content_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Xml => "application/xml",
    }
}

/// A good registration of `ORDERS/a`.
pub(crate) fn good(format: Format) -> String {
    match format {
        Format::Json => instance("ORDERS", "a").wrapped().to_string(),
        Format::Xml => "<instance><instanceId>a</instanceId><hostName>n1.test</hostName><app>ORDERS</app>\
            <ipAddr>10.9.0.1</ipAddr><status>UP</status><overriddenstatus>UNKNOWN</overriddenstatus>\
            <port enabled=\"true\">8080</port><securePort enabled=\"false\">8443</securePort>\
            <countryId>1</countryId><dataCenterInfo><name>MyOwn</name></dataCenterInfo>\
            <leaseInfo><renewalIntervalInSecs>30</renewalIntervalInSecs><durationInSecs>90</durationInSecs>\
            </leaseInfo><metadata><zone>a</zone></metadata><vipAddress>orders</vipAddress>\
            <lastDirtyTimestamp>1700000000000</lastDirtyTimestamp></instance>"
            .to_owned(),
    }
}

/// A registration at `ORDERS` with such a body.
pub(crate) fn registration<'a>(
    node: &'a TestNode,
    format: Format,
    body: impl Into<axum::body::Body>,
) -> Call<'a> {
    node.post("/eureka/apps/ORDERS").header("accept", content_type(format)).body(content_type(format), body)
}

/// Sends a call that must be refused with this status and change nothing.
pub(crate) async fn refused(node: &TestNode, call: Call<'_>, status: u16, what: &str) -> Answer {
    let before = (node.registry().len(), node.registry().version());
    let answer = call.send().await;
    assert_eq!(answer.status, status, "{what}: {}", answer.text());
    assert_eq!((node.registry().len(), node.registry().version()), before, "{what}: something was stored");
    answer
}

/// The error and the detail that an answer gives, whose format must be this.
pub(crate) fn explained(answer: &Answer, format: Format) -> (String, String) {
    assert_eq!(answer.header("content-type"), Some(content_type(format)), "{}", answer.text());
    match format {
        Format::Json => {
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(body.as_object().unwrap().len(), 2, "{body}");
            let text = |key: &str| body[key].as_str().unwrap().to_owned();
            (text("error"), text("detail"))
        }
        Format::Xml => {
            let body = answer.text();
            assert_well_formed(&body);
            let inner =
                body.strip_prefix("<error><message>").and_then(|b| b.strip_suffix("</detail></error>"));
            let (error, detail) = inner.and_then(|b| b.split_once("</message><detail>")).unwrap();
            (error.to_owned(), detail.to_owned())
        }
    }
}

/// Registers with a body that must be refused as unreadable; returns the detail.
pub(crate) async fn unreadable(
    node: &TestNode,
    format: Format,
    body: impl Into<axum::body::Body>,
    what: &str,
) -> String {
    let answer = refused(node, registration(node, format, body), 400, what).await;
    let (error, detail) = explained(&answer, format);
    assert_eq!(error, UNREADABLE, "{what}");
    assert!(!detail.is_empty() && detail.chars().count() < 1000, "{what}: {detail}");
    detail
}

/// Fails unless every document can be read, and says of `ORDERS` what one instance says.
pub(crate) async fn assert_serves(node: &TestNode, what: &str) {
    for path in
        ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS", "/eureka/vips/orders", "/eureka/status"]
    {
        for detail in ["full", "compact"] {
            let xml = node.get(path).xml().header("x-eureka-accept", detail).send().await;
            let json = node.get(path).json().header("x-eureka-accept", detail).send().await;
            assert_eq!(xml.status, json.status, "{what}: {path}");
            if xml.status == 404 {
                continue;
            }
            assert_eq!(xml.status, 200, "{what}: {path}");
            assert_well_formed(&xml.text());
            assert!(serde_json::from_slice::<Value>(&json.body).is_ok(), "{what}: {path}");
        }
    }
    assert_eq!(node.get("/").send().await.status, 200, "{what}");
}

/// Numbers that look random and are the same every time.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_cut_off_anywhere_is_refused() {
    let node = TestNode::start(&[]);
    for format in FORMATS {
        let whole = good(format);
        for end in 0..whole.len() {
            unreadable(&node, format, whole[..end].to_owned(), &format!("cut at {end}")).await;
        }
        assert_eq!(registration(&node, format, whole).send().await.status, 204);
        for empty in ["", " ", "\n\n", "\u{FEFF}", "\0"] {
            unreadable(&node, format, empty, "empty").await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_mark_of_the_byte_order_is_passed_over_and_other_encodings_are_refused() {
    for format in FORMATS {
        let node = TestNode::start(&[]);
        let marked = format!("\u{FEFF}{}", good(format));
        assert_eq!(registration(&node, format, marked).send().await.status, 204);
        let wide = |unit: fn(u16) -> [u8; 2], mark: bool| {
            let mark = if mark { "\u{FEFF}" } else { "" };
            let text = format!("{mark}{}", good(format));
            text.encode_utf16().flat_map(unit).collect::<Vec<u8>>()
        };
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            for mark in [true, false] {
                unreadable(&node, format, wide(unit, mark), "UTF-16").await;
            }
        }
        let latin = good(format).replace("n1.test", "n\u{1}.test").replace('\u{1}', "?").into_bytes();
        let latin: Vec<u8> = latin.into_iter().map(|b| if b == b'?' { 0xE4 } else { b }).collect();
        unreadable(&node, format, latin, "Latin 1").await;
    }
}

/// Fails unless an answer to a broken body is one that a client can be given.
fn assert_sane(answer: &Answer, what: &str) {
    assert!([204, 400, 413].contains(&answer.status.as_u16()), "{what}: {} {}", answer.status, answer.text());
}

#[tokio::test(start_paused = true)]
async fn random_bytes_are_refused() {
    let node = TestNode::start(&[]);
    let mut random = Random(1);
    let marks: Vec<char> = "{}[]<>/\"'&;:,.#!?-\\ ux0\0é".chars().collect();
    for round in 0..2000 {
        let bytes: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
        let text: String = (0..random.below(100)).map(|_| marks[random.below(marks.len())]).collect();
        for format in FORMATS {
            unreadable(&node, format, bytes.clone(), &format!("round {round}")).await;
            unreadable(&node, format, text.clone(), &format!("round {round}: {text}")).await;
            let packed = registration(&node, format, bytes.clone()).header("content-encoding", "gzip");
            refused(&node, packed, 400, &format!("round {round}")).await;
        }
        let batch = node.post("/eureka/peerreplication/batch/").json().body("application/json", bytes);
        refused(&node, batch, 400, &format!("round {round}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_good_body_with_random_damage_is_refused_or_can_be_served() {
    let mut random = Random(2);
    for format in FORMATS {
        let node = TestNode::start(&[]);
        let whole = good(format).into_bytes();
        for round in 0..3000 {
            let mut damaged = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(damaged.len());
                match random.below(5) {
                    0 => damaged[at] = random.below(256) as u8,
                    1 => drop(damaged.remove(at)),
                    2 => damaged.insert(at, b"\"{}[]<>/&\\\0\x01\xff,:9-"[random.below(17)]),
                    3 => damaged[at] ^= 1 << random.below(8),
                    _ => {
                        let end = (at + random.below(40)).min(damaged.len());
                        let piece = damaged[at..end].to_vec();
                        let to = random.below(damaged.len());
                        drop(damaged.splice(to..to, piece));
                    }
                }
            }
            let answer = registration(&node, format, damaged.clone()).send().await;
            let what = format!("round {round}: {}", String::from_utf8_lossy(&damaged));
            assert_sane(&answer, &what);
            if answer.status == 204 {
                assert_serves(&node, &what).await;
            }
        }
        let batched = |n: usize| [&b"{\"replicationList\":["[..], &whole[n..], b"]}"].concat();
        for n in 0..whole.len() {
            let call =
                node.post("/eureka/peerreplication/batch/").json().body("application/json", batched(n));
            let answer = call.send().await;
            assert!([200, 400].contains(&answer.status.as_u16()), "{n}: {}", answer.text());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_registry_is_full_new_instances_are_503_and_those_in_it_live_on() {
    let node = TestNode::start(&["--eurekad.limits.instances=2"]);
    assert_eq!(node.register(&instance("ORDERS", "a")).await.status, 204);
    assert_eq!(node.register(&instance("BILLING", "b")).await.status, 204);
    for third in [instance("ORDERS", "c"), instance("ORDERS", "b"), instance("OTHER", "a")] {
        for (format, accept) in [(Format::Json, "application/json"), (Format::Xml, "application/xml")] {
            let call = node.post(&third.app_path()).header("accept", accept).json_body(&third.wrapped());
            let answer = refused(&node, call, 503, "third").await;
            assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
            assert!(explained(&answer, format).1.contains("eurekad.limits.instances"));
        }
        let app = &third.fields["app"];
        let id = &third.fields["instanceId"];
        let item = serde_json::json!([
            {"appName": app, "id": id, "action": "Register", "instanceInfo": third.fields},
            {"appName": "ORDERS", "id": "a", "action": "Heartbeat"},
        ]);
        assert_eq!(node.batch(&item).await, [503, 200]);
    }
    assert_eq!(node.register(&instance("ORDERS", "a").dirty(1_700_000_000_001)).await.status, 204);
    assert_eq!(node.beat("/eureka/apps/ORDERS/a").await, 200);
    assert_eq!(node.put("/eureka/apps/BILLING/b/status?value=DOWN").send().await.status, 200);
    assert_eq!(node.put("/eureka/apps/BILLING/b/metadata?k=v").send().await.status, 200);
    assert_eq!(node.delete("/eureka/apps/BILLING/b").send().await.status, 200);
    assert_eq!(node.register(&instance("ORDERS", "c")).await.status, 204);
    assert_eq!(ids(&node.apps().await), ["a", "c"]);
}

/// A body of which nothing comes, or that breaks off.
struct Stalled {
    breaks_off: bool,
}

impl hyper::body::Body for Stalled {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.breaks_off {
            Poll::Ready(Some(Err(std::io::ErrorKind::ConnectionReset.into())))
        } else {
            Poll::Pending
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_408_and_one_that_breaks_off_400() {
    let node = TestNode::start(&["--eurekad.limits.body-timeout-ms=7000"]);
    for (breaks_off, status, said) in [(false, 408, "eurekad.limits.body-timeout-ms"), (true, 400, "")] {
        let body = || axum::body::Body::new(Stalled { breaks_off });
        for format in FORMATS {
            let answer = refused(&node, registration(&node, format, body()), status, said).await;
            assert!(explained(&answer, format).1.contains(said), "{}", answer.text());
        }
        let batch = node.post("/eureka/peerreplication/batch/").json().body("application/json", body());
        let answer = refused(&node, batch, status, said).await;
        assert!(explained(&answer, Format::Json).1.contains(said), "{}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_where_none_belongs_are_passed_over() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let one = "/eureka/apps/ORDERS/a";
    for body in [&b"{}"[..], b"", b"\xff\xfe\x00", b"<a", &[b'x'; 1_000_000]] {
        for content_type in ["application/json", "text/plain", "multipart/form-data", ""] {
            for (method, path) in [
                (Method::PUT, one.to_owned()),
                (Method::PUT, format!("{one}/status?value=DOWN")),
                (Method::DELETE, format!("{one}/status?value=UP")),
                (Method::PUT, format!("{one}/metadata?a=b")),
                (Method::GET, "/eureka/apps".to_owned()),
            ] {
                let call = node.call(method.clone(), &path).body(content_type, body.to_vec());
                assert_eq!(call.header("content-encoding", "br").send().await.status, 200, "{method} {path}");
            }
        }
    }
}
