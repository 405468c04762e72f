//! What nodes of this kind compare: one number for each part of the registry.
//!
//! Two nodes that agree have equal digests. What may differ between nodes that agree is left out: lease times, stamps,
//! `lastUpdatedTimestamp`, `actionType`, `isCoordinatingDiscoveryServer`, and leases that are about to go.

use eurekad_wire::{
    ActionType, Detail, Form, Format, InstanceInfo, InstanceStatus, LeaseInfo, Shown, encode,
};

use super::status::{Override, OverrideValue};
use super::{Key, Registered, Registry};

/// The parts in which a registry is compared and copied.
pub const BUCKETS: usize = 256;

/// The digests of a whole registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// How many instances are in them.
    pub count: usize,
    /// One for each bucket.
    pub buckets: Vec<u64>,
}

impl Digests {
    /// All of them in one.
    pub fn whole(&self) -> u64 {
        let mut hash = Fnv::default();
        self.buckets.iter().for_each(|bucket| hash.write(&bucket.to_be_bytes()));
        hash.0
    }
}

impl Key {
    /// The bucket in which it is compared.
    pub fn bucket(&self) -> usize {
        let mut hash = Fnv::default();
        hash.write(self.app.as_str().as_bytes());
        hash.write(&[0]);
        hash.write(self.id.as_str().as_bytes());
        usize::try_from(hash.spread() % BUCKETS as u64).unwrap_or(0)
    }
}

impl Registered {
    /// The record as its client said it: what nodes of this kind tell each other, with its own status and without what
    /// a node adds.
    pub fn own_record(&self) -> InstanceInfo {
        InstanceInfo {
            status: self.own_status,
            overridden_status: InstanceStatus::Unknown,
            last_dirty_timestamp: Some(self.record_dirty),
            last_updated_timestamp: 0,
            action_type: Some(ActionType::Added),
            is_coordinating_discovery_server: false,
            lease_info: Some(LeaseInfo {
                renewal_interval_secs: self.lease.to_info().renewal_interval_secs,
                duration_secs: self.lease.to_info().duration_secs,
                ..LeaseInfo::default()
            }),
            ..(*self.info).clone()
        }
    }

    /// What is compared of it.
    pub fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let record = self.own_record();
            let form = Form { format: Format::Json, detail: Detail::Full };
            let mut hash = Fnv::default();
            hash.write(&encode::instance(form, Shown::from(&record)));
            hash.write(describe(self.over.as_ref(), self.override_is_newer()).as_bytes());
            hash.0
        })
    }

    /// Whether two records say the same, whatever their stamps.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.own_status == other.own_status
            && self.record_dirty == other.record_dirty
            && self.own_record() == other.own_record()
    }
}

/// A removed override that the client has answered is as good as none, but not for an older one that comes late: it is
/// compared too.
fn describe(over: Option<&Override>, is_newer: bool) -> String {
    let Some(over) = over else { return String::new() };
    let word = match over.value {
        OverrideValue::Set(status) => format!("set {status}"),
        OverrideValue::Cleared(status) => format!("cleared {status}"),
    };
    // Two nodes may have stamped the same record from a Java server: what is shown depends on which of the two is newer.
    let order = if is_newer { "after" } else { "before" };
    format!("{word} {:?} {order}", over.last_dirty)
}

impl Registry {
    /// The digests of what is neither overdue nor unproven.
    pub fn digests(&self) -> Digests {
        let apps: Vec<_> = self.read().instances.apps.values().cloned().collect();
        let now = self.clock.tick();
        let mut digests = Digests { count: 0, buckets: vec![0; BUCKETS] };
        // Outside the lock: what was not compared before has to be encoded.
        for entry in apps.iter().flat_map(|app| app.instances()) {
            if entry.is_compared(now) {
                digests.count += 1;
                let bucket = &mut digests.buckets[entry.key().bucket()];
                *bucket = bucket.wrapping_add(entry.digest());
            }
        }
        digests
    }
}

impl Registered {
    /// Whether nodes compare it and hand it on.
    pub(super) fn is_compared(&self, now: crate::clock::Tick) -> bool {
        !self.lease.is_unproven() && !self.lease.is_overdue_by_its_duration(now)
    }
}

/// FNV-1a: the same on every node, whatever it was compiled with. It guards against loss, not against malice.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// The hash with every bit of it in the lower ones too, as names that differ in one digit need it.
    fn spread(&self) -> u64 {
        let folded = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        folded ^ (folded >> 33)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::Stamp;
    use super::super::tests::registered;
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_digest_follows_what_the_client_and_the_operator_said_and_nothing_else() {
        let plain = registered("A", "a");
        let with = |change: fn(&mut Registered)| {
            let mut entry = registered("A", "a");
            change(&mut entry);
            entry.digest()
        };
        let info = |entry: &mut Registered, change: fn(&mut InstanceInfo)| {
            let mut info = (*entry.info).clone();
            change(&mut info);
            entry.info = info.into();
        };
        assert_eq!(with(|_| {}), plain.digest());
        assert_eq!(with(|e| e.lease.renew(crate::clock::Tick(9), 9, false)), plain.digest());
        for same in [
            (|i| i.last_updated_timestamp = 7) as fn(&mut InstanceInfo),
            |i| i.action_type = Some(ActionType::Modified),
            |i| i.is_coordinating_discovery_server = true,
        ] {
            let mut entry = registered("A", "a");
            info(&mut entry, same);
            assert_eq!(entry.digest(), plain.digest());
        }
        let mut moved = registered("A", "a");
        info(&mut moved, |i| i.ip_addr = "10.0.0.1".into());
        assert_ne!(moved.digest(), plain.digest());
        assert_ne!(with(|e| e.own_status = InstanceStatus::Down), plain.digest());
        assert_ne!(with(|e| e.record_dirty = 5), plain.digest());
    }

    /// Two nodes may have stamped one record of a Java server differently; they must notice if that shows.
    #[test]
    fn a_digest_tells_which_of_record_and_override_is_newer() {
        let stamped = |record: i64| {
            let stamp = |millis| Stamp { millis, ..Stamp::ZERO };
            let value = OverrideValue::Set(InstanceStatus::OutOfService);
            let mut entry = registered("A", "a");
            entry.record_stamp = stamp(record);
            entry.over = Some(Override { value, stamp: stamp(5), last_dirty: None });
            entry.digest()
        };
        assert_eq!(stamped(3), stamped(4));
        assert_ne!(stamped(4), stamped(6));
    }

    #[test]
    fn keys_spread_over_the_buckets() {
        let used: BTreeSet<usize> = (0..5_000).map(|n| Key::new("APP", &format!("i-{n}")).bucket()).collect();
        assert_eq!(used.len(), BUCKETS);
    }
}
