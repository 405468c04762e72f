//! The lease part of an instance's document.

/// Lease lengths and times as they stand in a document.
///
/// **Compat:** a client sends the two lengths; the four times are the server's. They are filled in whenever an
/// instance leaves the registry. All times are epoch milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseInfo {
    /// How often the client says it will renew, in seconds.
    pub renewal_interval_secs: i32,
    /// How long the lease lives without a renewal, in seconds.
    pub duration_secs: i32,
    /// When the lease was created; every registration creates one.
    pub registration_timestamp: i64,
    /// When the lease was last renewed.
    pub last_renewal_timestamp: i64,
    /// When the lease was cancelled or evicted; 0 while it lives.
    pub eviction_timestamp: i64,
    /// When the instance was first UP; 0 if it never was.
    pub service_up_timestamp: i64,
}

impl LeaseInfo {
    /// The renewal interval of a client that names none, in seconds.
    pub const DEFAULT_RENEWAL_INTERVAL_SECS: i32 = 30;
    /// The duration of a lease whose client names none, in seconds.
    pub const DEFAULT_DURATION_SECS: i32 = 90;
}

impl Default for LeaseInfo {
    fn default() -> Self {
        Self {
            renewal_interval_secs: Self::DEFAULT_RENEWAL_INTERVAL_SECS,
            duration_secs: Self::DEFAULT_DURATION_SECS,
            registration_timestamp: 0,
            last_renewal_timestamp: 0,
            eviction_timestamp: 0,
            service_up_timestamp: 0,
        }
    }
}
