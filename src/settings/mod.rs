//! Every setting: what it is called, what it defaults to, and what it is for.
//!
//! Settings that the Java server has keep their Spring names (`eureka.server.*`, `eureka.client.*`,
//! `eureka.instance.*`, `server.*`) and, except where ARCHITECTURE.md says so, their defaults. The others are called
//! `eurekad.*`. [`SETTINGS`] is the one table of them, with [`FAMILIES`] for keys that end in a name: parsing,
//! `--help` and errors are all made from these.

mod arguments;
mod blank;
mod environment;
mod family;
mod files;
mod java;
mod known;
mod load;
mod peer_url;
mod placeholders;
mod problem;
mod profiles;
mod property;
mod resolve;
mod secret;
mod show;
mod system;
mod table;
mod values;
mod zones;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use arguments::{Argument, from_arguments, split_arguments};
pub(crate) use environment::{CONFIG, SHORT};
pub use family::{FAMILIES, Family, Named};
pub(crate) use files::bounded;
pub use files::{Places, Unreadable};
pub use load::{Effective, Loaded, Sources, load};
pub use peer_url::{InvalidUrl, PeerSource, PeerUrl};
pub use problem::{Invalid, Note, Problem};
pub use property::{Origin, Place};
pub use secret::Secret;
pub use show::{Listed, listing, reference};
pub use table::{SETTINGS, Setting};
pub(crate) use zones::in_order_of_preference;
pub use zones::{TxtRecords, ZoneSettings};

/// All settings of one node.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where it listens and what it takes in.
    pub http: HttpSettings,
    /// How it keeps leases.
    pub registry: RegistrySettings,
    /// How it caches what it serves.
    pub cache: CacheSettings,
    /// When its background work runs.
    pub timers: TimerSettings,
    /// Who it is.
    pub instance: InstanceSettings,
    /// Who may use it.
    pub access: AccessSettings,
    /// How it stops.
    pub stop: StopSettings,
    /// Who its peers are and how it treats them.
    pub peers: PeerSettings,
    /// What it logs.
    pub log: LogSettings,
    /// What it shows of itself to Prometheus.
    pub metrics: MetricsSettings,
}

/// Where a node listens and what it takes in.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    /// The address it listens on; without one on all, IPv6 and IPv4 alike.
    pub bind: Option<IpAddr>,
    /// The port; 0 lets the system choose.
    pub port: u16,
    /// A path in front of all others, such as `/registry`; empty for none.
    pub context_path: String,
    /// A port of its own for health and metrics.
    pub management_port: Option<u16>,
    /// The address of that port, if not that of everything else.
    pub management_bind: Option<IpAddr>,
    /// Whether there is a page for people.
    pub dashboard: bool,
    /// Where that page is.
    pub dashboard_path: String,
    /// Whether delta fetches are answered 403.
    pub disable_delta: bool,
    /// Whether reads are answered while the node still copies its peers' registry.
    pub serve_while_syncing: bool,
    /// How long a node that found nothing to copy answers no reads.
    pub wait_when_sync_empty: Duration,
    /// How many instances a node that found nothing to copy counts as copied; 0 makes it wait.
    pub default_open_for_traffic_count: u64,
    /// Whether an Amazon instance must name its `instance-id`.
    pub require_amazon_instance_id: bool,
    /// The most bytes of a request body, after decompression.
    pub max_body_bytes: usize,
    /// The most bytes of a replication batch, after decompression.
    pub max_batch_bytes: usize,
    /// The most bytes of the bodies of all requests that are being handled.
    pub max_bytes_in_flight: usize,
    /// The most bytes of a request's head.
    pub max_header_bytes: usize,
    /// The most header lines of a request.
    pub max_headers: usize,
    /// The most connections at one time.
    pub max_connections: usize,
    /// The most connections from one address at one time; 0 for no bound.
    pub max_connections_per_address: usize,
    /// How long a connection may wait for its next request.
    pub idle_timeout: Duration,
    /// How long a client may take to send a request's head, from its first byte.
    pub header_timeout: Duration,
    /// How long a request may take until its answer is made.
    pub request_timeout: Duration,
    /// How long a client may take to send a request's body.
    pub body_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    /// How often the registry may be fetched.
    pub rate_limiter: RateLimiterSettings,
}

/// How often the registry may be fetched, over all clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RateLimiterSettings {
    /// Whether who is beyond is refused; else such fetches are only counted.
    pub enabled: bool,
    /// Whether Eureka's own clients and servers count too.
    pub throttle_standard_clients: bool,
    /// By the names that they give themselves, clients that do not count either.
    pub privileged_clients: Vec<String>,
    /// How many fetches may come at once; 0 or less for no limit.
    pub burst_size: i64,
    /// How many fetches a second there may be, of whatever kind; 0 or less for no limit.
    pub registry_fetch_average_rate: i64,
    /// How many fetches of the whole registry a second; 0 or less for no limit.
    pub full_fetch_average_rate: i64,
}

/// How a registry keeps leases.
#[derive(Debug, Clone, PartialEq)]
pub struct RegistrySettings {
    /// Whether too few renewals stop eviction.
    pub self_preservation: bool,
    /// From how many leases on.
    pub self_preservation_min_leases: usize,
    /// Which part of the expected renewals is enough.
    pub renewal_percent_threshold: f64,
    /// How the expectation is made.
    pub accounting: RenewalAccounting,
    /// The one renewal interval that global-interval accounting expects, in seconds.
    pub global_renewal_interval_secs: u32,
    /// The clients that global-interval accounting expects before any registers.
    pub expected_clients: u64,
    /// Whether a renewed lease lives twice its duration, as in Java.
    pub doubling: Doubling,
    /// Whether a client's own UP or OUT_OF_SERVICE counts over an existing lease's.
    pub trust_client_status: bool,
    /// Whether a heartbeat's `lastDirtyTimestamp` is compared.
    pub sync_when_timestamp_differs: bool,
    /// How long a change stays in the delta.
    pub delta_retention: Duration,
    /// The most changes the log holds.
    pub max_changes: usize,
    /// The most instances.
    pub max_instances: usize,
    /// The most applications.
    pub max_applications: usize,
    /// The most instances of one application.
    pub max_instances_per_application: usize,
    /// The most bytes of one instance's metadata.
    pub max_metadata_bytes: usize,
    /// The most bytes of all texts of one instance.
    pub max_instance_bytes: usize,
    /// The most VIP addresses of one instance, plain and secure together.
    pub max_vips: usize,
    /// This server's own instance id: the one instance shown as the coordinating server.
    pub own_instance_id: Arc<str>,
}

/// Whether a renewed lease lives twice its duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubling {
    /// While a Java server is among the peers.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How the expectation of renewals is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewalAccounting {
    /// The sum over all leases of what their own intervals say.
    PerLease,
    /// Java's way: clients times one interval for all.
    GlobalInterval,
}

/// How a node caches what it serves.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheSettings {
    /// Whether reads go through the read-only level.
    pub use_read_only: bool,
    /// How often the read-only level is brought up to date.
    pub update_interval: Duration,
    /// After this long a document is encoded anew though nothing changed, for its lease times.
    pub expiration: Duration,
    /// The most bytes that cached documents take.
    pub max_bytes: u64,
}

/// Who a node's peers are and how it treats them.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerSettings {
    /// Where the settings say that they are, zone by zone.
    pub zones: ZoneSettings,
    /// Where they come from: what follows from the zones.
    pub sources: Vec<PeerSource>,
    /// A file with more of them, one on each line; read again and again.
    pub file: Option<PathBuf>,
    /// How often names are resolved and the file is read.
    pub refresh_interval: Duration,
    /// How long a connection to one may take.
    pub connect_timeout: Duration,
    /// How long an answer may take.
    pub read_timeout: Duration,
    /// How long a change waits for others to go along.
    pub linger: Duration,
    /// The most bytes of a peer's answer, after unpacking.
    pub max_answer_bytes: usize,
    /// The most keys that wait for one peer.
    pub queue_capacity: usize,
    /// How often a silent peer is asked whether it is well.
    pub contact_interval: Duration,
    /// Between two comparisons with the other nodes of this kind; zero for none.
    pub compare_interval: Duration,
    /// How long the copy of the peers' registry may take at start.
    pub sync_timeout: Duration,
    /// Whether this server registers itself; `None` for: if it has peers.
    pub register_itself: Option<bool>,
}

/// When a node's background work runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TimerSettings {
    /// Between eviction passes.
    pub eviction: Duration,
    /// Between looks for changes that are too old for the delta.
    pub delta_retention: Duration,
    /// Between updates of the threshold in global-interval accounting.
    pub renewal_threshold: Duration,
}

/// Who a node says it is, in its status document and in the registry.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceSettings {
    /// Its application.
    pub app_name: String,
    /// Its host name.
    pub host_name: String,
    /// Its address.
    pub ip_address: String,
    /// Whether its address stands for its host name.
    pub prefer_ip_address: bool,
    /// How often it renews its own lease, in seconds.
    pub renewal_interval_secs: i32,
    /// How long that lease lives, in seconds.
    pub duration_secs: i32,
    /// Metadata that it registers of itself.
    pub metadata: Named<String>,
    /// Its instance id.
    pub id: String,
    /// A label of the environment.
    pub environment: String,
    /// A label of the data centre.
    pub datacenter: String,
}

/// Who may use a node.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessSettings {
    /// The name.
    pub user: String,
    /// The password; if it is empty, everybody may.
    pub password: Secret,
}

/// How a node stops: one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct StopSettings {
    /// How long it still takes requests, so that balancers and clients see that it goes.
    pub grace: Duration,
    /// How long requests that are under way may take after that.
    pub drain: Duration,
    /// How long telling the peers what they have not heard may take after that.
    pub flush: Duration,
}

/// What a node logs.
#[derive(Debug, Clone, PartialEq)]
pub struct LogSettings {
    /// A level, or a filter such as `info,eurekad::registry=debug`.
    pub filter: String,
    /// For people or for machines.
    pub format: LogFormat,
    /// Whether each request has a line.
    pub access: bool,
}

/// What a node shows of itself to Prometheus.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricsSettings {
    /// How many applications have figures of their own.
    pub applications: usize,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines to read.
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Settings {
    /// Every setting at the default that [`SETTINGS`] names.
    fn default() -> Self {
        from_arguments(&[]).expect("the defaults in the table are valid: a test parses each")
    }
}

impl Settings {
    /// This server's own instance id, given the port it listens on.
    ///
    /// **Compat:** Spring's default: host name, application and port.
    pub fn own_instance_id(&self, port: u16) -> String {
        let InstanceSettings { app_name, host_name, id, .. } = &self.instance;
        if id.is_empty() { format!("{host_name}:{app_name}:{port}") } else { id.clone() }
    }
}
