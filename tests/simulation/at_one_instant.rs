//! Two calls for one instance that reach two nodes at one instant are both known everywhere: neither hides the other.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use crate::calls::{Calls, calm, run};
use crate::invariants::Broken;

const NAME: &str = "two calls at one instant hide each other from no node";

const SEEDS: u64 = 100;
const HOSTS: [&str; 3] = ["a:1", "b:1", "c:1"];

async fn history(calls: &Calls, seed: u64) -> Result<(), Broken> {
    let mut chance = SmallRng::seed_from_u64(seed ^ 0x1257);
    for n in 0..10 {
        let (id, at) = (format!("i-{n}"), chance.random_range(0..HOSTS.len()));
        let (host, other) = (HOSTS[at], HOSTS[(at + 1) % HOSTS.len()]);
        calls.register(host, &id).await;
        sleep(Duration::from_secs(1)).await;
        // One arrives at the other node while the first is told there.
        let meanwhile = async {
            sleep(Duration::from_millis(4)).await;
            calls.set_status(other, &id, "OUT_OF_SERVICE").await;
        };
        tokio::join!(calls.register(host, &id), meanwhile);
        sleep(Duration::from_secs(1)).await;
        calls.agree(NAME)?;
    }
    Ok(())
}

#[test]
fn two_calls_for_one_instance_at_one_instant_are_both_known_everywhere() {
    run(SEEDS, calm, &history);
}
