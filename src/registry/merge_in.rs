//! What another node of this kind knows of a key, merged with what is known here.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use eurekad_wire::{ActionType, InstanceInfo, InstanceStatus};

use super::gone::{Floor, Mark};
use super::key_state::{Heard, KeyState, Record};
use super::lease::Lease;
use super::leave::Exit;
use super::merge::{Parts, merge};
use super::outcome::{Full, Oversize};
use super::register::DIRTY_FROM_THE_FUTURE_MS;
use super::stamp::{FromTheFuture, Stamp};
use super::state::Registered;
use super::status::{self, Override};
use super::{Guarded, Happened, Key, Origin, RecentEvent, Registry, Touched};
use crate::clock::Tick;

/// On what occasion a node tells what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Something happened there.
    Told,
    /// It asks what is known here, and says what is known there; nothing is new, so nobody is counted as heard.
    Asks,
    /// It answers such a question. Its times are not late, as those of what is told may be: so a lease that is marked
    /// as cancelled there can be compared with the one here.
    Answers,
    /// This node copies a registry at its start. An overdue lease is taken too, with some grace: its client may have
    /// had nobody to speak to.
    Copied,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// It is what is known here.
    Same,
    /// Nothing new in it.
    Known,
    /// It changed something here.
    Changed,
    /// It names a record that is not here: its content is needed.
    NeedsRecord,
    /// Its record is larger than one may be.
    TooLarge(Oversize),
    /// There is no room for a new instance.
    Full(Full),
    /// A stamp in it is too far ahead.
    FromTheFuture(FromTheFuture),
}

/// Which of two nodes a part is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Here,
    There,
}

impl Registry {
    /// Merges what another node knows of a key.
    pub fn merge(&self, theirs: KeyState, how: How) -> Merged {
        let mut theirs = theirs;
        if let Some((floor, _)) = &mut theirs.floor {
            // A timestamp from the future would keep every later life of the instance out, where Java tells of it.
            floor.last_dirty =
                floor.last_dirty.min(self.clock.epoch_millis().saturating_add(DIRTY_FROM_THE_FUTURE_MS));
        }
        if let Some(refused) = theirs.stamps().find_map(|stamp| self.observe(stamp).err()) {
            return Merged::FromTheFuture(refused);
        }
        if how == How::Told && self.renewed_by_word(&theirs) {
            return Merged::Same;
        }
        if let Some(content) = theirs.record.as_ref().and_then(|record| record.content.as_ref())
            && let Err(oversize) = self.fits(content)
        {
            return Merged::TooLarge(oversize);
        }
        let mut guarded = self.write();
        let key = theirs.key.clone();
        let here = guarded.instances.get(key.app.as_str(), key.id.as_str()).cloned();
        let gone = guarded.went.get(&key).copied();
        let floor_here = here.as_ref().map_or_else(|| gone.and_then(|gone| gone.floor), |entry| entry.floor);
        let parts = merge(
            Parts {
                record: here.as_ref().map(|entry| (entry.record_stamp, Side::Here)),
                over: here.as_ref().and_then(|entry| entry.over).map(|over| (over.stamp, Side::Here)),
                floor: floor_here.map(|floor| floor.stamp),
            },
            Parts {
                record: theirs.record.as_ref().map(|record| (record.stamp, Side::There)),
                over: theirs.over.map(|over| (over.stamp, Side::There)),
                floor: theirs.floor.map(|(floor, _)| floor.stamp),
            },
        );
        let floor_moved = theirs.floor.filter(|_| parts.floor > floor_here.map(|floor| floor.stamp));
        let floor = floor_moved.map_or(floor_here, |(floor, _)| Some(floor));
        match (here, parts.record) {
            (Some(here), None) => self.cancelled_there(&mut guarded, key, &here, floor_moved),
            (None, None) => {
                if let Some((floor, at)) = floor_moved {
                    guarded.went.cancelled(key, floor, at, false);
                }
                Merged::Known
            }
            (Some(here), Some(_)) if how == How::Answers && is_ended_there(&here, &theirs) => {
                let Some(mark) = theirs.mark else { return Merged::Known };
                let now = self.clock.epoch_millis();
                self.take_out(&mut guarded, key, Exit::Ended(mark), Origin::Ours, now);
                Merged::Changed
            }
            (Some(here), Some((_, side))) => {
                let over = self.winning_override(Some(&here), &theirs, parts.over);
                self.merge_live(&mut guarded, theirs, &here, side, over, floor, how)
            }
            (None, Some(_)) => {
                let over = self.winning_override(None, &theirs, parts.over);
                if let Some((floor, at)) = floor_moved {
                    guarded.went.cancelled(key, floor, at, false);
                }
                self.merge_new(&mut guarded, theirs, over, floor, how)
            }
        }
    }

    /// The most frequent word by far, "I have heard this client", without the lock for writing. False if it says more.
    fn renewed_by_word(&self, theirs: &KeyState) -> bool {
        let (Some(record), Some(heard)) = (&theirs.record, theirs.heard) else { return false };
        let guarded = self.read();
        let key = &theirs.key;
        let Some(here) = guarded.instances.get(key.app.as_str(), key.id.as_str()) else { return false };
        let over = |over: Option<Override>| over.map(|over| over.stamp);
        let says_more = record.stamp != here.record_stamp
            || over(theirs.over) != over(here.over)
            || theirs.floor.map(|(floor, _)| floor.stamp) > here.floor.map(|floor| floor.stamp);
        if !says_more {
            self.renew_by_word(here, heard, How::Told);
        }
        !says_more
    }

    /// A younger renewal counts. It is somebody else's client now.
    fn renew_by_word(&self, here: &Registered, heard: Heard, how: How) {
        if heard.at <= here.lease.last_heard() {
            return;
        }
        let age = self.clock.tick().since(heard.at);
        let epoch = self.clock.epoch_millis().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(0));
        here.lease.renew(heard.at, epoch, self.doubles_now());
        here.lease.note_heard(false);
        if how == How::Told {
            self.renewals.count(&here.lease);
            self.metrics.renewals.inc();
        }
    }

    /// The override that counts, and whether it is from there.
    fn winning_override(
        &self,
        here: Option<&Registered>,
        theirs: &KeyState,
        winner: Option<(Stamp, Side)>,
    ) -> Option<Override> {
        let (ours, theirs) = (here.and_then(|entry| entry.over), theirs.over);
        match winner?.1 {
            // What two Java servers brought for one record has its stamp at both nodes.
            Side::Here => ours
                .into_iter()
                .chain(theirs)
                .filter(|o| Some(o.stamp) == ours.map(|o| o.stamp))
                .max_by_key(|over| (over.set_status().map(InstanceStatus::as_str), over.last_dirty)),
            Side::There => theirs,
        }
    }

    /// What is here was said before a cancellation there.
    fn cancelled_there(
        &self,
        guarded: &mut Guarded,
        key: Key,
        here: &Registered,
        floor: Option<(Floor, Tick)>,
    ) -> Merged {
        let Some((floor, _)) = floor else { return Merged::Known };
        // Where it was cancelled nobody knew it: so it is for this node to tell the others, Java servers too.
        let origin = if floor.blind { Origin::Client } else { Origin::Ours };
        let floor = Floor {
            last_dirty: floor.last_dirty.max(here.info.last_dirty_timestamp.unwrap_or(0)),
            blind: false,
            ..floor
        };
        let now = self.clock.epoch_millis();
        self.take_out(guarded, key.clone(), Exit::Cancelled(floor), origin, now);
        guarded.cancelled.push(RecentEvent { at: now, key, what: Happened::Cancelled });
        self.metrics.cancellations.inc();
        Merged::Changed
    }

    /// Both nodes have it.
    #[expect(clippy::too_many_arguments, reason = "what one private call was split in two for")]
    fn merge_live(
        &self,
        guarded: &mut Guarded,
        theirs: KeyState,
        here: &Registered,
        side: Side,
        over: Option<Override>,
        floor: Option<Floor>,
        how: How,
    ) -> Merged {
        let (key, heard) = (theirs.key, theirs.heard);
        let mut merged = Registered { over, floor, ..here.clone() };
        let mut needs_record = false;
        if side == Side::There
            && let Some(Record { stamp, content }) = theirs.record
        {
            match content {
                Some(content) => {
                    let lease = self.lease_from_there(&content, Some(here), heard, how);
                    merged = self.with_record(merged, *content, stamp, lease);
                }
                None => needs_record = true,
            }
        }
        let same_record = merged.says_the_same(here);
        let value = |over: Option<Override>| over.map(|over| (over.value, over.last_dirty));
        let same = same_record && value(over) == value(here.over) && merged.shows() == here.info.status;
        if same_record {
            merged.lease = Arc::clone(&here.lease);
        }
        if let Some(heard) = heard {
            self.renew_by_word(&merged, heard, how);
        }
        if same {
            if (merged.record_stamp, over, floor) != (here.record_stamp, here.over, here.floor) {
                guarded.instances.restamp(&key, merged.record_stamp, over, floor);
            }
        } else {
            let (action, touched) = match (same_record, over == here.over) {
                (true, _) => (ActionType::Modified, Touched::Override),
                (false, true) => (ActionType::Added, Touched::Record),
                (false, false) => (ActionType::Added, Touched::RecordAndOverride),
            };
            let now = self.clock.epoch_millis();
            self.put(guarded, key, merged, action, Origin::Ours, touched, now);
        }
        match (needs_record, same) {
            (true, _) => Merged::NeedsRecord,
            (false, true) => Merged::Known,
            (false, false) => Merged::Changed,
        }
    }

    /// Only they have it.
    fn merge_new(
        &self,
        guarded: &mut Guarded,
        theirs: KeyState,
        over: Option<Override>,
        floor: Option<Floor>,
        how: How,
    ) -> Merged {
        let (key, now) = (theirs.key, self.clock.tick());
        let (Some(Record { stamp, content }), Some(heard)) = (theirs.record, theirs.heard) else {
            return Merged::Known;
        };
        if guarded.went.get(&key).and_then(|gone| gone.mark).is_some_and(|mark| mark.holds(stamp, heard.at)) {
            return Merged::Known;
        }
        let Some(content) = content else { return Merged::NeedsRecord };
        let lease = self.lease_from_there(&content, None, Some(heard), how);
        if lease.is_expired(now, Duration::ZERO) {
            return Merged::Known;
        }
        if let Err(full) = self.has_room(guarded, &key.app) {
            return Merged::Full(full);
        }
        let empty = Registered {
            bytes: 0,
            own_status: content.status,
            record_dirty: 0,
            record_stamp: stamp,
            info: Arc::new((*content).clone()),
            lease: Arc::clone(&lease),
            over,
            floor,
            digest: OnceLock::new(),
        };
        let entry = self.with_record(empty, *content, stamp, lease);
        guarded.went.take(&key);
        self.metrics.registrations.inc();
        let touched = if over.is_some() { Touched::RecordAndOverride } else { Touched::Record };
        let now = self.clock.epoch_millis();
        self.put(guarded, key, entry, ActionType::Added, Origin::Ours, touched, now);
        Merged::Changed
    }

    /// An entry with what a client said at another node.
    fn with_record(
        &self,
        entry: Registered,
        mut content: InstanceInfo,
        stamp: Stamp,
        lease: Arc<Lease>,
    ) -> Registered {
        content.is_coordinating_discovery_server = content.id() == &*self.settings.own_instance_id;
        Registered {
            bytes: content.text_bytes(),
            own_status: content.status,
            record_dirty: content.last_dirty_timestamp.unwrap_or(0),
            record_stamp: stamp,
            info: Arc::new(content),
            lease,
            ..entry
        }
    }

    /// The lease of a record that another node told of, as old as it is there.
    fn lease_from_there(
        &self,
        content: &InstanceInfo,
        here: Option<&Registered>,
        heard: Option<Heard>,
        how: How,
    ) -> Arc<Lease> {
        let (now, epoch) = (self.clock.tick(), self.clock.epoch_millis());
        let heard = heard.unwrap_or(Heard { at: now, renewed: false });
        let age = i64::try_from(now.since(heard.at).as_millis()).unwrap_or(i64::MAX);
        let heard_epoch = epoch.saturating_sub(age);
        let told = content.lease_info.unwrap_or_default();
        let registered_epoch =
            if told.registration_timestamp > 0 { told.registration_timestamp } else { heard_epoch };
        let lease = Lease::new(content.lease_info, self.doubles_now(), heard.at, registered_epoch);
        if heard.renewed {
            lease.renew(heard.at, heard_epoch, self.doubles_now());
        }
        match here {
            Some(here) => lease.inherit_service_up(&here.lease),
            None if told.service_up_timestamp > 0 => lease.service_up(told.service_up_timestamp),
            None => {}
        }
        if how == How::Copied && lease.is_expired(now, Duration::ZERO) {
            let grace = lease.duration().min(lease.interval().saturating_mul(2));
            lease.give_grace(now.after(grace));
        }
        Arc::new(lease)
    }
}

/// Whether a Java server cancelled it there and nobody has heard its client since.
fn is_ended_there(here: &Registered, theirs: &KeyState) -> bool {
    let holds = |mark: &Mark| mark.holds(here.record_stamp, here.lease.last_heard());
    theirs.mark.is_some_and(|mark| mark.cancelled && holds(&mark))
}

impl Registered {
    /// The status that its parts give.
    fn shows(&self) -> InstanceStatus {
        status::shown(self.own_status, self.record_stamp, self.over.as_ref())
    }
}
