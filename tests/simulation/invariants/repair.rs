//! Repair finds nothing that was not known to be lost: the queues lose nothing by themselves.

use super::Broken;
use crate::nodes::Place;
use crate::world::World;

const NAME: &str = "repair finds only what was known to be lost";

pub(crate) fn check(world: &World) -> Result<(), Broken> {
    // What a Java server could not tell one of the nodes it does not announce.
    if world.plan.java {
        return Ok(());
    }
    for place in &world.places {
        let Some(node) = Place::node(place) else { continue };
        let found = node.metrics().peers.repaired_unexplained.get();
        if found > 0 {
            return Broken::new(NAME, format!("{} keys at {}", found, place.host));
        }
    }
    Ok(())
}
