//! When nobody has anything to say, no request between nodes carries a record.

use super::Broken;
use crate::world::World;

const NAME: &str = "in quiet times no request carries a record";

/// Requests that carried one when the quiet began.
#[derive(Debug)]
pub(crate) struct Records {
    before: u64,
}

impl Records {
    pub(crate) fn begin(world: &World) -> Self {
        Self { before: world.net.counts().with_record }
    }

    pub(crate) fn end(&self, world: &World) -> Result<(), Broken> {
        let carried = world.net.counts().with_record - self.before;
        if carried > 0 { Broken::new(NAME, format!("{carried} requests did")) } else { Ok(()) }
    }
}
