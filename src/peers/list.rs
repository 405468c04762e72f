//! Where the list of peers comes from: URLs, names with several addresses, a file.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::resolve::Resolve;
use crate::settings::{PeerSettings, PeerSource, PeerUrl};

/// The list of peers, to be read again and again.
#[derive(Debug)]
pub(super) struct PeerList {
    sources: Vec<PeerSource>,
    file: Option<PathBuf>,
    resolver: Arc<dyn Resolve>,
    last: Mutex<Last>,
}

/// What was read last, for when it cannot be read now.
#[derive(Debug, Default)]
struct Last {
    names: HashMap<String, Vec<PeerUrl>>,
    file: Vec<PeerSource>,
    /// What was complained about last time: once is enough.
    complaints: BTreeSet<String>,
    /// Whether every source could be read.
    complete: bool,
}

impl PeerList {
    pub(super) fn new(settings: &PeerSettings, resolver: Arc<dyn Resolve>) -> Self {
        let (sources, file) = (settings.sources.clone(), settings.file.clone());
        Self { sources, file, resolver, last: Mutex::default() }
    }

    /// Whether it names nobody and never will.
    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.file.is_none()
    }

    /// Whether every source could be read last time. If not, there may be peers that nobody knows of.
    pub(super) fn is_complete(&self) -> bool {
        self.last().complete
    }

    /// Whether it can change while the node runs.
    pub(super) fn can_change(&self) -> bool {
        self.file.is_some() || self.sources.iter().any(|source| matches!(source, PeerSource::Dns(_)))
    }

    /// Reads it: URLs, each once. What cannot be read now (a name that does not resolve, an answer without addresses, a file that is
    /// gone) stays as it was; a file that was emptied is applied.
    ///
    /// **Compat:** Java ignores a list that has become empty and keeps the old peers.
    pub(super) async fn read(&self) -> Vec<PeerUrl> {
        let mut complaints = BTreeSet::new();
        let from_file = self.file_entries(&mut complaints).await;
        let mut urls: Vec<PeerUrl> = Vec::new();
        let mut complete = complaints.is_empty();
        for source in self.sources.iter().chain(&from_file) {
            let found = match source {
                PeerSource::Url(url) => vec![url.clone()],
                PeerSource::Dns(url) => {
                    let resolved = self.addresses_of(url, &mut complaints).await;
                    complete &= resolved.is_some();
                    resolved.unwrap_or_else(|| self.last().names.get(url.host()).cloned().unwrap_or_default())
                }
            };
            found.into_iter().for_each(|url| {
                if !urls.contains(&url) {
                    urls.push(url);
                }
            });
        }
        let news: Vec<String> = complaints.difference(&self.last().complaints).cloned().collect();
        {
            let mut last = self.last();
            last.complaints = complaints;
            last.complete = complete;
        }
        news.iter().for_each(|complaint| tracing::warn!("{complaint}; the peers stay as they were"));
        urls
    }

    async fn addresses_of(&self, url: &PeerUrl, complaints: &mut BTreeSet<String>) -> Option<Vec<PeerUrl>> {
        match self.resolver.addresses(url.host(), url.port()).await {
            Ok(addresses) if !addresses.is_empty() => {
                // In order, so that an answer in another order changes nothing.
                let addresses: BTreeSet<_> = addresses.into_iter().collect();
                let peers: Vec<PeerUrl> = addresses.into_iter().map(|address| url.at(address)).collect();
                self.last().names.insert(url.host().to_owned(), peers.clone());
                Some(peers)
            }
            Ok(_) => {
                complaints.insert(format!("{:?} has no address", url.host()));
                None
            }
            Err(e) => {
                complaints.insert(format!("{:?} does not resolve: {e}", url.host()));
                None
            }
        }
    }

    async fn file_entries(&self, complaints: &mut BTreeSet<String>) -> Vec<PeerSource> {
        let Some(path) = self.file.clone() else { return Vec::new() };
        let shown = path.display().to_string();
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
        let text = match read.unwrap_or_else(|e| Err(std::io::Error::other(e))) {
            Ok(text) => text,
            Err(e) => {
                complaints.insert(format!("eurekad.peers.file {shown} cannot be read: {e}"));
                return self.last().file.clone();
            }
        };
        let lines =
            text.lines().enumerate().map(|(n, line)| (n + 1, line.split('#').next().unwrap_or_default()));
        let entries = lines.flat_map(|(n, line)| line.split(',').map(move |entry| (n, entry.trim())));
        let mut sources = Vec::new();
        for (line, entry) in entries.filter(|(_, entry)| !entry.is_empty()) {
            match entry.parse() {
                Ok(source) => sources.push(source),
                Err(e) => {
                    complaints.insert(format!("eurekad.peers.file {shown}, line {line}: {e}"));
                    return self.last().file.clone();
                }
            }
        }
        self.last().file.clone_from(&sources);
        sources
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
