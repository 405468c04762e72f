//! That all documents in all their forms say the same, and fit their own hash codes.

use std::collections::BTreeMap;

use eurekad_wire::{DataCenterInfo, Format, InstanceInfo, decode};
use serde_json::Value;

use super::reads::by_id;
use crate::support::*;

/// Case: U09
#[tokio::test(start_paused = true)]
async fn the_hash_code_counts_statuses_in_the_order_of_their_names() {
    let node = TestNode::start(&[]);
    let mut seen = vec![node.apps().await["apps__hashcode"].clone()];
    for (id, status) in [
        ("a", "UP"),
        ("b", "DOWN"),
        ("c", "UP"),
        ("d", "STARTING"),
        ("e", "UNKNOWN"),
        ("f", "OUT_OF_SERVICE"),
    ] {
        node.register(&instance(&format!("APP-{}", id.len()), id).status(status)).await;
        seen.push(node.apps().await["apps__hashcode"].clone());
    }
    assert_eq!(
        seen,
        [
            "",
            "UP_1_",
            "DOWN_1_UP_1_",
            "DOWN_1_UP_2_",
            "DOWN_1_STARTING_1_UP_2_",
            "DOWN_1_STARTING_1_UNKNOWN_1_UP_2_",
            "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_2_",
        ]
    );
    assert_eq!(node.delta().await["apps__hashcode"], *seen.last().unwrap(), "that of the whole registry");
}

/// One instance as any form shows it: what all forms have in common.
type Common = (String, String, i64, String, Option<String>, i32, bool, Option<String>);

fn common(info: &InstanceInfo) -> Common {
    (
        info.status.as_str().to_owned(),
        info.host_name.to_string(),
        info.last_updated_timestamp,
        info.ip_addr.to_string(),
        info.vip_address.as_deref().map(str::to_owned),
        info.port.number,
        info.port.enabled,
        info.data_center_info.as_ref().and_then(DataCenterInfo::name).map(str::to_owned),
    )
}

/// What a document says, decoded; empty where there is none.
fn decoded(format: Format, path: &str, answer: &Answer) -> BTreeMap<String, Common> {
    let text = answer.unpacked();
    let body = text.as_bytes();
    let keyed = |info: &InstanceInfo| (format!("{}/{}", info.app, info.id()), common(info));
    match (answer.status.as_u16(), path.matches('/').count()) {
        (404, _) => BTreeMap::new(),
        (200, 4) => std::iter::once(keyed(&decode::instance(format, body).unwrap())).collect(),
        (200, 3) if path.starts_with("/eureka/apps/") => {
            decode::application(format, body).unwrap().instances.iter().map(keyed).collect()
        }
        (200, _) => {
            let document = decode::applications(format, body).unwrap();
            assert_eq!(document.hash_code.as_deref(), Some(&*document.reconcile_hash_code().to_string()));
            document.instances().map(keyed).collect()
        }
        (status, _) => panic!("{path}: {status}"),
    }
}

/// Reads in every form, and fails unless all forms say the same of these paths.
async fn assert_all_forms_agree(node: &TestNode, step: &str) {
    for path in [
        "/eureka/apps",
        "/eureka/apps/ORDERS",
        "/eureka/apps/BILLING",
        "/eureka/vips/orders",
        "/eureka/vips/orders-v2",
        "/eureka/svips/orders",
        "/eureka/apps/ORDERS/a",
    ] {
        let mut first = None;
        for (format, accept) in [(Format::Json, "application/json"), (Format::Xml, "application/xml")] {
            for detail in ["full", "compact"] {
                for encoding in ["identity", "gzip"] {
                    let call = node.get(path).header("accept", accept).header("x-eureka-accept", detail);
                    let answer = call.header("accept-encoding", encoding).send().await;
                    let said = decoded(format, path, &answer);
                    let first = first.get_or_insert_with(|| said.clone());
                    assert_eq!(said, *first, "{step}: {path} {accept} {detail} {encoding}");
                }
            }
        }
        // And all paths say of one instance what is true of it now.
        for (name, said) in first.unwrap() {
            let now = node.instance(&format!("/eureka/apps/{name}")).await;
            assert_eq!(now["status"], said.0, "{step}: {path}");
            assert_eq!(now["vipAddress"].as_str(), said.4.as_deref(), "{step}: {path}");
        }
    }
}

/// Case: U13
#[tokio::test(start_paused = true)]
async fn all_forms_of_all_documents_agree_after_each_write() {
    for (settings, wait) in [(&[][..], 0), (&["--eureka.server.use-read-only-response-cache=true"][..], 2)] {
        let node = TestNode::start(settings);
        assert_all_forms_agree(&node, "empty").await;
        let orders = instance("ORDERS", "a").with("vipAddress", "orders,orders-v2");
        let at = "/eureka/apps/ORDERS/a";
        let mut step = 0;
        loop {
            let answer = match step {
                0 => node.register(&orders).await,
                1 => node.register(&instance("BILLING", "b").with("vipAddress", "orders")).await,
                2 => node.put(&format!("{at}/status?value=OUT_OF_SERVICE")).send().await,
                3 => {
                    node.register(&orders.clone().with("vipAddress", "orders-v2").dirty(1_700_000_000_001))
                        .await
                }
                4 => node.put(&format!("{at}/metadata?zone=a")).send().await,
                5 => node.delete(&format!("{at}/status")).send().await,
                6 => {
                    node.register(&orders.clone().with("hostName", "n2.test").dirty(1_700_000_000_002)).await
                }
                7 => node.put(&format!("{at}?status=UP&lastDirtyTimestamp=1700000000002")).send().await,
                8 => node.register(&orders.clone().status("DOWN").dirty(1_700_000_000_003)).await,
                9 => node.register(&orders.clone().dirty(1)).await,
                10 => node.delete("/eureka/apps/BILLING/b").send().await,
                11 => node.delete(at).send().await,
                12 => node.register(&orders).await,
                _ => break,
            };
            assert!(answer.status.is_success(), "{step}: {answer:?}");
            pass_secs(wait).await;
            assert_all_forms_agree(&node, &format!("after step {step}")).await;
            step += 1;
        }
    }
}

/// The hash code that a document's instances have, counted here.
fn recount<'a>(instances: impl Iterator<Item = &'a Value>) -> String {
    let mut counts = BTreeMap::new();
    for instance in instances {
        *counts.entry(instance["status"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    counts.iter().map(|(status, n)| format!("{status}_{n}_")).collect()
}

/// Case: P074
#[tokio::test(start_paused = true)]
async fn a_documents_hash_code_always_fits_its_instances_while_statuses_flip() {
    let node = TestNode::start(&[]);
    for n in 0..16 {
        node.register(&instance(&format!("APP-{}", n % 4), &format!("i-{n}"))).await;
    }
    let words = ["UP", "DOWN", "OUT_OF_SERVICE"];
    let writer = |seed: u64| {
        let node = &node;
        async move {
            let mut random = seed;
            for _ in 0..150 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (n, word) = ((random >> 33) % 16, words[(random >> 40) as usize % 3]);
                let path = format!("/eureka/apps/APP-{}/i-{n}/status", n % 4);
                let answer = match (random >> 50) % 4 {
                    0 => node.delete(&path).send().await,
                    _ => node.put(&format!("{path}?value={word}")).send().await,
                };
                assert_eq!(answer.status, 200);
                tokio::task::yield_now().await;
            }
        }
    };
    let reader = |delta: bool| {
        let node = &node;
        async move {
            let mut known = by_id(&node.apps().await);
            for _ in 0..150 {
                let document = if delta { node.delta().await } else { node.apps().await };
                let shown = by_id(&document);
                if !delta {
                    assert_eq!(shown.len(), 16);
                }
                known.extend(shown);
                assert_eq!(recount(known.values()), document["apps__hashcode"].as_str().unwrap());
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::join!(
        async { tokio::join!(writer(1), writer(2), writer(3), writer(4)) },
        async { tokio::join!(writer(5), writer(6), writer(7), writer(8)) },
        async { tokio::join!(reader(false), reader(false), reader(true), reader(true)) },
    );
}
