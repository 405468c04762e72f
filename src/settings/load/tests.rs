//! Sources of settings, one above the other.

use super::super::{Problem, split_arguments};
use super::*;

/// A directory with such files.
struct Folder(tempfile::TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn load(&self, environment: &[(&str, &str)], arguments: &[&str]) -> Result<Loaded, Invalid> {
        let (arguments, _) = split_arguments(arguments.iter().map(|a| (*a).to_owned()));
        load(&Sources {
            arguments: &arguments,
            environment: environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            garbled: Vec::new(),
            seed: 0,
            files: Places { directory: self.0.path().to_owned(), named: Vec::new() },
        })
    }
}

fn port(loaded: &Result<Loaded, Invalid>) -> u16 {
    loaded.as_ref().unwrap().settings.http.port
}

fn origin(loaded: &Loaded, key: &str) -> String {
    loaded.effective.iter().find(|e| e.key == key).unwrap().origin.to_string()
}

#[test]
fn of_two_sources_the_stronger_counts() {
    let folder = Folder::with(&[
        ("application.yml", "server: {port: 1}"),
        ("application.properties", "server.port=2"),
        ("eurekad.toml", "server.port = 3"),
        ("config/application.yml", "server.port: 4"),
        ("application-p.yml", "server.port: 5"),
    ]);
    assert_eq!(port(&folder.load(&[], &[])), 4);
    assert_eq!(port(&folder.load(&[("SPRING_PROFILES_ACTIVE", "p")], &[])), 5);
    let strong = [("SERVER_PORT", "6"), ("SPRING_PROFILES_ACTIVE", "p")];
    assert_eq!(port(&folder.load(&strong, &[])), 6);
    let json = [("SERVER_PORT", "6"), ("SPRING_APPLICATION_JSON", "{\"server\":{\"port\":7}}")];
    assert_eq!(port(&folder.load(&json, &[])), 7);
    let loaded = folder.load(&json, &["--server.port=8"]);
    assert_eq!(port(&loaded), 8);
    assert_eq!(origin(&loaded.unwrap(), "server.port"), "--server.port");
    let two =
        Folder::with(&[("application.yml", "server.port: 1"), ("application.properties", "server.port=2")]);
    assert_eq!(port(&two.load(&[], &[])), 2);
    assert_eq!(origin(&two.load(&[], &[]).unwrap(), "server.port"), "application.properties:1");
}

#[test]
fn documents_count_with_their_profiles() {
    let text = "spring.profiles.active: peer1\nserver.port: 1\n---\nspring:\n  config.activate.on-profile: peer1\n\
        server.port: 2\n---\nspring.profiles: peer2\nserver.port: 3\n---\nspring.config.activate.on-profile: '!peer1 & !peer2'\n\
        server.port: 4\n";
    let folder = Folder::with(&[("application.yml", text)]);
    assert_eq!(port(&folder.load(&[], &[])), 2);
    assert_eq!(folder.load(&[], &[]).unwrap().profiles, ["peer1"]);
    assert_eq!(port(&folder.load(&[("SPRING_PROFILES_ACTIVE", "peer2")], &[])), 3);
    assert_eq!(port(&folder.load(&[], &["--spring.profiles.active=other"])), 4);
    let properties = "server.port=1\n#---\nspring.config.activate.on-profile=x\nserver.port=2\n";
    let folder = Folder::with(&[("application.properties", properties)]);
    assert_eq!(port(&folder.load(&[], &[])), 1);
    assert_eq!(port(&folder.load(&[], &["--spring.profiles.active=x"])), 2);
}

#[test]
fn placeholders_take_what_the_environment_and_other_keys_say() {
    let text = "peer.port: 9001\nserver.port: ${PORT:${peer.port}}\neureka.instance:\n  \
        instance-id: ${eureka.instance.hostname}:${spring.application.name}:${server.port}\n  hostname: ${HOST_OF_IT:h}\n";
    let folder = Folder::with(&[("application.yml", text)]);
    let loaded = folder.load(&[], &[]).unwrap();
    assert_eq!((loaded.settings.http.port, loaded.settings.instance.id.as_str()), (9001, "h:eureka:9001"));
    let loaded = folder.load(&[("PORT", "9002"), ("HOST_OF_IT", "x")], &[]).unwrap();
    assert_eq!(loaded.settings.instance.id, "x:eureka:9002");
}

#[test]
fn lists_are_written_as_lists_or_with_commas() {
    for zones in ["[z1, z2]", "z1,z2", "\n      - z1\n      - z2"] {
        let text = format!(
            "eureka:\n  client:\n    region: eu\n    availability-zones:\n     eu: {zones}\n    service-url:\n      \
             z1: http://a/eureka/\n      z2: http://b/eureka/\n"
        );
        let loaded = Folder::with(&[("application.yml", &text)]).load(&[], &[]).unwrap();
        assert_eq!(loaded.settings.peers.sources.len(), 2, "{text}");
    }
}

#[test]
fn an_environment_variable_replaces_the_zone_of_a_file_that_it_means() {
    let text =
        "eureka.client:\n  availability-zones.us-east-1: zone-1\n  service-url.zone-1: http://a/eureka/\n";
    let folder = Folder::with(&[("application.yml", text)]);
    let environment = [("EUREKA_CLIENT_SERVICEURL_ZONE1", "http://b/eureka/")];
    let loaded = folder.load(&environment, &[]).unwrap();
    let super::super::PeerSource::Url(url) = &loaded.settings.peers.sources[0] else { panic!() };
    assert_eq!(url.to_string(), "http://b/eureka/");
    assert_eq!(
        origin(&loaded, "eureka.client.service-url.zone-1"),
        "environment EUREKA_CLIENT_SERVICEURL_ZONE1"
    );
}

#[test]
fn netflixs_files_mean_the_same() {
    let text = "eureka.region=eu\neureka.eu.availabilityZones=z1\neureka.serviceUrl.z1=http://a/eureka/v2/\n\
        eureka.enableSelfPreservation=false\neureka.responseCacheUpdateIntervalMs=30000\neureka.name=reg\n\
        eureka.registration.enabled=false\neureka.preferSameZone=false\n";
    let loaded = Folder::with(&[("application.properties", text)]).load(&[], &[]).unwrap();
    let settings = &loaded.settings;
    assert!(!settings.registry.self_preservation && !settings.peers.zones.prefer_same_zone);
    assert_eq!(settings.cache.update_interval.as_secs(), 30);
    assert_eq!((settings.instance.app_name.as_str(), settings.peers.register_itself), ("reg", Some(false)));
    assert_eq!(settings.peers.sources.len(), 1);
    assert!(loaded.notes.is_empty(), "{:?}", loaded.notes);
}

#[test]
fn problems_of_all_sources_are_named_at_once_with_their_places() {
    let folder = Folder::with(&[
        ("application.yml", "server:\n  port: many\neureka.server:\n  disable-delta: perhaps\n"),
        ("eurekad.toml", "eurekad.limits.conections = 1\n"),
    ]);
    let invalid = folder
        .load(&[("EUREKAD_BIND", "here"), ("SERVER_SSL_KEYSTORE", "x")], &["--eurekad.x=1"])
        .unwrap_err();
    let said: Vec<String> = invalid.problems.iter().map(ToString::to_string).collect();
    for expected in [
        "application.yml:2: server.port=many: expected a port, 0 to 65535",
        "application.yml:4: eureka.server.disable-delta=perhaps: expected one of true, false",
        "eurekad.toml:1: eurekad.limits.conections: no such setting; did you mean eurekad.limits.connections?",
        "EUREKAD_BIND=here: expected an IP address, such as 127.0.0.1 or [::]",
        "SERVER_SSL_KEYSTORE: this version does not speak TLS; remove it and let a proxy in front do so",
        "--eurekad.x: no such setting",
    ] {
        assert!(said.iter().any(|line| line == expected), "{expected}\n{said:#?}");
    }
    assert_eq!(said.len(), 6);
    let broken = Folder::with(&[("application.yml", "a: [\n")]).load(&[], &[]).unwrap_err();
    assert!(matches!(broken.problems[..], [Problem::File(_)]));
}

#[test]
fn a_setting_in_the_environment_that_is_no_text_stops_the_start_and_others_do_not() {
    let garbled =
        ["SPRING_SECURITY_USER_PASSWORD", "SPRING_APPLICATION_JSON", "LS_COLORS"].map(str::to_owned);
    let sources = Sources { garbled: garbled.to_vec(), ..Sources::arguments(&[]) };
    let said: Vec<String> = load(&sources).unwrap_err().problems.iter().map(ToString::to_string).collect();
    let expected = [
        "SPRING_SECURITY_USER_PASSWORD: the value is not UTF-8; write it in UTF-8",
        "SPRING_APPLICATION_JSON: the value is not UTF-8; write it in UTF-8",
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_placeholders_name_is_no_misspelt_setting_and_chance_is_one_of_them() {
    let text = "spring.security.user.password: ${EUREKA_PASSWORD}\neureka.server:\n\
        eureka.instance.instance-id: ${spring.application.instance_id:${random.value}}\n";
    let folder = Folder::with(&[("application.yml", text)]);
    let loaded = folder.load(&[("EUREKA_PASSWORD", "x"), ("EUREKA_OTHER", "y")], &[]).unwrap();
    let said: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    let expected = [
        "application.yml:2: eureka.server is empty: is what follows it indented?",
        "EUREKA_OTHER: no such setting, it changes nothing",
    ];
    assert_eq!(said, expected);
    let id = loaded.effective.iter().find(|e| e.key == "eureka.instance.instance-id").unwrap();
    assert!(id.value.len() == 32 && id.value.bytes().all(|b| b.is_ascii_hexdigit()), "{}", id.value);
    let text = "eureka.instance.instance-id: ${random.int(10)}\n";
    let said = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap_err().to_string();
    assert!(said.contains("random.int(10) is not known here"), "{said}");
}

#[test]
fn what_is_wrong_in_inline_settings_is_named_with_its_key() {
    let json = r#"{"server": {"port": "many"}, "eureka": {"servr": {"x": 1}}}"#;
    let invalid = Folder::with(&[]).load(&[("SPRING_APPLICATION_JSON", json)], &[]).unwrap_err().to_string();
    assert!(invalid.contains("SPRING_APPLICATION_JSON: server.port=many: expected a port"), "{invalid}");
    assert!(invalid.contains("SPRING_APPLICATION_JSON: eureka.servr.x: no such setting"), "{invalid}");
}

#[test]
fn peers_without_a_zone_stop_the_start() {
    let text = "eureka.client.service-url:\n  - http://a/\n";
    let said = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap_err().to_string();
    assert!(said.contains("eureka.client.service-url.defaultZone: URL,URL"), "{said}");
}

#[test]
fn a_moved_path_of_health_is_warned_of_and_a_password_is_complained_of_once() {
    let text = "management.endpoints.web.base-path: /mgmt\n";
    let loaded = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap();
    assert!(loaded.notes[0].is_warning(), "{:?}", loaded.notes);
    let password = ["--spring.security.user.password={bcrypt}$2a$10$x"];
    let invalid = Folder::with(&[]).load(&[], &password).unwrap_err();
    assert_eq!(invalid.problems.len(), 1, "{invalid}");
}

#[test]
fn a_name_in_brackets_is_the_same_as_behind_a_dot() {
    let text =
        "eureka.instance.metadata-map:\n  '[a.b]': x\n  plain: y\neureka.instance.metadata-map[c-d]: z\n";
    let arguments = [
        "--eureka.client.serviceUrl[defaultZone]=http://a/",
        "--eureka.server.rate-limiter-privileged-clients[0]=one",
        "--eureka.server.rate-limiter-privileged-clients[1]=two",
    ];
    let loaded = Folder::with(&[("application.yml", text)]).load(&[], &arguments).unwrap();
    let value = |key: &str| loaded.effective.iter().find(|e| e.key == key).map(|e| e.value.as_str());
    assert_eq!(value("eureka.instance.metadata-map.a.b"), Some("x"));
    assert_eq!(value("eureka.instance.metadata-map.plain"), Some("y"));
    assert_eq!(value("eureka.instance.metadata-map.c-d"), Some("z"));
    assert_eq!(value("eureka.client.service-url.default-zone"), Some("http://a/"));
    assert_eq!(value("eureka.server.rate-limiter-privileged-clients"), Some("one,two"));
}

#[test]
fn what_is_turned_off_needs_not_be_kept() {
    let text =
        "server.ssl:\n  enabled: false\n  key-store: classpath:k.p12\neureka.client.tls.enabled: false\n";
    assert!(Folder::with(&[("application.yml", text)]).load(&[], &[]).is_ok());
}

#[test]
fn unknown_keys_of_eurekas_are_warned_of_and_others_are_not_looked_at() {
    let text = "eureka.server.enable-self-preservaton: false\neureka.client.fetch-registry: false\n\
        spring.jackson.x: 1\nserver.prt: 1\nserver.tomcat.threads.max: 20\nspring.main.banner-mode: 'off'\n";
    let loaded = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap();
    let said: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 5, "{said:#?}");
    assert_eq!(
        said[0],
        "application.yml:1: eureka.server.enable-self-preservaton: no such setting, it changes nothing; \
         did you mean eureka.server.enable-self-preservation?"
    );
    assert!(said[1].starts_with("application.yml:2: eureka.client.fetch-registry: changes nothing here"));
    assert!(said[2].ends_with("did you mean server.port?"), "{}", said[2]);
    assert!(said[3].contains("there is no Tomcat"), "{}", said[3]);
    assert!(said[4].contains("there is no Spring"), "{}", said[4]);
    let loaded = Folder::with(&[]).load(&[("EUREKAD_BIN", "/usr/bin/eurekad")], &[]).unwrap();
    let said: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["EUREKAD_BIN: no such setting, it changes nothing"]);
}

#[test]
fn a_yaml_file_whose_lines_are_not_indented_is_warned_of() {
    let notes = |name: &str, text: &str| {
        let loaded = Folder::with(&[(name, text)]).load(&[], &[]).unwrap();
        assert!(loaded.notes.iter().all(Note::is_warning));
        loaded.notes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let flat = "server:\nport: 8799\neureka:\nclient:\nservice-url:\ndefaultZone: http://a:8761/eureka/\n";
    let said = notes("application.yml", flat);
    let expected = [
        "application.yml:1: server is empty: is what follows it indented?",
        "application.yml:3: eureka is empty: is what follows it indented?",
        "application.yml:6: defaultZone: stands by itself, so it changes nothing; it belongs below \
         eureka.client.service-url",
    ];
    assert_eq!(said, expected);
    let said = notes("application.yml", "eureka:\n  server:\nenableSelfPreservation: false\nspring:\n");
    let expected = [
        "application.yml:2: eureka.server is empty: is what follows it indented?",
        "application.yml:3: enableSelfPreservation: stands by itself, so it changes nothing; it belongs below \
         eureka.server",
        "application.yml:4: spring is empty: is what follows it indented?",
    ];
    assert_eq!(said, expected);
    // What is somebody's own, or for a placeholder, is not looked at; nor is what no indentation is for.
    let own = "port: 1\nname: x\nkafka:\ndefault-zone: http://a/\n\
        eureka.client.service-url.defaultZone: ${defaultZone:}\n";
    assert!(notes("application.yml", own).is_empty());
    assert!(notes("application.properties", "eureka.client=\ndefaultZone=x\n").is_empty());
}

#[test]
fn an_empty_value_is_the_default() {
    let text = "server.port:\neureka.server.enable-self-preservation: ''\neureka.client.service-url.defaultZone: ${PEERS:}\n";
    let loaded = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap();
    assert_eq!(loaded.settings.http.port, 8761);
    assert!(loaded.settings.registry.self_preservation && loaded.settings.peers.sources.is_empty());
}

#[test]
fn what_is_turned_off_by_any_source_in_any_words_is_not_refused() {
    let folder =
        Folder::with(&[("application.yml", "server.ssl.enabled: ${SSL:off}\nspring.config.import: ''\n")]);
    assert!(folder.load(&[], &[]).is_ok());
    assert!(folder.load(&[("SSL", "true")], &[]).is_err());
    let off = [("SERVER_SSL_ENABLED", "false"), ("SERVER_SSL_KEYSTORE", "k.p12"), ("SPRING_CONFIG_NAME", "")];
    assert!(Folder::with(&[]).load(&off, &[]).is_ok());
    assert!(Folder::with(&[]).load(&[("SERVER_SSL_KEYSTORE", "k.p12")], &[]).is_err());
}

#[test]
fn of_two_variables_for_one_setting_the_order_of_the_environment_decides_nothing() {
    let (short, long) = (("EUREKAD_PORT", "1001"), ("SERVER_PORT", "1002"));
    let folder = Folder::with(&[]);
    assert_eq!(port(&folder.load(&[short, long], &[])), 1001);
    assert_eq!(port(&folder.load(&[long, short], &[])), 1001);
}

#[test]
fn a_password_that_is_empty_or_misspelt_opens_no_server() {
    let folder = Folder::with(&[]);
    for (key, value) in [
        ("--spring.security.user.password", ""),
        ("--spring.security.user.pasword", "x"),
        ("--spring.security.user.password", "{cipher}abc"),
        ("--spring.security.oauth2.resourceserver.jwt.issuer-uri", "http://i/"),
    ] {
        assert!(folder.load(&[], &[&format!("{key}={value}")]).is_err(), "{key}={value}");
    }
    assert!(folder.load(&[("SPRING_SECURITY_USER_PASSWRD", "x")], &[]).is_err());
    let roles = ["--spring.security.user.password=x", "--spring.security.user.roles=ADMIN"];
    assert!(!folder.load(&[], &roles).unwrap().notes[0].is_warning());
}

#[test]
fn no_part_of_a_password_is_shown_wherever_it_stands() {
    let folder = Folder::with(&[]);
    let said =
        folder.load(&[("SPRING_SECURITY_USER_PASSWORD", "abc${hidden}")], &[]).unwrap_err().to_string();
    assert!(!said.contains("hidden") && !said.contains("abc"), "{said}");
    let said =
        folder.load(&[("EUREKAD_PEERS", "http://u:hid,den@h:1/eureka/")], &[]).unwrap_err().to_string();
    assert!(!said.contains("hid"), "{said}");
    let shown = folder.load(
        &[("SPRING_SECURITY_USER_PASSWORD", "hidden")],
        &[
            "--eureka.instance.metadata-map.user.password=hidden2",
            "--eureka.instance.metadata-map.x=${spring.security.user.password}",
            "--eureka.environment=is ${spring.security.user.password}",
        ],
    );
    let shown = shown.unwrap();
    assert_eq!(shown.settings.instance.metadata.get("x").map(String::as_str), Some("hidden"));
    assert!(!super::super::listing(&shown, super::super::Listed::All).contains("hidden"));
}

#[test]
fn a_profile_that_nothing_is_written_for_is_named_with_those_there_are() {
    let text = "server.port: 1\n---\nspring.config.activate.on-profile: peer1\nserver.port: 2\n";
    let folder = Folder::with(&[("application.yml", text), ("application-peer3.yml", "")]);
    let notes = |profile: &str| {
        let loaded = folder.load(&[("SPRING_PROFILES_ACTIVE", profile)], &[]).unwrap();
        loaded.notes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let said = "the profile per1 is active, and no file and no document is for it; there are peer1";
    assert_eq!(notes("per1"), [said]);
    assert!(notes("peer1").is_empty() && notes("peer3").is_empty());
    assert!(folder.load(&[], &[]).unwrap().notes.is_empty());
}

#[test]
fn warnings_are_not_kept_back_while_there_are_problems() {
    let text = "server.port: 99999\neureka.server.enable-self-preservatoin: false\n";
    let said = Folder::with(&[("application.yml", text)]).load(&[], &[]).unwrap_err().to_string();
    assert!(said.lines().count() == 2 && said.contains("did you mean eureka.server.enable-self"), "{said}");
}

#[test]
fn a_directory_a_device_a_pipe_or_a_broken_link_in_place_of_a_file_is_no_missing_file() {
    let make = |what: &str, path: &std::path::Path| match what {
        "directory" => std::fs::create_dir(path).unwrap(),
        "pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => std::os::unix::fs::symlink("/dev/null", path).unwrap(),
        _ => std::os::unix::fs::symlink("nowhere", path).unwrap(),
    };
    let kinds = [
        ("directory", "is a directory, not a file; container engines make one"),
        ("pipe", "cannot be read: it is a pipe; a file is needed"),
        ("device", "cannot be read: it is a device or a socket; a file is needed"),
        ("link", "a link that leads to no file"),
    ];
    let names = ["application.yml", "application-p.yaml", "config/application.properties", "eurekad.toml"];
    for (kind, words) in kinds {
        for name in names {
            let folder = Folder::with(&[("config/other.txt", "")]);
            make(kind, &folder.0.path().join(name));
            let said = folder.load(&[("SPRING_PROFILES_ACTIVE", "p")], &[]).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{name}: {words}")), "{kind}: {said}");
        }
        // Nobody asks for a profile that is not active.
        let folder = Folder::with(&[]);
        make(kind, &folder.0.path().join("application-other.yml"));
        assert!(folder.load(&[], &[]).is_ok(), "{kind}");
    }
}

#[test]
fn a_link_to_a_file_is_one_and_what_cannot_be_is_not_looked_for() {
    let folder = Folder::with(&[("of/it.yml", "server.port: 1"), ("config", "a file, not a folder")]);
    std::os::unix::fs::symlink("of/it.yml", folder.0.path().join("application.yml")).unwrap();
    let long = "p".repeat(300);
    assert_eq!(port(&folder.load(&[("SPRING_PROFILES_ACTIVE", &long)], &[])), 1);
}
