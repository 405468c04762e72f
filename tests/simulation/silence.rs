//! Self-preservation: when most clients fall silent at once, or a node is cut off with a few of them, nobody is evicted;
//! and when they speak again, whoever is dead goes.

use std::sync::Arc;
use std::time::Duration;

use eurekad::registry::SelfPreservationState;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use crate::client::{Client, Times};
use crate::history::tell;
use crate::invariants::Broken;
use crate::world::{Plan, World};

const NAME: &str = "self-preservation holds while it must, and ends";

const SEEDS: u64 = 60;

fn plan(seed: u64) -> Plan {
    let mut chance = SmallRng::seed_from_u64(seed);
    Plan {
        clients: chance.random_range(12..20),
        times: Times::USUAL,
        skewed: false,
        java: false,
        ..Plan::of(seed)
    }
}

async fn history(world: &mut World, seed: u64) -> Result<(), Broken> {
    let mut chance = SmallRng::seed_from_u64(seed ^ 0x511e);
    // A whole window, and the next.
    wait(world, 150, |_| Ok(())).await?;
    // Cut off, a node and the others must both miss too many: with too few or too many of the clients at it they do not.
    let at_a =
        world.clients.iter().filter(|client| client.heard().is_some_and(|(_, server)| server == "a:1"));
    let share = at_a.count() as f64 / world.clients.len() as f64;
    let too_lopsided = world.plan.balanced || !(0.25..0.75).contains(&share);
    let silent: Vec<Arc<Client>> = if too_lopsided || chance.random_range(0..3) == 0 {
        let most = world.clients.len() * 6 / 10;
        world.clients[..most].to_vec()
    } else {
        Vec::new()
    };
    silent.iter().for_each(|client| client.set_silent(true));
    if silent.is_empty() {
        for other in ["b:1", "c:1"] {
            world.net.cut("a:1", other);
            world.net.cut(other, "a:1");
        }
        world.note("a:1 is cut off");
    } else {
        world.note(&format!("{} clients fall silent", silent.len()));
    }
    wait(world, chance.random_range(200..500), everybody_is_shown).await?;
    let held = world
        .places
        .iter()
        .filter_map(|place| place.node())
        .all(|node| node.registry().self_preservation().state == SelfPreservationState::Protecting);
    if !held {
        return Broken::new(NAME, "some node does not protect");
    }
    silent.iter().for_each(|client| client.set_silent(false));
    world.net.heal();
    world.note("they speak again");
    wait(world, 150, everybody_is_shown).await?;
    let ended = world
        .places
        .iter()
        .filter_map(|place| place.node())
        .all(|node| node.registry().self_preservation().state == SelfPreservationState::Armed);
    if !ended {
        return Broken::new(NAME, "some node still protects");
    }
    let dead = Arc::clone(&world.clients[0]);
    dead.dies();
    world.note(&format!("{} dies", dead.id));
    wait(world, 150, |_| Ok(())).await?;
    match world.shown().iter().find(|(_, shows)| shows.contains_key(&dead.id)) {
        Some((host, _)) => Broken::new(NAME, format!("{} is dead and {host} shows it", dead.id)),
        None => everybody_is_shown(world),
    }
}

async fn wait(world: &World, secs: u64, holds: fn(&World) -> Result<(), Broken>) -> Result<(), Broken> {
    let end = Instant::now() + Duration::from_secs(secs);
    while Instant::now() < end {
        sleep(Duration::from_secs(1)).await;
        holds(world)?;
    }
    Ok(())
}

fn everybody_is_shown(world: &World) -> Result<(), Broken> {
    for (host, shows) in world.shown() {
        if let Some(id) = world.truth().keys().find(|id| !shows.contains_key(*id)) {
            return Broken::new(NAME, format!("{host} has evicted {id}"));
        }
    }
    Ok(())
}

#[test]
fn nobody_is_evicted_while_most_are_silent_or_cut_off() {
    for seed in 0..SEEDS {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async move {
            let mut world = World::start(plan(seed)).await;
            let broken = history(&mut world, seed).await.err();
            assert!(broken.is_none(), "{}", tell(seed, &broken.unwrap(), world.history()));
            world.end().await;
        });
    }
}
