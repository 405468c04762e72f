//! Several nodes in one process: their real routers over a network that can be cut, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

mod access;
mod boot;
mod broken_peers;
mod cases;
mod catalog;
mod catalog_queue;
mod floods;
mod foreign;
mod found;
mod hostile;
mod identity;
mod list_changes;
mod lists;
mod log;
mod metrics;
mod mixed;
mod net;
mod outbound;
mod relay;
mod repair;
mod said;
mod senders;
mod slow_peers;
mod stamps;
mod strangers;
mod sync;
mod tells;
mod walks;
mod ways_to_go;
mod zones;
