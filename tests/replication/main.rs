//! Several nodes in one process: their real routers over a network that can be cut, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

mod boot;
mod broken_peers;
mod cases;
mod catalog;
mod catalog_queue;
mod foreign;
mod hostile;
mod identity;
mod list_changes;
mod lists;
mod log;
mod net;
mod outbound;
mod relay;
mod senders;
mod walks;
mod zones;
