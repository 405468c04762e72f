//! What a node with peers shows to Prometheus, held against docs/metrics.md.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::http::{Method, Request, header};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::net::{Member, Net, pair, pass_ms};

/// What is shown to who accepts `accept`, and as what.
async fn scrape_as(node: &Member, path: &str, accept: &str) -> (String, String) {
    let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty()).unwrap();
    let answer = node.node.router().oneshot(request).await.unwrap();
    let content_type = answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (content_type, String::from_utf8(body.to_vec()).unwrap())
}

/// What is shown to Prometheus.
pub(crate) async fn scrape(node: &Member) -> String {
    scrape_as(node, "/metrics", "*/*").await.1
}

/// Of each metric its type and its labels, from what is shown.
fn shown(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut all: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some((of, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            name = of.to_owned();
            assert!(all.insert(name.clone(), (kind.to_owned(), BTreeSet::new())).is_none(), "{name} twice");
        } else if !line.starts_with('#') {
            assert!(line.starts_with(&name), "{line} stands below {name}");
            let labels = line.split_once('{').map_or("", |(_, rest)| rest.rsplit_once('}').unwrap().0);
            let names = labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0.to_owned()));
            all.get_mut(&name).unwrap().1.extend(names.filter(|label| label != "le"));
        }
    }
    all
}

/// The same from the document's tables.
fn documented() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `eurekad_") || line.starts_with("| `process_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        let labels = cells[3].split(", ").filter(|label| !label.is_empty()).map(bare).collect();
        (bare(cells[1]), (cells[2].to_owned(), labels))
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn every_metric_that_is_shown_is_documented_with_its_type_and_labels_and_the_other_way_round() {
    let (a, _b) = pair(&Net::default()).await;
    a.register("x", 1000, "UP").await;
    // So that the registries have been compared.
    pass_ms(130_000).await;
    a.register("y", 1000, "UP").await;
    pass_ms(1_000).await;
    let (shown, mut documented) = (shown(&scrape(&a).await), documented());
    if cfg!(not(target_os = "linux")) {
        documented.retain(|name, _| !name.starts_with("process_"));
    }
    assert_eq!(shown, documented);
}

#[tokio::test(start_paused = true)]
async fn both_paths_show_the_same_in_the_format_that_is_asked_for() {
    let (a, _b) = pair(&Net::default()).await;
    for path in ["/metrics", "/actuator/prometheus"] {
        let (content_type, text) = scrape_as(&a, path, "text/plain").await;
        assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
        assert!(text.contains("# TYPE eurekad_renewals_total counter\neurekad_renewals_total "), "{text}");
        assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
        let (content_type, text) = scrape_as(&a, path, "application/openmetrics-text; version=1.0.0").await;
        assert_eq!(content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert!(text.contains("# TYPE eurekad_renewals counter\neurekad_renewals_total "), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}

/// Case: P092
#[tokio::test(start_paused = true)]
async fn credentials_of_a_peers_url_are_in_no_label() {
    let net = Net::default();
    let _b = Member::start(&net, "b:1", &[]).await;
    let a = Member::start(&net, "a:1", &["u:p%40ss@b:1"]).await;
    pass_ms(500).await;
    let text = scrape(&a).await;
    assert!(text.contains(r#"eurekad_peer_up{peer="http://b:1/eureka/"} 1"#), "{text}");
    assert!(!text.contains("p@ss") && !text.contains("p%40ss") && !text.contains("u:"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_nodes_tell_each_other_has_routes_of_its_own() {
    let (a, b) = pair(&Net::default()).await;
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(a.call(Method::GET, "/eureka/v2/apps", None).await.0, 200);
    let (at_a, at_b) = (scrape(&a).await, scrape(&b).await);
    let line = r#"eurekad_http_requests_total{route="/apps",method="GET",status="200"} 1"#;
    assert!(at_a.lines().any(|l| l == line), "{at_a}");
    let told =
        r#"eurekad_http_requests_total{route="/peerreplication/ours/tell",method="POST",status="200"}"#;
    assert!(at_b.contains(told), "{at_b}");
}
