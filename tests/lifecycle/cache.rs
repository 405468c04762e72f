//! What readers see, and when.

use std::time::Duration;

use eurekad::cache::Key;
use eurekad::registry::Scope;
use eurekad_wire::Form;

use crate::support::{TestNode, ids, instance, pass, pass_secs};

const READ_ONLY: &str = "--eureka.server.use-read-only-response-cache=true";

/// Every path on which an instance of ORDERS shows.
const PATHS: [&str; 5] = [
    "/eureka/apps",
    "/eureka/apps/delta",
    "/eureka/apps/ORDERS",
    "/eureka/vips/orders",
    "/eureka/svips/orders",
];

/// Every form of a document of a path, with gzip undone, as text.
async fn every_form(node: &TestNode, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    for accept in ["application/json", "application/xml"] {
        for detail in ["full", "compact"] {
            for encoding in ["identity", "gzip"] {
                let call = node.get(path).header("accept", accept).header("x-eureka-accept", detail);
                let answer = call.header("accept-encoding", encoding).send().await;
                let mut text = String::new();
                if encoding == "gzip" && answer.status == 200 {
                    let mut unzipped = flate2::read::GzDecoder::new(&answer.body[..]);
                    std::io::Read::read_to_string(&mut unzipped, &mut text).unwrap();
                } else {
                    text = answer.text();
                }
                all.push(text);
            }
        }
    }
    all
}

/// Catalog: B21, B22, B23
/// Case: U13, P088
#[tokio::test(start_paused = true)]
async fn every_form_of_every_document_shows_each_change_at_once() {
    let node = TestNode::start(&[]);
    let states: [(&str, &[&str]); 4] =
        [("STARTING", &["STARTING"]), ("UP", &["UP"]), ("DOWN", &["DOWN"]), ("gone", &[])];
    for (n, (state, shown)) in states.into_iter().enumerate() {
        if state == "gone" {
            node.delete("/eureka/apps/ORDERS/a").send().await;
        } else {
            node.register(&instance("ORDERS", "a").status(state).dirty(n as i64)).await;
        }
        for path in PATHS {
            for text in every_form(&node, path).await {
                for status in ["STARTING", "DOWN", "UP"] {
                    let json = text.contains(&format!(r#""status":"{status}""#));
                    let xml = text.contains(&format!("<status>{status}</status>"));
                    let expected = shown.contains(&status)
                        || (state == "gone" && path.ends_with("delta") && status == "DOWN");
                    assert_eq!(json || xml, expected, "{state} {path}: {text}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_moves_to_another_vip_leaves_the_former_one_and_each_of_a_list() {
    let node = TestNode::start(&[]);
    let vip = async |name: &str| {
        let found = node
            .get(&format!("/eureka/vips/{name}"))
            .header("x-eureka-accept", "compact")
            .json()
            .send()
            .await;
        ids(&found.json()["applications"])
    };
    node.register(&instance("ORDERS", "a").with("vipAddress", "one,two").dirty(1)).await;
    assert_eq!(
        (vip("one").await, vip("two").await, vip("three").await.len()),
        (vec!["a".into()], vec!["a".into()], 0)
    );
    node.register(&instance("ORDERS", "a").with("vipAddress", "two,three").dirty(2)).await;
    assert_eq!((vip("one").await.len(), vip("two").await.len(), vip("three").await.len()), (0, 1, 1));
    node.register(&instance("BILLING", "b").with("vipAddress", "three").dirty(2)).await;
    assert_eq!(vip("three").await, ["a", "b"]);
    node.delete("/eureka/apps/ORDERS/a").send().await;
    assert_eq!((vip("two").await.len(), vip("three").await), (0, vec!["b".to_owned()]));
}

/// Case: P088
#[tokio::test(start_paused = true)]
async fn with_the_read_only_level_a_change_shows_after_at_most_one_interval() {
    for (interval_ms, most) in [(1_000, 1_000), (30_000, 30_000)] {
        let setting = format!("--eureka.server.response-cache-update-interval-ms={interval_ms}");
        let node = TestNode::start(&[READ_ONLY, &setting]);
        assert_eq!(ids(&node.apps().await), [] as [&str; 0]);
        pass(Duration::from_millis(300)).await;
        node.register(&instance("ORDERS", "a")).await;
        assert_eq!(ids(&node.apps().await), [] as [&str; 0], "not yet");
        assert_eq!(node.get("/eureka/apps/ORDERS/a").send().await.status, 200, "one instance at once");
        pass(Duration::from_millis(most)).await;
        assert_eq!(ids(&node.apps().await), ["a"]);
        node.delete("/eureka/apps/ORDERS/a").send().await;
        pass(Duration::from_millis(most)).await;
        assert_eq!(ids(&node.apps().await), [] as [&str; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_read_only_level_shows_all_its_documents_at_one_version() {
    let node = TestNode::start(&[READ_ONLY]);
    node.register(&instance("ORDERS", "a")).await;
    for path in PATHS {
        every_form(&node, path).await;
    }
    node.register(&instance("ORDERS", "b")).await;
    for path in PATHS {
        for text in every_form(&node, path).await {
            assert!(
                text.contains('a')
                    && !text.contains(r#""instanceId":"b""#)
                    && !text.contains("<instanceId>b<")
            );
        }
    }
    pass(Duration::from_millis(1_001)).await;
    for path in PATHS {
        for text in every_form(&node, path).await {
            assert!(
                text.contains(r#""instanceId":"b""#) || text.contains("<instanceId>b<"),
                "{path}: {text}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_that_nothing_changes_is_encoded_once_and_again_when_it_is_old() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").lease(30, 9_000)).await;
    let builds = || node.node.metrics().cache.builds.get();
    for _ in 0..5 {
        node.apps().await;
        node.beat("/eureka/apps/ORDERS/a").await;
    }
    assert_eq!(builds(), 1);
    pass_secs(180).await;
    node.beat("/eureka/apps/ORDERS/a").await;
    let lease = node.apps().await["application"][0]["instance"][0]["leaseInfo"].clone();
    assert_eq!(builds(), 2);
    assert_eq!(lease["lastRenewalTimestamp"], crate::support::EPOCH + 180_000);
}

#[tokio::test(start_paused = true)]
async fn many_readers_of_a_changed_document_wait_for_one_encoding() {
    let node = TestNode::start(&[]);
    for n in 0..600 {
        node.register(&instance("ORDERS", &format!("i-{n}"))).await;
    }
    let readers: Vec<_> = (0..20)
        .map(|_| {
            let router = node.node.router();
            tokio::spawn(async move {
                let request =
                    axum::http::Request::get("/eureka/apps").body(axum::body::Body::empty()).unwrap();
                tower::ServiceExt::oneshot(router, request).await.unwrap().status()
            })
        })
        .collect();
    for reader in readers {
        assert_eq!(reader.await.unwrap(), 200);
    }
    assert_eq!(node.node.metrics().cache.builds.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn names_that_do_not_exist_leave_nothing_behind() {
    let node = TestNode::start(&[READ_ONLY]);
    for n in 0..100 {
        assert_eq!(node.get(&format!("/eureka/apps/NO-{n}")).send().await.status, 404);
        assert_eq!(node.get(&format!("/eureka/vips/no-{n}")).send().await.status, 200);
    }
    assert_eq!(node.node.metrics().cache.builds.get(), 0);
}

#[test]
fn a_key_is_what_a_document_shows_and_how_it_is_written() {
    let all = Key { scope: Scope::All, form: Form::JSON };
    assert_ne!(all, Key { scope: Scope::All, form: Form::JSON_COMPACT });
    assert_ne!(all, Key { scope: Scope::Delta, form: Form::JSON });
}

#[tokio::test(start_paused = true)]
async fn what_is_encoded_for_a_reader_that_gives_up_serves_the_next_one() {
    let node =
        TestNode::start(&["--eurekad.limits.body-bytes=1000000", "--eurekad.limits.metadata-bytes=1000000"]);
    for n in 0..3 {
        let large = serde_json::json!({"m": "x".repeat(400_000)});
        node.register(&instance("ORDERS", &n.to_string()).with("metadata", large)).await;
    }
    let router = node.node.router();
    let request = axum::http::Request::get("/eureka/apps").header("accept-encoding", "gzip");
    let request = request.body(axum::body::Body::empty()).unwrap();
    let impatient = tokio::spawn(tower::ServiceExt::oneshot(router, request));
    // It gets as far as the encoding, which is large enough for the workers, and is gone then.
    while node.node.metrics().cache.builds.get() == 0 {
        tokio::task::yield_now().await;
    }
    impatient.abort();
    assert_eq!(node.get("/eureka/apps").send().await.status, 200);
    assert_eq!(node.node.metrics().cache.builds.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_read_only_level_holds_no_more_than_its_bound_and_serves_the_rest_all_the_same() {
    let node = TestNode::start(&[READ_ONLY, "--eurekad.cache.max-bytes=200000"]);
    for n in 0..20 {
        node.register(&instance(&format!("APP-{n}"), "a")).await;
        node.get(&format!("/eureka/apps/APP-{n}")).json().send().await;
    }
    // Each document grows to a third of the bound, so most must leave the level with the next renewal.
    for n in 0..20 {
        let large = serde_json::json!({"m": "x".repeat(60_000)});
        node.register(&instance(&format!("APP-{n}"), "a").with("metadata", large).dirty(1_700_000_000_001))
            .await;
    }
    pass(Duration::from_millis(2_001)).await;
    assert!(node.node.cached_read_only_bytes() <= 200_000, "{}", node.node.cached_read_only_bytes());
    for n in 0..20 {
        let answer = node.get(&format!("/eureka/apps/APP-{n}")).json().send().await;
        assert!(answer.status == 200 && answer.body.len() > 60_000);
    }
}
