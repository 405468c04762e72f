//! One request to a peer, and who answers it.

use std::time::Duration;

use bytes::Bytes;
use eurekad_wire::{ReplicationInstance, ReplicationListResponse, decode, encode};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::node::PeerEurekaNode;
use super::problem::Problem;
use super::transport::{Failure, TransportError};
use super::view::{PeerKind, PeerState};
use super::{CLOCK_HEADER, LOST_HEADER, NODE_HEADER, NodeId, REFUSED_HEADER, STATE_HEADER};
use crate::registry::Stamp;

impl PeerEurekaNode {
    /// Sends Eureka's batch; an empty one teaches who answers, and any Eureka server takes it.
    pub(super) async fn batch(
        &self,
        items: &[ReplicationInstance],
    ) -> Result<ReplicationListResponse, Problem> {
        let body = Bytes::from(encode::replication_list(items));
        let response = self.exchange("peerreplication/batch/", body).await?;
        let answer =
            decode::replication_response(response.body()).map_err(|e| Problem::NotEureka(e.to_string()))?;
        if answer.responses.len() != items.len() {
            return Err(Problem::WrongLength { sent: items.len(), answered: answer.responses.len() });
        }
        self.learn(response.headers());
        Ok(answer)
    }

    /// Asks a node of this kind.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        question: &impl Serialize,
    ) -> Result<T, Problem> {
        let body = serde_json::to_vec(question).map_err(|e| Problem::NotEureka(e.to_string()))?;
        let response = self.exchange(path, Bytes::from(body)).await?;
        if header_of::<NodeId>(response.headers(), NODE_HEADER).is_none() {
            // Somebody else answers there now: who that is, the next empty batch will tell.
            self.forget_kind();
            return Err(Problem::NotOurs);
        }
        let answer =
            serde_json::from_slice(response.body()).map_err(|e| Problem::NotEureka(e.to_string()))?;
        self.learn(response.headers());
        Ok(answer)
    }

    async fn exchange(&self, path: &str, body: Bytes) -> Result<Response<Bytes>, Problem> {
        let wiring = self.wiring();
        let started = wiring.clock.tick();
        let mut request = self.request(Method::POST, path, body);
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let limit = wiring.settings.connect_timeout + wiring.settings.read_timeout;
        let response = match tokio::time::timeout(limit, wiring.transport.send(request)).await {
            Ok(answer) => answer.inspect_err(|e| self.count_too_large(e)).map_err(Problem::NoAnswer)?,
            Err(_elapsed) => {
                let detail = format!("nothing for {limit:?}");
                return Err(Problem::NoAnswer(TransportError { failure: Failure::TimedOut, detail }));
            }
        };
        self.observe_clock(&response)?;
        if let Some(ago) = header_of::<u64>(response.headers(), LOST_HEADER) {
            wiring.losses.note(started.before(Duration::from_millis(ago)));
        }
        if !response.status().is_success() {
            return Err(Problem::Status(response.status()));
        }
        self.note_round_trip(wiring.clock.tick().since(started));
        Ok(response)
    }

    pub(super) fn count_too_large(&self, error: &TransportError) {
        if error.failure == Failure::TooLarge {
            self.wiring().metrics.answers_too_large.inc();
        }
    }

    /// A request to this peer, with what every one carries.
    pub(super) fn request(&self, method: Method, path: &str, body: Bytes) -> Request<Bytes> {
        let wiring = self.wiring();
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.url().join(path).parse().expect("a parsed URL with a fixed path is a URL");
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        // **Compat:** how servers tell each other from clients.
        headers.insert("discoveryidentity-name", HeaderValue::from_static("DefaultServer"));
        headers.insert("discoveryidentity-version", HeaderValue::from_static("1.0"));
        let mut say = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        say(NODE_HEADER, &wiring.id.to_string());
        say(CLOCK_HEADER, &wiring.registry.stamps().now().to_string());
        if let Some(ago) = wiring.losses.ago(wiring.clock.tick()) {
            say(LOST_HEADER, &ago.as_millis().to_string());
        }
        if let Some(authorization) = self.url().authorization() {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }

    /// Takes notice of the peer's clock; of one that is too far ahead, or that says so of ours, a person has to.
    fn observe_clock(&self, response: &Response<Bytes>) -> Result<(), Problem> {
        let headers = response.headers();
        if response.status() == StatusCode::BAD_REQUEST && headers.contains_key(REFUSED_HEADER) {
            return Err(Problem::OwnClock);
        }
        match header_of::<Stamp>(headers, CLOCK_HEADER) {
            Some(stamp) => self.wiring().registry.observe(stamp).map_err(Problem::TheirClock),
            None => Ok(()),
        }
    }

    /// Learns from an answer who gave it.
    fn learn(&self, headers: &HeaderMap) {
        let own = self.wiring().id;
        let kind = match header_of::<NodeId>(headers, NODE_HEADER) {
            Some(id) if id == own => PeerKind::Myself,
            Some(id) => PeerKind::Ours(id),
            None => PeerKind::Java,
        };
        self.succeeded(kind, PeerState::of(headers.get(STATE_HEADER).and_then(|word| word.to_str().ok())));
    }
}

/// A header, if it is there and can be read.
pub(super) fn header_of<T: std::str::FromStr>(headers: &HeaderMap, name: &str) -> Option<T> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}
