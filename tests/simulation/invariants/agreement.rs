//! Nodes agree with each other, and with what the clients said last.

use super::Broken;
use crate::world::World;

const NAME: &str = "nodes agree with each other and with their clients";

pub(crate) fn check(world: &World) -> Result<(), Broken> {
    let shown = world.shown();
    let truth = world.truth();
    let (first, reference) = &shown[0];
    for (host, shows) in &shown[1..] {
        if shows != reference {
            return Broken::new(NAME, format!("{first} shows {reference:?}, {host} shows {shows:?}"));
        }
    }
    for (id, (dirty, own)) in &truth {
        let Some(shows) = reference.get(id) else {
            return Broken::new(NAME, format!("{id} runs and is nowhere to be seen"));
        };
        if shows.dirty != *dirty {
            return Broken::new(NAME, format!("{id} said {own} {dirty}, nodes show {shows:?}"));
        }
        // An own UP may be covered by what an operator set or took back; an own DOWN or STARTING only by what was set later.
        if shows.over.is_empty() && shows.status != *own && *own != "UP" && !world.overrides.contains_key(id)
        {
            return Broken::new(NAME, format!("{id} said {own}, nodes show {shows:?}"));
        }
    }
    Ok(())
}
