//! What is on its way is left to arrive: a comparison that comes by meanwhile finds nothing, and moves nothing.

use std::collections::VecDeque;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use crate::calls::{Calls, calm, run};
use crate::invariants::Broken;
use crate::net::Weather;
use crate::nodes::Place;
use crate::world::Plan;

const NAME: &str = "a comparison finds nothing that is still on its way";

const SEEDS: u64 = 100;
const HOSTS: [&str; 3] = ["a:1", "b:1", "c:1"];

/// Few, so that some change again between the two looks of a comparison: they differ both times, but otherwise.
const AGAIN: [&str; 4] = ["i-0", "i-1", "i-2", "i-3"];

/// After so long, longer than a comparison, who registered once cancels: sooner, its coming and its going would differ in
/// the same way.
const STAYS: Duration = Duration::from_secs(5);

/// Slow, but no request takes so long that it is given up on: that would be a loss, and explain everything.
const SLOW: Weather = Weather { delay_ms: 150, loss: 0, twice: 0 };

/// In so long each node compares with each other one five times.
const BUSY: Duration = Duration::from_secs(55);

fn plan(seed: u64) -> Plan {
    Plan { repair: true, ..calm(seed) }
}

async fn history(calls: &Calls, seed: u64) -> Result<(), Broken> {
    let mut chance = SmallRng::seed_from_u64(seed ^ 0x0a11);
    calls.world.net.set_weather(SLOW);
    let compared_before = all(calls).0;
    let end = Instant::now() + BUSY;
    let mut once = VecDeque::new();
    while Instant::now() < end {
        let host = HOSTS[chance.random_range(0..HOSTS.len())];
        if once.front().is_some_and(|(_, since): &(String, Instant)| since.elapsed() > STAYS)
            && let Some((id, _)) = once.pop_front()
        {
            calls.cancel(host, &id).await;
        } else if chance.random_range(0..2) == 0 {
            calls.register(host, AGAIN[chance.random_range(0..AGAIN.len())]).await;
        } else {
            let id = format!("once-{}", end.duration_since(Instant::now()).as_millis());
            calls.register(host, &id).await;
            once.push_back((id, Instant::now()));
        }
        sleep(Duration::from_millis(chance.random_range(0..200))).await;
    }
    let (compared, put_right) = all(calls);
    if compared - compared_before < 20 {
        return Broken::new(NAME, format!("only {} comparisons", compared - compared_before));
    }
    if put_right > 0 {
        return Broken::new(NAME, format!("{put_right} keys were put right, and nothing was lost"));
    }
    sleep(Duration::from_secs(4)).await;
    calls.agree(NAME)
}

/// How many comparisons all nodes have made, and how many keys they found.
fn all(calls: &Calls) -> (u64, u64) {
    let nodes = calls.world.places.iter().filter_map(Place::node);
    nodes.map(|node| &node.metrics().peers).fold((0, 0), |(compared, found), peers| {
        let here = peers.repaired.get() + peers.repaired_unexplained.get();
        (compared + peers.compared.get(), found + here)
    })
}

#[test]
fn a_comparison_finds_nothing_that_is_still_on_its_way() {
    run(SEEDS, plan, &history);
}
