//! From what a document shows to its bytes.

use eurekad_wire::encode::{self, ApplicationsWriter};
use eurekad_wire::{Form, Shown};

use super::Payload;
use crate::registry::{Content, Group, Registered, Scope};

/// **Compat:** `versions__delta` of all applications.
const FULL_VERSION: i64 = 1;
/// **Compat:** `versions__delta` of what a VIP address finds.
const VIP_VERSION: i64 = -1;

pub(super) fn render(form: Form, scope: &Scope, content: &Content) -> Payload {
    let version = match scope {
        Scope::App(name) => {
            let instances = content.groups.iter().flat_map(Group::instances).map(shown);
            return Payload::new(encode::application(form, name, instances));
        }
        Scope::All => FULL_VERSION,
        // **Compat:** Java counts the deltas it has generated here. The registry's version also only grows, and says
        // more: two deltas with one version are the same.
        Scope::Delta => i64::try_from(content.version).unwrap_or(i64::MAX),
        Scope::Vip(_) | Scope::SecureVip(_) => VIP_VERSION,
    };
    let mut writer = ApplicationsWriter::new(form, version, &content.hash_code.to_string());
    writer.reserve(content.bytes());
    for group in &content.groups {
        writer.application(group.name(), group.instances().map(shown));
    }
    Payload::new(writer.finish())
}

fn shown(entry: &Registered) -> Shown<'_> {
    Shown { info: &entry.info, lease: Some(entry.lease.to_info()) }
}
