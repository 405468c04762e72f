//! Who lives is seen everywhere, all the time, and is never asked to register again.

use super::Broken;
use crate::world::World;

const NAME: &str = "no live instance is lost or flaps";

/// Heartbeats answered 404 when it began.
#[derive(Debug)]
pub(crate) struct Flapping {
    not_found: u64,
}

impl Flapping {
    pub(crate) fn begin(world: &World) -> Self {
        Self { not_found: not_found(world) }
    }

    pub(crate) fn look(&self, world: &World) -> Result<(), Broken> {
        let again = not_found(world) - self.not_found;
        if again > 0 {
            return Broken::new(NAME, format!("{again} heartbeats were answered 404"));
        }
        for (host, shows) in world.shown() {
            if let Some(id) = world.truth().keys().find(|id| !shows.contains_key(*id)) {
                return Broken::new(NAME, format!("{id} lives and {host} does not show it"));
            }
        }
        Ok(())
    }
}

fn not_found(world: &World) -> u64 {
    world.clients.iter().map(|client| client.not_found()).sum()
}
