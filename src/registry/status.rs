//! Which status an instance shows: its own, or one set from outside.
//!
//! The pure rules; the registry applies them. An instance has an *own* status, what its client last said, and
//! perhaps an override. What is shown is computed from both, alike everywhere, and never stored as the client's.

use eurekad_wire::InstanceStatus::{self, OutOfService, Starting, Up};

use super::stamp::Stamp;

/// What was set from outside, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Override {
    /// What was set.
    pub value: OverrideValue,
    /// When; against the record's stamp it says which of the two is newer.
    pub stamp: Stamp,
    /// A `lastDirtyTimestamp` that came with it, epoch milliseconds; it is shown if it is greater than the client's.
    pub last_dirty: Option<i64>,
}

/// What an override says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideValue {
    /// Show this status.
    Set(InstanceStatus),
    /// The override was removed; show this until the client speaks again.
    Cleared(InstanceStatus),
}

impl Override {
    /// The status that is set, if one is.
    pub fn set_status(&self) -> Option<InstanceStatus> {
        match self.value {
            OverrideValue::Set(status) => Some(status),
            OverrideValue::Cleared(_) => None,
        }
    }

    fn is_after(&self, record: Stamp) -> bool {
        self.stamp > record
    }
}

/// The status that is shown.
///
/// An override wins over a client that says UP or OUT_OF_SERVICE, and over anything the client said before it. A
/// client that says STARTING or DOWN after it is believed.
///
/// **Compat:** the outcome of Eureka's rules "down or starting" and "override exists".
pub(super) fn shown(own: InstanceStatus, record: Stamp, over: Option<&Override>) -> InstanceStatus {
    match over {
        Some(o) => match o.value {
            OverrideValue::Set(status) if takes_or_refuses_traffic(own) || o.is_after(record) => status,
            OverrideValue::Cleared(status) if o.is_after(record) => status,
            OverrideValue::Set(_) | OverrideValue::Cleared(_) => own,
        },
        None => own,
    }
}

/// What a registration is compared with when its own status is decided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Existing {
    /// What the existing lease shows.
    pub(super) shown: InstanceStatus,
    /// Whether an override is set on it.
    pub(super) overridden: bool,
    /// Whether it shows what the removal of an override left behind.
    pub(super) cleared: bool,
}

impl Existing {
    /// Java would keep this instance out for good.
    fn stays_out_after_clearing(&self) -> bool {
        self.cleared && self.shown == OutOfService
    }
}

/// The own status that a registration leaves behind.
///
/// **Compat:** Eureka's rule "lease exists": over a lease that is UP or OUT_OF_SERVICE, a client's UP or
/// OUT_OF_SERVICE changes nothing; only DOWN and STARTING do. `eurekad.overrides.trust-client-status` turns that off.
/// One exception: after an override was removed with `value=OUT_OF_SERVICE` Java keeps the instance out for good;
/// here the client's next registration brings it back.
pub(super) fn own_on_register(
    said: InstanceStatus,
    existing: Option<Existing>,
    by_client: bool,
    trust_client: bool,
) -> InstanceStatus {
    match existing {
        Some(e)
            if by_client
                && !trust_client
                && !e.overridden
                && !e.stays_out_after_clearing()
                && takes_or_refuses_traffic(said)
                && takes_or_refuses_traffic(e.shown) =>
        {
            e.shown
        }
        Some(_) | None => said,
    }
}

/// Whether a heartbeat must be refused so that the client registers again and speaks for itself.
///
/// **Compat:** Java refuses a heartbeat when its rules give UNKNOWN, which is what the removal of an override leaves.
pub(super) fn refuses_heartbeat(shown: InstanceStatus, cleared: bool) -> bool {
    shown == InstanceStatus::Unknown || (cleared && shown == OutOfService)
}

fn takes_or_refuses_traffic(status: InstanceStatus) -> bool {
    match status {
        Up | OutOfService => true,
        Starting | InstanceStatus::Down | InstanceStatus::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eurekad_wire::InstanceStatus::{Down, Unknown};

    fn at(millis: i64) -> Stamp {
        Stamp { millis, ..Stamp::ZERO }
    }

    fn set(status: InstanceStatus, millis: i64) -> Override {
        Override { value: OverrideValue::Set(status), stamp: at(millis), last_dirty: None }
    }

    #[test]
    fn without_an_override_the_own_status_is_shown() {
        for own in InstanceStatus::ALL {
            assert_eq!(shown(own, at(1), None), own);
        }
    }

    /// Catalog: B11
    #[test]
    fn an_override_gives_way_to_a_later_starting_or_down_but_not_to_up() {
        let over = set(OutOfService, 5);
        assert_eq!(shown(Up, at(9), Some(&over)), OutOfService);
        assert_eq!(shown(Starting, at(9), Some(&over)), Starting);
        assert_eq!(shown(Down, at(9), Some(&over)), Down);
        assert_eq!(shown(Starting, at(3), Some(&over)), OutOfService);
    }

    #[test]
    fn a_cleared_override_shows_its_value_until_the_client_speaks() {
        let over = Override { value: OverrideValue::Cleared(Unknown), stamp: at(5), last_dirty: None };
        assert_eq!(shown(Up, at(3), Some(&over)), Unknown);
        assert_eq!(shown(Up, at(9), Some(&over)), Up);
    }

    /// Catalog: B12, B13
    #[test]
    fn a_clients_up_or_out_of_service_never_replaces_a_lease_that_is_one_of_them() {
        let over = |shown| Some(Existing { shown, overridden: false, cleared: false });
        assert_eq!(own_on_register(OutOfService, over(Up), true, false), Up);
        assert_eq!(own_on_register(Up, over(OutOfService), true, false), OutOfService);
        assert_eq!(own_on_register(Down, over(Up), true, false), Down);
        assert_eq!(own_on_register(Up, over(Down), true, false), Up);
        assert_eq!(
            own_on_register(OutOfService, over(Up), false, false),
            OutOfService,
            "a replica is believed"
        );
        assert_eq!(own_on_register(Up, over(OutOfService), true, true), Up, "the client is trusted");
    }

    #[test]
    fn a_heartbeat_is_refused_while_a_removed_override_leaves_no_usable_status() {
        assert!(refuses_heartbeat(Unknown, false));
        assert!(refuses_heartbeat(OutOfService, true));
        assert!(!refuses_heartbeat(OutOfService, false));
        assert!(!refuses_heartbeat(Up, true));
    }
}
