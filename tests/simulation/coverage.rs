//! What the histories have come by: an invariant that nothing ever strained proves nothing.

use crate::world::World;

macro_rules! coverage {
    ($($(#[$about:meta])* $name:ident),*) => {
        /// How often what happened, over all nodes that were alive at the end.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Coverage { $($(#[$about])* pub(crate) $name: u64),* }

        impl Coverage {
            pub(crate) fn add(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }

            /// Everything must have happened.
            pub(crate) fn check(&self) {
                $(assert!(self.$name > 0, concat!("nothing of it in any history: ", stringify!($name)));)*
            }
        }
    };
}

coverage! {
    registrations, renewals, cancellations, evictions,
    /// Cancelled where it was unknown.
    blind, status_calls, removals,
    /// Heartbeats that found nothing.
    not_found,
    /// What is remembered of what went.
    remembered,
    /// Leases that a peer had heard of just before their eviction.
    saved, compared, repaired, requests_failed, lost, twice, crashes, restarts_in_order, freezes, cuts, steps, died,
    overrides
}

impl Coverage {
    pub(crate) fn of(world: &World) -> Self {
        let (counts, happened) = (world.net.counts(), world.happened);
        let mut all = Self {
            lost: counts.lost,
            twice: counts.twice,
            crashes: happened.crashes,
            restarts_in_order: happened.restarts_in_order,
            freezes: happened.freezes,
            cuts: happened.cuts,
            steps: happened.steps,
            died: happened.died,
            overrides: happened.overrides,
            ..Self::default()
        };
        for node in world.places.iter().filter_map(crate::nodes::Place::node) {
            let metrics = node.metrics();
            let (registry, peers) = (&metrics.registry, &metrics.peers);
            all.add(Self {
                registrations: registry.registrations.get(),
                renewals: registry.renewals.get(),
                cancellations: registry.cancellations.get(),
                evictions: registry.evictions.get(),
                blind: registry.cancellations_not_found.get(),
                status_calls: registry.status_updates.get(),
                removals: registry.override_removals.get(),
                not_found: registry.renewals_not_found.get(),
                remembered: node.registry().remembered().0 as u64,
                saved: peers.saved.get(),
                compared: peers.compared.get(),
                repaired: peers.repaired.get(),
                requests_failed: peers.failed.get(),
                ..Self::default()
            });
        }
        all
    }
}
