//! The reconciliation hash code of a registry.

use std::fmt;

use crate::InstanceStatus;

/// How many instances have which status; its `Display` is the hash code on the wire.
///
/// **Compat:** `apps__hashcode` is `<STATUS>_<count>_` for each status present, in alphabetical order; nothing for
/// an empty registry. A client that applies a delta and computes another hash fetches everything again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppsHashCode {
    counts: [u64; InstanceStatus::ALL.len()],
}

impl AppsHashCode {
    /// Counts one instance more.
    pub fn add(&mut self, status: InstanceStatus) {
        self.counts[status as usize] += 1;
    }

    /// Counts one instance less.
    pub fn remove(&mut self, status: InstanceStatus) {
        let count = &mut self.counts[status as usize];
        *count = count.saturating_sub(1);
    }
}

impl FromIterator<InstanceStatus> for AppsHashCode {
    fn from_iter<I: IntoIterator<Item = InstanceStatus>>(statuses: I) -> Self {
        let mut hash = Self::default();
        statuses.into_iter().for_each(|s| hash.add(s));
        hash
    }
}

impl fmt::Display for AppsHashCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        InstanceStatus::ALL
            .into_iter()
            .zip(self.counts)
            .filter(|(_, count)| *count > 0)
            .try_for_each(|(status, count)| write!(f, "{status}_{count}_"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstanceStatus::{Down, OutOfService, Starting, Unknown, Up};

    /// Case: U09
    /// Catalog: F8
    #[test]
    fn an_empty_registry_has_an_empty_hash_code() {
        assert_eq!(AppsHashCode::default().to_string(), "");
    }

    /// Case: U09
    /// Catalog: F8
    #[test]
    fn statuses_stand_in_alphabetical_order_with_their_counts() {
        let hash: AppsHashCode = [Up, Starting, Up, Up].into_iter().collect();
        assert_eq!(hash.to_string(), "STARTING_1_UP_3_");
        let all: AppsHashCode = [Up, Unknown, Starting, OutOfService, Down].into_iter().collect();
        assert_eq!(all.to_string(), "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_1_");
    }
}
