//! What was asked, how it was answered, and how long that took.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry as Names, Unit};

/// Upper ends of the histogram's buckets, seconds. A heartbeat takes some ten microseconds, a full registry of a large
/// estate some hundred milliseconds when it has to be encoded first.
const BUCKETS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// The counters of requests. Labels come from the routes, the methods of HTTP and the codes that handlers answer, so
/// that no client can make more of them.
#[derive(Debug, Clone)]
pub struct RequestMetrics {
    answered: Family<Answer, Counter>,
    took: Family<Asked, Histogram, fn() -> Histogram>,
    running: Gauge,
    abandoned: Counter,
}

/// One answered request.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The template of its path, or a word for all that have none.
    pub route: &'a str,
    /// Its method.
    pub method: &'static str,
    /// The answer's code.
    pub status: u16,
    /// From its head to the answer.
    pub took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    route: String,
    method: &'static str,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self {
            answered: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            running: Gauge::default(),
            abandoned: Counter::default(),
        }
    }
}

impl RequestMetrics {
    /// A request begins; it is over when what is returned is dropped.
    pub fn begin(&self) -> Running<'_> {
        self.running.inc();
        Running { metrics: self, answered: false }
    }

    pub(super) fn name_into(&self, names: &mut Names) {
        names.register("http_requests", "Requests answered", self.answered.clone());
        let help = "From a request's head until its answer is ready";
        names.register_with_unit("http_request_duration", help, Unit::Seconds, self.took.clone());
        names.register("http_requests_running", "Requests that are being answered", self.running.clone());
        let help = "Requests whose client went before the answer was ready";
        names.register("http_requests_abandoned", help, self.abandoned.clone());
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub struct Running<'a> {
    metrics: &'a RequestMetrics,
    answered: bool,
}

impl Running<'_> {
    /// It is answered.
    pub fn answered(mut self, request: &Measured<'_>) {
        let Measured { route, method, status, took } = *request;
        let route = route.to_owned();
        self.metrics.took.get_or_create(&Asked { route: route.clone(), method }).observe(took.as_secs_f64());
        self.metrics.answered.get_or_create(&Answer { route, method, status }).inc();
        self.answered = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.metrics.running.dec();
        if !self.answered {
            self.metrics.abandoned.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_runs_until_it_is_answered_or_its_client_is_gone() {
        let metrics = RequestMetrics::default();
        let (first, second) = (metrics.begin(), metrics.begin());
        assert_eq!(metrics.running.get(), 2);
        let took = Duration::from_micros(700);
        first.answered(&Measured { route: "/apps", method: "GET", status: 200, took });
        drop(second);
        assert_eq!((metrics.running.get(), metrics.abandoned.get()), (0, 1));
        let mut names = Names::default();
        metrics.name_into(&mut names);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &names).unwrap();
        for line in [
            r#"http_requests_total{route="/apps",method="GET",status="200"} 1"#,
            r#"http_request_duration_seconds_bucket{le="0.0005",route="/apps",method="GET"} 0"#,
            r#"http_request_duration_seconds_bucket{le="0.001",route="/apps",method="GET"} 1"#,
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }
}
