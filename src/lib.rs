//! eurekad: a Eureka-compatible service registry.
//!
//! The modules, from the bottom up; each uses only those above it in this list.
//!
//! | module | what it owns |
//! |---|---|
//! | [`clock`] | wall time for the wire, monotonic time for decisions |
//! | [`version`] | what was built |
//! | [`settings`] | every setting, its name and its default |
//! | [`telemetry`] | logs and counters |
//! | [`blocking`] | long computations, off the threads that serve heartbeats |
//! | [`registry`] | leases, overrides, the change log, eviction |
//! | [`cache`] | encoded documents |
//! | [`peers`] | the other nodes: what they have to be told, the copy at start |
//! | [`http`] | the Eureka API |
//! | [`ops`] | what people use: health, metrics, the page at `/` |
//! | [`node`] | one running node |
//! | [`cli`] | the command line |

pub mod blocking;
pub mod cache;
pub mod cli;
pub mod clock;
pub mod http;
pub mod node;
pub mod ops;
pub mod peers;
pub mod registry;
pub mod settings;
pub mod telemetry;
pub mod version;
