//! A status at one server, then one at the other: both kinds of server end with what two Java servers would.

use super::{Wires, pass_ms};

/// One thing done at one of the two servers: the client registers, an operator sets a status or takes it back.
#[derive(Debug, Clone, Copy)]
enum Step {
    Says(&'static str),
    Set(&'static str),
    Clear(&'static str),
}
use Step::{Clear, Says, Set};

/// What both servers show in the end: the one of interest at `a:1`, the Java server at `j:1`.
async fn shown(at_a: bool, ours: bool, steps: &[(&str, Step)]) -> (String, String) {
    let net = Wires::default();
    let first = if ours { "a:1" } else { "k:1" };
    let java = net.running_java("j:1", first).await;
    let node = if ours { Some(net.node(first, "j:1").await) } else { None };
    let other = if ours { None } else { Some(net.running_java(first, "j:1").await) };
    pass_ms(130_000).await;
    let mut dirty = 1000;
    for (host, step) in steps {
        let host = if *host == "j" { "j:1" } else { first };
        match step {
            Says(status) => {
                dirty += 1000;
                net.register(host, "x", dirty, status).await;
            }
            Set(status) => {
                assert_eq!(net.about(host, "PUT", "x", &format!("/status?value={status}")).await, 200);
            }
            Clear(status) => {
                assert_eq!(net.about(host, "DELETE", "x", &format!("/status?value={status}")).await, 200);
            }
        }
        pass_ms(2_000).await;
    }
    for _ in 0..5 {
        pass_ms(30_000).await;
        let host = if at_a { first } else { "j:1" };
        net.about(host, "PUT", "x", &format!("?lastDirtyTimestamp={dirty}")).await;
    }
    let end = (format!("{:?}", net.x(first).await), format!("{:?}", net.x("j:1").await));
    java.kill();
    if let Some(other) = other {
        other.kill();
    }
    if let Some(node) = node {
        node.stop_background().await;
    }
    end
}

#[tokio::test(start_paused = true)]
async fn statuses_set_at_either_server_end_alike_at_both_and_as_two_java_servers_have_them() {
    let histories: [&[(&str, Step)]; 6] = [
        &[("j", Says("UP")), ("a", Set("OUT_OF_SERVICE")), ("a", Clear("UP")), ("j", Says("DOWN"))],
        &[("a", Says("DOWN")), ("j", Set("OUT_OF_SERVICE"))],
        &[("a", Says("DOWN")), ("j", Set("UP"))],
        &[("a", Says("UP")), ("a", Set("OUT_OF_SERVICE")), ("a", Says("DOWN")), ("j", Clear("UP"))],
        &[("j", Says("UP")), ("a", Set("OUT_OF_SERVICE")), ("j", Says("DOWN"))],
        &[("j", Says("UP")), ("a", Set("DOWN")), ("j", Says("UP"))],
    ];
    for steps in histories {
        for at_a in [true, false] {
            let ((a, j), (_, as_java)) = (shown(at_a, true, steps).await, shown(at_a, false, steps).await);
            assert_eq!((&a, &j), (&as_java, &as_java), "{steps:?}, the client beats at a: {at_a}");
        }
    }
}
