//! What a sender comes to, and what a node says of nodes that it does not know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::foreign::{accepting, beside, server};
use crate::log::Log;
use crate::net::{Member, Net, pass_ms};

/// Case: P064
#[tokio::test(start_paused = true)]
async fn a_sender_that_panics_is_started_again_and_what_it_was_sending_is_sent() {
    let net = Net::default();
    let times = Arc::new(AtomicU32::new(0));
    // In these tests a request is answered by the task that sends it: a panic here is one there.
    let java = server(move |items| {
        let panics = !items.is_empty() && times.fetch_add(1, Ordering::Relaxed) < 2;
        assert!(!panics, "the second and the third of its lives are needed");
        accepting(items)
    });
    let a = beside(&net, java).await;
    a.register("x", 1000, "UP").await;
    a.register("y", 1000, "UP").await;
    pass_ms(10_000).await;
    let view = a.node.peers().remove(0);
    assert_eq!((view.queued, view.dropped, view.available), (0, 0, true));
    assert_eq!(a.node.metrics().peers.senders_restarted.get(), 2);
    let told = net.items("a:1", "java:1");
    assert!(told.ends_with(&["Register x".to_owned(), "Register y".to_owned()]), "{told:?}");
}

/// Case: P057
#[tokio::test(start_paused = true)]
async fn a_node_that_calls_and_is_in_no_list_here_is_named_in_the_log_once() {
    let (net, log) = (Net::default(), Log::default());
    let guard = log.begin();
    let a = Member::start(&net, "a:1", &[]).await;
    let b = Member::start(&net, "b:1", &["a:1"]).await;
    b.register("x", 1000, "UP").await;
    pass_ms(30_000).await;
    assert_eq!(a.shows("x").await, "UP", "what it tells is taken all the same");
    let said = || log.lines_with("not among this node's peers");
    assert!(said().is_empty(), "it may have been started a moment ago");
    pass_ms(600_000).await;
    assert_eq!(said().len(), 1, "{:?}", said());
    assert!(said()[0].contains("eureka.client.service-url"));
    drop(guard);
}
