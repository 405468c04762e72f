//! Telling a node of this kind: the state of keys.

use super::node::{Answers, PeerEurekaNode, Refused};
use super::nodes::Wiring;
use super::problem::Problem;
use super::protocol::{Tell, Told, WireState};
use super::queue::Flags;
use super::taken::Taken;
use super::view::PeerState;
use crate::clock::Tick;
use crate::registry::{How, Key, KeyState, Merged};

/// The most bytes of one request; what is left over goes with the next.
const MOST_BYTES: usize = 4 * 1024 * 1024;

impl PeerEurekaNode {
    /// Sends the state of these keys. `None` if there is nothing to say of any.
    pub(super) async fn tell_ours(&self, keys: &[(Key, Flags)]) -> Result<Option<Answers>, Problem> {
        let now = self.wiring().clock.tick();
        let draining = self.view().state == Some(PeerState::Draining);
        let mut answers = Answers::default();
        let (mut tell, mut told, mut bytes) = (Tell::default(), Vec::new(), 0);
        for (key, flags) in keys {
            if bytes > MOST_BYTES {
                answers.again.push((key.clone(), *flags));
            } else if let Some(state) = self.state_for(key, *flags, now, draining) {
                let state = WireState::of(&state, now);
                bytes += state.bytes();
                tell.keys.push(state);
                told.push((key, *flags));
            }
        }
        if tell.keys.is_empty() {
            return Ok(None);
        }
        let answer: Told = self.ask("peerreplication/ours/tell", &tell).await?;
        let why = answer.says_why();
        let at = |position: usize| told.get(position).map(|(key, _)| (*key).clone());
        let record = Flags { record: true, ..Flags::default() };
        answers.again.extend(answer.needed.into_iter().filter_map(at).map(|key| (key, record)));
        answers.refused.extend(answer.refused.into_iter().filter_map(|(position, code)| {
            Some(Refused { key: at(position)?, what: "state", code, why: why.clone() })
        }));
        self.take_in(answer.known, now, How::Answers);
        Ok(Some(answers))
    }

    /// What this peer has to hear of a key. Of what is overdue nothing: it is about to go everywhere. Of what was
    /// evicted nothing either: each node evicts on its own.
    fn state_for(&self, key: &Key, flags: Flags, now: Tick, draining: bool) -> Option<KeyState> {
        let registry = &self.wiring().registry;
        if !flags.is_for_ours() || (draining && !flags.is_urgent()) {
            return None;
        }
        let state = if flags.is_urgent() { registry.key_state(key) } else { registry.key_state_named(key) };
        if state.record.is_none() {
            return state.floor.is_some().then_some(state);
        }
        let overdue = registry.entry(key).is_none_or(|entry| entry.lease.is_overdue_by_its_duration(now));
        (!overdue).then_some(state)
    }

    /// Merges what the peer knows.
    pub(super) fn take_in(&self, states: Vec<WireState>, asked_at: Tick, how: How) -> Taken {
        let Wiring { registry, losses, .. } = self.wiring();
        let mut taken = Taken::default();
        for state in states {
            let refused = match state.read(asked_at).map(|state| registry.merge(state, how)) {
                Ok(Merged::Changed) => {
                    taken.changed += 1;
                    continue;
                }
                Ok(Merged::Same | Merged::Known | Merged::NeedsRecord) => continue,
                Ok(Merged::TooLarge(oversize)) => oversize.to_string(),
                Ok(Merged::Full(full)) => full.to_string(),
                Ok(Merged::FromTheFuture(stamp)) => stamp.to_string(),
                Err(why) => why.to_string(),
            };
            losses.note(asked_at);
            tracing::debug!(peer = %self.url(), "what the peer knows is not taken: {refused}");
            taken.leave_out(refused);
        }
        taken
    }
}
