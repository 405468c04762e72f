//! The program itself, over real sockets: slow, broken and hostile clients, peers, signals, a log that nobody reads.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

mod clients;
mod families;
mod honest;
mod hostile;
mod peers;
mod process;
mod program;
mod standstill;
mod stop;
