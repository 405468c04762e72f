//! What an operator set stays, until it is taken back or the instance goes.

use super::Broken;
use crate::world::World;

const NAME: &str = "overrides survive";

pub(crate) fn check(world: &World) -> Result<(), Broken> {
    let (host, shows) = world.shown().remove(0);
    for (id, set) in &world.overrides {
        let Some(shown) = shows.get(id).filter(|_| set.certain) else { continue };
        if shown.over != set.value.unwrap_or_default() {
            return Broken::new(NAME, format!("{id}: {set:?}, and {host} shows {shown:?}"));
        }
    }
    Ok(())
}
