//! Stamps: when something was said, in an order that all nodes of this kind share.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;

/// A stamp further ahead of a node's own wall clock than this is refused: its maker's wall clock is wrong, and taking
/// it would carry the error to every node.
pub const FARTHEST_AHEAD: Duration = Duration::from_secs(24 * 3600);

/// No clock follows others further than this. So what it stamps is refused by no node whose wall clock is an hour behind
/// its own, however far ahead a stranger says to be, and a node that starts with a right clock can always join.
const FARTHEST_FOLLOWED: i64 = 23 * 3600 * 1000;

/// The random id of one process. Host names are never compared: two nodes may share one, and one node may have many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for NodeId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// When something was said: a hybrid logical time. Of two things said of one instance the greater stamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Stamp {
    /// Milliseconds of the stamp clock, which begins at the wall clock's epoch milliseconds.
    pub millis: i64,
    /// Orders what one clock stamped within a millisecond.
    pub count: u32,
    /// Who stamped; orders what two nodes stamped alike.
    pub node: NodeId,
}

impl Stamp {
    /// Below every stamp that a clock gives.
    pub const ZERO: Self = Self { millis: 0, count: 0, node: NodeId(0) };

    /// The least stamp of `node` above this one.
    #[must_use]
    pub fn next(self, node: NodeId) -> Self {
        match self.count.checked_add(1) {
            Some(count) => Self { count, node, ..self },
            None => Self { millis: self.millis.saturating_add(1), count: 0, node },
        }
    }

    /// This stamp as its clock would have given it, had it been ahead by so many milliseconds.
    #[must_use]
    pub(super) fn shifted(self, millis: i64) -> Self {
        Self { millis: self.millis.saturating_add(millis), ..self }
    }

    /// This stamp moved into the past.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self { millis: self.millis.saturating_sub(by), ..self }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.millis, self.count, self.node)
    }
}

/// A text that is no stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no stamp: three parts are expected, such as 1750000000000.0.00c0ffee00c0ffee")]
pub struct NoStamp;

impl FromStr for Stamp {
    type Err = NoStamp;

    fn from_str(text: &str) -> Result<Self, NoStamp> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().ok_or(NoStamp);
        let (millis, count, node) = (part()?, part()?, part()?);
        Ok(Self {
            millis: millis.parse().map_err(|_| NoStamp)?,
            count: count.parse().map_err(|_| NoStamp)?,
            node: node.parse().map_err(|_| NoStamp)?,
        })
    }
}

/// A stamp that is too far ahead to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a stamp {ahead_ms} ms ahead of this node's clock; one of the two nodes started with a wrong wall clock"
)]
pub struct FromTheFuture {
    /// How far it is ahead, milliseconds.
    pub ahead_ms: i64,
}

/// Gives stamps: the wall clock at the start, plus monotonic time, plus an offset that only grows, to match every
/// stamp clock that was seen. So a stepped wall clock changes nothing, and of two nodes that have spoken with each
/// other the later one stamps higher, also when the network is cut afterwards.
#[derive(Debug)]
pub struct StampClock {
    clock: Clock,
    node: NodeId,
    /// The wall clock at the start less the monotonic one: what to add to the latter.
    base: i64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether any other clock was seen.
    met: bool,
    offset: i64,
    last: (i64, u32),
}

impl StampClock {
    /// A clock that stamps for `node`, from the wall clock as it stands now.
    pub fn new(clock: Clock, node: NodeId) -> Self {
        let base = clock.epoch_millis().saturating_sub(monotonic(&clock));
        Self { clock, node, base, state: Mutex::default() }
    }

    /// Who stamps.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// A stamp above every one that this clock gave or has seen.
    pub fn now(&self) -> Stamp {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let physical = self.physical(&state);
        let (millis, count) = state.last;
        state.last = if physical > millis {
            (physical, 0)
        } else {
            let next = Stamp { millis, count, node: self.node }.next(self.node);
            (next.millis, next.count)
        };
        Stamp { millis: state.last.0, count: state.last.1, node: self.node }
    }

    /// Takes notice of a stamp that another node gave: from now on this clock gives greater ones. Of the first one ever,
    /// returns how many milliseconds this clock was behind.
    ///
    /// # Errors
    /// If it is more than [`FARTHEST_AHEAD`]; it is not taken notice of then.
    pub(super) fn observe(&self, seen: Stamp) -> Result<i64, FromTheFuture> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.base.saturating_add(monotonic(&self.clock));
        let ahead_ms = seen.millis.saturating_sub(own);
        if u128::try_from(ahead_ms).is_ok_and(|ahead| ahead > FARTHEST_AHEAD.as_millis()) {
            return Err(FromTheFuture { ahead_ms });
        }
        let offset = state.offset.max(ahead_ms.min(FARTHEST_FOLLOWED));
        let moved = offset - std::mem::replace(&mut state.offset, offset);
        if ahead_ms <= FARTHEST_FOLLOWED {
            state.last = state.last.max((seen.millis, seen.count));
        }
        // This node may be in its own list of peers, and answer itself.
        let first = seen.node != self.node && !std::mem::replace(&mut state.met, true);
        Ok(if first { moved } else { 0 })
    }

    fn physical(&self, state: &State) -> i64 {
        self.base.saturating_add(monotonic(&self.clock)).saturating_add(state.offset)
    }
}

fn monotonic(clock: &Clock) -> i64 {
    i64::try_from(clock.tick().0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock(epoch: i64, node: u64) -> (Clock, StampClock) {
        let clock = Clock::simulated(epoch);
        (clock.clone(), StampClock::new(clock, NodeId(node)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_never_gives_a_stamp_twice_nor_one_below_what_it_has_seen() {
        let (_, stamps) = clock(1000, 1);
        let first = stamps.now();
        assert!(stamps.now() > first);
        let seen = Stamp { millis: 5000, count: 7, node: NodeId(9) };
        stamps.observe(seen).unwrap();
        assert!(stamps.now() > seen);
    }

    #[tokio::test(start_paused = true)]
    async fn order_survives_a_later_cut_between_clocks_that_disagree() {
        let ((_, fast), (_, slow)) = (clock(3_600_000, 1), clock(0, 2));
        slow.observe(fast.now()).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        let earlier = fast.now();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(slow.now() > earlier, "though the two have not spoken since");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stepped_wall_clock_moves_no_stamp() {
        let (wall, stamps) = clock(1_000_000, 1);
        wall.step(-500_000);
        assert_eq!(stamps.now().millis, 1_000_000);
        wall.step(5_000_000);
        assert_eq!(stamps.now().millis, 1_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stamp_more_than_a_day_ahead_is_refused_and_moves_nothing() {
        let (_, stamps) = clock(1000, 1);
        let (hour, day) = (3600 * 1000, 24 * 3600 * 1000);
        let at = |millis| Stamp { millis, count: 0, node: NodeId(2) };
        assert_eq!(stamps.observe(at(1001 + day)), Err(FromTheFuture { ahead_ms: day + 1 }));
        assert_eq!(stamps.now().millis, 1000);
        assert_eq!(stamps.observe(at(1000 + hour)), Ok(hour));
        assert_eq!(stamps.observe(at(1000 + day)), Ok(0), "only the first one tells how far it was behind");
        assert_eq!(
            stamps.now().millis,
            1000 + 23 * hour,
            "who is a little behind must not refuse what follows"
        );
        assert!(stamps.observe(at(1001 + day)).is_err(), "having followed one does not let in the next");
    }

    proptest! {
        #[test]
        fn a_stamp_is_read_back_as_it_was_written(millis: i64, count: u32, node: u64) {
            let stamp = Stamp { millis, count, node: NodeId(node) };
            prop_assert_eq!(stamp.to_string().parse(), Ok(stamp));
        }

        #[test]
        fn the_next_stamp_is_above_whoever_gives_it(
            millis in 0..i64::MAX, count: u32, node: u64, by: u64,
        ) {
            let stamp = Stamp { millis, count, node: NodeId(node) };
            prop_assert!(stamp.next(NodeId(by)) > stamp);
        }
    }
}
