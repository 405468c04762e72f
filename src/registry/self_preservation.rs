//! Self-preservation: when most clients fall silent at once, the network is likelier to blame than the clients.

use std::fmt;

/// Whether leases may be evicted, and why. The one predicate that evictor, metrics, status document and page ask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfPreservation {
    /// What was decided.
    pub state: State,
    /// Leases in the registry.
    pub leases: usize,
    /// Renewals expected per minute.
    pub expected: f64,
    /// At this many renewals or fewer, nothing is evicted.
    pub threshold: u64,
    /// Renewals in the last whole minute.
    pub renewals: u64,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Turned off by `eureka.server.enable-self-preservation`.
    Disabled,
    /// The registry is too small for it (`eurekad.self-preservation.min-leases`).
    TooFewLeases {
        /// From this many leases on it arms.
        arms_at: usize,
    },
    /// Enough renewals come in.
    Armed,
    /// No whole minute has been counted yet, so nothing can be said.
    ProtectingFirstMinute,
    /// Too few renewals come in.
    Protecting,
}

/// What the decision is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    pub(super) enabled: bool,
    pub(super) min_leases: usize,
    pub(super) leases: usize,
    pub(super) expected: f64,
    pub(super) percent: f64,
    pub(super) renewals: u64,
    pub(super) has_whole_window: bool,
    /// Java's way: a threshold of 0 protects.
    pub(super) zero_threshold_protects: bool,
}

impl SelfPreservation {
    /// **Compat:** leases expire while the renewals of the last whole minute are *more* than the threshold, which is
    /// the expectation times `eureka.server.renewal-percent-threshold`, cut to a whole number.
    pub(super) fn decide(e: Evidence) -> Self {
        let threshold = (e.expected * e.percent) as u64;
        let enough = e.renewals > threshold && (threshold > 0 || !e.zero_threshold_protects);
        let state = if !e.enabled {
            State::Disabled
        } else if e.leases < e.min_leases {
            State::TooFewLeases { arms_at: e.min_leases }
        } else if enough {
            State::Armed
        } else if !e.has_whole_window {
            State::ProtectingFirstMinute
        } else {
            State::Protecting
        };
        Self { state, leases: e.leases, expected: e.expected, threshold, renewals: e.renewals }
    }

    /// Whether an overdue lease may be evicted now.
    pub fn allows_eviction(&self) -> bool {
        match self.state {
            State::Disabled | State::TooFewLeases { .. } | State::Armed => true,
            State::ProtectingFirstMinute | State::Protecting => false,
        }
    }
}

impl fmt::Display for SelfPreservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, leases, threshold, renewals, .. } = self;
        match state {
            State::Disabled => {
                write!(
                    f,
                    "disabled (eureka.server.enable-self-preservation=false): overdue leases are evicted"
                )
            }
            State::TooFewLeases { arms_at } => write!(
                f,
                "not armed: {leases} {}, it arms at {arms_at} (eurekad.self-preservation.min-leases); overdue \
                 leases are evicted",
                if *leases == 1 { "lease" } else { "leases" }
            ),
            State::Armed => write!(
                f,
                "armed: {renewals} renewals in the last minute, more than {threshold} are needed; overdue leases are \
                 evicted"
            ),
            State::ProtectingFirstMinute => {
                write!(f, "protecting: no whole minute of renewals has been counted yet; nothing is evicted")
            }
            State::Protecting => write!(
                f,
                "protecting: only {renewals} renewals in the last minute, more than {threshold} are needed; nothing \
                 is evicted"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: Evidence = Evidence {
        enabled: true,
        min_leases: 10,
        leases: 50,
        expected: 100.0,
        percent: 0.85,
        renewals: 86,
        has_whole_window: true,
        zero_threshold_protects: false,
    };

    /// Case: P084
    #[test]
    fn renewals_equal_to_the_threshold_are_too_few() {
        assert_eq!(SelfPreservation::decide(ENOUGH).state, State::Armed);
        let equal = SelfPreservation::decide(Evidence { renewals: 85, ..ENOUGH });
        assert_eq!((equal.state, equal.threshold), (State::Protecting, 85));
        assert!(!equal.allows_eviction());
    }

    #[test]
    fn the_threshold_is_cut_to_a_whole_number_as_in_java() {
        for (clients, threshold) in
            [(1.0, 1), (2.0, 3), (3.0, 5), (4.0, 6), (5.0, 8), (10.0, 17), (100.0, 170)]
        {
            let decided = SelfPreservation::decide(Evidence { expected: clients * 2.0, ..ENOUGH });
            assert_eq!(decided.threshold, threshold, "{clients} clients");
        }
    }

    /// Case: P085
    #[test]
    fn a_tiny_registry_is_never_protected() {
        let tiny = SelfPreservation::decide(Evidence { leases: 9, renewals: 0, ..ENOUGH });
        assert_eq!(tiny.state, State::TooFewLeases { arms_at: 10 });
        assert!(tiny.allows_eviction() && tiny.to_string().contains(" 9 leases,"));
        let one = SelfPreservation::decide(Evidence { leases: 1, ..ENOUGH });
        assert!(one.to_string().contains(" 1 lease,"), "{one}");
    }

    #[test]
    fn before_the_first_whole_minute_nothing_is_evicted() {
        let early = SelfPreservation::decide(Evidence { renewals: 0, has_whole_window: false, ..ENOUGH });
        assert_eq!(early.state, State::ProtectingFirstMinute);
        assert!(!early.allows_eviction());
    }

    #[test]
    fn every_state_explains_itself() {
        for (evidence, word) in [
            (Evidence { enabled: false, ..ENOUGH }, "disabled"),
            (Evidence { leases: 1, ..ENOUGH }, "not armed"),
            (ENOUGH, "armed"),
            (Evidence { renewals: 0, ..ENOUGH }, "protecting"),
        ] {
            assert!(SelfPreservation::decide(evidence).to_string().starts_with(word));
        }
    }
}
