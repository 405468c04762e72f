//! What changed lately.

use std::time::Duration;

use serde_json::Value;

use crate::support::{TestNode, ids, instance, pass, pass_secs};

fn actions(delta: &Value) -> Vec<(String, String)> {
    let apps = delta["application"].as_array().unwrap();
    let instances = apps.iter().flat_map(|app| app["instance"].as_array().unwrap());
    let word = |i: &Value, field: &str| i[field].as_str().unwrap().to_owned();
    instances.map(|i| (word(i, "instanceId"), word(i, "actionType"))).collect()
}

fn entry(id: &str, action: &str) -> (String, String) {
    (id.to_owned(), action.to_owned())
}

/// Case: P075
#[tokio::test(start_paused = true)]
async fn many_changes_of_one_instance_are_one_entry_with_its_state_now() {
    let node = TestNode::start(&[]);
    node.register(&instance("A", "a")).await;
    node.register(&instance("A", "b")).await;
    node.delete("/eureka/apps/A/a").send().await;
    assert_eq!(actions(&node.delta().await), [entry("b", "ADDED"), entry("a", "DELETED")]);
    node.register(&instance("A", "a")).await;
    assert_eq!(actions(&node.delta().await), [entry("b", "ADDED"), entry("a", "ADDED")]);
    node.put("/eureka/apps/A/a/status?value=DOWN").send().await;
    let delta = node.delta().await;
    assert_eq!(actions(&delta), [entry("b", "ADDED"), entry("a", "MODIFIED")]);
    assert_eq!(delta["apps__hashcode"], "DOWN_1_UP_1_");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_instance_shows_its_last_status_and_when_it_went() {
    let node = TestNode::start(&[]);
    node.register(&instance("A", "a").status("STARTING")).await;
    pass_secs(5).await;
    node.delete("/eureka/apps/A/a").send().await;
    let gone = node.delta().await["application"][0]["instance"][0].clone();
    assert_eq!(gone["status"], "STARTING");
    assert_eq!(gone["leaseInfo"]["evictionTimestamp"], crate::support::EPOCH + 5_000);
    assert_eq!(gone["lastUpdatedTimestamp"], (crate::support::EPOCH + 5_000).to_string());
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_does_not_enter_the_delta() {
    let node = TestNode::start(&["--eureka.server.delta-retention-timer-interval-in-ms=1000"]);
    node.register(&instance("A", "a").lease(30, 900)).await;
    pass_secs(182).await;
    node.beat("/eureka/apps/A/a").await;
    let delta = node.delta().await;
    assert_eq!(actions(&delta), []);
    assert_eq!(delta["apps__hashcode"], "UP_1_", "the hash code is the whole registry's");
}

#[tokio::test(start_paused = true)]
async fn a_change_stays_for_the_retention_and_no_longer() {
    let node = TestNode::start(&["--eureka.server.delta-retention-timer-interval-in-ms=1000"]);
    node.register(&instance("A", "a").lease(30, 900)).await;
    pass_secs(60).await;
    node.register(&instance("A", "b").lease(30, 900)).await;
    pass_secs(119).await;
    assert_eq!(ids(&node.delta().await), ["a", "b"]);
    pass_secs(3).await;
    assert_eq!(ids(&node.delta().await), ["b"]);
    pass_secs(60).await;
    assert_eq!(ids(&node.delta().await), [] as [&str; 0]);
}

/// Catalog: B5
#[tokio::test(start_paused = true)]
async fn the_hash_code_follows_each_change() {
    let node = TestNode::start(&[]);
    let hash = async || node.apps().await["apps__hashcode"].as_str().unwrap().to_owned();
    assert_eq!(hash().await, "");
    node.register(&instance("A", "a")).await;
    assert_eq!(hash().await, "UP_1_");
    node.register(&instance("B", "b")).await;
    assert_eq!(hash().await, "UP_2_");
    node.register(&instance("B", "b").status("DOWN")).await;
    assert_eq!(hash().await, "DOWN_1_UP_1_");
    node.delete("/eureka/apps/A/a").send().await;
    assert_eq!(hash().await, "DOWN_1_");
}

#[tokio::test(start_paused = true)]
async fn the_version_changes_with_every_change_even_when_the_hash_code_does_not() {
    let node = TestNode::start(&[]);
    node.register(&instance("A", "a").status("DOWN")).await;
    node.register(&instance("A", "b")).await;
    let before = node.delta().await;
    node.register(&instance("A", "a").status("UP").dirty(1_700_000_000_001)).await;
    node.register(&instance("A", "b").status("DOWN").dirty(1_700_000_000_001)).await;
    let after = node.delta().await;
    assert_eq!(before["apps__hashcode"], after["apps__hashcode"]);
    assert_ne!(before["versions__delta"], after["versions__delta"]);
}

/// A client that applies every delta to what it has.
fn apply(known: &mut std::collections::BTreeMap<String, String>, delta: &Value) {
    for app in delta["application"].as_array().unwrap() {
        for i in app["instance"].as_array().unwrap() {
            let key = format!("{}/{}", app["name"], i["instanceId"]);
            match i["actionType"].as_str().unwrap() {
                "DELETED" => known.remove(&key),
                _ => known.insert(key, i["status"].as_str().unwrap().to_owned()),
            };
        }
    }
}

fn hash_of(known: &std::collections::BTreeMap<String, String>) -> String {
    let mut counts = std::collections::BTreeMap::new();
    known.values().for_each(|status| *counts.entry(status.clone()).or_insert(0) += 1);
    counts.iter().map(|(status, count)| format!("{status}_{count}_")).collect()
}

/// Case: P075
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_every_delta_always_has_the_registrys_hash_code() {
    let node = TestNode::start(&["--eureka.server.delta-retention-timer-interval-in-ms=1000"]);
    let mut known = std::collections::BTreeMap::new();
    // A fixed but unruly history: which instance does what is a walk by a step that is prime to all counts.
    let mut step = 7_u64;
    for _ in 0..600 {
        step = (step * 31 + 11) % 1009;
        let (app, id) = (format!("APP-{}", step % 5), format!("i-{}", step % 7));
        let path = format!("/eureka/apps/{app}/{id}");
        match step % 6 {
            0 | 1 => drop(node.register(&instance(&app, &id)).await),
            2 => drop(node.register(&instance(&app, &id).status("DOWN")).await),
            3 => drop(node.delete(&path).send().await),
            4 => drop(node.put(&format!("{path}/status?value=OUT_OF_SERVICE")).send().await),
            _ => drop(node.delete(&format!("{path}/status?value=UP")).send().await),
        }
        pass(Duration::from_millis(step * 3)).await;
        if step.is_multiple_of(3) {
            let delta = node.delta().await;
            apply(&mut known, &delta);
            assert_eq!(hash_of(&known), delta["apps__hashcode"].as_str().unwrap());
        }
    }
}

/// Case: U11
#[tokio::test(start_paused = true)]
async fn a_delta_that_is_turned_off_or_has_holes_is_refused_so_that_clients_take_everything() {
    let off = TestNode::start(&["--eureka.server.disable-delta=true"]);
    assert_eq!(off.get("/eureka/apps/delta").json().send().await.status, 403);

    let small = TestNode::start(&["--eurekad.limits.changes=3"]);
    for n in 0..3 {
        small.register(&instance("A", &n.to_string()).lease(30, 900)).await;
    }
    assert_eq!(small.get("/eureka/apps/delta").json().send().await.status, 200);
    small.register(&instance("A", "one more").lease(30, 900)).await;
    assert_eq!(small.get("/eureka/apps/delta").json().send().await.status, 403);
    assert_eq!(small.get("/eureka/apps").json().send().await.status, 200);
    pass_secs(181).await;
    assert_eq!(small.get("/eureka/apps/delta").json().send().await.status, 200, "whole again");
}

#[tokio::test(start_paused = true)]
async fn the_change_log_remembers_the_last_local_change_behind_a_replicas() {
    let node = TestNode::start(&[]);
    node.register(&instance("A", "a")).await;
    node.put("/eureka/apps/A/a/status?value=DOWN").send().await;
    node.post("/eureka/apps/A").replicated().json_body(&instance("A", "a").wrapped()).send().await;
    let changes = node.registry().changes_since(0);
    assert_eq!(changes.len(), 1);
    assert!(!changes[0].origin.is_local());
    assert_eq!((changes[0].local.record, changes[0].local.override_), (Some(1), Some(2)));
    assert_eq!(node.registry().changes_since(changes[0].version).len(), 0);
}
