//! Options that several commands take: where the settings are, and short forms of some.

use std::path::PathBuf;

use rand::RngExt;

use crate::settings::{Argument, CONFIG, Places, SHORT, Sources};

/// Where the settings are, and short forms of some.
#[derive(Debug, clap::Args)]
pub(super) struct Given {
    /// Port to listen on; short for --server.port, also EUREKAD_PORT
    #[arg(long, value_name = "PORT", overrides_with = "port")]
    port: Option<String>,
    /// Address to listen on; short for --server.address, also EUREKAD_BIND
    #[arg(long, value_name = "ADDRESS", overrides_with = "bind")]
    bind: Option<String>,
    /// The peers' API URLs, separated by commas; short for --eureka.client.service-url.default-zone, also EUREKAD_PEERS
    #[arg(long, value_name = "URLS", overrides_with = "peers")]
    peers: Option<String>,
    /// Files of settings, separated by commas, instead of application.yml and so on where it starts; also EUREKAD_CONFIG
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    config: Vec<PathBuf>,
}

impl Given {
    /// The dotted arguments with the short forms.
    pub(super) fn with(&self, mut dotted: Vec<Argument>) -> Vec<Argument> {
        for ((name, key), value) in SHORT.iter().zip([&self.port, &self.bind, &self.peers]) {
            let option = format!("--{}", name.to_lowercase());
            dotted.extend(value.clone().map(|value| Argument::short(key, value, &option)));
        }
        dotted
    }

    /// All sources of settings.
    pub(super) fn sources<'a>(&self, arguments: &'a [Argument]) -> Sources<'a> {
        let (mut environment, mut garbled) = (Vec::new(), Vec::new());
        // A name that is no text is no setting's; a value that is none may well be meant for one.
        for (name, value) in std::env::vars_os() {
            match (name.into_string(), value.into_string()) {
                (Ok(name), Ok(value)) => environment.push((name, value)),
                (Ok(name), Err(_)) => garbled.push(name),
                (Err(_), _) => {}
            }
        }
        let mut named = self.config.clone();
        if named.is_empty() {
            let variable =
                environment.iter().find(|(name, _)| name == CONFIG).map(|(_, files)| files.as_str());
            named.extend(variable.unwrap_or_default().split(',').map(PathBuf::from));
        }
        named.retain(|path| !path.as_os_str().is_empty());
        Sources {
            arguments,
            environment,
            garbled,
            files: Places { directory: PathBuf::from("."), named },
            seed: rand::rng().random(),
        }
    }
}
