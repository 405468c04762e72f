//! A node is told of a change once, by the node that took the call: what it hears from others it does not pass on.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::sleep;

use crate::calls::{Calls, calm, run};
use crate::invariants::Broken;

const NAME: &str = "a change is told once to each node";

const SEEDS: u64 = 20;
const HOSTS: [&str; 3] = ["a:1", "b:1", "c:1"];

async fn history(calls: &Calls, seed: u64) -> Result<(), Broken> {
    let mut chance = SmallRng::seed_from_u64(seed ^ 0x07ce);
    for n in 0..5 {
        let host = HOSTS[chance.random_range(0..HOSTS.len())];
        let before = calls.world.net.counts().with_record;
        calls.register(host, &format!("i-{n}")).await;
        sleep(Duration::from_secs(1)).await;
        calls.agree(NAME)?;
        let carried = calls.world.net.counts().with_record - before;
        if carried != 2 {
            return Broken::new(NAME, format!("{carried} requests carried i-{n} from {host} to two others"));
        }
    }
    Ok(())
}

#[test]
fn a_registration_is_told_once_to_each_other_node() {
    run(SEEDS, calm, &history);
}
