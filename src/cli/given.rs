//! Options that several commands take: where the settings are, and short forms of some.

use std::path::PathBuf;

use crate::settings::{Argument, Places, SHORT, Sources};

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
    /// Files of settings, separated by commas, instead of application.yml and so on where it starts
    #[arg(long, value_name = "FILES", env = "EUREKAD_CONFIG", value_delimiter = ',')]
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
        // What is not UTF-8 is nothing that a setting could be.
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let named = self.config.iter().filter(|path| !path.as_os_str().is_empty()).cloned().collect();
        Sources { arguments, environment, files: Places { directory: PathBuf::from("."), named } }
    }
}
