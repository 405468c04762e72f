//! Documents, encoded once and served many times.
//!
//! **Compat:** the two levels of Java's `ResponseCacheImpl`. The *read-write* level is exact: a document is served as
//! long as nothing it shows has changed, which its [`Revision`] tells; so no write has to know which keys to invalidate,
//! and none is ever missed (Java misses compact documents, single VIPs of a list, and former VIPs). The *read-only*
//! level is a snapshot of it that a timer renews, all keys at one version; with it a change is seen after at most
//! `eureka.server.response-cache-update-interval-ms`.

mod payload;
mod read_only;
mod render;

use std::sync::Arc;

use eurekad_wire::Form;
use moka::future::Cache;
use moka::notification::RemovalCause;

pub use payload::Payload;

use crate::blocking::{Workers, finished};
use crate::clock::{Clock, Tick};
use crate::registry::{Content, Registry, Revision, Scope};
use crate::settings::CacheSettings;
use crate::telemetry::CacheMetrics;
use read_only::ReadOnly;

/// Documents of about this many bytes and more are encoded by the workers, to keep heartbeats flowing.
const LARGE_DOCUMENT: usize = 512 * 1024;

/// Which document: what it shows and in which form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// What it shows.
    pub scope: Scope,
    /// How it is written.
    pub form: Form,
}

/// An encoded document and what it was made from.
#[derive(Debug, Clone)]
struct Document {
    payload: Payload,
    revision: Revision,
    built: Tick,
}

/// What a level of the cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How many documents.
    pub documents: u64,
    /// How many bytes they take.
    pub bytes: u64,
}

/// The response cache of one node. Cheap to clone; all clones are one cache.
#[derive(Debug, Clone)]
pub struct ResponseCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Clock,
    settings: CacheSettings,
    metrics: CacheMetrics,
    registry: Arc<Registry>,
    workers: Workers,
    read_write: Cache<Key, Document>,
    read_only: ReadOnly,
}

impl ResponseCache {
    /// An empty cache over a registry.
    pub fn new(
        registry: Arc<Registry>,
        clock: Clock,
        settings: CacheSettings,
        metrics: CacheMetrics,
        workers: Workers,
    ) -> Self {
        let read_write = Cache::builder()
            .max_capacity(settings.max_bytes)
            .eviction_listener({
                let crowded_out = metrics.crowded_out.clone();
                move |_, _, cause| {
                    if cause == RemovalCause::Size {
                        crowded_out.inc();
                    }
                }
            })
            .weigher(|_: &Key, document: &Document| {
                u32::try_from(document.payload.weight()).unwrap_or(u32::MAX)
            })
            .build();
        let read_only = ReadOnly::new(settings.max_bytes, metrics.crowded_out.clone());
        Self(Arc::new(Inner { clock, settings, metrics, registry, workers, read_write, read_only }))
    }

    /// The document for `key`; `None` if there is no such application or VIP, or no whole delta.
    pub async fn get(&self, key: &Key) -> Option<Payload> {
        let inner = &self.0;
        if !inner.settings.use_read_only {
            return self.current(key).await.map(|document| document.payload);
        }
        if let Some(document) = inner.read_only.get(key, inner.clock.tick()) {
            inner.metrics.hits.inc();
            return Some(document.payload);
        }
        let document = self.current(key).await?;
        Some(inner.read_only.put(key, document, inner.clock.tick()).payload)
    }

    /// The document as it is now, whatever the read-only level has.
    pub async fn get_current(&self, key: &Key) -> Option<Payload> {
        self.current(key).await.map(|document| document.payload)
    }

    /// The document as it is now.
    async fn current(&self, key: &Key) -> Option<Document> {
        let revision = self.0.registry.revision(&key.scope)?;
        if let Some(document) = self.0.read_write.get(key).await
            && document.revision == revision
            && !self.0.is_old(&document)
        {
            self.0.metrics.hits.inc();
            return Some(document);
        }
        // In a task of its own: a client that gives up must not throw away what the next one is going to ask for.
        let (inner, key) = (Arc::clone(&self.0), key.clone());
        finished(tokio::spawn(async move { inner.encode_current(&key).await })).await
    }

    /// What the read-only level holds.
    pub fn read_only_size(&self) -> Size {
        self.0.read_only.size()
    }

    /// About what the read-write level holds: it counts with some delay.
    pub fn size(&self) -> Size {
        Size { documents: self.0.read_write.entry_count(), bytes: self.0.read_write.weighted_size() }
    }

    /// The bytes that the read-only level holds.
    pub fn read_only_bytes(&self) -> u64 {
        self.0.read_only.bytes()
    }

    /// Brings the read-only level up to date: every document in use, all at one version.
    pub async fn refresh(&self) {
        let inner = &self.0;
        let (now, idle) = (inner.clock.tick(), inner.settings.expiration);
        let in_use = inner.read_only.in_use(now, idle);
        let known = in_use.iter().enumerate().map(|(n, (key, document))| {
            // An old document is made again although its revision still holds.
            (n, &key.scope, (!inner.is_old(document)).then_some(document.revision))
        });
        let changed = inner.registry.contents(known);
        let weight = |n: &usize| in_use[*n].1.payload.weight() as u64;
        let kept: u64 = (0..in_use.len()).map(|n| weight(&n)).sum();
        let replaced: u64 = changed.iter().map(|(n, _)| weight(n)).sum();
        let mut room = inner.settings.max_bytes.saturating_sub(kept - replaced);
        let mut fresh = Vec::with_capacity(changed.len());
        for (n, content) in changed {
            let key = &in_use[n].0;
            // What there is no room for is left to the read-write level.
            let mut document = match content.filter(|content| content.bytes() as u64 <= room) {
                Some(content) => Some(inner.build(key.form, &key.scope, content).await),
                None => None,
            };
            if let Some(built) = &document {
                inner.read_write.insert(key.clone(), built.clone()).await;
                match room.checked_sub(built.payload.weight() as u64) {
                    Some(rest) => room = rest,
                    None => document = None,
                }
            }
            fresh.push((key.clone(), document));
            tokio::task::yield_now().await;
        }
        inner.read_only.swap(fresh, now, idle);
    }
}

impl Inner {
    /// Encodes the document as it is now, unless somebody else is at it.
    async fn encode_current(&self, key: &Key) -> Option<Document> {
        loop {
            let content = self.registry.content(&key.scope)?;
            let revision = content.revision;
            // One caller encodes, the others wait for it. What they then get may be older than the change they came
            // to see, if that happened after the encoding began: they look again.
            let entry = self.read_write.entry_by_ref(key);
            let build = self.build(key.form, &key.scope, content);
            let document = entry
                .or_insert_with_if(build, |there| there.revision < revision || self.is_old(there))
                .await
                .into_value();
            if document.revision >= revision {
                return Some(document);
            }
        }
    }

    async fn build(&self, form: Form, scope: &Scope, content: Content) -> Document {
        self.metrics.builds.inc();
        let revision = content.revision;
        let payload = if content.bytes() < LARGE_DOCUMENT {
            render::render(form, scope, &content)
        } else {
            let scope = scope.clone();
            self.workers.run(move || render::render(form, &scope, &content)).await
        };
        self.metrics.built_bytes.inc_by(payload.len() as u64);
        Document { payload, revision, built: self.clock.tick() }
    }

    fn is_old(&self, document: &Document) -> bool {
        self.clock.tick().since(document.built) >= self.settings.expiration
    }
}
