//! Clusters in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

mod java;
mod java_tests;
