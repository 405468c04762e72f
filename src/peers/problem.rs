//! Why an exchange with a peer failed, with what a person can do about it.

use http::StatusCode;

use super::transport::TransportError;
use crate::registry::FromTheFuture;

/// Displayed after "the peer".
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{0}")]
    NoAnswer(TransportError),
    #[error("answered {0}{hint}", hint = hint(*.0))]
    Status(StatusCode),
    #[error("answered {answered} items of {sent}; something between it and this node changes its answers")]
    WrongLength { sent: usize, answered: usize },
    #[error("answered what no Eureka server would ({0}); check its URL in eureka.client.service-url")]
    NotEureka(String),
    #[error("is no node of this kind any more")]
    NotOurs,
    #[error(
        "refuses this node, whose clock is more than a day ahead of its own; set this machine's clock right and \
             restart"
    )]
    OwnClock,
    #[error("sends {0}; set its clock right and restart it")]
    TheirClock(FromTheFuture),
}

/// What to do about a status, to be put after it.
fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 | 403 => "; check the user and password in its URL in eureka.client.service-url",
        404 => "; check the path of its URL in eureka.client.service-url (often /eureka/)",
        413 => "; raise its limit on request bodies",
        _ => "",
    }
}
