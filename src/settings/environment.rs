//! Environment variables as settings.

use super::known::{Index, Known};
use super::property::{Origin, Property, run_together};

/// Short names of settings: for the environment, after `EUREKAD_`, and in small letters for the command line.
pub(crate) const SHORT: [(&str, &str); 3] = [
    ("PORT", "server.port"),
    ("BIND", "server.address"),
    ("PEERS", "eureka.client.service-url.default-zone"),
];

/// Names of metadata are the user's choice, whatever they look like.
const OWN_METADATA: &str = "eureka.instance.metadata-map";

/// The variable that names the files of settings.
pub(crate) const CONFIG: &str = "EUREKAD_CONFIG";

/// The settings in an environment, the strongest last. What begins like one of ours and is none is among them, to be
/// warned of. An environment has no order of its own: of two variables for one setting a short one counts, else the later
/// one by name.
pub(super) fn properties(environment: &[(String, String)], index: &Index) -> Vec<Property> {
    let mut properties = Vec::new();
    let mut sorted: Vec<&(String, String)> = environment.iter().collect();
    sorted.sort_by_key(|(name, _)| (short(name).is_some(), name));
    for (name, value) in sorted {
        let origin = Origin::Environment(name.as_str().into());
        let mut found = |key: String| {
            properties.push(Property { key, value: value.clone(), origin: origin.clone() });
        };
        if name == CONFIG || is_service_link(name, value) {
            continue;
        }
        if let Some(key) = short(name) {
            found(key.to_owned());
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
            Known::Named(family, named) => found(family.key_of_variable(&named)),
            // Under a key that means the same.
            Known::Refused(refused) => found(refused.key_of_variable(name)),
            Known::Meaningless(_) => found(name.clone()),
            Known::Unknown => {
                let upper = name.to_ascii_uppercase();
                if BEGINNINGS.iter().any(|beginning| upper.starts_with(beginning))
                    || PROFILES.contains(&upper.as_str())
                {
                    found(name.to_lowercase().replace('_', "."));
                }
            }
        }
    }
    properties
}

/// What begins so and is no setting may well be meant for one.
const BEGINNINGS: [&str; 3] = ["EUREKA_", "EUREKAD_", "SPRING_SECURITY_"];

/// The setting that a short variable names.
fn short(variable: &str) -> Option<&'static str> {
    let name = variable.strip_prefix("EUREKAD_")?;
    SHORT.iter().find(|(short, _)| *short == name).map(|(_, key)| *key)
}

/// What chooses profiles is no setting of the server's, and counts all the same.
const PROFILES: [&str; 3] = ["SPRING_PROFILES_ACTIVE", "SPRING_PROFILES_INCLUDE", "SPRING_PROFILES_DEFAULT"];

/// Whether a variable is one that Kubernetes or Docker sets for a service called `eureka`, `eurekad` or `server`: they would
/// be taken for a port to listen on.
fn is_service_link(name: &str, value: &str) -> bool {
    let address = value.starts_with("tcp://") || value.starts_with("udp://");
    if run_together(name).starts_with(&run_together(OWN_METADATA)) {
        return false;
    }
    if address && name.ends_with("PORT") {
        return true;
    }
    let Some(rest) = ["EUREKAD_", "EUREKA_"].iter().find_map(|prefix| name.strip_prefix(prefix)) else {
        return false;
    };
    rest == "SERVICE_HOST"
        || rest == "SERVICE_PORT"
        || rest.starts_with("SERVICE_PORT_")
        || rest.ends_with("_SERVICE_HOST")
        || rest.contains("_SERVICE_PORT")
        || rest.split_once("PORT_").is_some_and(|(_, port)| port.contains("_TCP") || port.contains("_UDP"))
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
            ("EUREKA_INSTANCE_METADATAMAP_MY_SERVICE_HOST", "h"),
            ("eureka.server.disable-delta", "true"),
            ("PATH", "/bin"),
            ("SERVER_NAME", "x"),
            ("EUREKA_SEVER_X", "1"),
        ];
        let expected = [
            "eureka.client.service-url.default-zone=http://a/",
            "eureka.client.service-url.zone_1=http://b/",
            "eureka.instance.metadata-map.my.service.host=h",
            "eureka.server.enable-self-preservation=false",
            "eureka.sever.x=1",
            "server.address=127.0.0.1",
            "eureka.server.disable-delta=true",
            "server.port=9000",
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
            ("SERVER_PORT", "tcp://10.0.0.3:80"),
            ("MANAGEMENT_SERVER_PORT", "tcp://10.0.0.4:80"),
            ("EUREKA_SERVER_PORT_8761_TCP", "tcp://10.0.0.2:8761"),
        ];
        assert_eq!(flat(&links), [""; 0]);
    }
}
