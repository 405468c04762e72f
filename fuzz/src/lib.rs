//! What has to hold for any bytes whatever: one function for each thing that reads what comes from the network.
//!
//! Each panics if something does not hold. The fuzz targets hand them arbitrary bytes, and `tests/fuzz_corpora` the
//! inputs that are kept in `corpus` and `regressions`, for which it includes this file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a check fails as a test does")]
#![allow(unreachable_pub, reason = "a library's parts, included by a test as they are")]

mod documents;
mod peers;
mod requests;
mod well_formed;

use eurekad_wire::Format;

pub use documents::replication_batch;
pub use peers::{peer_lists, protocol};
pub use requests::requests;

/// What has to hold for any bytes: it panics if it does not.
pub type Check = fn(&[u8]);

/// Every target by its name: that of its program and of its folders.
pub const TARGETS: [(&str, Check); 8] = [
    ("instance_json", instance_json),
    ("instance_xml", instance_xml),
    ("applications_json", applications_json),
    ("applications_xml", applications_xml),
    ("replication_batch", replication_batch),
    ("protocol", protocol),
    ("peer_lists", peer_lists),
    ("requests", requests),
];

/// A document of one instance, in JSON.
pub fn instance_json(bytes: &[u8]) {
    documents::instance(Format::Json, bytes);
}

/// A document of one instance, in XML.
pub fn instance_xml(bytes: &[u8]) {
    documents::instance(Format::Xml, bytes);
}

/// Documents of applications and of one application, in JSON, and the copy of a registry.
pub fn applications_json(bytes: &[u8]) {
    documents::applications(Format::Json, bytes);
    documents::registry_copy(bytes);
}

/// Documents of applications and of one application, in XML.
pub fn applications_xml(bytes: &[u8]) {
    documents::applications(Format::Xml, bytes);
}
