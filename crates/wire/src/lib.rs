//! Eureka's data model and its JSON and XML encodings.
//!
//! This crate does no IO and reads no clock. It writes documents exactly as the Java server does (field order
//! included) and reads what Java, Spring, Python, Node and hand-made clients send, as leniently as is safe.
//!
//! | module | what |
//! |---|---|
//! | [`InstanceInfo`] and friends | the model, plain data |
//! | [`encode`] | documents out, in each [`Form`] |
//! | [`decode`] | documents in, with errors that say where and what |
//! | [`AppsHashCode`] | the reconciliation hash of a registry |
//!
//! An instance, a lease or an application never carries a field that Eureka does not know: today's Spring client
//! refuses the whole registry when it meets one.

mod applications;
mod data_center;
pub mod decode;
pub mod encode;
mod form;
mod hash_code;
mod instance;
mod json;
mod lease;
mod names;
mod replication;
mod text;
mod xml;

pub use applications::{Application, Applications};
pub use data_center::{AMAZON_COMPACT_KEYS, AMAZON_INSTANCE_ID, DataCenterInfo};
pub use decode::DecodeError;
pub use encode::Shown;
pub use form::{Detail, Form, Format};
pub use hash_code::AppsHashCode;
pub use instance::{ActionType, InstanceInfo, InstanceStatus, Metadata, Port};
pub use lease::LeaseInfo;
pub use names::{AppName, InstanceId};
pub use replication::{
    ReplicationAction, ReplicationInstance, ReplicationInstanceResponse, ReplicationList,
    ReplicationListResponse,
};
pub use text::{first_unwritable, made_writable};
