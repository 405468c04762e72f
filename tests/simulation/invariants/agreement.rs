//! Nodes agree with each other, and with what the clients said last.

use std::collections::BTreeSet;

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
    agrees_with_java(world)
}

/// A Java server is there too: it has the same instances, as their clients said them last. Overrides it may have missed
/// for good: what it is not told within 30 s, or loses, nobody tells it again.
fn agrees_with_java(world: &World) -> Result<(), Broken> {
    let Some(java) = &world.java else { return Ok(()) };
    let shows = java.shows();
    let here: BTreeSet<&String> = shows.keys().map(|(_, id)| id).collect();
    let truth = world.truth();
    let there: BTreeSet<&String> = truth.keys().collect();
    if here != there {
        return Broken::new(NAME, format!("the Java server shows {here:?}, and these run: {there:?}"));
    }
    for ((_, id), (status, _, dirty)) in &shows {
        let (said, own) = truth[id];
        // A status call may have brought a greater timestamp.
        if *dirty < said || (!world.overrides.contains_key(id) && status != own) {
            let words = format!("{id} said {own} {said}, the Java server shows {status} {dirty}");
            return Broken::new(NAME, words);
        }
    }
    Ok(())
}
