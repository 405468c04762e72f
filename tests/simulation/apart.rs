//! What was said while nodes could not reach each other is known everywhere seconds after they can.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use crate::calls::{Calls, calm, run};
use crate::invariants::Broken;

const NAME: &str = "what was said while nodes were apart is known soon after";

const SEEDS: u64 = 100;
const HOSTS: [&str; 3] = ["a:1", "b:1", "c:1"];
const IDS: [&str; 4] = ["i-0", "i-1", "i-2", "i-3"];

/// A request that is given up on, the longest wait of the first failures, and telling.
const SOON: Duration = Duration::from_secs(4);

async fn history(calls: &Calls, seed: u64) -> Result<(), Broken> {
    let mut chance = SmallRng::seed_from_u64(seed ^ 0xa9a7);
    let mut live = BTreeSet::new();
    for id in IDS.into_iter().take(chance.random_range(0..=IDS.len())) {
        calls.register(HOSTS[chance.random_range(0..HOSTS.len())], id).await;
        live.insert(id);
    }
    sleep(Duration::from_secs(1)).await;
    let alone = HOSTS[chance.random_range(0..HOSTS.len())];
    for other in HOSTS.into_iter().filter(|other| *other != alone) {
        calls.world.net.cut(alone, other);
        calls.world.net.cut(other, alone);
    }
    // Too short for the long waits, which are for peers that are away for longer.
    for _ in 0..12 {
        let (host, id) = (HOSTS[chance.random_range(0..HOSTS.len())], IDS[chance.random_range(0..IDS.len())]);
        match chance.random_range(0..4) {
            0 | 1 if !live.contains(id) => {
                calls.register(host, id).await;
                live.insert(id);
            }
            // It may be unknown there: it is gone all the same.
            0 | 1 => {
                calls.cancel(host, id).await;
                live.remove(id);
            }
            2 => calls.set_status(host, id, "OUT_OF_SERVICE").await,
            _ => {}
        }
        sleep(Duration::from_millis(chance.random_range(800..1800))).await;
    }
    calls.world.net.heal();
    sleep(SOON).await;
    calls.agree(NAME)?;
    let (host, shows) = calls.world.shown().remove(0);
    if shows.keys().map(String::as_str).ne(live.iter().copied()) {
        return Broken::new(NAME, format!("{host} shows {shows:?}, and these live: {live:?}"));
    }
    Ok(())
}

#[test]
fn what_was_said_while_nodes_were_apart_is_known_everywhere_seconds_after() {
    run(SEEDS, calm, &history);
}
