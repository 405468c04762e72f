//! An encoded document, plain and compressed.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::OnceCell;

use crate::blocking::{Workers, finished};

/// From this many bytes on, compression is left to the workers.
const LARGE: usize = 64 * 1024;

/// An encoded document. Cheap to clone; compressed once, when first asked for.
#[derive(Debug, Clone)]
pub struct Payload(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    plain: Bytes,
    gzip: OnceCell<Bytes>,
}

impl Payload {
    /// A document as it goes over the wire.
    pub fn new(plain: Vec<u8>) -> Self {
        Self(Arc::new(Inner { plain: exact(plain), gzip: OnceCell::new() }))
    }

    /// The document as it is.
    pub fn plain(&self) -> Bytes {
        self.0.plain.clone()
    }

    /// The document as one gzip member.
    pub async fn gzip(&self, workers: &Workers) -> Bytes {
        if let Some(compressed) = self.0.gzip.get() {
            return compressed.clone();
        }
        if self.len() < LARGE {
            return self.0.gzip.get_or_init(async || compress(&self.0.plain)).await.clone();
        }
        // In a task of its own: it goes on when the client that asked gives up.
        let (inner, workers) = (Arc::clone(&self.0), workers.clone());
        finished(tokio::spawn(async move {
            let compressing = async || {
                let plain = inner.plain.clone();
                workers.run(move || compress(&plain)).await
            };
            inner.gzip.get_or_init(compressing).await.clone()
        }))
        .await
    }

    /// Its length in bytes, uncompressed.
    pub fn len(&self) -> usize {
        self.0.plain.len()
    }

    /// Whether it is empty, which no document of Eureka's is.
    pub fn is_empty(&self) -> bool {
        self.0.plain.is_empty()
    }

    /// What it takes in memory, about: a registry compresses to a tenth, and some for the bookkeeping.
    pub(super) fn weight(&self) -> usize {
        self.len() + self.len() / 8 + 256
    }
}

fn compress(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 8 + 64), Compression::default());
    encoder.write_all(plain).expect("writing to memory cannot fail");
    exact(encoder.finish().expect("writing to memory cannot fail"))
}

/// The bytes without the room that was left for more: a document is kept for long, and twice what it needs with it.
fn exact(bytes: Vec<u8>) -> Bytes {
    bytes.into_boxed_slice().into()
}
