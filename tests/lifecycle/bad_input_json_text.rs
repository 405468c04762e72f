//! Registrations in JSON of bytes, characters and nesting that cannot be.

use eurekad_wire::Format;
use serde_json::Value;

use super::bad_input::unreadable;
use super::bad_input_json::{TEXTS, assert_refused_at, taken, with};
use crate::support::*;

#[tokio::test(start_paused = true)]
async fn bytes_that_are_no_utf8_are_refused_wherever_they_stand() {
    let node = TestNode::start(&[]);
    let bad: [&[u8]; 8] = [
        b"\xff",
        b"\xfe",
        b"\x80",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\xe2\x82",
        b"\xf0\x9f",
    ];
    for bytes in bad {
        for text in TEXTS.iter().map(|f| with(f, "\"a?b\"")).chain([
            with("status", "\"?\""),
            with("unknown", "\"?\""),
            with("un?known", "1"),
            with("metadata", "{\"k\":\"?\"}"),
            with("metadata", "{\"k?\":\"v\"}"),
            with("dataCenterInfo", "{\"name\":\"MyOwn?\"}"),
            with("port", "{\"$\":\"1?\"}"),
            with("port", "{\"?\":1}"),
            with("sid", "1") + "?",
            "?".to_owned() + &with("sid", "1"),
        ]) {
            let body = text.split('?').map(str::as_bytes).collect::<Vec<_>>().join(bytes);
            let detail = unreadable(&node, Format::Json, body, &text).await;
            assert!(detail.contains("UTF-8") && detail.contains("offset"), "{detail}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn control_characters_are_refused_in_every_text_raw_and_escaped() {
    let node = TestNode::start(&[]);
    let raw = ["\0", "\u{1}", "\u{8}", "\u{b}", "\u{1f}", "\t", "\n", "\r", "\u{fffe}", "\u{ffff}"];
    let escaped = [
        "\\u0000",
        "\\u0001",
        "\\b",
        "\\f",
        "\\u001F",
        "\\u000b",
        "\\uFFFE",
        "\\uffff",
        "\\ud800",
        "\\udc00",
        "\\ud800\\u0041",
        "\\udc00\\ud800",
        "\\u12",
        "\\x00",
        "\\uD83D",
    ];
    for bad in raw.into_iter().chain(escaped) {
        for field in TEXTS {
            let value = format!("\"ORDERS{bad}b\"");
            assert_refused_at(&node, field, &value, &format!("instance.{field}")).await;
        }
        let entry = |key: &str, value: &str| format!("{{\"a\":\"1\",\"{key}\":\"{value}\"}}");
        assert_refused_at(&node, "metadata", &entry("k", &format!("x{bad}")), "instance.metadata.k").await;
        let detail =
            unreadable(&node, Format::Json, with("metadata", &entry(&format!("k{bad}"), "v")), bad).await;
        assert!(detail.starts_with("instance.metadata"), "{bad:?}: {detail}");
        let place = |metadata: &str| format!("{{\"name\":\"Amazon\",\"metadata\":{metadata}}}");
        let value = place(&entry("k", bad));
        let detail = unreadable(&node, Format::Json, with("dataCenterInfo", &value), bad).await;
        assert!(detail.starts_with("instance.dataCenterInfo.metadata"), "{bad:?}: {detail}");
        let value = with("dataCenterInfo", &place(&entry(&format!("k{bad}"), "v")));
        let detail = unreadable(&node, Format::Json, value, bad).await;
        assert!(detail.starts_with("instance.dataCenterInfo"), "{bad:?}: {detail}");
    }
    assert!(unreadable(&node, Format::Json, with("metadata", "{\"\":\"v\"}"), "").await.contains("empty"));
    // What XML can hold is taken, even if it is odd.
    for fine in [
        "\\t",
        "\\n",
        "\\r",
        "\\r\\n",
        "\u{7f}",
        "\u{85}",
        "\\u009f",
        "\u{2028}",
        "\\ud83e\\udd80",
        "\u{fffd}",
        "\\u202e",
    ] {
        for field in TEXTS.into_iter().filter(|f| *f != "app") {
            let read = taken(field, &format!("\"a{fine}b\"")).await;
            let sent: String = serde_json::from_str(&format!("\"a{fine}b\"")).unwrap();
            let sent = if field == "appGroupName" { sent.to_uppercase() } else { sent };
            assert_eq!(read[field], sent, "{field} {fine:?}");
        }
        taken("metadata", &format!("{{\"k{fine}\":\"v{fine}\"}}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn absurd_nesting_is_refused_wherever_it_stands() {
    let node = TestNode::start(&["--eurekad.limits.body-bytes=4000000"]);
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let unclosed = open.repeat(100_000);
        for deep in [&deep, &unclosed] {
            for field in TEXTS.into_iter().chain([
                "unknown",
                "status",
                "overriddenStatus",
                "port",
                "securePort",
                "countryId",
                "dataCenterInfo",
                "leaseInfo",
                "metadata",
                "lastDirtyTimestamp",
                "isCoordinatingDiscoveryServer",
                "actionType",
            ]) {
                unreadable(&node, Format::Json, with(field, deep), field).await;
                unreadable(&node, Format::Json, with(field, &format!("{{\"@class\":{deep}}}")), field).await;
            }
            for body in [deep.clone(), format!("{{\"instance\":{deep}}}"), format!("{{\"x\":{deep}}}")] {
                unreadable(&node, Format::Json, body, "root").await;
            }
            let place = format!("{{\"name\":\"Amazon\",\"metadata\":{deep}}}");
            unreadable(&node, Format::Json, with("dataCenterInfo", &place), "place").await;
        }
        let batch =
            |body: String| node.post("/eureka/peerreplication/batch/").json().body("application/json", body);
        let answer = batch(format!("{{\"replicationList\":[{deep},{{\"x\":{deep}}}]}}")).send().await;
        assert_eq!(answer.text(), r#"{"responseList":[{"statusCode":400},{"statusCode":400}]}"#);
        // A list is a list, whatever its one item is.
        let status = if open.starts_with('[') { 200 } else { 400 };
        assert_eq!(batch(format!("{{\"replicationList\":{deep}}}")).send().await.status, status);
        assert_eq!(batch(format!("{{\"replicationList\":[],\"x\":{deep}}}")).send().await.status, 400);
        assert_eq!(batch(deep).send().await.status, 400);
    }
    assert_eq!(node.registry().len(), 0);
    // What an ordinary client might nest is no business of ours.
    let fine = format!("{}1{}", "[".repeat(50), "]".repeat(50));
    assert_ne!(taken("unknown", &fine).await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn what_is_almost_json_is_refused() {
    let node = TestNode::start(&[]);
    let body = instance("ORDERS", "a").wrapped().to_string();
    for (what, bad) in [
        ("trailing comma", body.replace("}}", ",}}")),
        ("comment", body.replace("{\"instance\"", "{/*c*/\"instance\"")),
        ("single quotes", body.replace('"', "'")),
        ("no quotes", body.replace("\"instance\"", "instance")),
        ("NaN", with("countryId", "NaN")),
        ("Infinity", with("countryId", "-Infinity")),
        ("hexadecimal", with("countryId", "0x10")),
        ("leading zero", with("countryId", "01")),
        ("plus", with("countryId", "+1")),
        ("undefined", with("countryId", "undefined")),
        ("something behind it", body.clone() + "x"),
        ("twice", body.repeat(2)),
        ("a NUL behind it", body.clone() + "\0"),
        ("no colon", body.replace("\"instance\":", "\"instance\"")),
        ("unknown trash", with("unknown", "nope")),
        ("unknown trash, nested", with("unknown", "{\"a\":[1,}")),
        ("missing value", with("unknown", "")),
        ("JSON lines", format!("{body}\n{body}")),
        ("base64", "eyJpbnN0YW5jZSI6e319".to_owned()),
        ("a form", "instance=a&app=ORDERS".to_owned()),
        ("XML", "<instance><app>ORDERS</app></instance>".to_owned()),
    ] {
        unreadable(&node, Format::Json, bad, what).await;
    }
}
