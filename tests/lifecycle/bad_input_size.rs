//! Bodies packed badly, or too large.

use eurekad_wire::Format;

use super::bad_input::{FORMATS, explained, good, refused, registration};
use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_good_body_is_taken_in_every_packing_that_is_understood() {
    for format in FORMATS {
        for (encoding, body) in [
            ("identity", good(format).into_bytes()),
            ("", good(format).into_bytes()),
            ("gzip", gzip(good(format).as_bytes())),
            ("x-gzip", gzip(good(format).as_bytes())),
            ("GZIP", gzip(good(format).as_bytes())),
        ] {
            let node = TestNode::start(&[]);
            let call = registration(&node, format, body).header("content-encoding", encoding);
            assert_eq!(call.send().await.status, 204, "{encoding}");
            assert_eq!(node.status("/eureka/apps/ORDERS/a").await, "UP");
        }
        // A body may be packed in more than one piece.
        let whole = good(format);
        let (first, second) = whole.as_bytes().split_at(100);
        let node = TestNode::start(&[]);
        let call = registration(&node, format, [gzip(first), gzip(second)].concat())
            .header("content-encoding", "gzip");
        assert_eq!(call.send().await.status, 204);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_says_gzip_and_is_none_is_refused() {
    let node = TestNode::start(&[]);
    for format in FORMATS {
        let packed = gzip(good(format).as_bytes());
        let mut wrong_sum = packed.clone();
        let at = wrong_sum.len() - 6;
        wrong_sum[at] ^= 0xFF;
        let mut wrong_middle = packed.clone();
        let at = wrong_middle.len() / 2;
        wrong_middle[at] ^= 0xFF;
        for (what, body) in [
            ("plain", good(format).into_bytes()),
            ("cut off", packed[..packed.len() / 2].to_vec()),
            ("without its sum", packed[..packed.len() - 8].to_vec()),
            ("header alone", packed[..10].to_vec()),
            ("half a header", packed[..5].to_vec()),
            ("wrong sum", wrong_sum),
            ("wrong middle", wrong_middle),
            ("more behind it", [&packed[..], b"more"].concat()),
            ("zeros", vec![0; 100]),
        ] {
            let call = registration(&node, format, body).header("content-encoding", "gzip");
            let answer = refused(&node, call, 400, what).await;
            assert!(explained(&answer, format).1.contains("gzip"), "{what}: {}", answer.text());
        }
        // Nothing at all, and nothing packed, are both no document.
        for empty in [Vec::new(), gzip(b"")] {
            let call = registration(&node, format, empty).header("content-encoding", "gzip");
            refused(&node, call, 400, "empty").await;
        }
    }
    let call = node
        .post("/eureka/peerreplication/batch/")
        .json()
        .body("application/json", "{\"replicationList\":[]}");
    refused(&node, call.header("content-encoding", "gzip"), 400, "batch").await;
}

#[tokio::test(start_paused = true)]
async fn a_packing_that_is_not_understood_is_415() {
    let node = TestNode::start(&[]);
    for format in FORMATS {
        for encoding in [
            "deflate",
            "br",
            "zstd",
            "compress",
            "gzip, gzip",
            "gzip, identity",
            "nonsense",
            "gzipx",
            "\u{e9}",
        ] {
            let call = registration(&node, format, gzip(good(format).as_bytes()))
                .header("content-encoding", encoding);
            let answer = refused(&node, call, 415, encoding).await;
            assert!(explained(&answer, format).1.contains("Content-Encoding"), "{}", answer.text());
        }
    }
    let call = node
        .post("/eureka/peerreplication/batch/")
        .json()
        .body("application/json", "{\"replicationList\":[]}");
    refused(&node, call.header("content-encoding", "br"), 415, "batch").await;
}

/// A good registration that ends in so many bytes which mean nothing.
fn padded(format: Format, bytes: usize) -> String {
    good(format) + &" ".repeat(bytes)
}

#[tokio::test(start_paused = true)]
async fn a_body_larger_than_its_limit_is_413_packed_or_not() {
    let node = TestNode::start(&[]);
    for format in FORMATS {
        let limit = 262_144;
        let longest = padded(format, limit - good(format).len());
        assert_eq!(longest.len(), limit);
        assert_eq!(registration(&node, format, longest.clone()).send().await.status, 204);
        let packed = gzip(longest.as_bytes());
        assert_eq!(
            registration(&node, format, packed).header("content-encoding", "gzip").send().await.status,
            204
        );
        for more in [1, 10, 10_000_000] {
            let body = longest.clone() + &" ".repeat(more);
            for (encoding, body) in [("identity", body.clone().into_bytes()), ("gzip", gzip(body.as_bytes()))]
            {
                let call = registration(&node, format, body).header("content-encoding", encoding);
                let answer = refused(&node, call, 413, encoding).await;
                let (_, detail) = explained(&answer, format);
                assert!(
                    detail.contains("eurekad.limits.body-bytes") && detail.contains("262144"),
                    "{detail}"
                );
            }
        }
        let metadata = "x".repeat(10_000_000);
        let body = match format {
            Format::Json => instance("ORDERS", "b")
                .with("metadata", serde_json::json!({"k": metadata}))
                .wrapped()
                .to_string(),
            Format::Xml => good(format).replace("<zone>a", &format!("<zone>{metadata}")),
        };
        refused(&node, registration(&node, format, body), 413, "10 MB of metadata").await;
    }
    let node = TestNode::start(&["--eurekad.limits.batch-bytes=1000"]);
    let batch = |spaces: usize| {
        let body = "{\"replicationList\":[]}".to_owned() + &" ".repeat(spaces);
        node.post("/eureka/peerreplication/batch/").json().body("application/json", body)
    };
    assert_eq!(batch(900).send().await.status, 200);
    let answer = refused(&node, batch(1000), 413, "batch").await;
    assert!(explained(&answer, Format::Json).1.contains("eurekad.limits.batch-bytes"));
}

#[tokio::test(start_paused = true)]
async fn a_small_body_that_unpacks_to_a_huge_one_is_413() {
    let node = TestNode::start(&[]);
    let bomb = gzip(&vec![b' '; 20_000_000]);
    assert!(bomb.len() < 262_144);
    for format in FORMATS {
        let call = registration(&node, format, bomb.clone()).header("content-encoding", "gzip");
        refused(&node, call, 413, "spaces").await;
        let behind = [gzip(good(format).as_bytes()), bomb.clone()].concat();
        let call = registration(&node, format, behind).header("content-encoding", "gzip");
        refused(&node, call, 413, "behind a good body").await;
    }
    let call = node.post("/eureka/peerreplication/batch/").json().body("application/json", bomb.repeat(4));
    refused(&node, call.header("content-encoding", "gzip"), 413, "batch").await;
}

#[tokio::test(start_paused = true)]
async fn more_metadata_than_one_instance_may_have_is_413_however_it_comes() {
    let node =
        TestNode::start(&["--eurekad.limits.metadata-bytes=1000", "--eurekad.limits.body-bytes=1000000"]);
    let with = |value: &str| instance("ORDERS", "b").with("metadata", serde_json::json!({"k": value}));
    assert_eq!(node.register(&with(&"x".repeat(999))).await.status, 204);
    let much = "x".repeat(1000);
    let xml = good(Format::Xml).replace("<zone>a", &format!("<zone>{much}"));
    refused(&node, registration(&node, Format::Json, with(&much).wrapped().to_string()), 413, "JSON").await;
    let answer = refused(&node, registration(&node, Format::Xml, xml), 413, "XML").await;
    assert!(explained(&answer, Format::Xml).1.contains("eurekad.limits.metadata-bytes"));
}

#[tokio::test(start_paused = true)]
async fn a_peer_cannot_bring_more_metadata_than_one_instance_may_have() {
    let much = instance("ORDERS", "b").with("metadata", serde_json::json!({"k": "x".repeat(300_000)})).fields;
    let fine = instance("ORDERS", "c").fields;
    let items = serde_json::json!([
        {"appName": "ORDERS", "id": "b", "action": "Register", "instanceInfo": much},
        {"appName": "ORDERS", "id": "c", "action": "Register", "instanceInfo": fine},
    ]);
    let node = TestNode::start(&[]);
    assert_eq!(node.batch(&items).await, [413, 200]);
    assert_eq!(ids(&node.apps().await), ["c"]);
}
