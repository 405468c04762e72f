//! What must hold, one file each.

pub(crate) mod agreement;
pub(crate) mod cancelled;
pub(crate) mod flapping;
pub(crate) mod heard;
pub(crate) mod overrides;
pub(crate) mod quiet;
pub(crate) mod repair;
pub(crate) mod resurrection;

use crate::world::World;

/// An invariant that does not hold.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) invariant: &'static str,
    pub(crate) why: String,
}

impl Broken {
    pub(crate) fn new<T>(invariant: &'static str, why: impl Into<String>) -> Result<T, Self> {
        Err(Self { invariant, why: why.into() })
    }
}

/// What holds all the time, whatever goes wrong.
pub(crate) fn always(world: &World) -> Result<(), Broken> {
    heard::look(world)?;
    resurrection::look(world)
}

/// The invariants of a time in which nothing goes wrong and nobody acts.
#[derive(Debug)]
pub(crate) struct Quiet {
    flapping: flapping::Flapping,
    records: quiet::Records,
}

impl Quiet {
    pub(crate) fn begin(world: &World) -> Self {
        Self { flapping: flapping::Flapping::begin(world), records: quiet::Records::begin(world) }
    }

    pub(crate) fn look(&mut self, world: &World) -> Result<(), Broken> {
        self.flapping.look(world)?;
        cancelled::look(world)?;
        resurrection::look(world)
    }

    pub(crate) fn end(&self, world: &World) -> Result<(), Broken> {
        self.records.end(world)
    }
}
