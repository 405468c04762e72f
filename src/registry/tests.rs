//! What several of the registry's unit tests need.

use std::sync::{Arc, OnceLock};

use eurekad_wire::{AppName, InstanceId, InstanceInfo};

use super::lease::Lease;
use super::stamp::Stamp;
use super::state::Registered;
use crate::clock::Tick;

/// An entry with nothing but its key.
pub(super) fn registered(app: &str, id: &str) -> Registered {
    let mut info = InstanceInfo::new(AppName::new(app));
    info.instance_id = Some(InstanceId::new(id));
    Registered {
        bytes: info.text_bytes(),
        own_status: info.status,
        info: Arc::new(info),
        lease: Arc::new(Lease::new(None, false, Tick(0), 0)),
        record_dirty: 0,
        record_stamp: Stamp::ZERO,
        over: None,
        floor: None,
        digest: OnceLock::new(),
    }
}
