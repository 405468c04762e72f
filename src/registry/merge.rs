//! The one rule by which nodes of this kind agree on what they know of an instance.
//!
//! Each part has a stamp, and the higher one counts; what was said before the last cancellation is void. The rule is
//! commutative, associative and idempotent, so it does not matter in which order and how often nodes tell each other
//! what they know.

use super::stamp::Stamp;

/// The stamped parts of what is known of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts<R, O> {
    /// What its client last said.
    pub record: Option<(Stamp, R)>,
    /// What was last set or cleared from outside.
    pub over: Option<(Stamp, O)>,
    /// Its last cancellation.
    pub floor: Option<Stamp>,
}

/// What two nodes know together.
pub(super) fn merge<R, O>(one: Parts<R, O>, other: Parts<R, O>) -> Parts<R, O> {
    let floor = one.floor.max(other.floor);
    let above = |stamp: &Stamp| floor.is_none_or(|floor| *stamp > floor);
    Parts {
        record: higher(one.record, other.record).filter(|(stamp, _)| above(stamp)),
        over: higher(one.over, other.over).filter(|(stamp, _)| above(stamp)),
        floor,
    }
}

/// The part with the higher stamp. Equal stamps are on equal parts: no stamp is given twice, but to overrides that Java
/// servers brought, of which the caller takes the same everywhere.
fn higher<P>(one: Option<(Stamp, P)>, other: Option<(Stamp, P)>) -> Option<(Stamp, P)> {
    match (&one, &other) {
        (Some((a, _)), Some((b, _))) if b > a => other,
        (None, _) => other,
        (Some(_), _) => one,
    }
}

#[cfg(test)]
mod tests {
    use super::super::stamp::NodeId;
    use super::*;
    use proptest::prelude::*;

    type Known = Parts<u64, u64>;

    fn stamp() -> impl Strategy<Value = Stamp> {
        (0..6_i64, 0..2_u32, 0..3_u64).prop_map(|(millis, count, node)| Stamp {
            millis,
            count,
            node: NodeId(node),
        })
    }

    /// A part whose content follows from its stamp, as no stamp is given twice.
    fn part(salt: u64) -> impl Strategy<Value = Option<(Stamp, u64)>> {
        let content =
            move |s: Stamp| s.millis as u64 * 1000 + u64::from(s.count) * 100 + s.node.0 * 10 + salt;
        proptest::option::of(stamp().prop_map(move |s| (s, content(s))))
    }

    prop_compose! {
        fn raw()(record in part(1), over in part(2), floor in proptest::option::of(stamp())) -> Known {
            Parts { record, over, floor }
        }
    }

    /// What a node may know: nothing below a floor is ever kept.
    fn known() -> impl Strategy<Value = Known> {
        (raw(), raw()).prop_map(|(a, b)| merge(a, b))
    }

    /// The rule said in another way: of all that was ever said, the highest of each part, if it is above the highest floor.
    fn model(said: &[Known]) -> Known {
        let floor = said.iter().filter_map(|k| k.floor).max();
        let highest = |part: fn(&Known) -> Option<(Stamp, u64)>| {
            let all = said.iter().filter_map(part);
            all.max_by_key(|(stamp, _)| *stamp).filter(|(stamp, _)| floor.is_none_or(|floor| *stamp > floor))
        };
        Parts { record: highest(|k| k.record), over: highest(|k| k.over), floor }
    }

    proptest! {
        #[test]
        fn merging_is_commutative(a in known(), b in known()) {
            prop_assert_eq!(merge(a.clone(), b.clone()), merge(b, a));
        }

        #[test]
        fn merging_is_associative(a in known(), b in known(), c in known()) {
            let left = merge(merge(a.clone(), b.clone()), c.clone());
            prop_assert_eq!(left, merge(a, merge(b, c)));
        }

        #[test]
        fn merging_is_idempotent(a in known(), b in known()) {
            prop_assert_eq!(merge(a.clone(), a.clone()), a.clone());
            let both = merge(a, b.clone());
            prop_assert_eq!(merge(both.clone(), b), both);
        }

        #[test]
        fn what_is_known_is_the_highest_of_all_that_was_said(said in proptest::collection::vec(raw(), 2..8)) {
            let merged = said.iter().cloned().reduce(merge);
            prop_assert_eq!(merged, Some(model(&said)));
        }

        #[test]
        fn nothing_stands_below_a_floor(a in known(), b in known()) {
            let merged = merge(a, b);
            let stamps = merged.record.map(|r| r.0).into_iter().chain(merged.over.map(|o| o.0));
            for stamp in stamps {
                prop_assert!(merged.floor.is_none_or(|floor| stamp > floor));
            }
        }
    }
}
