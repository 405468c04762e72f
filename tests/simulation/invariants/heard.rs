//! Who was heard is shown: a node that has taken a client's word shows it for as long as its lease lives.

use super::Broken;
use crate::client::Life;
use crate::net::PATIENCE;
use crate::world::World;

const NAME: &str = "a node shows whom it has heard";

pub(crate) fn look(world: &World) -> Result<(), Broken> {
    // A Java server's cancellation may come late, and says not what it cancels.
    let clients = world.clients.iter().filter(|_| !world.plan.java);
    for client in clients {
        let (Life::Runs { since, .. }, Some((at, server))) = (client.life(), client.heard()) else {
            continue;
        };
        // What it said before its last start or change may be gone with that.
        if at <= since || at.elapsed() + PATIENCE >= client.times.lease {
            continue;
        }
        for (n, place) in world.places.iter().enumerate() {
            let lives = place.started.is_some_and(|started| started < at) && !world.is_out(n);
            if place.host == server && lives && !place.shows().contains_key(&client.id) {
                let words = format!("{} was heard by {server} {:?} ago", client.id, at.elapsed());
                return Broken::new(NAME, words);
            }
        }
    }
    Ok(())
}
