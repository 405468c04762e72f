//! Who cancels is gone everywhere at once, and does not have to wait for the end of his lease.

use std::time::Duration;

use super::Broken;
use crate::world::World;

const NAME: &str = "who cancels is gone everywhere at once";

/// Telling takes milliseconds while all is well.
const AT_ONCE: Duration = Duration::from_secs(1);

pub(crate) fn look(world: &World) -> Result<(), Broken> {
    // Who cancels at a Java server may be brought back there by a heartbeat that was on its way: it keeps no floors.
    if world.plan.java {
        return Ok(());
    }
    for (id, at) in world.cancelled_in_peace.iter().filter(|(_, at)| at.elapsed() >= AT_ONCE) {
        if let Some((host, _)) = world.shown().iter().find(|(_, shows)| shows.contains_key(id)) {
            return Broken::new(NAME, format!("{id} cancelled {:?} ago and {host} shows it", at.elapsed()));
        }
    }
    Ok(())
}
