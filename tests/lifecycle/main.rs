//! One node through its router, in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

mod access;
mod bad_input;
mod bad_input_json;
mod bad_input_json_text;
mod bad_input_paths;
mod bad_input_size;
mod bad_input_sweep;
mod bad_input_xml;
mod cache;
mod codes;
mod delta;
mod leases;
mod limits;
mod metrics;
mod ops;
mod overrides;
mod peers_in;
mod reads;
mod reads_agreement;
mod reads_negotiation;
mod registering;
mod registering_tolerance;
mod self_preservation;
mod support;
