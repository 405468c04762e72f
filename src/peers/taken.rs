//! What became of what a peer knows, once it was merged here.

use std::fmt::Display;

use crate::settings::PeerUrl;

/// How much of what a peer told changed something here, and how much there was no place for.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// What changed something here.
    pub(super) changed: usize,
    /// What there was no place for.
    pub(super) left_out: usize,
    /// Why the first was left out.
    pub(super) why: Option<String>,
}

impl Taken {
    /// One was left out.
    pub(super) fn leave_out(&mut self, why: impl Display) {
        self.left_out += 1;
        self.why.get_or_insert_with(|| why.to_string());
    }

    /// Adds what came of a further part.
    pub(super) fn add(&mut self, more: Self) {
        self.changed += more.changed;
        self.left_out += more.left_out;
        self.why = self.why.take().or(more.why);
    }

    /// Says it at once if a copy is not whole: a node with lower limits than its peers' looks as if all were well.
    pub(super) fn warn(&self, peer: &PeerUrl) {
        if let Some(why) = &self.why {
            tracing::warn!(
                %peer, instances = self.left_out,
                "the copy is not whole, so this node knows fewer instances than the peer: {why}"
            );
        }
    }
}
