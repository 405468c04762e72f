//! Documents, encoded once and served many times.
//!
//! **Compat:** the two levels of Java's `ResponseCacheImpl`. The *read-write* level is exact: a document is served as
//! long as nothing it shows has changed, which its [`Stamp`] tells; so no write has to know which keys to invalidate,
//! and none is ever missed (Java misses compact documents, single VIPs of a list, and former VIPs). The *read-only*
//! level is a snapshot of it that a timer renews, all keys at one version; with it a change is seen after at most
//! `eureka.server.response-cache-update-interval-ms`.

mod payload;
mod read_only;
mod render;

use std::sync::Arc;

use eurekad_wire::Form;
use moka::future::Cache;

pub use payload::Payload;

use crate::blocking::off_thread;
use crate::clock::{Clock, Tick};
use crate::registry::{Content, Registry, Scope, Stamp};
use crate::settings::CacheSettings;
use crate::telemetry::CacheMetrics;
use read_only::ReadOnly;

/// Documents of this many instances and more are encoded on the blocking pool, to keep heartbeats flowing.
const LARGE_DOCUMENT: usize = 500;

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
    stamp: Stamp,
    built: Tick,
}

/// The response cache of one node.
#[derive(Debug)]
pub struct ResponseCache {
    clock: Clock,
    settings: CacheSettings,
    metrics: CacheMetrics,
    registry: Arc<Registry>,
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
    ) -> Self {
        let read_write = Cache::builder()
            .max_capacity(settings.max_bytes)
            .weigher(|_: &Key, document: &Document| {
                u32::try_from(document.payload.weight()).unwrap_or(u32::MAX)
            })
            .build();
        let read_only = ReadOnly::new(settings.max_bytes);
        Self { clock, settings, metrics, registry, read_write, read_only }
    }

    /// The document for `key`; `None` if there is no such application or VIP.
    pub async fn get(&self, key: &Key) -> Option<Payload> {
        if !self.settings.use_read_only {
            return self.current(key).await.map(|document| document.payload);
        }
        if let Some(document) = self.read_only.get(key, self.clock.tick()) {
            self.metrics.hits.inc();
            return Some(document.payload);
        }
        let document = self.current(key).await?;
        self.read_only.put(key.clone(), document.clone(), self.clock.tick());
        Some(document.payload)
    }

    /// The document as it is now.
    async fn current(&self, key: &Key) -> Option<Document> {
        loop {
            let stamp = self.registry.stamp(&key.scope)?;
            if let Some(document) = self.read_write.get(key).await
                && document.stamp == stamp
                && !self.is_old(&document)
            {
                self.metrics.hits.inc();
                return Some(document);
            }
            let content = self.registry.content(&key.scope)?;
            let stamp = content.stamp;
            // One caller encodes, the others wait for it. What they then get may be older than the change they came
            // to see, if that happened after the encoding began: they look again.
            let entry = self.read_write.entry_by_ref(key);
            let build = self.build(key.form, &key.scope, content);
            let document = entry
                .or_insert_with_if(build, |there| there.stamp < stamp || self.is_old(there))
                .await
                .into_value();
            if document.stamp >= stamp {
                return Some(document);
            }
        }
    }

    /// Brings the read-only level up to date: every document in use, all at one version.
    pub async fn refresh(&self) {
        let now = self.clock.tick();
        let in_use = self.read_only.in_use(now, self.settings.expiration);
        let mut fresh = Vec::new();
        let known = in_use.iter().map(|(key, document)| {
            // An old document is made again although its stamp still holds.
            (key, (!self.is_old(document)).then_some(document.stamp))
        });
        for (key, content) in self.registry.contents(known.map(|(key, stamp)| (key, &key.scope, stamp))) {
            match content {
                Some(content) => {
                    let document = self.build(key.form, &key.scope, content).await;
                    self.read_write.insert(key.clone(), document.clone()).await;
                    fresh.push((key.clone(), Some(document)));
                }
                None => fresh.push((key.clone(), None)),
            }
        }
        self.read_only.swap(fresh, now, self.settings.expiration);
    }

    async fn build(&self, form: Form, scope: &Scope, content: Content) -> Document {
        self.metrics.builds.inc();
        let stamp = content.stamp;
        let instances: usize = content.groups.iter().map(|group| group.instances().len()).sum();
        let payload = if instances < LARGE_DOCUMENT {
            render::render(form, scope, &content)
        } else {
            let scope = scope.clone();
            off_thread(move || render::render(form, &scope, &content)).await
        };
        self.metrics.built_bytes.inc_by(payload.len() as u64);
        Document { payload, stamp, built: self.clock.tick() }
    }

    fn is_old(&self, document: &Document) -> bool {
        self.clock.tick().since(document.built) >= self.settings.expiration
    }
}
