//! What a model does with what it has to tell, and with the answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use eurekad::clock::{Clock, Tick};
use serde_json::{Value, json};

use super::{EPOCH, Wires, instance, pass_ms};
use crate::java::Java;

/// One answer of a peer: after so many milliseconds, such a code for the whole, and for its only item such an answer.
type Script = (u64, u16, Value);

/// When a request came, and its items.
type Told = (Duration, Vec<String>);

/// A peer that keeps what it gets, and answers the first requests in such ways, then that all is well.
struct Sink {
    told: Arc<Mutex<Vec<Told>>>,
    _java: Arc<Java>,
}

impl Sink {
    async fn beside_a_model(net: &Wires, script: &[Script]) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let clock = Clock::simulated(EPOCH);
        let (hears, script) = (Arc::clone(&told), Arc::new(Mutex::new(VecDeque::from(script.to_vec()))));
        let answer = async move |body: String| {
            let batch: Value = serde_json::from_str(&body).unwrap_or_default();
            let items = batch["replicationList"].as_array().cloned().unwrap_or_default();
            if items.is_empty() {
                return StatusCode::NOT_FOUND.into_response();
            }
            let word = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
            let words = items.iter().map(|item| {
                format!("{} {} {}", word(item, "action"), word(item, "id"), item["lastDirtyTimestamp"])
            });
            hears.lock().unwrap().push((clock.tick().since(Tick::START), words.collect()));
            let (delay, code, one) =
                script.lock().unwrap().pop_front().unwrap_or((0, 200, json!({"statusCode": 200})));
            pass_ms(delay).await;
            let answers: Vec<Value> = items.iter().map(|_| one.clone()).collect();
            (StatusCode::from_u16(code).unwrap(), json!({ "responseList": answers }).to_string())
                .into_response()
        };
        net.place("k:1", Router::new().fallback(answer));
        let java = net.running_java("j:1", "k:1").await;
        Self { told, _java: java }
    }

    fn told(&self) -> Vec<Vec<String>> {
        self.told.lock().unwrap().iter().map(|(_, words)| words.clone()).collect()
    }

    /// How long after the first request the last one came.
    fn pause(&self) -> Duration {
        let told = self.told.lock().unwrap();
        told.last().unwrap().0 - told[0].0
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_message_takes_the_place_of_the_one_that_waits() {
    let net = Wires::default();
    let sink = Sink::beside_a_model(&net, &[]).await;
    net.register("j:1", "x", 1000, "UP").await;
    net.register("j:1", "y", 1000, "UP").await;
    net.register("j:1", "x", 2000, "UP").await;
    pass_ms(2_000).await;
    assert_eq!(sink.told(), [["Register x 2000", "Register y 1000"]]);
}

/// What reaches a peer that answers the first batch in such a way, while another message comes up.
async fn told_twice(first: Script) -> (Vec<Vec<String>>, Duration) {
    let net = Wires::default();
    let sink = Sink::beside_a_model(&net, &[first]).await;
    net.register("j:1", "x", 1000, "UP").await;
    net.register("j:1", "y", 1000, "UP").await;
    pass_ms(600).await;
    net.register("j:1", "z", 1000, "UP").await;
    pass_ms(20_000).await;
    (sink.told(), sink.pause())
}

#[tokio::test(start_paused = true)]
async fn a_busy_peer_gets_the_same_again_a_second_later_and_in_the_same_order() {
    let (told, pause) = told_twice((0, 503, json!(1))).await;
    let [first, then] = &told[..] else { panic!("{told:?}") };
    assert_eq!(first[..], ["Register x 1000", "Register y 1000"]);
    assert_eq!(then[..], ["Register x 1000", "Register y 1000", "Register z 1000"]);
    assert!(pause >= Duration::from_millis(1_000), "{pause:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_peer_gets_the_next_batch_meanwhile_and_the_same_again_after_a_time_out() {
    let (told, pause) = told_twice((60_000, 200, json!(1))).await;
    let [first, meanwhile, again] = &told[..] else { panic!("{told:?}") };
    assert_eq!(first[..], ["Register x 1000", "Register y 1000"]);
    assert_eq!(meanwhile[..], ["Register z 1000"]);
    assert_eq!(again, first);
    assert!(pause >= Duration::from_millis(7_000), "{pause:?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_refuses_is_given_up() {
    let net = Wires::default();
    let sink = Sink::beside_a_model(&net, &[(0, 400, json!(1))]).await;
    net.register("j:1", "x", 1000, "UP").await;
    pass_ms(20_000).await;
    assert_eq!(sink.told(), [["Register x 1000"]]);
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_worth_sending_until_the_clients_next_heartbeat() {
    let net = Wires::default();
    let sink = Sink::beside_a_model(&net, &[]).await;
    let router = net.remove("k:1");
    let mut brief = instance("x", 1000, "UP");
    brief["leaseInfo"]["renewalIntervalInSecs"] = json!(10);
    net.call("POST", "j:1/eureka/apps/ORDERS", Some(&json!({ "instance": brief }))).await;
    net.register("j:1", "y", 1000, "UP").await;
    pass_ms(15_000).await;
    net.place("k:1", router);
    pass_ms(1_000).await;
    assert_eq!(sink.told(), [["Register y 1000"]]);
}

#[tokio::test(start_paused = true)]
async fn an_override_that_comes_with_409_counts_though_the_record_is_older() {
    let net = Wires::default();
    let mut theirs = instance("x", 500, "OUT_OF_SERVICE");
    theirs["overriddenStatus"] = json!("OUT_OF_SERVICE");
    let well = (0, 200, json!({"statusCode": 200}));
    let newer = (0, 200, json!({"statusCode": 409, "responseEntity": theirs}));
    let sink = Sink::beside_a_model(&net, &[well, newer]).await;
    net.register("j:1", "x", 1000, "UP").await;
    pass_ms(1_000).await;
    net.about("j:1", "PUT", "x", "").await;
    pass_ms(1_000).await;
    assert_eq!(net.x("j:1").await, "OUT_OF_SERVICE OUT_OF_SERVICE 1000");
    assert_eq!(sink.told(), [["Register x 1000"], ["Heartbeat x 1000"]]);
}
