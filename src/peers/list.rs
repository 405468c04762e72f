//! Where the list of peers comes from: URLs, names with several addresses, TXT records, a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::resolve::Resolve;
use super::txt;
use crate::settings::{InvalidUrl, PeerSettings, PeerSource, PeerUrl, TxtRecords, bounded};

/// What could not be read, by what it is that could not, and why in words.
type Complaints = BTreeMap<String, String>;

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
    /// By the URL, for one name may be in several.
    names: HashMap<String, Vec<PeerUrl>>,
    texts: txt::Known,
    file: Vec<PeerSource>,
    /// What was complained about last time: once is enough, even if it fails in another way each time.
    complaints: Complaints,
    /// Whether every source could be read.
    complete: bool,
}

impl PeerList {
    pub(super) fn new(settings: &PeerSettings, resolver: Arc<dyn Resolve>) -> Self {
        if settings.zones.leaves_urls_out() {
            tracing::warn!(
                "eureka.client.service-url.* and --peers are not used, since \
                 eureka.client.use-dns-for-fetching-service-urls is true"
            );
        }
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

    /// The URLs that were found by resolving names, as of the last reading.
    pub(super) fn found_by_name(&self) -> Vec<PeerUrl> {
        self.last().names.values().flatten().cloned().collect()
    }

    /// Whether it can change while the node runs.
    pub(super) fn can_change(&self) -> bool {
        self.file.is_some() || self.sources.iter().any(|source| !matches!(source, PeerSource::Url(_)))
    }

    /// Reads it: URLs, each once. What cannot be read now (a name that does not resolve, an answer without addresses, a file that is
    /// gone) stays as it was; a file that was emptied is applied.
    ///
    /// **Compat:** Java ignores a list that has become empty and keeps the old peers.
    pub(super) async fn read(&self) -> Vec<PeerUrl> {
        let mut complaints = Complaints::new();
        let from_file = self.file_entries(&mut complaints).await;
        let mut urls: Vec<PeerUrl> = Vec::new();
        for source in self.sources.iter().chain(&from_file) {
            let found = match source {
                PeerSource::Url(url) => vec![url.clone()],
                PeerSource::Dns(url) => self.addresses_of(url, &mut complaints).await,
                PeerSource::Txt(records) => self.listed_by(records, &mut complaints).await,
            };
            found.into_iter().for_each(|url| {
                if !urls.contains(&url) {
                    urls.push(url);
                }
            });
        }
        let mut last = self.last();
        let news = complaints.iter().filter(|(what, _)| !last.complaints.contains_key(*what));
        news.for_each(|(_, complaint)| tracing::warn!("{complaint}; the peers stay as they were"));
        last.complete = complaints.is_empty();
        last.complaints = complaints;
        urls
    }

    async fn addresses_of(&self, url: &PeerUrl, complaints: &mut Complaints) -> Vec<PeerUrl> {
        let (name, url_shown) = (url.host(), url.to_string());
        let complaint = match self.resolver.addresses(url.host(), url.port()).await {
            Ok(addresses) if !addresses.is_empty() => {
                // In order, so that an answer in another order changes nothing.
                let addresses: BTreeSet<_> = addresses.into_iter().collect();
                let peers: Vec<PeerUrl> = addresses.into_iter().map(|address| url.at(address)).collect();
                self.last().names.insert(url_shown, peers.clone());
                return peers;
            }
            Ok(_) => format!("{name:?} has no address"),
            Err(e) => format!("{name:?} does not resolve: {e}"),
        };
        let before = self.last().names.get(&url_shown).cloned().unwrap_or_default();
        complaints.insert(name.to_owned(), complaint);
        before
    }

    async fn listed_by(&self, records: &TxtRecords, complaints: &mut Complaints) -> Vec<PeerUrl> {
        let before = self.last().texts.clone();
        let read = txt::read(records, &*self.resolver, &before).await;
        complaints.extend(read.complaints);
        self.last().texts = read.known;
        read.urls
    }

    /// Why the file cannot be used, if there is one: at a start, when no list was read before, that is an error.
    pub(super) async fn check_file(&self) -> Result<(), String> {
        let mut complaints = Complaints::default();
        self.file_entries(&mut complaints).await;
        complaints.into_values().next().map_or(Ok(()), Err)
    }

    async fn file_entries(&self, complaints: &mut Complaints) -> Vec<PeerSource> {
        let Some(path) = self.file.clone() else { return Vec::new() };
        let read = crate::blocking::finished(tokio::task::spawn_blocking(move || read_file(&path))).await;
        match read {
            Ok(sources) => {
                self.last().file.clone_from(&sources);
                sources
            }
            Err(complaint) => {
                complaints.insert(complaint.clone(), complaint);
                self.last().file.clone()
            }
        }
    }

    fn last(&self) -> std::sync::MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of a file of peers that names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct BadLine {
    /// Which one, from 1.
    line: usize,
    why: InvalidUrl,
}

/// What a file of peers names.
///
/// # Errors
/// Why it cannot be used, for a person.
pub fn read_file(path: &Path) -> Result<Vec<PeerSource>, String> {
    let shown = path.display();
    let text = bounded(path).and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    let text = text.map_err(|e| format!("eurekad.peers.file {shown} cannot be read: {e}"))?;
    sources_in(&text).map_err(|e| format!("eurekad.peers.file {shown}, {e}"))
}

/// What the text of a file of peers names: one peer a line or several between commas; what follows a `#` is a comment.
///
/// # Errors
/// The first line that holds anything else: half a list is none.
pub fn sources_in(text: &str) -> Result<Vec<PeerSource>, BadLine> {
    let lines = text.lines().zip(1..).map(|(text, line)| (text.split('#').next().unwrap_or_default(), line));
    let entries = lines.flat_map(|(text, line)| text.split(',').map(move |entry| (entry.trim(), line)));
    let named = entries.filter(|(entry, _)| !entry.is_empty());
    named.map(|(entry, line)| entry.parse().map_err(|why| BadLine { line, why })).collect()
}
