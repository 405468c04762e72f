//! Settings for people: what they are, and what there is to set.

use std::fmt::Write;

use super::java::{FORMER, NETFLIX};
use super::property::Origin;
use super::{FAMILIES, Loaded, SETTINGS};

/// Which settings are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// All of them.
    All,
    /// Those that somebody has set.
    Set,
}

/// Settings' values and where they were set, as lines; secrets are not shown.
pub fn listing(loaded: &Loaded, listed: Listed) -> String {
    let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
    let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
    let mut out = format!("# profiles: {}; files: {files}\n", loaded.profiles.join(", "));
    // Before the values, of which there are many.
    for note in &loaded.notes {
        let _ = writeln!(out, "# {note}");
    }
    let lines: Vec<(String, String)> = loaded
        .effective
        .iter()
        .filter(|effective| {
            listed == Listed::All || !matches!(effective.origin, Origin::Default | Origin::System)
        })
        .map(|effective| (format!("{} = {}", effective.key, effective.value), effective.origin.to_string()))
        .collect();
    let width =
        lines.iter().map(|(left, _)| left.chars().count()).filter(|n| *n <= WIDEST).max().unwrap_or(0);
    for (left, origin) in lines {
        let _ = writeln!(out, "{left:width$}  # {origin}");
    }
    out
}

/// Values longer than this do not push all origins to the right.
const WIDEST: usize = 80;

/// Parts of the reference: a title, and what the keys in it begin with.
const PARTS: [(&str, &[&str]); 6] = [
    ("Listening, access and stop", &["server.", "management.", "spring.security.", "eurekad.stop."]),
    (
        "Peers and replication",
        &[
            "eureka.client.",
            "eurekad.peers.",
            "eurekad.replication.",
            "eurekad.repair.",
            "eureka.server.peer-",
        ],
    ),
    (
        "Who this server is",
        &["spring.application.", "eureka.instance.", "eureka.environment", "eureka.datacenter"],
    ),
    ("Limits", &["eurekad.limits.", "eureka.server.rate-limiter"]),
    ("Logs and the page", &["eurekad.log.", "eureka.dashboard."]),
    ("Leases, deltas, cache and start", &[""]),
];

/// The reference of all settings, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    let part_of = |key: &str| PARTS.iter().position(|(_, begin)| begin.iter().any(|b| key.starts_with(b)));
    for (n, (title, _)) in PARTS.iter().enumerate() {
        let _ = write!(out, "\n## {title}\n\n| key | default | what |\n|---|---|---|\n");
        for setting in SETTINGS.iter().filter(|setting| part_of(setting.key) == Some(n)) {
            let default =
                if setting.default.is_empty() { String::new() } else { format!("`{}`", setting.default) };
            let _ = writeln!(out, "| `{}` | {default} | {} |", setting.key, setting.about);
        }
        for family in FAMILIES.iter().filter(|family| part_of(family.key) == Some(n)) {
            let _ = writeln!(out, "| `{}` | | {} |", family.key, family.about);
        }
    }
    out.push_str(NAMES);
    for (other, key) in NETFLIX.iter().chain(&FORMER) {
        let _ = writeln!(out, "| `{other}` | `{key}` |");
    }
    out
}

const INTRODUCTION: &str = "\
# Settings

`eurekad settings --reference` prints this page; `eurekad settings` prints what every setting is and where it was set, and
`eurekad settings --set` only those that somebody has set.

Of two sources the stronger counts: the command line (`--key=value`), `SPRING_APPLICATION_JSON`, the environment, files of
a profile (`application-PROFILE.yml`), files. Files are `application.yml`, `.yaml` or `.properties` and `eurekad.yml`,
`.yaml`, `.properties` or `.toml`, where the server starts and in `config/` there; or those that `--config` or
`EUREKAD_CONFIG` names, separated by commas. What stands under one of these names and is no file, such as the directory that a
container engine makes for a mount of nothing, stops the start. Keys may be written in kebab or camel case; the environment has them in
capitals, with `_` for dots (`EUREKA_SERVER_ENABLESELFPRESERVATION`). `EUREKAD_PORT`, `EUREKAD_BIND` and `EUREKAD_PEERS` are
`--port`, `--bind` and `--peers`. Values may hold placeholders (`${VAR:default}`), files several documents with
`spring.config.activate.on-profile`; `spring.profiles.active` and `SPRING_PROFILES_ACTIVE` choose.

A value that a setting does not take, an unknown key of ours, and a promise that is not kept here (`server.ssl.*`,
`eureka.client.tls.*`, `spring.config.import`, remote regions) stop the start, all of them at once. An unknown `eureka.*`
key is warned of, and so is an environment variable that only begins like one of ours. Keys of the Java server that mean nothing here are taken with a note. All others are not looked at, but
placeholders may name them.
";

const NAMES: &str = "
## Other names

Where a key here is `eureka.server.NAME`, Netflix's `eureka.NAME` is the same. Beside those:

| name | is |
|---|---|
";

#[cfg(test)]
mod tests {
    use super::super::{Sources, load, split_arguments};
    use super::*;

    #[test]
    fn the_listing_tells_values_and_places_and_no_secrets() {
        let arguments = [
            "--server.port=9000",
            "--spring.security.user.password=hidden",
            "--eureka.client.service-url.defaultZone=http://u:hidden@a/eureka/",
            "--eureka.client.fetch-registry=false",
        ];
        let (arguments, _) = split_arguments(arguments.iter().map(|a| (*a).to_owned()));
        let loaded = load(&Sources::arguments(&arguments)).unwrap();
        let set: Vec<String> = listing(&loaded, Listed::Set)
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
            .collect();
        let expected =
            ["server.port", "spring.security.user.password", "eureka.client.service-url.default-zone"];
        assert_eq!(set.len(), 3, "{set:?}");
        assert!(expected.iter().all(|key| set.iter().any(|one| one == key)), "{set:?}");
        let text = listing(&loaded, Listed::All);
        assert!(
            text.lines().any(|l| l.starts_with("server.port = 9000 ") && l.ends_with("# --server.port")),
            "{text}"
        );
        assert!(text.contains("spring.security.user.password = ******"));
        assert!(text.contains("eureka.client.service-url.default-zone = http://…@a/eureka/"));
        assert!(text.contains("# --eureka.client.fetch-registry: changes nothing here"));
        assert!(!text.contains("hidden"));
    }

    #[test]
    fn the_page_of_settings_is_what_the_table_says() {
        let page = include_str!("../../docs/settings.md");
        assert!(page == reference(), "docs/settings.md is old; write it with `eurekad settings --reference`");
    }

    #[test]
    fn every_setting_stands_in_the_reference_once() {
        let page = reference();
        for setting in SETTINGS {
            let row = format!("| `{}` |", setting.key);
            assert_eq!(page.lines().filter(|line| line.starts_with(&row)).count(), 1, "{}", setting.key);
        }
    }
}
