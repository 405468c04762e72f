//! Of two words the later counts, at whichever nodes they were said and whatever those nodes' wall clocks show.

use axum::http::Method;
use serde_json::Value;

use crate::net::{AB, ABC, EPOCH, Member, Net, STRANGER, TELL, alike, pair, pass_ms};

const HOUR: i64 = 3_600_000;

/// One word of a client or an operator about x.
#[derive(Debug, Clone, Copy)]
enum Word {
    Set(&'static str),
    Clear(&'static str),
    Register(i64, &'static str),
    Metadata(&'static str),
    Cancel,
    Beat,
}

async fn say(node: &Member, word: Word) {
    match word {
        Word::Set(status) => drop(node.set_status("x", status).await),
        Word::Clear(status) => drop(node.clear_status("x", status).await),
        Word::Register(dirty, status) => drop(node.register("x", dirty, status).await),
        Word::Metadata(pair) => {
            node.call(Method::PUT, &format!("/eureka/apps/ORDERS/x/metadata?{pair}"), None).await;
        }
        Word::Cancel => drop(node.cancel("x").await),
        Word::Beat => drop(node.beat("x").await),
    }
}

#[tokio::test(start_paused = true)]
async fn two_calls_at_two_nodes_in_the_same_moment_leave_both_alike() {
    use Word::{Beat, Cancel, Clear, Metadata, Register, Set};
    let words = [
        (Set("OUT_OF_SERVICE"), Set("DOWN")),
        (Set("DOWN"), Clear("UP")),
        (Set("STARTING"), Register(2000, "DOWN")),
        (Clear("OUT_OF_SERVICE"), Register(2000, "UP")),
        (Metadata("weight=1"), Metadata("weight=2")),
        (Metadata("weight=1"), Set("DOWN")),
        (Metadata("weight=1"), Register(2000, "DOWN")),
        (Register(2000, "UP"), Register(2000, "DOWN")),
        (Cancel, Register(2000, "UP")),
        (Cancel, Set("DOWN")),
        (Cancel, Beat),
    ];
    for (one, other) in words.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]) {
        for set_before in [false, true] {
            let net = Net::default();
            let (a, b) = pair(&net).await;
            a.register("x", 1000, "UP").await;
            if set_before {
                a.set_status("x", "OUT_OF_SERVICE").await;
            }
            pass_ms(100).await;
            tokio::join!(say(&a, one), say(&b, other));
            pass_ms(1_000).await;
            let shown = alike(&[&a, &b], "x").await;
            // Later words find them at one.
            say(&b, Set("OUT_OF_SERVICE")).await;
            pass_ms(100).await;
            let then = alike(&[&a, &b], "x").await;
            assert!(shown == Value::Null || then["status"] == "OUT_OF_SERVICE", "{one:?} {other:?}: {then}");
            // The comparison finds nothing either.
            pass_ms(65_000).await;
            for node in [&a, &b] {
                assert_eq!(node.node.metrics().peers.repaired_unexplained.get(), 0, "{one:?} {other:?}");
                assert_eq!(node.node.metrics().peers.repaired.get(), 0, "{one:?} {other:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_metadata_calls_the_later_wins_whole() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    tokio::join!(say(&a, Word::Metadata("from=a&a=1")), say(&b, Word::Metadata("from=b&b=1")));
    pass_ms(1_000).await;
    let shown = alike(&[&a, &b], "x").await["metadata"].clone();
    let from = shown["from"].as_str().unwrap();
    let whole: serde_json::Map<_, _> =
        [("from".to_owned(), from.into()), (from.to_owned(), "1".into())].into_iter().collect();
    assert_eq!(shown, Value::Object(whole));
}

#[tokio::test(start_paused = true)]
async fn what_was_last_set_or_removed_during_an_outage_counts_everywhere_after_it() {
    use Word::{Clear, Set};
    let last = [
        (Set("DOWN"), Set("STARTING"), "STARTING", "STARTING"),
        (Set("DOWN"), Clear("UP"), "UP", "UNKNOWN"),
        (Clear("UP"), Set("DOWN"), "DOWN", "DOWN"),
        (Clear("UP"), Clear("DOWN"), "DOWN", "UNKNOWN"),
    ];
    for (first, second, status, overridden) in last {
        let net = Net::default();
        let (a, b) = pair(&net).await;
        a.register("x", 1000, "UP").await;
        a.set_status("x", "OUT_OF_SERVICE").await;
        pass_ms(100).await;
        net.part("a:1", "b:1");
        say(&b, first).await;
        pass_ms(1).await;
        say(&a, second).await;
        pass_ms(20_000).await;
        net.heal();
        pass_ms(20_000).await;
        let shown = alike(&[&a, &b], "x").await;
        assert_eq!((&shown["status"], &shown["overriddenStatus"]), (&status.into(), &overridden.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_an_hour_wrong_does_not_change_which_word_is_the_later() {
    for skew in [-HOUR, HOUR] {
        let net = Net::default();
        let a = Member::with_skew(&net, "a:1", &AB, &[], skew);
        let b = Member::new(&net, "b:1", &AB, &[]);
        tokio::join!(a.node.boot(), b.node.boot());
        pass_ms(100).await;
        a.register("x", 1000, "UP").await;
        pass_ms(100).await;
        for (n, status) in ["DOWN", "STARTING", "DOWN", "STARTING"].into_iter().enumerate() {
            let node = if n % 2 == 0 { &a } else { &b };
            node.set_status("x", status).await;
            pass_ms(100).await;
            assert_eq!(alike(&[&a, &b], "x").await["status"], status, "{skew}");
        }
        // Through a cut too: each has seen what the other's clock shows.
        for (first, second) in [(&a, &b), (&b, &a)] {
            net.part("a:1", "b:1");
            pass_ms(1_000).await;
            first.set_status("x", "DOWN").await;
            pass_ms(10).await;
            second.set_status("x", "OUT_OF_SERVICE").await;
            pass_ms(10_000).await;
            net.heal();
            pass_ms(20_000).await;
            assert_eq!(alike(&[&a, &b], "x").await["status"], "OUT_OF_SERVICE", "{skew}");
            net.part("a:1", "b:1");
            first.cancel("x").await;
            pass_ms(10).await;
            second.register("x", 2000, "UP").await;
            pass_ms(10_000).await;
            net.heal();
            pass_ms(20_000).await;
            assert_ne!(alike(&[&a, &b], "x").await, Value::Null, "{skew}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_clock_is_more_than_a_day_ahead_is_refused_and_named_and_the_others_go_on() {
    let net = Net::default();
    let settings = ["--eurekad.boot.sync-timeout-ms=3000"];
    let c = Member::with_skew(&net, "c:1", &ABC, &settings, 25 * HOUR);
    let (a, b) = (Member::new(&net, "a:1", &ABC, &settings), Member::new(&net, "b:1", &ABC, &settings));
    tokio::join!(a.node.boot(), b.node.boot(), c.node.boot());
    a.register("x", 1000, "UP").await;
    c.register("y", 1000, "UP").await;
    c.beat("y").await;
    pass_ms(10_000).await;
    assert_eq!(
        (b.shows("x").await, a.shows("y").await, b.shows("y").await),
        ("UP".into(), "".into(), "".into())
    );
    for host in AB {
        let view = c.peer(host);
        assert_eq!((view.available, view.queued, view.dropped), (false, 1, 0), "{view:?}");
        assert!(view.last_error.as_ref().is_some_and(|why| why.contains("clock")), "{view:?}");
    }
    for node in [&a, &b] {
        let view = node.peer("c:1");
        assert!(
            !view.available && view.last_error.as_ref().is_some_and(|why| why.contains("clock")),
            "{view:?}"
        );
        assert!(node.node.metrics().http.clocks_refused.get() > 0);
        let now = node.node.registry().stamps().now().millis;
        assert!(now < EPOCH + HOUR, "its stamps are not taken over");
    }
    // Its machine's clock is put right, and it is started again.
    c.kill().await;
    let c = Member::start(&net, "c:1", &ABC).await;
    c.register("y", 1000, "UP").await;
    pass_ms(5_000).await;
    assert_eq!(
        (c.shows("x").await, a.shows("y").await, b.shows("y").await),
        ("UP".into(), "UP".into(), "UP".into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_clock_is_more_than_a_day_ahead_is_400_and_says_that_it_is_the_clock() {
    let net = Net::default();
    let at = |millis: i64| format!("{millis}.0.{STRANGER}");
    let calls = [("/eureka/peerreplication/batch/", r#"{"replicationList":[]}"#), (TELL, r#"{"keys":[]}"#)];
    for (path, body) in calls {
        for (ahead, status) in [(24 * HOUR + 1000, 400), (-100 * 24 * HOUR, 200), (HOUR, 200)] {
            // One for each: what it takes notice of puts its own stamps ahead.
            let a = Member::start(&net, "a:1", &[]).await;
            let headers = [("eurekad-node", STRANGER), ("eurekad-clock", &at(EPOCH + ahead))];
            let (answered, headers, _) = a.post(path, &headers, body.to_owned()).await;
            assert_eq!(answered, status, "{path} {ahead}");
            let refused = headers.get("eurekad-refused").map(|value| value.to_str().unwrap());
            assert_eq!(refused, (status == 400).then_some("clock"), "{path} {ahead}");
            assert!(headers.contains_key("eurekad-node") && headers.contains_key("eurekad-clock"));
        }
    }
}
