//! Environment variables as settings.

use super::known::{Index, Known};
use super::property::{Origin, Property};

/// Short names, for the command line and, after `EUREKAD_`, for the environment.
pub(super) const SHORT: [(&str, &str); 3] = [
    ("PORT", "server.port"),
    ("BIND", "server.address"),
    ("PEERS", "eureka.client.service-url.default-zone"),
];

/// The variable that names the files of settings.
const CONFIG: &str = "EUREKAD_CONFIG";

/// The settings in an environment. What begins like one of ours and is none is among them, to be warned of.
pub(super) fn properties(environment: &[(String, String)], index: &Index) -> Vec<Property> {
    let mut properties = Vec::new();
    for (name, value) in environment {
        let origin = Origin::Environment(name.as_str().into());
        let mut found = |key: String| {
            properties.push(Property { key, value: value.clone(), origin: origin.clone() });
        };
        if name == CONFIG || is_service_link(name, value) {
            continue;
        }
        if let Some((_, key)) = SHORT.iter().find(|(short, _)| name.strip_prefix("EUREKAD_") == Some(short)) {
            found((*key).to_owned());
            continue;
        }
        // Containers may have variables with dots.
        if name.contains('.') {
            if ["eureka.", "eurekad.", "spring.", "server.", "management."]
                .iter()
                .any(|p| name.starts_with(p))
            {
                found(name.clone());
            }
            continue;
        }
        match index.of_variable(name) {
            Known::Setting(setting) => found(setting.key.to_owned()),
            Known::Named(family, named) => found(family.key_for(&named)),
            // Under a key that means the same.
            Known::Refused(refused) => found(refused.prefix.to_owned()),
            Known::Meaningless(_) => found(name.clone()),
            Known::Unknown => {
                let upper = name.to_ascii_uppercase();
                if upper.starts_with("EUREKA_")
                    || upper.starts_with("EUREKAD_")
                    || PROFILES.contains(&upper.as_str())
                {
                    found(name.to_lowercase().replace('_', "."));
                }
            }
        }
    }
    properties
}

/// What chooses profiles is no setting of the server's, and counts all the same.
const PROFILES: [&str; 3] = ["SPRING_PROFILES_ACTIVE", "SPRING_PROFILES_INCLUDE", "SPRING_PROFILES_DEFAULT"];

/// Whether a variable is one that Kubernetes or Docker sets for a service called `eureka` or `eurekad`: they would be
/// taken for a port to listen on.
fn is_service_link(name: &str, value: &str) -> bool {
    let Some(rest) = ["EUREKAD_", "EUREKA_"].iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return false;
    };
    let address = value.starts_with("tcp://") || value.starts_with("udp://");
    rest == "SERVICE_HOST"
        || rest == "SERVICE_PORT"
        || rest.starts_with("SERVICE_PORT_")
        || rest.ends_with("_SERVICE_HOST")
        || rest.contains("_SERVICE_PORT")
        || rest.split_once("PORT_").is_some_and(|(_, port)| port.contains("_TCP") || port.contains("_UDP"))
        || (rest.ends_with("PORT") && address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(environment: &[(&str, &str)]) -> Vec<String> {
        let environment: Vec<_> =
            environment.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let properties = properties(&environment, &Index::new());
        properties.iter().map(|p| format!("{}={}", p.key, p.value)).collect()
    }

    #[test]
    fn variables_are_settings_under_springs_names_and_our_short_ones() {
        let environment = [
            ("EUREKAD_PORT", "9000"),
            ("SERVER_ADDRESS", "127.0.0.1"),
            ("EUREKA_SERVER_ENABLESELFPRESERVATION", "false"),
            ("EUREKA_CLIENT_SERVICEURL_DEFAULTZONE", "http://a/"),
            ("EUREKA_CLIENT_SERVICEURL_ZONE_1", "http://b/"),
            ("eureka.server.disable-delta", "true"),
            ("PATH", "/bin"),
            ("SERVER_NAME", "x"),
            ("EUREKA_SEVER_X", "1"),
        ];
        let expected = [
            "server.port=9000",
            "server.address=127.0.0.1",
            "eureka.server.enable-self-preservation=false",
            "eureka.client.service-url.default-zone=http://a/",
            "eureka.client.service-url.ZONE_1=http://b/",
            "eureka.server.disable-delta=true",
            "eureka.sever.x=1",
        ];
        assert_eq!(flat(&environment), expected);
    }

    /// Case: P110
    #[test]
    fn what_kubernetes_sets_for_a_service_of_the_same_name_is_no_setting() {
        let links = [
            ("EUREKAD_PORT", "tcp://10.0.0.1:8761"),
            ("EUREKAD_SERVICE_HOST", "10.0.0.1"),
            ("EUREKAD_SERVICE_PORT", "8761"),
            ("EUREKAD_SERVICE_PORT_HTTP", "8761"),
            ("EUREKAD_PORT_8761_TCP", "tcp://10.0.0.1:8761"),
            ("EUREKAD_PORT_8761_TCP_ADDR", "10.0.0.1"),
            ("EUREKA_PORT_8761_TCP_PROTO", "tcp"),
            ("EUREKA_SERVER_SERVICE_HOST", "10.0.0.2"),
            ("EUREKA_SERVER_PORT", "tcp://10.0.0.2:8761"),
            ("EUREKA_SERVER_PORT_8761_TCP", "tcp://10.0.0.2:8761"),
        ];
        assert_eq!(flat(&links), [""; 0]);
    }
}
