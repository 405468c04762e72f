//! One connection's bytes, watched: what its place is for, and how long its client may take.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_io_timeout::TimeoutStream;

use super::places::{Phase, Place};
use super::standstill::Standstill;
use crate::telemetry::HttpMetrics;

/// The answer to a head that did not come in time. No other is under way then.
const TOO_SLOW: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A stream of which it is known whether its client is about to send something, or to take it.
pub(super) struct Watched {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    place: Arc<Place>,
    standstill: Arc<Standstill>,
    metrics: HttpMetrics,
    /// How long it may be quiet between requests.
    idle: Duration,
    /// How long a request's head may take from its first byte.
    head: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl Watched {
    pub(super) fn new(
        stream: TimeoutStream<TcpStream>,
        place: Arc<Place>,
        standstill: Arc<Standstill>,
        metrics: HttpMetrics,
        idle: Duration,
        head: Duration,
    ) -> Self {
        Self {
            stream: Box::pin(stream),
            place,
            standstill,
            metrics,
            idle,
            head,
            deadline: Box::pin(sleep(idle)),
        }
    }

    /// Whether all that the client has sent has been read, and its end too.
    fn client_has_gone(&self) -> bool {
        // The system itself is asked: of what has come since the last event tokio does not know yet.
        let stream = self.stream.as_ref().get_ref().get_ref();
        let Ok(another) = stream.as_fd().try_clone_to_owned() else { return false };
        match std::net::TcpStream::from(another).peek(&mut [0]) {
            Ok(more) => more == 0,
            Err(e) => e.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// The error, if a client has had all the time it has.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let phase = self.place.phase();
        if !matches!(phase, Phase::Quiet | Phase::Head) || self.deadline.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        if phase == Phase::Head {
            self.metrics.heads_too_slow.inc();
            // If the system has no room for these few bytes, the client has to do without.
            let _ = self.stream.as_mut().poll_write(cx, TOO_SLOW);
        } else {
            self.metrics.connections_idle.inc();
        }
        Poll::Ready(io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match this.stream.as_mut().poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                if buf.filled().len() > before {
                    if this.place.goes(&[Phase::Quiet], Phase::Head) {
                        this.deadline.set(sleep(this.head));
                    }
                    if this.standstill.is_just_over() && this.client_has_gone() {
                        this.place.abandon();
                    }
                }
                Poll::Ready(Ok(()))
            }
            Poll::Pending => this.poll_deadline(cx).map(Err),
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
        }
    }
}

impl Watched {
    fn note_write(&self, written: &Poll<io::Result<usize>>) {
        if written.is_pending() {
            self.place.goes(&[Phase::Answered], Phase::Stalled);
        } else {
            self.place.goes(&[Phase::Stalled], Phase::Answered);
        }
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream.as_mut().poll_write(cx, bytes);
        this.note_write(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream.as_mut().poll_write_vectored(cx, slices);
        this.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// HTTP calls this once it has written all that it had: an answer that was made has gone out then.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = this.stream.as_mut().poll_flush(cx);
        if matches!(flushed, Poll::Ready(Ok(()))) && this.place.goes(&[Phase::Answered], Phase::Quiet) {
            this.deadline.set(sleep(this.idle));
            // So that this task is woken by it, whether more is read now or not.
            if let Poll::Ready(late) = this.poll_deadline(cx) {
                return Poll::Ready(Err(late));
            }
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.as_mut().poll_shutdown(cx)
    }
}

/// A request's body of which it is known whether the node waits for it.
pub(super) struct Asked {
    body: Incoming,
    place: Arc<Place>,
    metrics: HttpMetrics,
    /// Its client has gone, and this has been said.
    refused: bool,
}

impl Asked {
    pub(super) fn new(body: Incoming, place: Arc<Place>, metrics: HttpMetrics) -> Self {
        Self { body, place, metrics, refused: false }
    }
}

impl Body for Asked {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        match &polled {
            // It waits from the first time on: who sends byte by byte is waited for all the time.
            Poll::Pending => this.place.goes(&[Phase::Handled], Phase::Body),
            Poll::Ready(Some(Ok(_))) if !this.body.is_end_stream() => false,
            Poll::Ready(_) => this.place.goes(&[Phase::Body], Phase::Handled),
        };
        if polled.is_ready() && this.place.is_abandoned() {
            if !std::mem::replace(&mut this.refused, true) {
                this.metrics.changes_abandoned.inc();
            }
            return Poll::Ready(Some(Err("its client has gone".into())));
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.place.goes(&[Phase::Body], Phase::Handled);
    }
}

/// An answer's body: once all of it is taken, what is left is to send it.
pub(super) struct Told {
    body: axum::body::Body,
    place: Arc<Place>,
}

impl Told {
    pub(super) fn new(body: axum::body::Body, place: Arc<Place>) -> Self {
        Self { body, place }
    }
}

impl Body for Told {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.place.goes(&[Phase::Handled, Phase::Body], Phase::Answered);
    }
}
