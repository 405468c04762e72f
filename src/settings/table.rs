//! The table of settings.

use std::time::Duration;

use super::property::{HIDDEN, without_credentials};
use super::values::{
    address, at_least_one, between, boolean, context_path, fraction, host_name, interval_ms, log_filter,
    millis, number, one_of, optional, page_path, password, peers, port, url_path, whole, words,
};
use super::{Doubling, LogFormat, RenewalAccounting, Settings};

/// One setting: a row of the table.
pub struct Setting {
    /// Its key, in Spring's kebab form.
    pub key: &'static str,
    /// What it is if nobody says otherwise.
    pub default: &'static str,
    /// What it is for, in one line; the unit is in the key or here.
    pub about: &'static str,
    /// Reads the value into its place. The error says what was expected.
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
}

impl Setting {
    /// Whether its value is shown to nobody.
    pub fn is_secret(&self) -> bool {
        self.key.ends_with(".password")
    }

    /// A value of it, as it may be shown.
    pub(super) fn shown(&self, value: &str) -> String {
        match self.is_secret() {
            true if value.is_empty() => String::new(),
            true => HIDDEN.to_owned(),
            false => without_credentials(value),
        }
    }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key, self.default)
    }
}

macro_rules! rows {
    ($($key:literal = $default:literal, $about:literal, |$s:ident, $v:ident| $place:expr => $value:expr;)*) => {
        &[$(Setting {
            key: $key,
            default: $default,
            about: $about,
            set: |$s, $v| { $place = $value; Ok(()) },
        }),*]
    };
}

/// Every setting there is, in the order in which they are shown.
pub static SETTINGS: &[Setting] = rows! {
    "server.port" = "8761", "Port to listen on; 0 lets the system choose one",
        |s, v| s.http.port => port(v)?;
    "server.address" = "", "Address to listen on; empty: all, by IPv6 and IPv4; [::] takes both too, 0.0.0.0 IPv4 alone",
        |s, v| s.http.bind => optional(v, address)?;
    "server.servlet.context-path" = "", "A path in front of all others, such as /registry",
        |s, v| s.http.context_path => context_path(v)?;
    "management.server.port" = "", "A port of its own for health and metrics; empty: the port of everything else",
        |s, v| s.http.management_port => optional(v, port)?;
    "management.server.address" = "", "The address of that port; empty: the address of everything else",
        |s, v| s.http.management_bind => optional(v, address)?;
    "spring.security.user.name" = "user", "Who may use this server, once a password is set",
        |s, v| s.access.user => v.to_owned();
    "spring.security.user.password" = "", "The password; with one, everything but health asks for it",
        |s, v| s.access.password => password(v)?;
    "eureka.client.service-url.default-zone" = "", "The peers' API URLs, separated by commas; dns+http://NAME:PORT/eureka/ for every address of a name",
        |s, v| s.peers.zones.default_zone => peers(v)?;
    "eureka.client.region" = "us-east-1", "This server's region; its peers are the servers of all zones of it",
        |s, v| s.peers.zones.region => host_name(v, "us-east-1")?;
    "eureka.client.prefer-same-zone-eureka" = "true", "List the own zone's servers first, or last",
        |s, v| s.peers.zones.prefer_same_zone => boolean(v)?;
    "eureka.client.use-dns-for-fetching-service-urls" = "false",
        "Take the peers from TXT records instead of URLs: txt.REGION.NAME lists zones, txt.ZONE its hosts",
        |s, v| s.peers.zones.use_dns => boolean(v)?;
    "eureka.client.eureka-server-d-n-s-name" = "", "The domain of those TXT records",
        |s, v| s.peers.zones.domain => if v.is_empty() { String::new() } else { host_name(v, "eureka.example.com")? };
    "eureka.client.eureka-server-port" = "8761", "The port of servers that TXT records list",
        |s, v| s.peers.zones.port => at_least_one(v)?;
    "eureka.client.eureka-server-u-r-l-context" = "eureka", "The path of their API",
        |s, v| s.peers.zones.context => url_path(v)?;
    "eurekad.peers.file" = "", "A file with more peers, one on each line; it may change while the server runs",
        |s, v| s.peers.file => (!v.is_empty()).then(|| v.into());
    "eureka.server.peer-eureka-nodes-update-interval-ms" = "5000",
        "How often names of peers are resolved and their file is read (Java: 600000)",
        |s, v| s.peers.refresh_interval => interval_ms(v)?;
    "eureka.client.register-with-eureka" = "auto",
        "Whether this server registers itself; auto: if it has peers",
        |s, v| s.peers.register_itself => one_of(v, &[("auto", None), ("true", Some(true)), ("false", Some(false))])?;
    "eureka.server.peer-node-connect-timeout-ms" = "1000", "How long a connection to a peer may take",
        |s, v| s.peers.connect_timeout => interval_ms(v)?;
    "eureka.server.peer-node-read-timeout-ms" = "5000", "How long a peer may be silent before it has answered",
        |s, v| s.peers.read_timeout => interval_ms(v)?;
    "eurekad.replication.linger-ms" = "0", "How long a change waits for others to go along (Java: 500)",
        |s, v| s.peers.linger => millis(v)?;
    "eurekad.limits.answer-bytes" = "1073741824", "The most bytes of a peer's answer, such as its whole registry",
        |s, v| s.peers.max_answer_bytes => at_least_one(v)?;
    "eurekad.limits.replication-queue" = "1000000", "The most keys that wait for one peer; the oldest heartbeats go first",
        |s, v| s.peers.queue_capacity => at_least_one(v)?;
    "eurekad.replication.contact-interval-ms" = "5000", "How often a peer that has nothing to be told is asked how it is",
        |s, v| s.peers.contact_interval => interval_ms(v)?;
    "eurekad.repair.interval-ms" = "60000", "How often the registry is compared with each other eurekad's; 0: never",
        |s, v| s.peers.compare_interval => millis(v)?;
    "eurekad.boot.sync-timeout-ms" = "30000",
        "How long a start waits for a peer to copy the registry from; a copy that has begun goes on as long as peers answer",
        |s, v| s.peers.sync_timeout => millis(v)?;
    "eureka.server.enable-self-preservation" = "true", "Stop evicting when too few renewals come in",
        |s, v| s.registry.self_preservation => boolean(v)?;
    "eureka.server.renewal-percent-threshold" = "0.85", "The part of the expected renewals that is enough, 0 to 1",
        |s, v| s.registry.renewal_percent_threshold => fraction(v)?;
    "eurekad.self-preservation.min-leases" = "10", "Self-preservation arms from so many leases on",
        |s, v| s.registry.self_preservation_min_leases => number(v)?;
    "eurekad.renewals.accounting" = "per-lease",
        "per-lease: expect what each lease's interval says; global-interval: Java's way",
        |s, v| s.registry.accounting => one_of(v, &[
            ("per-lease", RenewalAccounting::PerLease), ("global-interval", RenewalAccounting::GlobalInterval)])?;
    "eureka.server.expected-client-renewal-interval-seconds" = "30", "With global-interval: everybody's interval",
        |s, v| s.registry.global_renewal_interval_secs => at_least_one(v)?;
    "eureka.instance.registry.expected-number-of-clients-sending-renews" = "1",
        "With global-interval: clients expected before any registers",
        |s, v| s.registry.expected_clients => number(v)?;
    "eureka.server.renewal-threshold-update-interval-ms" = "900000", "With global-interval: how often the expectation is computed anew",
        |s, v| s.timers.renewal_threshold => interval_ms(v)?;
    "eureka.server.eviction-interval-timer-in-ms" = "60000", "Between eviction passes, in milliseconds",
        |s, v| s.timers.eviction => interval_ms(v)?;
    "eurekad.lease.duration-doubling" = "auto",
        "Whether a renewed lease lives twice its duration as in Java; auto: while a Java peer is known",
        |s, v| s.registry.doubling => one_of(v, &[
            ("auto", Doubling::Auto), ("true", Doubling::Always), ("false", Doubling::Never)])?;
    "eurekad.overrides.trust-client-status" = "false",
        "Whether a client's own UP or OUT_OF_SERVICE counts over its existing lease's",
        |s, v| s.registry.trust_client_status => boolean(v)?;
    "eureka.server.sync-when-timestamp-differs" = "true", "Compare the lastDirtyTimestamp of heartbeats",
        |s, v| s.registry.sync_when_timestamp_differs => boolean(v)?;
    "eureka.server.retention-time-in-m-s-in-delta-queue" = "180000", "How long a change stays in the delta",
        |s, v| s.registry.delta_retention => millis(v)?;
    "eureka.server.delta-retention-timer-interval-in-ms" = "30000", "How often changes that are too old for the delta are dropped",
        |s, v| s.timers.delta_retention => interval_ms(v)?;
    "eureka.server.disable-delta" = "false", "Answer delta fetches 403, so that clients fetch everything",
        |s, v| s.http.disable_delta => boolean(v)?;
    "eureka.server.use-read-only-response-cache" = "true", "Serve reads from a snapshot that is renewed by a timer",
        |s, v| s.cache.use_read_only => boolean(v)?;
    "eureka.server.response-cache-update-interval-ms" = "1000",
        "Between renewals of that snapshot (Java: 30000); 0 turns it off",
        |s, v| s.cache.update_interval => millis(v)?;
    "eureka.server.response-cache-auto-expiration-in-seconds" = "180",
        "After this long a document is encoded anew though nothing changed",
        |s, v| s.cache.expiration => Duration::from_secs(at_least_one::<u32>(v)?.into());
    "eurekad.cache.max-bytes" = "536870912", "The most bytes that cached documents take",
        |s, v| s.cache.max_bytes => number(v)?;
    "eurekad.boot.serve-while-syncing" = "false", "Answer reads while the peers' registry is still being copied",
        |s, v| s.http.serve_while_syncing => boolean(v)?;
    "eureka.server.wait-time-in-ms-when-sync-empty" = "300000",
        "How long a server that found nothing to copy answers reads 403, if default-open-for-traffic-count is 0",
        |s, v| s.http.wait_when_sync_empty => millis(v)?;
    "eureka.instance.registry.default-open-for-traffic-count" = "1",
        "0 makes a server that found nothing to copy wait before it answers reads, see wait-time-in-ms-when-sync-empty",
        |s, v| s.http.default_open_for_traffic_count => number(v)?;
    "eureka.server.experimental.registration.validation.data-center-info-id" = "false",
        "Refuse Amazon instances that name no instance-id, instead of filling it in",
        |s, v| s.http.require_amazon_instance_id => boolean(v)?;
    "eurekad.limits.instances" = "1000000", "The most instances; a registration beyond is answered 503",
        |s, v| s.registry.max_instances => at_least_one(v)?;
    "eurekad.limits.applications" = "100000", "The most applications; the registration of one more is answered 503",
        |s, v| s.registry.max_applications => at_least_one(v)?;
    "eurekad.limits.instances-per-application" = "100000",
        "The most instances of one application; a registration beyond is answered 503",
        |s, v| s.registry.max_instances_per_application => at_least_one(v)?;
    "eurekad.limits.changes" = "2000000", "The most changes held for deltas; beyond, delta is answered 403 for a while",
        |s, v| s.registry.max_changes => at_least_one(v)?;
    "eurekad.limits.metadata-bytes" = "262144", "The most bytes of one instance's metadata",
        |s, v| s.registry.max_metadata_bytes => at_least_one(v)?;
    "eurekad.limits.vips" = "1000", "The most VIP addresses of one instance; beyond, 413",
        |s, v| s.registry.max_vips => number(v)?;
    "eurekad.limits.body-bytes" = "262144", "The most bytes of a request body, and of one instance; beyond, 413",
        |s, v| s.http.max_body_bytes => at_least_one(v)?;
    "eurekad.limits.batch-bytes" = "67108864", "The most bytes of a replication batch; beyond, 413",
        |s, v| s.http.max_batch_bytes => at_least_one(v)?;
    "eurekad.limits.bytes-in-flight" = "268435456",
        "The most bytes of the bodies of all requests at one time; who comes beyond waits a second, then 503",
        |s, v| s.http.max_bytes_in_flight => at_least_one(v)?;
    "eurekad.limits.header-bytes" = "65536", "The most bytes of a request's line and headers; beyond, 431",
        |s, v| s.http.max_header_bytes => at_least_one(v)?;
    "eurekad.limits.headers" = "100", "The most header lines of a request; beyond, 431",
        |s, v| s.http.max_headers => between(v, 1, 10_000)?;
    "eurekad.limits.connections" = "10000",
        "The most connections at one time; for more, those that waited longest are closed",
        |s, v| s.http.max_connections => at_least_one(v)?;
    "eurekad.limits.connections-per-address" = "0",
        "The most connections from one address, or one /64 of IPv6; more are closed unheard; 0: no bound",
        |s, v| s.http.max_connections_per_address => number(v)?;
    "eurekad.limits.idle-timeout-ms" = "75000",
        "How long a connection may wait for its next request; keep it above the balancer's",
        |s, v| s.http.idle_timeout => interval_ms(v)?;
    "eurekad.limits.header-timeout-ms" = "10000",
        "How long a client may take to send a request's head, from its first byte; beyond, 408",
        |s, v| s.http.header_timeout => interval_ms(v)?;
    "eurekad.limits.request-timeout-ms" = "60000",
        "How long a request may take until its answer is made, its body's coming included; beyond, 503",
        |s, v| s.http.request_timeout => interval_ms(v)?;
    "eurekad.limits.body-timeout-ms" = "30000", "How long a client may take to send a request's body; beyond, 408",
        |s, v| s.http.body_timeout => interval_ms(v)?;
    "eurekad.limits.write-timeout-ms" = "30000",
        "How long a client may take nothing of its answer; beyond, its connection is closed",
        |s, v| s.http.write_timeout => interval_ms(v)?;
    "eureka.server.rate-limiter-enabled" = "false",
        "Refuse fetches of the registry beyond the rates below with 503; else they are only counted",
        |s, v| s.http.rate_limiter.enabled => boolean(v)?;
    "eureka.server.rate-limiter-throttle-standard-clients" = "false",
        "Whether Eureka's own clients and servers count for the rates too",
        |s, v| s.http.rate_limiter.throttle_standard_clients => boolean(v)?;
    "eureka.server.rate-limiter-privileged-clients" = "",
        "Further clients that do not count, by their DiscoveryIdentity-Name, separated by commas",
        |s, v| s.http.rate_limiter.privileged_clients => words(v);
    "eureka.server.rate-limiter-burst-size" = "10", "How many such fetches may come at once; 0: no limit",
        |s, v| s.http.rate_limiter.burst_size => whole(v)?;
    "eureka.server.rate-limiter-registry-fetch-average-rate" = "500",
        "How many fetches a second there may be, deltas and applications included; 0: no limit",
        |s, v| s.http.rate_limiter.registry_fetch_average_rate => whole(v)?;
    "eureka.server.rate-limiter-full-fetch-average-rate" = "100",
        "How many fetches of the whole registry a second; 0: no limit",
        |s, v| s.http.rate_limiter.full_fetch_average_rate => whole(v)?;
    "spring.application.name" = "eureka", "The application under which this server registers itself",
        |s, v| s.instance.app_name => v.to_owned();
    "eureka.instance.appname" = "", "The same, stronger; empty: spring.application.name",
        |s, v| s.instance.app_name => if v.is_empty() { s.instance.app_name.clone() } else { v.to_owned() };
    "eureka.instance.hostname" = "", "This server's host name; empty for the system's",
        |s, v| s.instance.host_name => v.to_owned();
    "eureka.instance.ip-address" = "", "This server's address; empty for the system's",
        |s, v| s.instance.ip_address => v.to_owned();
    "eureka.instance.instance-id" = "", "This server's instance id; empty makes host:application:port of it",
        |s, v| s.instance.id => v.to_owned();
    "eureka.instance.prefer-ip-address" = "false", "Register this server by its address, not by its host name",
        |s, v| s.instance.prefer_ip_address => boolean(v)?;
    "eureka.instance.lease-renewal-interval-in-seconds" = "30", "How often this server renews its own lease",
        |s, v| s.instance.renewal_interval_secs => at_least_one::<u16>(v)?.into();
    "eureka.instance.lease-expiration-duration-in-seconds" = "90", "How long that lease lives without a renewal",
        |s, v| s.instance.duration_secs => at_least_one::<u16>(v)?.into();
    "eureka.dashboard.enabled" = "true", "Whether there is a page for people",
        |s, v| s.http.dashboard => boolean(v)?;
    "eureka.dashboard.path" = "/", "Where it is",
        |s, v| s.http.dashboard_path => page_path(v)?;
    "eurekad.stop.grace-ms" = "3000",
        "How long a node that stops still takes requests, so that balancers and clients see that it goes",
        |s, v| s.stop.grace => millis(v)?;
    "eurekad.stop.drain-ms" = "3000", "After that, how long requests that are under way may take",
        |s, v| s.stop.drain => millis(v)?;
    "eurekad.stop.flush-ms" = "3000", "After that, how long telling the peers what they have not heard yet may take",
        |s, v| s.stop.flush => millis(v)?;
    "eureka.environment" = "test", "A label shown on the page",
        |s, v| s.instance.environment => v.to_owned();
    "eureka.datacenter" = "default", "A label shown on the page",
        |s, v| s.instance.datacenter => v.to_owned();
    "eurekad.log.filter" = "info", "What to log: a level, or a filter such as info,eurekad::registry=debug",
        |s, v| s.log.filter => log_filter(v)?;
    "eurekad.log.format" = "text", "text, or json: one object a line",
        |s, v| s.log.format => one_of(v, &[("text", LogFormat::Text), ("json", LogFormat::Json)])?;
    "eurekad.log.access" = "off", "on: a line for each request",
        |s, v| s.log.access => boolean(v)?;
    "eurekad.metrics.applications" = "200", "How many applications, the largest first, have figures of their own in /metrics",
        |s, v| s.metrics.applications => number(v)?;
};
