//! What the registry answers. "Not found" is an answer, not an error.

use eurekad_wire::InstanceStatus;

use super::Registered;

/// The outcome of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The instance was not there before.
    New,
    /// It was, and the new record replaced it.
    Replaced,
    /// It was, with a newer `lastDirtyTimestamp`: the existing record stays, with a new lease.
    KeptNewer,
    /// It was cancelled here a moment ago, and who brings it had not heard of that: nothing is applied.
    Cancelled,
    /// It is larger than one instance may be.
    TooLarge(Oversize),
    /// There is no room for a new one.
    Full(Full),
}

/// Of what the registry holds as much as is allowed. What is there already is not hurt: it is renewed and replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Instances.
    #[error("the registry is full: raise eurekad.limits.instances")]
    Instances,
    /// Applications, and this would be a new one.
    #[error("the registry has no room for one more application: raise eurekad.limits.applications")]
    Applications,
    /// Instances of this application.
    #[error("the application is full: raise eurekad.limits.instances-per-application")]
    InstancesPerApplication,
}

/// In what an instance is too large. However it comes, by itself or in a batch, the bounds are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Oversize {
    /// Its metadata.
    #[error("metadata of {bytes} bytes, more than the {limit} that eurekad.limits.metadata-bytes allows")]
    Metadata {
        /// What it has.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// All its texts together.
    #[error("an instance of {bytes} bytes, more than the {limit} that eurekad.limits.body-bytes allows")]
    Instance {
        /// What it has.
        bytes: usize,
        /// What is allowed.
        limit: usize,
    },
    /// Its VIP addresses.
    #[error("{count} VIP addresses, more than the {limit} that eurekad.limits.vips allows")]
    Vips {
        /// How many it has.
        count: usize,
        /// How many are allowed.
        limit: usize,
    },
}

/// What comes with a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// The sender's `lastDirtyTimestamp` of the instance, epoch milliseconds.
    pub last_dirty: Option<i64>,
    /// The override that a replicating server holds.
    pub overridden: Option<InstanceStatus>,
}

/// The outcome of a heartbeat.
#[derive(Debug, Clone)]
pub enum HeartbeatOutcome {
    /// The lease is renewed.
    Renewed,
    /// There is no such lease; the client has to register.
    NotFound,
    /// There is none because it was cancelled here a moment ago, and the replicating sender had not heard of that.
    Cancelled,
    /// The client has to speak for itself again: an override was removed and nothing else is known of its status.
    MustRegister,
    /// The lease is renewed, but the sender knows a newer record: it has to register.
    SenderIsNewer,
    /// The lease is renewed, and this is the record here, newer than the replicating sender's.
    SenderIsOlder(Registered),
}

/// The outcome of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    /// The instance is gone.
    Cancelled,
    /// There was none.
    NotFound,
}

/// The outcome of a change to an instance from outside: status, override or metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusChange {
    /// It is done.
    Changed,
    /// It was so already; the lease is renewed.
    Unchanged,
    /// There is no such instance.
    NotFound,
    /// The instance would grow larger than one may be.
    TooLarge(Oversize),
}
