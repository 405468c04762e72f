//! Configurations as people have them for Java servers: each starts this server with the same meaning, from the file and
//! from the environment alone.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

use std::path::Path;
use std::time::Duration;

use eurekad::settings::{Invalid, Loaded, PeerSource, Places, Settings, Sources, load};

fn from_file(name: &str, environment: &[(&str, &str)]) -> Loaded {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configurations");
    from(Places { directory, named: vec![name.into()] }, environment).unwrap()
}

fn from_environment(environment: &[(&str, &str)]) -> Loaded {
    from(Places { directory: Default::default(), named: Vec::new() }, environment).unwrap()
}

fn from(files: Places, environment: &[(&str, &str)]) -> Result<Loaded, Invalid> {
    let environment = environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    load(&Sources { arguments: &[], environment, garbled: Vec::new(), files, seed: 0 })
}

fn peers(settings: &Settings) -> Vec<String> {
    let urls = settings.peers.sources.iter().map(|source| match source {
        PeerSource::Url(url) => url.to_string(),
        other => panic!("{other:?}"),
    });
    urls.collect()
}

#[test]
fn a_springs_server_whose_every_value_is_a_placeholder_means_the_same() {
    let loaded = from_file(
        "interop-server.yml",
        &[("PORT", "18761"), ("PEERS", "http://peer2:8761/eureka/"), ("REGISTER", "true")],
    );
    let settings = &loaded.settings;
    assert_eq!((settings.http.port, settings.http.bind), (18761, Some("127.0.0.1".parse().unwrap())));
    assert_eq!(settings.own_instance_id(settings.http.port), "localhost:eureka:18761");
    assert_eq!(peers(settings), ["http://peer2:8761/eureka/"]);
    assert_eq!(settings.peers.register_itself, Some(true));
    assert_eq!(settings.cache.update_interval, Duration::from_secs(30));
    assert_eq!(settings.http.wait_when_sync_empty, Duration::ZERO);
    let alone = from_environment(&[
        ("SERVER_PORT", "18761"),
        ("SERVER_ADDRESS", "127.0.0.1"),
        ("EUREKA_INSTANCE_HOSTNAME", "localhost"),
        ("EUREKA_INSTANCE_IPADDRESS", "127.0.0.1"),
        ("EUREKA_INSTANCE_INSTANCEID", "localhost:eureka:18761"),
        ("EUREKA_CLIENT_SERVICEURL_DEFAULTZONE", "http://peer2:8761/eureka/"),
        ("EUREKA_CLIENT_REGISTERWITHEUREKA", "true"),
        ("EUREKA_SERVER_RESPONSECACHEUPDATEINTERVALMS", "30000"),
        ("EUREKA_SERVER_WAITTIMEINMSWHENSYNCEMPTY", "0"),
    ]);
    assert_eq!(alone.settings, *settings);
}

#[test]
fn one_file_serves_three_servers_by_their_profiles() {
    for (profile, port) in [("peer1", 8761), ("peer2", 8762), ("peer3", 8763)] {
        let loaded = from_file("peer-aware.yml", &[("PROFILE", profile)]);
        assert_eq!(loaded.profiles, [profile]);
        let settings = &loaded.settings;
        assert_eq!((settings.http.port, settings.instance.host_name.as_str()), (port, profile));
        assert_eq!(peers(settings).len(), 3);
        assert!(!settings.registry.self_preservation);
        assert_eq!(settings.timers.eviction, Duration::from_secs(5));
        assert_eq!(settings.own_instance_id(port), format!("{profile}:eureka-server:{port}"));
        assert_eq!(settings.instance.metadata.get("zone").map(String::as_str), Some("zone1"));
        assert!(loaded.notes.iter().all(|note| !note.is_warning()), "{:?}", loaded.notes);
        let port = port.to_string();
        let alone = from_environment(&[
            ("SPRING_APPLICATION_NAME", "eureka-server"),
            ("SERVER_PORT", &port),
            ("EUREKA_INSTANCE_HOSTNAME", profile),
            ("EUREKA_CLIENT_REGISTER_WITH_EUREKA", "true"),
            (
                "EUREKAD_PEERS",
                "http://peer1:8761/eureka/,http://peer2:8762/eureka/,http://peer3:8763/eureka/",
            ),
            ("EUREKA_SERVER_ENABLE_SELF_PRESERVATION", "false"),
            ("EUREKA_SERVER_EVICTIONINTERVALTIMERINMS", "5000"),
            ("EUREKA_SERVER_PEERNODEREADTIMEOUTMS", "1000"),
            ("EUREKA_INSTANCE_LEASERENEWALINTERVALINSECONDS", "10"),
            ("EUREKA_INSTANCE_LEASEEXPIRATIONDURATIONINSECONDS", "30"),
            ("eureka.instance.metadata-map.zone", "zone1"),
        ]);
        assert_eq!(alone.settings, *settings);
    }
}

/// Case: P090
#[test]
fn a_secured_server_with_zones_means_the_same() {
    let loaded = from_file("secured.yml", &[]);
    let settings = &loaded.settings;
    assert_eq!((settings.access.user.as_str(), settings.access.password.expose()), ("reg", "p@ss:w/ö%!"));
    assert_eq!(
        (settings.http.context_path.as_str(), settings.http.management_port),
        ("/registry", Some(9001))
    );
    assert_eq!(settings.instance.host_name, "10.1.2.3");
    assert_eq!(
        peers(settings),
        ["http://10.1.2.3:9000/registry/eureka/", "http://10.1.2.4:9000/registry/eureka/"]
    );
    let said: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert!(said.len() == 3 && said[0].contains("server.forward-headers-strategy"), "{said:?}");
    assert!(said[1..].iter().all(|note| note.contains("eurekad.log.filter")), "{said:?}");
    let url = |host: &str| format!("http://reg:p%40ss%3Aw%2F%C3%B6%25!@{host}:9000/registry/eureka/");
    let alone = from_environment(&[
        ("SERVER_PORT", "9000"),
        ("SERVER_SERVLET_CONTEXT_PATH", "/registry"),
        ("MANAGEMENT_SERVER_PORT", "9001"),
        ("SPRING_APPLICATION_NAME", "discovery"),
        ("SPRING_SECURITY_USER_NAME", "reg"),
        ("SPRING_SECURITY_USER_PASSWORD", "p@ss:w/ö%!"),
        ("EUREKA_ENVIRONMENT", "production"),
        ("EUREKA_DATACENTER", "east"),
        ("EUREKA_DASHBOARD_PATH", "/dashboard"),
        ("EUREKA_INSTANCE_PREFERIPADDRESS", "true"),
        ("EUREKA_INSTANCE_IPADDRESS", "10.1.2.3"),
        ("EUREKA_CLIENT_REGION", "eu"),
        ("eureka.client.availability-zones.eu", "zone1,zone2"),
        ("eureka.client.service-url.zone1", &url("10.1.2.3")),
        ("eureka.client.service-url.zone2", &url("10.1.2.4")),
        ("EUREKA_SERVER_WAITTIMEINMSWHENSYNCEMPTY", "0"),
        ("EUREKA_SERVER_RESPONSECACHEUPDATEINTERVALMS", "3000"),
        ("EUREKA_SERVER_RENEWALPERCENTTHRESHOLD", "0.49"),
    ]);
    assert_eq!(alone.settings, *settings);
}

#[test]
fn netflixs_own_names_mean_the_same() {
    let loaded = from_file("netflix.properties", &[]);
    let settings = &loaded.settings;
    assert_eq!(
        peers(settings),
        ["http://ec2-1:8761/eureka/v2/", "http://ec2-2:8761/eureka/v2/", "http://ec2-3:8761/eureka/v2/"]
    );
    assert_eq!(settings.timers.eviction, Duration::from_secs(30));
    assert_eq!(settings.peers.refresh_interval, Duration::from_secs(60));
    assert_eq!(settings.peers.connect_timeout, Duration::from_millis(500));
    assert_eq!(loaded.notes.len(), 3, "{:?}", loaded.notes);
    assert!(loaded.notes.iter().all(|note| !note.is_warning()));
}

/// Case: P061
#[test]
fn ten_wrong_settings_are_all_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = "server:\n  port: 70000\n  ssl:\n    key-store: classpath:k.p12\neureka:\n  client:\n    region: eu\n    \
        service-url:\n      zone1: http://a/eureka/\n    tls:\n      enabled: true\n  server:\n    \
        renewal-percent-threshold: 85\n    eviction-interval-timer-in-ms: 60s\nspring:\n  config:\n    import: optional:configserver\n";
    std::fs::write(folder.path().join("application.yml"), text).unwrap();
    let files = Places { directory: folder.path().to_owned(), named: Vec::new() };
    let environment = [
        ("EUREKAD_BIND", "everywhere"),
        ("EUREKAD_LIMITS_CONECTIONS", "1"),
        ("SPRING_SECURITY_USER_NAME", "reg"),
    ];
    let said = from(files, &environment).unwrap_err().to_string();
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    let expected = [
        "EUREKAD_BIND=everywhere: expected an IP address, such as 127.0.0.1 or [::]",
        "EUREKAD_LIMITS_CONECTIONS: no such setting; did you mean eurekad.limits.connections?",
        "SPRING_SECURITY_USER_NAME: a password is missing; set spring.security.user.password too, or remove the user",
        "application.yml:11: eureka.client.tls.enabled: this version does not speak TLS to its peers; remove it and connect \
         them over a private network",
        "application.yml:13: eureka.server.renewal-percent-threshold=85: expected a number from 0 to 1, such as 0.85",
        "application.yml:14: eureka.server.eviction-interval-timer-in-ms=60s: expected a whole number of 1 or more, in \
         milliseconds",
        "application.yml:17: spring.config.import: other files are not read from within a file; name them all with \
         --config, or set the values here",
        "application.yml:2: server.port=70000: expected a port, 0 to 65535",
        "application.yml:4: server.ssl.key-store: this version does not speak TLS; remove it and let a proxy in front do so",
        "application.yml:9: eureka.client.service-url.zone1: no region has the zone zone1; set \
         eureka.client.availability-zones.eu=zone1, or use eureka.client.service-url.defaultZone",
    ];
    assert_eq!(lines, expected);
}
