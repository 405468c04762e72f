//! Figures that are measured for one answer.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry as Names, Unit};

type Labels<const N: usize> = [(&'static str, String); N];

/// A gauge that need not be whole.
type Real = Gauge<f64, AtomicU64>;

/// Figures with names and help, to be written once.
#[derive(Debug)]
pub(super) struct Figures(Names);

impl Figures {
    /// None yet; `prefix` goes in front of each name.
    pub(super) fn new(prefix: &str) -> Self {
        Self(Names::with_prefix(prefix))
    }

    pub(super) fn into_names(self) -> Names {
        self.0
    }

    /// A whole number that goes up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) {
        let gauge = Gauge::<i64>::default();
        gauge.set(whole(value));
        self.0.register(name, help, gauge);
    }

    /// Any number that goes up and down.
    pub(super) fn real(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Real::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    /// Seconds; their name is put behind the metric's.
    pub(super) fn seconds(&mut self, name: &str, help: &str, value: f64) {
        let gauge = Real::default();
        gauge.set(value);
        self.0.register_with_unit(name, help, Unit::Seconds, gauge);
    }

    /// Bytes; their name is put behind the metric's.
    pub(super) fn bytes(&mut self, name: &str, help: &str, value: u64) {
        let gauge = Gauge::<i64>::default();
        gauge.set(whole(value));
        self.0.register_with_unit(name, help, Unit::Bytes, gauge);
    }

    /// What has been counted elsewhere.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        self.0.register(name, help, counter);
    }

    /// Seconds that have been counted elsewhere.
    pub(super) fn seconds_counter(&mut self, name: &str, help: &str, value: f64) {
        let counter = Counter::<f64, AtomicU64>::default();
        counter.inc_by(value);
        self.0.register_with_unit(name, help, Unit::Seconds, counter);
    }

    /// A gauge for each combination of labels.
    pub(super) fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, u64)>,
    ) {
        let family = Family::<Labels<N>, Gauge>::default();
        rows.into_iter().for_each(|(labels, value)| {
            family.get_or_create(&labels).set(whole(value));
        });
        self.0.register(name, help, family);
    }

    /// Seconds for each combination of labels.
    pub(super) fn seconds_each<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, f64)>,
    ) {
        let family = Family::<Labels<N>, Real>::default();
        rows.into_iter().for_each(|(labels, value)| {
            family.get_or_create(&labels).set(value);
        });
        self.0.register_with_unit(name, help, Unit::Seconds, family);
    }

    /// A counter for each combination of labels.
    pub(super) fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = (Labels<N>, u64)>,
    ) {
        let family = Family::<Labels<N>, Counter>::default();
        rows.into_iter().for_each(|(labels, value)| {
            family.get_or_create(&labels).inc_by(value);
        });
        self.0.register(name, help, family);
    }

    /// Words that say what something is.
    pub(super) fn info<const N: usize>(&mut self, name: &str, help: &str, words: [(&'static str, &str); N]) {
        let words = words.map(|(label, word)| (label, word.to_owned()));
        self.0.register(name, help, Info::new(words));
    }
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
