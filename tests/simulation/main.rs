//! Whole clusters in one process, from one seed: real nodes over a simulated network, in virtual time.
//!
//! A history is a while of clients and operators doing what they do while things go wrong, then a while in which all is
//! well, then quiet. What must hold then, and all the time, are the invariants, one file each.
//!
//! `SIM_SEEDS=5000 cargo test --test simulation` runs more of them, `SIM_SEED=17` runs one and tells its history.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]
#![allow(clippy::disallowed_methods, reason = "tokio's own paused time is the only clock of a simulation")]

mod apart;
mod at_one_instant;
mod calls;
mod client;
mod coverage;
mod history;
mod invariants;
mod java;
mod java_tests;
mod net;
mod nodes;
mod on_its_way;
mod rules;
mod silence;
mod told_once;
mod world;
