//! The transport of production: HTTP by reqwest.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use reqwest::Client;
use reqwest::redirect::Policy;

use super::transport::{Failure, Transport, TransportError};

/// Connections to a peer that nobody used for so long are closed, before the other side does it unseen.
const IDLE: Duration = Duration::from_secs(30);

/// Sends requests over the network.
#[derive(Debug, Clone)]
pub struct HttpTransport {
    client: Client,
    max_bytes: usize,
}

impl HttpTransport {
    /// A transport with such time-outs, for the connection and for silence after that, that takes answers of so many
    /// bytes at most, after unpacking.
    ///
    /// # Errors
    /// If the system refuses what an HTTP client needs.
    pub fn new(connect: Duration, read: Duration, max_bytes: usize) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .connect_timeout(connect)
            .read_timeout(read)
            .pool_idle_timeout(IDLE)
            .redirect(Policy::none())
            // Peers are reached directly, as Java servers reach theirs: a proxy that the environment names for the world
            // outside would get every change, and the credentials with it.
            .no_proxy()
            .tcp_nodelay(true)
            .gzip(true)
            .build()?;
        Ok(Self { client, max_bytes })
    }
}

impl Transport for HttpTransport {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>> {
        Box::pin(async move {
            let request = request.try_into().map_err(|e| failed(&e))?;
            let mut response = self.client.execute(request).await.map_err(|e| failed(&e))?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut body = BytesMut::new();
            while let Some(chunk) = response.chunk().await.map_err(|e| failed(&e))? {
                if body.len() + chunk.len() > self.max_bytes {
                    let detail = format!(
                        "more than the {} bytes that eurekad.limits.answer-bytes allows",
                        self.max_bytes
                    );
                    return Err(TransportError { failure: Failure::TooLarge, detail });
                }
                body.extend_from_slice(&chunk);
            }
            let mut whole = Response::new(body.freeze());
            *whole.status_mut() = status;
            *whole.headers_mut() = headers;
            Ok(whole)
        })
    }
}

fn failed(error: &reqwest::Error) -> TransportError {
    let failure = if error.is_timeout() {
        Failure::TimedOut
    } else if error.is_connect() || error.is_builder() {
        Failure::Unreachable
    } else {
        Failure::Broken
    };
    // The innermost cause says what happened; the outer ones repeat the URL, which may hold a password.
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let detail = if failure == Failure::TimedOut {
        // "deadline has elapsed", "operation timed out": the same once more.
        String::new()
    } else if cause.source().is_none() && error.source().is_none() {
        "no further detail".to_owned()
    } else {
        cause.to_string()
    };
    TransportError { failure, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_peer_that_does_not_answer_in_time_only_that_is_said() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let transport = HttpTransport::new(Duration::from_secs(5), Duration::from_millis(50), 1000).unwrap();
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = format!("http://{}/", silent.local_addr().unwrap()).parse().unwrap();
        let failed = transport.send(request).await.unwrap_err();
        assert_eq!(failed.to_string(), "did not answer in time");
    }
}
