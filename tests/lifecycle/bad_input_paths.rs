//! Ids, paths and queries of every kind, good and bad.

use axum::http::{Method, Uri};
use eurekad_wire::Format;
use serde_json::json;

use super::bad_input::{assert_serves, explained, refused};
use crate::support::*;

/// Texts that are as good as others in an id, an application or a VIP address.
fn odd_names() -> Vec<String> {
    let mut names: Vec<String> = (' '..='~').map(|c| format!("i{c}1")).collect();
    names.extend((' '..='~').map(|c| c.to_string()));
    names.push((' '..='~').collect());
    names.extend(
        [
            "..", "...", "../..", "%2F", "%", "%%", "%41", "a%00b", "+", "a+b c", "status", "metadata",
            "delta", "DELTA", "é", "ß",
        ]
        .map(str::to_owned),
    );
    names.extend(
        ["Zürich ☃ 名前", "🦀", "e\u{301}", "\u{202e}abc", "a\tb", "a\nb", "\u{7f}", "ﬁ", "İ", "ǆ"]
            .map(str::to_owned),
    );
    names
}

#[tokio::test(start_paused = true)]
async fn an_instance_of_any_id_can_be_asked_for_renewed_changed_and_cancelled() {
    let node = TestNode::start(&[]);
    for id in odd_names() {
        let what = instance("ORDERS", &id);
        assert_eq!(node.register(&what).await.status, 204, "{id:?}");
        let path = format!("/eureka/apps/ORDERS/{}", encoded(&id));
        assert_eq!(node.instance(&path).await["instanceId"], json!(id));
        assert_eq!(
            node.instance(&format!("/eureka/instances/{}", encoded(&id))).await["instanceId"],
            json!(id)
        );
        assert_eq!(
            node.beat(&format!("{path}?status=UP&lastDirtyTimestamp=1700000000000")).await,
            200,
            "{id:?}"
        );
        assert_eq!(node.put(&format!("{path}/status?value=DOWN")).send().await.status, 200, "{id:?}");
        assert_eq!(node.delete(&format!("{path}/status?value=UP")).send().await.status, 200, "{id:?}");
        let query = format!("{}={}", encoded(&id), encoded(&id));
        assert_eq!(node.put(&format!("{path}/metadata?{query}")).send().await.status, 200, "{id:?}");
        assert_eq!(node.instance(&path).await["metadata"], json!({id.clone(): id}));
        // Most characters need no encoding, and not every client does more than it must.
        let raw = format!("/eureka/apps/ORDERS/{id}");
        if !id.contains(['/', '?', '#', '%']) && raw.parse::<Uri>().is_ok() {
            assert_eq!(node.beat(&raw).await, 200, "{id:?}");
            assert_eq!(node.put(&format!("{raw}/status?value=UP")).send().await.status, 200, "{id:?}");
        }
        let beat = json!([{"appName": "ORDERS", "id": id, "action": "Heartbeat"}]);
        assert_eq!(node.batch(&beat).await, [200], "{id:?}");
        assert_serves(&node, &id).await;
        assert_eq!(ids(&node.apps().await), [id.as_str()]);
        assert_eq!(node.delete(&path).send().await.status, 200, "{id:?}");
        assert_eq!(node.delete(&path).send().await.status, 404, "{id:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_application_and_a_vip_address_of_any_name_can_be_asked_for() {
    let node = TestNode::start(&[]);
    for name in odd_names() {
        let what = instance("x", "a").with("app", name.clone()).with("vipAddress", name.clone());
        let app = format!("/eureka/apps/{}", encoded(&name));
        let registered = node.post(&app).json_body(&what.wrapped()).send().await;
        if name == "delta" {
            // In lower case this is the path of the delta; Java clients ask for applications in upper case.
            assert_eq!(registered.status, 405);
            continue;
        }
        assert_eq!(registered.status, 204, "{name:?}");
        let path = format!("{app}/a");
        assert_eq!(node.beat(&path).await, 200, "{name:?}");
        let document = node.get(&app).json().send().await.json();
        assert_eq!(document["application"]["name"], json!(name.to_uppercase()), "{name:?}");
        let vip = node.get(&format!("/eureka/vips/{}", encoded(&name))).json().send().await;
        let found = ids(&vip.json()["applications"]).len();
        assert_eq!(found, usize::from(!name.contains(',')), "{name:?}");
        for part in name.split(',').filter(|part| !part.is_empty()) {
            let vip = node.get(&format!("/eureka/vips/{}", encoded(part))).json().send().await;
            assert_eq!(ids(&vip.json()["applications"]), ["a"], "{name:?}");
        }
        assert_serves(&node, &name).await;
        assert_eq!(node.put(&format!("{path}/status?value=DOWN")).send().await.status, 200, "{name:?}");
        assert_eq!(node.delete(&path).send().await.status, 200, "{name:?}");
        assert_eq!(node.registry().len(), 0);
    }
}

/// Every call that has a name in its path, with that name in it.
fn calls_with(name: &str) -> Vec<(Method, String)> {
    let mut calls = vec![
        (Method::GET, format!("/eureka/apps/{name}")),
        (Method::POST, format!("/eureka/apps/{name}")),
        (Method::GET, format!("/eureka/instances/{name}")),
        (Method::GET, format!("/eureka/vips/{name}")),
        (Method::GET, format!("/eureka/svips/{name}")),
        (Method::PUT, format!("/eureka/asg/{name}/status")),
        (Method::GET, format!("/eureka/{name}")),
        (Method::GET, format!("/{name}/apps")),
    ];
    for (app, id) in [("ORDERS", name), (name, "a")] {
        let one = format!("/eureka/apps/{app}/{id}");
        calls.extend([
            (Method::GET, one.clone()),
            (Method::PUT, one.clone()),
            (Method::DELETE, one.clone()),
            (Method::PUT, format!("{one}/status?value=DOWN")),
            (Method::DELETE, format!("{one}/status")),
            (Method::PUT, format!("{one}/metadata?a=b")),
        ]);
    }
    calls
}

#[tokio::test(start_paused = true)]
async fn a_path_that_is_no_utf8_is_400_and_one_badly_encoded_finds_nothing() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for name in ["%FF", "a%ff", "%C0%80", "%ED%A0%80", "%E2%82", "%80a"] {
        for (method, path) in calls_with(name) {
            let routed =
                !path.ends_with("/apps") && path.matches('/').count() > 2 && !path.starts_with("/eureka/asg");
            let call = node.call(method.clone(), &path).json().json_body(&instance("ORDERS", "b").wrapped());
            let status = if routed || path.starts_with("/eureka/asg") { 400 } else { 404 };
            let answer = refused(&node, call, status, &format!("{method} {path}")).await;
            if routed {
                assert!(explained(&answer, Format::Json).1.contains("UTF-8"), "{}", answer.text());
            }
        }
    }
    for name in ["%", "%2", "%zz", "a%", "a%g1", "%%", "%u0041", "%-1"] {
        for (method, path) in calls_with(name) {
            let call = node.call(method.clone(), &path).json().json_body(&instance("ORDERS", "b").wrapped());
            let before = node.registry().version();
            let answer = call.send().await;
            let vip = path.contains("vips/");
            let expected: &[u16] = if vip { &[200, 400] } else { &[400, 404] };
            assert!(expected.contains(&answer.status.as_u16()), "{method} {path}: {}", answer.status);
            assert_eq!(node.registry().version(), before);
        }
    }
    assert_serves(&node, "after all").await;
}

#[tokio::test(start_paused = true)]
async fn nul_and_control_characters_in_a_path_find_nothing() {
    let node = TestNode::start(&[]);
    for name in ["%00", "a%00b", "%01", "%0A", "a%0d%0aSet-Cookie:%20x", "%1B%5B31m", "%EF%BF%BE"] {
        for (method, path) in calls_with(name) {
            for accept in ["application/json", "application/xml"] {
                let call = node.call(method.clone(), &path).header("accept", accept);
                let call = call.json_body(&instance("ORDERS", "b").wrapped());
                let answer = call.send().await;
                let expected: &[u16] = if path.contains("vips/") { &[200] } else { &[400, 404] };
                assert!(expected.contains(&answer.status.as_u16()), "{method} {path}: {}", answer.status);
                assert!(answer.header("set-cookie").is_none());
            }
        }
    }
    assert_eq!(node.registry().version(), 0);
}

/// A cancellation of an unknown instance is listed among the recent ones, whatever its name.
#[tokio::test(start_paused = true)]
async fn the_page_shows_no_control_characters_of_instances_that_never_were() {
    for name in ["%00", "a%01b", "%1B%5B31m", "%EF%BF%BE", "%0D%0A", "%3Cscript%3E"] {
        let node = TestNode::start(&[]);
        for (method, path) in calls_with(name) {
            node.call(method, &path).send().await;
        }
        for path in ["/", "/eureka/status", "/metrics"] {
            let answer = node.get(path).send().await;
            assert_eq!(answer.status, 200);
            assert_eq!(eurekad_wire::first_unwritable(&answer.text()), None, "{name} on {path}");
            assert!(!answer.text().contains("<script>"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn very_long_paths_and_queries_are_answered() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let before = node.registry().version();
    for long in [
        "x".repeat(60_000),
        "%41".repeat(20_000),
        "/x".repeat(30_000),
        "/".repeat(60_000),
        "../".repeat(20_000),
    ] {
        for (method, path) in calls_with(&long) {
            let call = node.call(method.clone(), &path).json().json_body(&instance("ORDERS", "b").wrapped());
            let status = call.send().await.status.as_u16();
            // Of slashes alone only one is left, which makes some of these good calls.
            let expected: &[u16] =
                if long.starts_with("//") { &[200, 400, 404, 405] } else { &[200, 400, 404] };
            assert!(expected.contains(&status), "{method} {status} {}", &path[..60]);
        }
    }
    if node.registry().version() == before {
        assert_eq!(node.status("/eureka/apps/ORDERS/a").await, "UP");
    }
    let one = "/eureka/apps/ORDERS/a";
    for query in [
        "a=b&".repeat(15_000),
        "&".repeat(60_000),
        "=".repeat(60_000),
        "x".repeat(60_000),
        "%41".repeat(20_000),
    ] {
        assert_eq!(node.beat(&format!("{one}?{query}")).await, 200);
        assert_eq!(node.get(&format!("/eureka/apps?regions={query}")).send().await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_is_no_utf8_is_400_before_anything_happens() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let one = "/eureka/apps/ORDERS/a";
    pass_secs(5).await;
    let before = node.instance(one).await;
    for query in
        ["a=%FF", "%ff=a", "status=UP&x=%C0%80", "value=DOWN&%E2%82=1", "value=%80", "a=b&c=%ED%A0%80"]
    {
        for (method, path) in [
            (Method::PUT, one.to_owned()),
            (Method::PUT, format!("{one}/status")),
            (Method::DELETE, format!("{one}/status")),
            (Method::PUT, format!("{one}/metadata")),
        ] {
            for format in [Format::Json, Format::Xml] {
                let accept = super::bad_input::content_type(format);
                let call = node.call(method.clone(), &format!("{path}?{query}")).header("accept", accept);
                let answer = refused(&node, call, 400, &format!("{method} {path}?{query}")).await;
                assert!(explained(&answer, format).1.contains("UTF-8"), "{}", answer.text());
            }
        }
    }
    assert_eq!(node.instance(one).await, before, "not even renewed");
    for query in ["", "&&&", "=", "?", "a", "%", "%zz=%", "status", "status=%00", "x=1;y=2", "[]={}"] {
        assert_eq!(node.beat(&format!("{one}?{query}")).await, 200, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_that_cannot_be_served_is_refused_and_none_of_it_is_kept() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").with("metadata", json!({"k": "v"}))).await;
    let path = "/eureka/apps/ORDERS/a/metadata";
    for bad in [
        "=v",
        "=",
        "a=1&=2",
        "a=%00",
        "%00=a",
        "a%01b=c",
        "a=%0B",
        "a=%1F",
        "a=%EF%BF%BE",
        "%EF%BF%BF=1",
        "good=1&bad=%08",
        "a=%FF",
        "%FE=a",
        "%40class=x",
        "a=1&@class=java.util.HashMap",
    ] {
        for format in [Format::Json, Format::Xml] {
            let accept = super::bad_input::content_type(format);
            let call = node.put(&format!("{path}?{bad}")).header("accept", accept);
            let answer = refused(&node, call, 400, bad).await;
            assert!(!explained(&answer, format).1.is_empty());
        }
        assert_eq!(node.instance("/eureka/apps/ORDERS/a").await["metadata"], json!({"k": "v"}), "{bad}");
    }
    for odd in [
        "a%09b=c%0Ad",
        "%20=%20",
        "%3C%26%3E=%5D%5D%3E",
        "0=1",
        "%F0%9F%A6%80=%F0%9F%A6%80",
        "a%3Db=%3D",
        "class=x",
    ] {
        assert_eq!(node.put(&format!("{path}?{odd}")).send().await.status, 200, "{odd}");
        assert_serves(&node, odd).await;
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_cannot_be_made_to_grow_without_end() {
    let node = TestNode::start(&["--eurekad.limits.metadata-bytes=1000"]);
    node.register(&instance("ORDERS", "a")).await;
    let put = |query: String| node.put(&format!("/eureka/apps/ORDERS/a/metadata?{query}")).json();
    let mut accepted = 0;
    for n in 0..100 {
        let call = put(format!("k{n:02}={}", "v".repeat(97)));
        if accepted < 10 {
            assert_eq!(call.send().await.status, 200, "{n}");
            accepted += 1;
        } else {
            let answer = refused(&node, call, 413, "one more").await;
            let (_, detail) = explained(&answer, Format::Json);
            assert!(detail.contains("eurekad.limits.metadata-bytes") && detail.contains("1000"), "{detail}");
        }
    }
    // What is there can be replaced and made smaller.
    assert_eq!(put(format!("k00={}", "w".repeat(97))).send().await.status, 200);
    refused(&node, put(format!("k00={}", "w".repeat(98))), 413, "one byte more").await;
    assert_eq!(put("k00=".to_owned()).send().await.status, 200);
    assert_eq!(put(format!("new={}", "ü".repeat(47))).send().await.status, 200);
    refused(&node, put("x=y&k01=".to_owned() + &"z".repeat(200)), 413, "all or nothing").await;
    assert_eq!(node.instance("/eureka/apps/ORDERS/a").await["metadata"].get("x"), None);
    // The default limit, with queries as long as a request's line may be.
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let mut codes = Vec::new();
    for n in 0..6 {
        let path = format!("/eureka/apps/ORDERS/a/metadata?k{n}={}", "v".repeat(60_000));
        codes.push(node.put(&path).send().await.status.as_u16());
    }
    assert_eq!(codes, [200, 200, 200, 200, 413, 413]);
}
