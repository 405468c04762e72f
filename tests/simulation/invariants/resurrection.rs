//! Who is gone stays gone.

use super::Broken;
use crate::client::Life;
use crate::history::SETTLED;
use crate::world::World;

const NAME: &str = "no instance that is gone comes back or outlives its lease";

pub(crate) fn look(world: &World) -> Result<(), Broken> {
    for (n, (host, shows)) in world.shown().into_iter().enumerate() {
        // Who stands still cannot know.
        if world.is_out(n) {
            continue;
        }
        for client in &world.clients {
            let gone = matches!(client.life(), Life::Gone { since } if since.elapsed() >= SETTLED);
            if gone && shows.contains_key(&client.id) {
                let words = format!("{} is gone and {host} shows {:?}", client.id, shows[&client.id]);
                return Broken::new(NAME, words);
            }
        }
    }
    Ok(())
}
