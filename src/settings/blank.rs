//! Settings before anything is known of them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::{
    AccessSettings, CacheSettings, Doubling, HttpSettings, InstanceSettings, LogFormat, LogSettings,
    MetricsSettings, Named, PeerSettings, RateLimiterSettings, RegistrySettings, RenewalAccounting, Secret,
    Settings, StopSettings, TimerSettings, ZoneSettings,
};

impl Settings {
    /// Settings before any row of the table has been applied. A test checks that the table fills every place.
    pub(super) fn blank() -> Self {
        Self {
            http: HttpSettings {
                bind: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                port: 0,
                context_path: String::new(),
                management_port: None,
                management_bind: None,
                dashboard: false,
                dashboard_path: String::new(),
                disable_delta: false,
                serve_while_syncing: false,
                wait_when_sync_empty: Duration::ZERO,
                default_open_for_traffic_count: 0,
                require_amazon_instance_id: false,
                max_body_bytes: 0,
                max_batch_bytes: 0,
                max_bytes_in_flight: 0,
                max_header_bytes: 0,
                max_headers: 0,
                max_connections: 0,
                max_connections_per_address: 0,
                header_timeout: Duration::ZERO,
                request_timeout: Duration::ZERO,
                rate_limiter: RateLimiterSettings::default(),
                idle_timeout: Duration::ZERO,
                body_timeout: Duration::ZERO,
                write_timeout: Duration::ZERO,
            },
            registry: RegistrySettings {
                self_preservation: false,
                self_preservation_min_leases: 0,
                renewal_percent_threshold: 0.0,
                accounting: RenewalAccounting::PerLease,
                global_renewal_interval_secs: 0,
                expected_clients: 0,
                doubling: Doubling::Auto,
                trust_client_status: false,
                sync_when_timestamp_differs: false,
                delta_retention: Duration::ZERO,
                max_changes: 0,
                max_applications: 0,
                max_instances_per_application: 0,
                max_instances: 0,
                max_metadata_bytes: 0,
                max_instance_bytes: 0,
                max_vips: 0,
                own_instance_id: "".into(),
            },
            cache: CacheSettings {
                use_read_only: false,
                update_interval: Duration::ZERO,
                expiration: Duration::ZERO,
                max_bytes: 0,
            },
            timers: TimerSettings {
                eviction: Duration::ZERO,
                delta_retention: Duration::ZERO,
                renewal_threshold: Duration::ZERO,
            },
            instance: InstanceSettings {
                app_name: String::new(),
                host_name: String::new(),
                ip_address: String::new(),
                prefer_ip_address: false,
                renewal_interval_secs: 0,
                duration_secs: 0,
                metadata: Named::default(),
                id: String::new(),
                environment: String::new(),
                datacenter: String::new(),
            },
            peers: PeerSettings {
                zones: ZoneSettings::default(),
                sources: Vec::new(),
                file: None,
                refresh_interval: Duration::ZERO,
                connect_timeout: Duration::ZERO,
                read_timeout: Duration::ZERO,
                linger: Duration::ZERO,
                max_answer_bytes: 0,
                queue_capacity: 0,
                contact_interval: Duration::ZERO,
                compare_interval: Duration::ZERO,
                sync_timeout: Duration::ZERO,
                register_itself: None,
            },
            access: AccessSettings { user: String::new(), password: Secret::new("") },
            stop: StopSettings { grace: Duration::ZERO, drain: Duration::ZERO, flush: Duration::ZERO },
            metrics: MetricsSettings { applications: 0 },
            log: LogSettings { filter: String::new(), format: LogFormat::Text, access: false },
        }
    }
}
