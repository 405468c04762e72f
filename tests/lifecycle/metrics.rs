//! What a node shows to Prometheus, and that no client can make more of it.

use axum::http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::support::{TestNode, instance, pass_secs};

async fn scrape(node: &TestNode) -> String {
    node.get("/metrics").send().await.text()
}

/// The value behind a name and its labels.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
}

/// How many series of a metric there are.
fn series(text: &str, name: &str) -> usize {
    text.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))).count()
}

#[tokio::test(start_paused = true)]
async fn instances_are_counted_by_status_and_by_application() {
    let node = TestNode::start(&[]);
    for id in ["a", "b", "c"] {
        node.register(&instance("ORDERS", id)).await;
    }
    node.register(&instance("BILLING", "a")).await;
    node.put("/eureka/apps/ORDERS/b/status?value=OUT_OF_SERVICE").send().await;
    let text = scrape(&node).await;
    assert_eq!(value(&text, "eurekad_instances"), 4.0);
    assert_eq!(value(&text, "eurekad_applications"), 2.0);
    assert_eq!(value(&text, r#"eurekad_instances_by_status{status="UP"}"#), 3.0);
    assert_eq!(value(&text, r#"eurekad_instances_by_status{status="OUT_OF_SERVICE"}"#), 1.0);
    assert_eq!(value(&text, r#"eurekad_instances_by_status{status="STARTING"}"#), 0.0);
    assert_eq!(value(&text, r#"eurekad_application_instances{application="ORDERS",status="UP"}"#), 2.0);
    assert_eq!(value(&text, r#"eurekad_application_instances{application="BILLING",status="UP"}"#), 1.0);
}

/// Case: P101
#[tokio::test(start_paused = true)]
async fn however_many_names_clients_choose_there_are_no_more_series_than_the_settings_say() {
    let node = TestNode::start(&["--eurekad.metrics.applications=3"]);
    for app in 0..50 {
        node.register(&instance(&format!("APP-{app:02}"), "a")).await;
        node.get(&format!("/eureka/apps/APP-{app:02}/{app}")).send().await;
        node.get(&format!("/nowhere/{app}")).send().await;
        node.call(Method::from_bytes(format!("BREW{app}").as_bytes()).unwrap(), "/eureka/apps").send().await;
    }
    node.register(&instance("APP-07", "b")).await;
    let text = scrape(&node).await;
    assert_eq!(series(&text, "eurekad_application_instances"), 4, "{text}");
    assert_eq!(value(&text, r#"eurekad_application_instances{application="APP-07",status="UP"}"#), 2.0);
    assert_eq!(value(&text, r#"eurekad_application_instances{application="(others)",status="UP"}"#), 47.0);
    assert_eq!(
        value(&text, r#"eurekad_http_requests_total{route="none",method="GET",status="404"}"#),
        50.0,
        "{text}"
    );
    assert_eq!(
        value(&text, r#"eurekad_http_requests_total{route="/apps",method="other",status="405"}"#),
        50.0
    );
    let node = TestNode::start(&["--eurekad.metrics.applications=0"]);
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(series(&scrape(&node).await, "eurekad_application_instances"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_odd_name_of_an_application_stays_in_its_label() {
    let node = TestNode::start(&[]);
    let odd = "A\"} 1\n# TYPE X COUNTER\nX{Y=\"\\";
    let path = format!("/eureka/apps/{}", utf8_percent_encode(odd, NON_ALPHANUMERIC));
    assert_eq!(node.post(&path).json_body(&instance(odd, "a").wrapped()).send().await.status, 204);
    let long = "L".repeat(5000);
    assert_eq!(node.register(&instance(&long, "a")).await.status, 204);
    let text = scrape(&node).await;
    let line =
        r#"eurekad_application_instances{application="A\"} 1\n# TYPE X COUNTER\nX{Y=\"\\",status="UP"} 1"#;
    assert!(text.lines().any(|l| l == line), "{text}");
    assert!(text.lines().all(|line| line.len() < 300), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_reached_is_counted_under_its_setting() {
    let node = TestNode::start(&["--eurekad.limits.instances=1", "--eurekad.limits.body-bytes=2000"]);
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(node.register(&instance("ORDERS", "b")).await.status, 503);
    assert_eq!(node.post("/eureka/apps/ORDERS").json_body(&"x".repeat(3000).into()).send().await.status, 413);
    let text = scrape(&node).await;
    let reached = |limit: &str| value(&text, &format!(r#"eurekad_limit_reached_total{{limit="{limit}"}}"#));
    assert_eq!((reached("eurekad.limits.instances"), reached("eurekad.limits.body-bytes")), (1.0, 1.0));
    assert_eq!(reached("eurekad.limits.batch-bytes"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn each_background_task_shows_when_it_last_ran() {
    let node = TestNode::start(&[]);
    // Not at the very moment at which they run again: which of two things at one moment is first is for nobody to say.
    pass_secs(95).await;
    tokio::time::sleep(std::time::Duration::from_millis(250)).await;
    let text = scrape(&node).await;
    for (task, interval, runs) in
        [("eviction", 60.0, 1.0), ("bounds", 0.5, 190.0), ("delta-retention", 30.0, 3.0)]
    {
        let figure = |name: &str| value(&text, &format!(r#"eurekad_task_{name}{{task="{task}"}}"#));
        assert_eq!((figure("interval_seconds"), figure("runs_total")), (interval, runs), "{task}");
        assert_eq!((figure("panics_total"), figure("lag_seconds")), (0.0, 0.0), "{task}");
        let ago = node.clock.epoch_millis() as f64 / 1000.0 - figure("last_run_timestamp_seconds");
        assert!((0.0..=interval).contains(&ago), "{task} {ago}");
    }
}
