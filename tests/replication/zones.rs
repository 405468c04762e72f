//! Lists of peers by zones, and by Eureka's TXT records.

use axum::http::Method;

use crate::log::Log;
use crate::net::{Member, Net, pass_ms};

const HOSTS: [&str; 3] = ["a.test:8761", "b.test:8761", "c.test:8761"];
const ZONES: &str = "txt.us-east-1.eureka.test";
const IN_C: &str = "txt.us-east-1c.eureka.test";
const IN_D: &str = "txt.us-east-1d.eureka.test";
const BY_TXT: [&str; 2] = [
    "--eureka.client.use-dns-for-fetching-service-urls=true",
    "--eureka.client.eureka-server-d-n-s-name=eureka.test",
];

/// A, B and C in two zones.
fn in_two_zones() -> Net {
    let net = Net::default();
    net.texts(ZONES, Ok(&["us-east-1c.eureka.test us-east-1d.eureka.test"]));
    net.texts(IN_C, Ok(&["a.test", "b.test"]));
    net.texts(IN_D, Ok(&["\"c.test\""]));
    net
}

async fn start_all(net: &Net, settings: &[&str]) -> [Member; 3] {
    let nodes = HOSTS.map(|host| Member::new(net, host, &[], settings));
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    pass_ms(1_000).await;
    nodes
}

fn url(host: &str) -> String {
    format!("http://{host}/eureka/")
}

/// Catalog: I21, I24
#[tokio::test(start_paused = true)]
async fn the_servers_of_all_zones_of_the_region_are_peers() {
    let net = Net::default();
    let zones = [
        "--eureka.client.region=eu".to_owned(),
        "--eureka.client.availability-zones.eu=z1,z2".to_owned(),
        "--eureka.client.availability-zones.us=z3".to_owned(),
        format!("--eureka.client.service-url.z1={},{}", url(HOSTS[0]), url(HOSTS[1])),
        format!("--eureka.client.service-url.z2={}", url(HOSTS[2])),
        format!("--eureka.client.service-url.z3={}", url("far.test:8761")),
    ];
    let [a, b, c] = start_all(&net, &zones.each_ref().map(String::as_str)).await;
    assert_eq!(a.replicas("registered-replicas").await, format!("{}, {}", url(HOSTS[1]), url(HOSTS[2])));
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!((b.shows("x").await, c.shows("x").await), ("UP".into(), "UP".into()));
    assert_eq!(net.attempts("far.test:8761"), 0, "another region's servers are no peers");
}

/// Catalog: H21
#[tokio::test(start_paused = true)]
async fn every_host_that_txt_records_list_is_a_peer_and_changes_are_followed() {
    let net = in_two_zones();
    let [a, b, c] = start_all(&net, &BY_TXT).await;
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!((b.shows("x").await, c.shows("x").await), ("UP".into(), "UP".into()));
    // A host leaves its zone, then a zone its region.
    net.texts(IN_C, Ok(&["a.test"]));
    pass_ms(10_000).await;
    assert_eq!(a.replicas("registered-replicas").await, url(HOSTS[2]));
    net.texts(IN_C, Ok(&["a.test b.test"]));
    net.texts(ZONES, Ok(&["us-east-1c.eureka.test"]));
    pass_ms(10_000).await;
    assert_eq!(a.replicas("registered-replicas").await, url(HOSTS[1]));
    // A zone may be named as its record is.
    net.texts(ZONES, Ok(&["txt.us-east-1d.eureka.test"]));
    pass_ms(10_000).await;
    assert_eq!(a.replicas("registered-replicas").await, url(HOSTS[2]));
}

/// Catalog: H19
#[tokio::test(start_paused = true)]
async fn the_own_zones_servers_are_listed_first_or_last() {
    let own = "--eureka.client.availability-zones.us-east-1=us-east-1d,us-east-1c";
    let last = "--eureka.client.prefer-same-zone-eureka=false";
    let elsewhere = "--eureka.client.availability-zones.us-east-1=us-east-1x";
    let (b, c) = (url(HOSTS[1]), url(HOSTS[2]));
    for (settings, expected) in [
        (&[BY_TXT[0], BY_TXT[1], own][..], format!("{c}, {b}")),
        (&[BY_TXT[0], BY_TXT[1], own, last], format!("{b}, {c}")),
        (&[BY_TXT[0], BY_TXT[1], elsewhere], format!("{b}, {c}")),
    ] {
        let [a, ..] = start_all(&in_two_zones(), settings).await;
        assert_eq!(a.replicas("registered-replicas").await, expected, "{settings:?}");
    }
}

/// Catalog: I19
#[tokio::test(start_paused = true)]
async fn the_urls_of_the_settings_are_not_looked_at_beside_txt_records() {
    let net = in_two_zones();
    let settings =
        [BY_TXT[0], BY_TXT[1], "--eureka.client.service-url.default-zone=http://other.test/eureka/"];
    let [a, ..] = start_all(&net, &settings).await;
    pass_ms(60_000).await;
    assert_eq!((net.attempts("other.test"), a.node.peers().len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn txt_records_that_do_not_resolve_leave_the_peers_as_they_were_and_are_logged_once() {
    let ways: [Result<&[&str], &str>; 6] = [
        Err("there is no such name"),
        Err("the name server answered Server Failure"),
        Err("no name server answered in time"),
        Ok(&[]),
        Ok(&[" \"\" "]),
        Ok(&["b.test", "v=spf1 -all"]),
    ];
    for record in [ZONES, IN_C] {
        for (n, way) in ways.iter().enumerate() {
            let net = in_two_zones();
            let [a, b, c] = start_all(&net, &BY_TXT).await;
            let log = Log::default();
            let logging = log.begin();
            net.texts(record, *way);
            pass_ms(60_000).await;
            net.texts(record, Err("something else"));
            pass_ms(60_000).await;
            drop(logging);
            a.register("x", 1000, "UP").await;
            pass_ms(1_000).await;
            assert_eq!(
                (b.shows("x").await, c.shows("x").await),
                ("UP".into(), "UP".into()),
                "{record}, way {n}"
            );
            let lines = log.lines_with(record);
            // One line for each of the three nodes.
            assert_eq!(lines.len(), 3, "{record}, way {n}: {lines:#?}");
            let settings =
                lines[0].contains("eureka.client.region and eureka.client.eureka-server-d-n-s-name");
            assert!(lines[0].contains("the peers stay as they were"), "{}", lines[0]);
            assert_eq!(settings, record == ZONES, "{}", lines[0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn txt_records_that_do_not_resolve_yet_are_waited_for_at_start() {
    let net = in_two_zones();
    let b = Member::start_with(&net, HOSTS[1], &[], &BY_TXT).await;
    b.register("x", 1000, "UP").await;
    net.texts(IN_C, Err("the name server answered Server Failure"));
    let a = Member::new(&net, HOSTS[0], &[], &BY_TXT);
    a.boot();
    pass_ms(12_000).await;
    assert_eq!(a.call(Method::GET, "/health/ready", None).await.0, 503);
    net.texts(IN_C, Ok(&["a.test b.test"]));
    pass_ms(7_000).await;
    assert_eq!(a.call(Method::GET, "/health/ready", None).await.0, 200);
    assert_eq!(a.shows("x").await, "UP");
}
