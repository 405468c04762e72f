//! The only door to the network: a request in, an answer out.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response};

/// Sends requests to other nodes. Over HTTP in production; in tests to the routers of nodes in the same process.
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Sends one request, whose URI is absolute, and reads the whole answer.
    ///
    /// # Errors
    /// If there is no answer: nobody listens, the connection broke, the time ran out.
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>>;
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The host's name does not resolve, nobody listens there, or the connection could not be made.
    Unreachable,
    /// The connection was there and no whole answer came in time.
    TimedOut,
    /// The connection broke, or what came was no HTTP.
    Broken,
    /// The answer is larger than is taken.
    TooLarge,
}

/// There is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{detail}", match failure {
    Failure::Unreachable => "cannot be reached",
    Failure::TimedOut => "did not answer in time",
    Failure::Broken => "broke the connection",
    Failure::TooLarge => "answered too much",
}, if detail.is_empty() { "" } else { ": " })]
pub struct TransportError {
    /// What kind of failure.
    pub failure: Failure,
    /// What the network said, where that is more than the failure says.
    pub detail: String,
}
