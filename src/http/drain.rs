//! Bodies that nobody read.
//!
//! A request may be answered before its body has come: the path is unknown, the type unsupported, the body too large.
//! If the connection were closed then, the client would find it broken while it still sends, and never see the answer.
//! So what is left of the body is read and thrown away first, within bounds.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;

/// The most that is thrown away of one body.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The longest that this may take.
const LONGEST: Duration = Duration::from_secs(10);

/// A body that its reader and its drainer share.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Body>>);

/// What is left of a body once its request is answered.
#[derive(Debug)]
pub(super) struct Rest {
    body: Option<Shared>,
}

/// The request, and a hold on its body.
pub(super) fn watched(request: Request) -> (Request, Rest) {
    // Who expects to be told to go on has sent nothing, and would begin to if it were drained.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return (request, Rest { body: None });
    }
    let (parts, body) = request.into_parts();
    let shared = Shared(Arc::new(Mutex::new(body)));
    (Request::from_parts(parts, Body::new(shared.clone())), Rest { body: Some(shared) })
}

impl Rest {
    /// Reads to the end. False if the end does not come within the bounds: then the connection cannot go on.
    pub(super) async fn drain(self) -> bool {
        let Some(mut body) = self.body else { return true };
        let to_the_end = async {
            let mut left = MOST_BYTES;
            while let Some(frame) = body.frame().await {
                let Ok(frame) = frame else { return false };
                let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                    return false;
                };
                left = rest;
            }
            true
        };
        tokio::time::timeout(LONGEST, to_the_end).await.unwrap_or(false)
    }
}

impl HttpBody for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
