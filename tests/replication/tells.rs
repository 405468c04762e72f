//! What nodes of this kind tell each other, said by one that is broken, twice, late, or in another order.

use serde_json::{Value, json};

use crate::net::{ABC, EPOCH, Member, Net, STRANGER, TELL, alike, instance, pair, pass_ms};

/// A node with one instance, x.
async fn with_x(net: &Net) -> Member {
    // Without a peer what is gone is not remembered.
    let a = Member::start_with(net, "a:1", &["b:1"], &["--eurekad.boot.sync-timeout-ms=0"]).await;
    a.register("x", 1000, "UP").await;
    pass_ms(10).await;
    a
}

fn stamp(ahead: i64) -> String {
    format!("{}.0.{STRANGER}", EPOCH + ahead)
}

#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_taken_is_refused_alone_and_changes_nothing() {
    let net = Net::default();
    let a = with_x(&net).await;
    let before = (alike(&[&a], "x").await, a.node.registry().version());
    let x = instance("x", 2000, "DOWN");
    let key = |more: Value| {
        let mut key = json!({"app": "ORDERS", "id": "x", "a": 0});
        more.as_object().unwrap().iter().for_each(|(name, value)| key[name] = value.clone());
        key
    };
    let mut other_app = x.clone();
    other_app["instance"]["app"] = "OTHER".into();
    let day = 24 * 3_600_000;
    let floor =
        |stamp: &str| json!({"stamp": stamp, "ageMs": 0, "lastDirty": 0, "intervalMs": 1, "lifeMs": 1});
    let broken = [
        key(json!({"r": stamp(day + 60_000), "i": x})),
        key(json!({"r": "9223372036854775807.4294967295.ffffffffffffffff", "i": x})),
        key(json!({"r": stamp(0), "o": {"status": "DOWN", "stamp": stamp(day + 60_000)}})),
        key(json!({"f": floor(&stamp(day + 60_000))})),
        key(json!({"f": floor("now")})),
        key(json!({"m": {"stamp": stamp(day + 60_000), "heardMs": 0, "lifeMs": 1}})),
        key(json!({"r": "1.2", "i": x})),
        key(json!({"r": stamp(1), "i": instance("another", 2000, "DOWN")})),
        key(json!({"r": stamp(1), "i": other_app})),
        key(json!({"r": stamp(1), "i": {"instance": 7}})),
        key(json!({"r": stamp(1), "o": {"status": "SLEEPING", "stamp": stamp(1)}})),
        json!({"app": "", "id": "x", "r": stamp(1)}),
        json!({"app": "ORDERS", "id": "", "r": stamp(1)}),
    ];
    let (status, answer) = a.hears(Value::from(broken.to_vec())).await;
    let each: Vec<Value> = (0..broken.len()).map(|position| json!([position, 400])).collect();
    assert_eq!((status.as_u16(), &answer["refused"]), (200, &Value::from(each)), "{answer}");
    assert_eq!((alike(&[&a], "x").await, a.node.registry().version()), before);
    assert!(a.node.registry().stamps().now().millis < EPOCH + 60_000);
    // What stands beside them is taken.
    let (_, answer) = a.hears(json!([broken[0], key(json!({"r": stamp(60_000), "i": x}))])).await;
    assert_eq!(answer["refused"], json!([[0, 400]]));
    assert_eq!(a.shows("x").await, "DOWN");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_none_of_a_node_of_this_kind_is_400_and_changes_nothing() {
    let net = Net::default();
    let a = with_x(&net).await;
    let before = a.node.registry().version();
    let good = json!({"keys": [{"app": "ORDERS", "id": "x", "r": stamp(60_000), "i": instance("x", 1, "DOWN"),
        "a": 0}]});
    let node = ("eurekad-node", STRANGER);
    for path in [TELL, "/eureka/peerreplication/ours/compare", "/eureka/peerreplication/ours/copy"] {
        for headers in [&[][..], &[("eurekad-node", "")], &[("eurekad-node", "no number")]] {
            let (status, _, _) = a.post(path, headers, good.to_string()).await;
            assert_eq!(status, 400, "{path} {headers:?}");
        }
        for body in ["", "{", "[", "7", "\u{feff}{}", r#"{"keys": 7, "buckets": 7, "from": "x"}"#] {
            let (status, _, _) = a.post(path, &[node], body.to_owned()).await;
            assert_eq!(status, 400, "{path} {body:?}");
        }
    }
    for ages in [json!({"a": -1}), json!({"a": 1.5}), json!({"m": {}}), json!({"f": {"ageMs": 1}})] {
        let mut key = json!({"app": "ORDERS", "id": "x"});
        ages.as_object().unwrap().iter().for_each(|(name, value)| key[name] = value.clone());
        assert_eq!(a.hears(json!([key])).await.0, 400, "{ages}");
    }
    assert_eq!((a.shows("x").await, a.node.registry().version()), ("UP".into(), before));
    let (status, _, answer) = a
        .post("/eureka/peerreplication/ours/copy", &[node], json!({"from": usize::MAX, "to": 0}).to_string())
        .await;
    assert_eq!((status.as_u16(), &answer["known"]), (200, &json!([])));
}

#[tokio::test(start_paused = true)]
async fn absurd_ages_and_lives_are_only_very_old_and_very_long() {
    let net = Net::default();
    let a = with_x(&net).await;
    let new = |id: &str, age: u64| json!({"app": "ORDERS", "id": id, "r": stamp(1), "i": instance(id, 1, "UP"), "a": age});
    let (_, answer) = a.hears(json!([new("old", u64::MAX), new("older", 1 << 41), new("young", 0)])).await;
    assert_eq!(answer["refused"], json!([]));
    assert_eq!((a.node.registry().len(), a.shows("young").await), (2, "UP".into()));
    let floor = |stamp: String| {
        json!({"stamp": stamp, "ageMs": u64::MAX, "lastDirty": i64::MAX,
        "intervalMs": u64::MAX, "lifeMs": u64::MAX})
    };
    let mark = json!({"stamp": stamp(2), "heardMs": u64::MAX, "lifeMs": u64::MAX, "cancelled": true});
    let (_, answer) = a
        .hears(json!([
            {"app": "ORDERS", "id": "x", "m": mark},
            {"app": "ORDERS", "id": "young", "f": floor(stamp(2))},
            {"app": "ORDERS", "id": "never-was", "f": floor(stamp(2)), "m": mark},
        ]))
        .await;
    assert_eq!(answer["refused"], json!([]));
    assert_eq!((a.shows("x").await, a.shows("young").await), ("UP".into(), String::new()));
    a.node.registry().forget_old_changes();
    pass_ms(300_000).await;
    // Whoever registers lives, whatever was said before.
    for id in ["young", "never-was"] {
        assert_eq!(a.register(id, 1, "UP").await, 204);
        assert_eq!(a.shows(id).await, "UP");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_keys_at_once_are_taken_within_the_bounds_of_what_is_kept() {
    let net = Net::default();
    let a = with_x(&net).await;
    a.cancel("x").await;
    let named: Vec<Value> =
        (0..100_000).map(|n| json!({"app": "O", "id": n.to_string(), "r": "1.0.0", "a": 0})).collect();
    let (status, answer) = a.hears(Value::from(named)).await;
    assert_eq!((status.as_u16(), answer["needed"].as_array().map(Vec::len)), (200, Some(100_000)));
    let blind = |n: usize| {
        json!({"app": "O", "id": n.to_string(), "f": {"stamp": stamp(1), "ageMs": 0, "lastDirty": 0,
            "intervalMs": 30_000, "lifeMs": 180_000, "blind": true}})
    };
    let (status, _) = a.hears((0..50_000).map(blind).collect()).await;
    assert_eq!(status, 200);
    assert_eq!((a.node.registry().len(), a.node.registry().remembered()), (0, (10_001, 40_000)));
    let more = "x".repeat(64 * 1024 * 1024);
    let (status, _, _) = a.post(TELL, &[("eurekad-node", STRANGER)], more).await;
    assert!(status == 413 || status == 400, "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_told_its_own_words_takes_them_for_nothing_new() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "DOWN").await;
    pass_ms(1_000).await;
    let (version, own) = (a.node.registry().version(), a.node.registry().stamps().node().to_string());
    for told in net.delivered("b:1").into_iter().filter(|d| d.path.contains("ours")) {
        let (status, _, answer) = a.post(&told.path, &[("eurekad-node", &own)], told.body).await;
        assert_eq!((status.as_u16(), &answer["needed"], &answer["refused"]), (200, &json!([]), &json!([])));
    }
    assert_eq!(a.node.registry().version(), version);
    assert_eq!(alike(&[&a, &b], "x").await["status"], "DOWN");
}

#[tokio::test(start_paused = true)]
async fn what_is_told_twice_late_and_in_another_order_changes_nothing() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let said = async |node: &Member| {
        for id in ["x", "y", "z"] {
            node.register(id, 1000, "UP").await;
        }
        pass_ms(100).await;
        node.set_status("x", "OUT_OF_SERVICE").await;
        node.cancel("y").await;
        node.register("z", 2000, "DOWN").await;
        pass_ms(1_000).await;
        node.beat("x").await;
        node.clear_status("x", "STARTING").await;
        node.set_status("z", "OUT_OF_SERVICE").await;
        pass_ms(1_000).await;
        node.register("x", 3000, "UP").await;
        node.call(axum::http::Method::PUT, "/eureka/apps/ORDERS/z/metadata?weight=7", None).await;
        node.register("y", 3000, "UP").await;
        pass_ms(1_000).await;
        node.cancel("z").await;
        pass_ms(1_000).await;
    };
    said(&a).await;
    let shown = async |node: &Member| {
        let ids = ["x", "y", "z"];
        [alike(&[node], ids[0]).await, alike(&[node], ids[1]).await, alike(&[node], ids[2]).await]
    };
    let (version, before) = (b.node.registry().version(), shown(&b).await);
    assert_eq!(before, shown(&a).await);
    let told: Vec<String> =
        net.delivered("b:1").into_iter().filter(|d| d.path.contains("tell")).map(|d| d.body).collect();
    assert!(told.len() >= 5, "{told:?}");
    let again = async |node: &Member, told: Vec<&String>| {
        for body in told {
            let (status, _, _) = node.post(TELL, &[("eurekad-node", STRANGER)], body.clone()).await;
            assert_eq!(status, 200);
            pass_ms(100).await;
        }
    };
    again(&b, told.iter().chain(told.iter().rev()).collect()).await;
    assert_eq!((b.node.registry().version(), shown(&b).await), (version, before.clone()));
    // Whoever hears all of it in whatever order ends with the same.
    let half = told.len() / 2;
    let orders: [Vec<&String>; 3] = [
        told.iter().rev().collect(),
        told[half..].iter().chain(&told[..half]).collect(),
        told.iter().step_by(2).chain(told.iter().skip(1).step_by(2)).collect(),
    ];
    for (order, host) in orders.into_iter().zip(ABC) {
        // Nobody is there whom it could ask.
        let other = Net::default();
        let c = Member::start_with(&other, host, &["d:1"], &["--eurekad.boot.sync-timeout-ms=0"]).await;
        again(&c, order).await;
        assert_eq!(shown(&c).await, before);
    }
}
