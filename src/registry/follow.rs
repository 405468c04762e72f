//! What others who follow the registry ask of it: a signal that something changed, and who renewed here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::lease::Lease;
use super::{Key, Origin, Registered, Registry};
use crate::telemetry::LogLimit;

/// Something that happened here and changed nothing that the change log would show, but that peers are told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalTouch {
    /// A client renewed its lease.
    Renewed,
    /// A status was set that is shown already.
    StatusConfirmed,
    /// A status was removed that was not set.
    RemovalConfirmed,
    /// A Java server spoke of what was cancelled here, or something was cancelled that is unknown here.
    CancelledBefore,
    /// What was said of it has another stamp than before.
    Restamped,
    /// A Java server registered an instance without the override that is set on it here.
    OverrideMissed,
}

/// The signal, and the touches since they were last taken.
#[derive(Debug)]
pub(super) struct Following {
    version: watch::Sender<u64>,
    /// Nobody takes touches on a node without peers, so none are kept there.
    keep_touches: AtomicBool,
    touches: Mutex<Vec<Touch>>,
    doubling_logged: LogLimit,
}

/// One touch; the lease is told when it is taken.
#[derive(Debug)]
struct Touch {
    key: Key,
    touch: LocalTouch,
    lease: Option<Arc<Lease>>,
}

impl Default for Following {
    fn default() -> Self {
        Self {
            version: watch::Sender::new(0),
            keep_touches: AtomicBool::new(false),
            touches: Mutex::default(),
            doubling_logged: LogLimit::default(),
        }
    }
}

impl Following {
    /// Something changed; whoever waits is woken.
    pub(super) fn changed(&self, version: u64) {
        self.version.send_replace(version);
    }

    /// Whether there are peers that follow what happens here.
    pub(super) fn has_followers(&self) -> bool {
        self.keep_touches.load(Ordering::Relaxed)
    }

    /// Keeps a touch, each lease's renewal once: so there are never more of them than leases.
    pub(super) fn touch(
        &self,
        key: impl FnOnce() -> Key,
        lease: &Arc<Lease>,
        touch: LocalTouch,
        origin: Origin,
    ) {
        if !origin.is_local() || !self.has_followers() {
            return;
        }
        if touch == LocalTouch::Renewed && lease.note_touched() {
            return;
        }
        let mut touches = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
        touches.push(Touch { key: key(), touch, lease: Some(Arc::clone(lease)) });
    }

    /// A cancellation that a peer has missed.
    pub(super) fn tell_again(&self, key: Key) {
        self.note(key, LocalTouch::CancelledBefore);
    }

    /// Something that is told whoever brought it up. Until it is taken, which is many times a second, there is at most
    /// one for each item that came in.
    pub(super) fn note(&self, key: Key, touch: LocalTouch) {
        if self.has_followers() {
            let mut touches = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
            touches.push(Touch { key, touch, lease: None });
        }
    }
}

impl Registry {
    /// Tells the version of the newest change, and wakes whoever waits for the next.
    pub fn watch_version(&self) -> watch::Receiver<u64> {
        self.following.version.subscribe()
    }

    /// Whether somebody is going to take local touches; without that none are kept.
    pub fn follow_renewals(&self, follow: bool) {
        self.following.keep_touches.store(follow, Ordering::Relaxed);
    }

    /// The local touches since the last call.
    pub fn take_local_touches(&self) -> Vec<(Key, LocalTouch)> {
        let taken =
            std::mem::take(&mut *self.following.touches.lock().unwrap_or_else(PoisonError::into_inner));
        let taken = taken.into_iter().map(|Touch { key, touch, lease }| {
            if let Some(lease) = lease {
                lease.forget_touched();
            }
            (key, touch)
        });
        taken.collect()
    }

    /// Whether a Java server is among the peers: with `eurekad.lease.duration-doubling: auto` leases then live as
    /// long as they do there.
    pub fn set_java_peer(&self, known: bool) {
        if self.java_peer.swap(known, Ordering::Relaxed) != known
            && self.settings.doubling == super::Doubling::Auto
            && let Some(suppressed) = self.following.doubling_logged.admit(self.clock.tick())
        {
            tracing::info!(
                suppressed = suppressed.times(),
                "{}: renewed leases live {} their duration (eurekad.lease.duration-doubling: auto)",
                if known {
                    "a Java server is among the peers"
                } else {
                    "no Java server is left among the peers"
                },
                if known { "twice, as they do there," } else { "once" }
            );
        }
    }

    /// How many local touches wait to be taken.
    pub fn touches_waiting(&self) -> usize {
        self.following.touches.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// One entry, overdue or not.
    pub fn entry(&self, key: &Key) -> Option<Registered> {
        self.read().instances.get(key.app.as_str(), key.id.as_str()).cloned()
    }

    /// Whether a status is set from outside on an instance, or was removed and the client has not spoken since.
    pub fn has_override(&self, key: &Key) -> bool {
        self.entry(key).is_some_and(|entry| entry.override_view() != super::OverrideView::None)
    }

    /// The newest change that left the log for lack of room; who has not read up to it has missed something.
    pub fn changes_lost_up_to(&self) -> u64 {
        self.read().log.dropped_up_to()
    }

    /// Whether an instance is gone because its client or an operator cancelled it, here or at a node of this kind.
    pub fn was_cancelled(&self, key: &Key) -> bool {
        let guarded = self.read();
        let lives = guarded.instances.get(key.app.as_str(), key.id.as_str()).is_some();
        !lives && guarded.went.get(key).is_some_and(|gone| gone.floor.is_some())
    }

    /// The keys of all leases whose clients were last heard here.
    pub fn keys_renewed_here(&self) -> Vec<Key> {
        let guarded = self.read();
        let all = guarded.instances.apps.values().flat_map(|app| app.instances());
        all.filter(|entry| entry.lease.was_heard_here()).map(Registered::key).collect()
    }

    /// Whether a lease that begins or is renewed now lives twice its duration.
    pub(super) fn doubles_now(&self) -> bool {
        match self.settings.doubling {
            super::Doubling::Auto => self.java_peer.load(Ordering::Relaxed),
            super::Doubling::Always => true,
            super::Doubling::Never => false,
        }
    }
}
