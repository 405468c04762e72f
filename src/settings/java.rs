//! Keys of the Java server: Netflix's names for settings, those that mean nothing here, and those whose promise cannot be
//! kept.

use super::property::{relaxed, run_together};

/// Netflix's name of a setting, and ours. Where Spring's key is `eureka.server.` and Netflix's `eureka.` with the same
/// name, no row is needed.
pub(super) const NETFLIX: [(&str, &str); 17] = [
    ("eureka.region", "eureka.client.region"),
    ("eureka.preferSameZone", "eureka.client.prefer-same-zone-eureka"),
    ("eureka.shouldUseDns", "eureka.client.use-dns-for-fetching-service-urls"),
    ("eureka.eurekaServer.domainName", "eureka.client.eureka-server-d-n-s-name"),
    ("eureka.domainName", "eureka.client.eureka-server-d-n-s-name"),
    ("eureka.eurekaServer.port", "eureka.client.eureka-server-port"),
    ("eureka.eurekaServer.context", "eureka.client.eureka-server-u-r-l-context"),
    ("eureka.context", "eureka.client.eureka-server-u-r-l-context"),
    ("eureka.serviceUrl.default", "eureka.client.service-url.default-zone"),
    ("eureka.serviceUrl.defaultZone", "eureka.client.service-url.default-zone"),
    ("eureka.registration.enabled", "eureka.client.register-with-eureka"),
    ("eureka.name", "eureka.instance.appname"),
    ("eureka.hostname", "eureka.instance.hostname"),
    ("eureka.shouldUseReadOnlyResponseCache", "eureka.server.use-read-only-response-cache"),
    ("eureka.lease.renewalInterval", "eureka.instance.lease-renewal-interval-in-seconds"),
    ("eureka.lease.duration", "eureka.instance.lease-expiration-duration-in-seconds"),
    (
        "eureka.server.expectedNumberOfRenewsPerMin",
        "eureka.instance.registry.expected-number-of-clients-sending-renews",
    ),
];

/// Older names of Spring's.
pub(super) const FORMER: [(&str, &str); 4] = [
    ("eureka.server.defaultOpenForTrafficCount", "eureka.instance.registry.default-open-for-traffic-count"),
    ("server.context-path", "server.servlet.context-path"),
    ("security.user.name", "spring.security.user.name"),
    ("security.user.password", "spring.security.user.password"),
];

/// What a key is for, that is accepted and changes nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meaningless {
    prefix: &'static str,
    names: &'static [&'static str],
    pub(super) why: &'static str,
}

const CLIENT: &str = "it is for the client inside a Java server, which is not needed here";
const AMAZON: &str = "Amazon's addresses and scaling groups are not looked at";
const THREADS: &str = "threads and connections to peers are not counted here";

/// Keys that stand in configurations of Java servers and mean nothing here.
pub(super) const MEANINGLESS: [Meaningless; 10] = [
    Meaningless {
        prefix: "eureka.client",
        names: &[
            "enabled",
            "fetch-registry",
            "registry-fetch-interval-seconds",
            "instance-info-replication-interval-seconds",
            "initial-instance-info-replication-interval-seconds",
            "eureka-service-url-poll-interval-seconds",
            "proxy-port",
            "proxy-host",
            "proxy-user-name",
            "proxy-password",
            "eureka-server-read-timeout-seconds",
            "eureka-server-connect-timeout-seconds",
            "backup-registry-impl",
            "eureka-server-total-connections",
            "eureka-server-total-connections-per-host",
            "eureka-connection-idle-timeout-seconds",
            "registry-refresh-single-vip-address",
            "heartbeat-executor-thread-pool-size",
            "heartbeat-executor-exponential-back-off-bound",
            "cache-refresh-executor-thread-pool-size",
            "cache-refresh-executor-exponential-back-off-bound",
            "g-zip-content",
            "log-delta-diff",
            "disable-delta",
            "fetch-remote-regions-registry",
            "filter-only-up-instances",
            "dollar-replacement",
            "escape-char-replacement",
            "allow-redirects",
            "on-demand-update-status-change",
            "encoder-name",
            "decoder-name",
            "client-data-accept",
            "should-unregister-on-shutdown",
            "should-enforce-registration-at-init",
            "order",
            "healthcheck.enabled",
            "refresh.enable",
            "webclient.enabled",
            "jersey.enabled",
        ],
        why: CLIENT,
    },
    Meaningless {
        prefix: "eureka.instance",
        names: &[
            "app-group-name",
            "instance-enabled-onit",
            "non-secure-port",
            "secure-port",
            "non-secure-port-enabled",
            "secure-port-enabled",
            "virtual-host-name",
            "secure-virtual-host-name",
            "a-s-g-name",
            "data-center-info",
            "status-page-url-path",
            "status-page-url",
            "home-page-url-path",
            "home-page-url",
            "health-check-url-path",
            "health-check-url",
            "secure-health-check-url",
            "namespace",
            "initial-status",
            "default-address-resolution-order",
            "environment",
        ],
        why: "what this server registers of itself is made of its name, address and port",
    },
    Meaningless {
        prefix: "eureka.server",
        names: &["my-url"],
        why: "a node knows itself by its id; its own URL may stand among its peers'",
    },
    Meaningless {
        prefix: "eureka.server",
        names: &["registry-sync-retries", "number-registry-sync-retries", "registry-sync-retry-wait-ms"],
        why: "a start waits for a peer to copy from as long as eurekad.boot.sync-timeout-ms says",
    },
    Meaningless {
        prefix: "eureka.server",
        names: &[
            "peer-node-total-connections",
            "peer-node-total-connections-per-host",
            "peer-node-connection-idle-timeout-seconds",
            "max-threads-for-peer-replication",
            "max-threads-for-status-replication",
            "min-threads-for-peer-replication",
            "min-threads-for-status-replication",
            "max-idle-thread-age-in-minutes-for-peer-replication",
            "max-idle-thread-in-minutes-age-for-peer-replication",
            "max-idle-thread-age-in-minutes-for-status-replication",
            "max-idle-thread-in-minutes-age-for-status-replication",
            "initial-capacity-of-response-cache",
        ],
        why: THREADS,
    },
    Meaningless {
        prefix: "eureka.server",
        names: &[
            "max-elements-in-peer-replication-pool",
            "max-elements-in-status-replication-pool",
            "max-time-for-replication",
        ],
        why: "what waits for a peer is bounded by eurekad.limits.replication-queue, and nothing of it grows too old",
    },
    Meaningless {
        prefix: "eureka.server",
        names: &[
            "min-available-instances-for-peer-replication",
            "number-of-replication-retries",
            "peer-eureka-status-refresh-time-interval-ms",
            "should-batch-replication",
            "batch-replication",
            "enable-replicated-request-compression",
            "json-codec-name",
            "xml-codec-name",
            "log-identity-headers",
            "auth.should-log-identity-headers",
            "version.filter.debug.response-header",
            "metrics.enabled",
            "remote-region-connect-timeout-ms",
            "remote-region-read-timeout-ms",
            "remote-region-total-connections",
            "remote-region-total-connections-per-host",
            "remote-region-connection-idle-timeout-seconds",
            "remote-region-registry-fetch-interval",
            "remote-region-fetch-thread-pool-size",
            "g-zip-content-from-remote-region",
            "remote-region-trust-store",
            "remote-region-trust-store-password",
            "disable-transparent-fallback-to-other-region",
            "disable-delta-for-remote-regions",
            "experimental.transport.enabled",
            "experimental.bugfix.934",
        ],
        why: "there is nothing here that it would change",
    },
    Meaningless {
        prefix: "eureka.server",
        names: &[
            "prime-aws-replica-connections",
            "a-w-s-access-id",
            "a-w-s-secret-key",
            "aws-access-id",
            "aws-secret-key",
            "binding-strategy",
            "aws-binding-strategy",
            "e-i-p-bind-rebind-retries",
            "eip-bind-rebind-retries",
            "e-i-p-binding-retry-interval-ms",
            "eip-bind-rebind-retry-interval-ms",
            "e-i-p-binding-retry-interval-ms-when-unbound",
            "eip-bind-rebind-retry-interval-ms-when-unbound",
            "route53-bind-rebind-retries",
            "route53-binding-retry-interval-ms",
            "route53-bind-rebind-retry-interval-ms",
            "route53-domain-t-t-l",
            "use-aws-asg-api",
            "should-use-aws-asg-api",
            "a-s-g-query-timeout-ms",
            "a-s-g-update-interval-ms",
            "a-s-g-cache-expiry-timeout-ms",
            "list-auto-scaling-groups-role-name",
        ],
        why: AMAZON,
    },
    Meaningless {
        prefix: "eureka",
        names: &[
            "port",
            "port.enabled",
            "service-url-poll-interval-ms",
            "decoder-name",
            "encoder-name",
            "client.transport.session-reconnect-interval-seconds",
            "validate-instance-id",
            "traffic.enabled",
            "should-fetch-registry",
            "app-group",
            "status-page-url-path",
            "home-page-url-path",
            "health-check-url-path",
        ],
        why: "it is for the client inside a Java server; the port to listen on is server.port",
    },
    Meaningless {
        prefix: "eureka",
        names: &["vip-address", "secure-vip-address"],
        why: "the VIP address that this server registers of itself is its name, spring.application.name",
    },
];

/// The reason why a key changes nothing, if it is a known one of that kind.
pub(super) fn meaningless(key: &str) -> Option<&'static str> {
    find(key, relaxed).or_else(|| {
        let given = relaxed(key);
        let is = |beginning: &str| {
            let rest = given.strip_prefix(beginning);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        KINDS.iter().find(|(beginning, _)| is(beginning)).map(|(_, why)| *why)
    })
}

/// Of what moves the paths that probes ask: it is warned of.
pub(super) const MOVES_HEALTH: &str =
    "health stays at /actuator/health and /health: have balancers and probes ask there";

/// What keys of one kind begin with, relaxed, and why they change nothing.
const KINDS: [(&str, &str); 23] = [
    ("eureka.secureport", "this server does not listen for TLS; server.port is the port it listens on"),
    ("info", "what /actuator/info says is the version"),
    ("server.compression", "answers are compressed for whoever asks for it"),
    ("server.error", "errors are answered as Eureka's clients expect them"),
    ("server.forwardheadersstrategy", "no answer depends on the name or the scheme that a client used"),
    ("server.http2", "HTTP/1.1 is spoken, as Eureka's clients do"),
    ("server.jetty", "there is no Jetty; what a client may take is said by eurekad.limits.*"),
    ("server.maxhttpheadersize", "the size of headers is bounded by eurekad.limits.header-bytes"),
    ("server.maxhttprequestheadersize", "the size of headers is bounded by eurekad.limits.header-bytes"),
    ("server.netty", "there is no Netty; what a client may take is said by eurekad.limits.*"),
    ("server.shutdown", "a stop is always graceful; how long its parts take is said by eurekad.stop.*"),
    ("server.tomcat", "there is no Tomcat; what a client may take is said by eurekad.limits.*"),
    ("server.undertow", "there is no Undertow; what a client may take is said by eurekad.limits.*"),
    ("spring.cloud", "nothing of Spring Cloud runs here besides what a Eureka server is"),
    ("spring.jmx", "there is no JMX: figures are at /metrics"),
    ("spring.lifecycle", "how long the parts of a stop take is said by eurekad.stop.*"),
    ("spring.main", "there is no Spring to be told how to start"),
    ("logging", "what is logged is for eurekad.log.filter to say, and it goes to standard error"),
    ("management.endpoints.web.basepath", MOVES_HEALTH),
    ("management.server.basepath", MOVES_HEALTH),
    ("management.endpoints", "health, info and prometheus are always there, below /actuator"),
    ("management.endpoint", "health, info and prometheus are always there, below /actuator"),
    ("spring.security.user.roles", "there is one user, who may do everything"),
];

/// The same for the name of an environment variable.
pub(super) fn meaningless_variable(name: &str) -> Option<&'static str> {
    find(name, run_together)
}

fn find(given: &str, normal: fn(&str) -> String) -> Option<&'static str> {
    let given = normal(given);
    MEANINGLESS.iter().find_map(|group| {
        let known = group.names.iter().any(|name| {
            let full = normal(&format!("{}.{name}", group.prefix));
            // Netflix's names lack the middle part.
            full == given || (group.prefix == "eureka.server" && normal(&format!("eureka.{name}")) == given)
        });
        // A client's transport and REST settings are many, and all of one kind.
        let transport =
            ["eureka.client.transport.", "eureka.client.restclient.", "eureka.client.rest-template"];
        let transport = transport.iter().any(|prefix| given.starts_with(&normal(prefix)));
        known.then_some(group.why).or_else(|| transport.then_some(CLIENT))
    })
}

/// Settings whose promise is not kept here: it is better not to start than to run without what was asked for.
pub(super) struct Refused {
    /// The key, or what keys of this kind begin with.
    pub(super) prefix: &'static str,
    /// What to do instead.
    pub(super) instead: &'static str,
}

/// Every such setting.
pub(super) const REFUSED: [Refused; 11] = [
    Refused {
        prefix: "eureka.client.service-url",
        instead: "it needs a zone; write eureka.client.service-url.defaultZone: URL,URL",
    },
    Refused {
        prefix: "server.ssl",
        instead: "this version does not speak TLS; remove it and let a proxy in front do so",
    },
    Refused {
        prefix: "management.server.ssl",
        instead: "this version does not speak TLS; remove it and let a proxy in front do so",
    },
    Refused {
        prefix: "spring.security.oauth2",
        instead: "this version asks for a user and a password alone; remove it and set spring.security.user.password",
    },
    Refused {
        prefix: "eureka.client.tls",
        instead: "this version does not speak TLS to its peers; remove it and connect them over a private network",
    },
    Refused {
        prefix: "spring.config.import",
        instead: "other files are not read from within a file; name them all with --config, or set the values here",
    },
    Refused { prefix: "spring.config.location", instead: "name the files with --config or EUREKAD_CONFIG" },
    Refused {
        prefix: "spring.config.additional-location",
        instead: "name all files with --config or EUREKAD_CONFIG",
    },
    Refused { prefix: "spring.config.name", instead: "name the files with --config or EUREKAD_CONFIG" },
    Refused {
        prefix: "eureka.server.remote-region-urls-with-name",
        instead: "registries of other regions are not part of this version; remove it",
    },
    Refused {
        prefix: "eureka.server.remote-region-urls",
        instead: "registries of other regions are not part of this version; remove it",
    },
];

impl Refused {
    /// The one that a dotted key belongs to.
    pub(super) fn of(key: &str) -> Option<&'static Self> {
        let given = relaxed(key);
        REFUSED.iter().find(|refused| {
            let prefix = relaxed(refused.prefix);
            given.strip_prefix(&prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// The key that a variable of this kind stands for, such as `server.ssl.enabled`.
    pub(super) fn key_of_variable(&self, name: &str) -> String {
        let rest = run_together(name).split_off(run_together(self.prefix).len());
        if rest.is_empty() { self.prefix.to_owned() } else { format!("{}.{rest}", self.prefix) }
    }

    /// The one that an environment variable belongs to.
    pub(super) fn of_variable(name: &str) -> Option<&'static Self> {
        let given = run_together(name);
        let starts = |refused: &&Self| {
            let prefix = run_together(refused.prefix);
            let many = refused.prefix.ends_with("ssl") || refused.prefix.ends_with("tls");
            given == prefix || (many && given.starts_with(&prefix))
        };
        REFUSED.iter().find(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_in_springs_spelling_and_in_netflixs() {
        for key in [
            "eureka.client.fetch-registry",
            "eureka.client.fetchRegistry",
            "eureka.server.peerNodeTotalConnections",
            "eureka.peerNodeTotalConnections",
            "eureka.server.aSGQueryTimeoutMs",
            "eureka.client.transport.retryableClientQuarantineRefreshPercentage",
        ] {
            assert!(meaningless(key).is_some(), "{key}");
        }
        assert!(meaningless_variable("EUREKA_CLIENT_FETCHREGISTRY").is_some());
        assert!(meaningless_variable("EUREKA_CLIENT_FETCH_REGISTRY").is_some());
        assert!(meaningless("eureka.server.enable-self-preservation").is_none());
    }

    #[test]
    fn what_cannot_be_kept_is_found_by_its_beginning() {
        for key in [
            "server.ssl.key-store",
            "server.ssl.keyStore",
            "eureka.client.tls.enabled",
            "spring.config.import[0]",
        ] {
            assert!(Refused::of(key).is_some(), "{key}");
        }
        assert!(Refused::of("server.sslx").is_none());
        assert!(Refused::of_variable("SERVER_SSL_KEY_STORE").is_some());
        assert!(Refused::of_variable("SPRING_CONFIG_IMPORT").is_some());
        assert!(Refused::of_variable("SERVER_PORT").is_none());
        let tls = Refused::of_variable("SERVER_SSL_ENABLED").unwrap();
        assert_eq!(tls.key_of_variable("SERVER_SSL_ENABLED"), "server.ssl.enabled");
        assert_eq!(tls.key_of_variable("SERVER_SSL_KEY_STORE"), "server.ssl.keystore");
    }
}
