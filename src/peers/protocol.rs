//! How nodes of this kind write down what they know: JSON, with short names, for there is much of it.
//!
//! Moments travel as ages in milliseconds, since no two nodes share a clock; who reads them says which moment they are
//! counted back from.

use std::fmt;
use std::time::Duration;

use eurekad_wire::{AppName, Detail, Form, Format, InstanceId, InstanceStatus, Shown, decode, encode};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::clock::Tick;
use crate::registry::{Floor, Heard, Key, KeyState, Mark, Override, OverrideValue, Record, Stamp};

/// What a node tells: the states of some keys.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tell {
    /// Whether it also asks what is known of these keys; then the ages of leases come back too.
    pub asks: bool,
    /// The states.
    #[serde(deserialize_with = "at_most")]
    pub keys: Vec<WireState>,
}

/// The answer to [`Tell`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Told {
    /// The positions of the keys whose records were only named, and are needed.
    pub needed: Vec<usize>,
    /// The positions of the keys that were refused, each with a status code.
    pub refused: Vec<(usize, u16)>,
    /// Why the first of these was, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What is known here and was not said.
    pub known: Vec<WireState>,
}

impl Told {
    /// Why something was refused, in the words of who refused it: cut, for they are shown to people.
    pub fn says_why(&self) -> Option<String> {
        self.why.as_deref().map(cut)
    }
}

/// The digests of a registry.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compare {
    /// How many instances are in them.
    pub count: usize,
    /// One for each bucket, as hexadecimal numbers.
    pub buckets: Vec<String>,
}

/// The answer to [`Compare`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compared {
    /// How many instances are in the digests here.
    pub count: usize,
    /// All digests in one, as a hexadecimal number.
    pub digest: String,
    /// The buckets that differ.
    pub differs: Vec<usize>,
    /// The keys in them, with their digests.
    pub keys: Vec<WireDigest>,
}

/// A key and its digest; none for one that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WireDigest {
    /// The application.
    pub app: String,
    /// The id.
    pub id: String,
    /// The digest, as a hexadecimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Asks for whole buckets: `from` and those after it, up to `to` exclusive.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CopyBuckets {
    /// The first bucket.
    pub from: usize,
    /// The first that is not wanted any more.
    pub to: usize,
}

/// [`KeyState`] as it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct WireState {
    app: String,
    id: String,
    /// The record's stamp.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    record: Option<String>,
    /// The record, as a document of one instance.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    instance: Option<Box<RawValue>>,
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    over: Option<WireOverride>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    floor: Option<WireFloor>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    mark: Option<WireMark>,
    /// How long ago its client was heard.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    age_ms: Option<u64>,
    /// Whether it was heard only when it registered.
    #[serde(rename = "n", default, skip_serializing_if = "std::ops::Not::not")]
    never_renewed: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOverride {
    status: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cleared: bool,
    stamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_dirty: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFloor {
    stamp: String,
    age_ms: u64,
    last_dirty: i64,
    interval_ms: u64,
    life_ms: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    blind: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMark {
    stamp: String,
    heard_ms: u64,
    life_ms: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
}

/// What cannot be read, of one key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// No age is longer: what is not heard of for so long is gone anyway.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// What went is remembered by how long its lease lived, and how often its client renewed: no longer than this, whatever a
/// node says.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3600);
const LONGEST_INTERVAL: Duration = Duration::from_secs(3600);

/// What went is remembered for a while, and costs its name: longer ones are not taken.
const LONGEST_NAME: usize = 1024;

/// Of a name, or of what is wrong with a record, people are shown so many characters.
const MOST_SHOWN: usize = 200;

fn cut(text: &str) -> String {
    text.chars().take(MOST_SHOWN).collect()
}

/// The most keys of one request or answer. Nodes send a thousand; what is written small can be much when it is read.
const MOST_KEYS: usize = 100_000;

impl WireState {
    /// A state, with its ages as they are at `now`.
    pub fn of(state: &KeyState, now: Tick) -> Self {
        let age = |at: Tick| millis(now.since(at));
        let content = state.record.as_ref().and_then(|record| record.content.as_deref());
        Self {
            app: state.key.app.to_string(),
            id: state.key.id.to_string(),
            record: state.record.as_ref().map(|record| record.stamp.to_string()),
            instance: content.and_then(|info| {
                let form = Form { format: Format::Json, detail: Detail::Full };
                let text = String::from_utf8(encode::instance(form, Shown::from(info))).ok()?;
                RawValue::from_string(text).ok()
            }),
            over: state.over.map(|over| {
                let (status, cleared) = match over.value {
                    OverrideValue::Set(status) => (status, false),
                    OverrideValue::Cleared(status) => (status, true),
                };
                WireOverride {
                    status: status.as_str().to_owned(),
                    cleared,
                    stamp: over.stamp.to_string(),
                    last_dirty: over.last_dirty,
                }
            }),
            floor: state.floor.map(|(floor, at)| WireFloor {
                stamp: floor.stamp.to_string(),
                age_ms: age(at),
                last_dirty: floor.last_dirty,
                interval_ms: millis(floor.interval),
                life_ms: millis(floor.life),
                blind: floor.blind,
            }),
            mark: state.mark.map(|mark| WireMark {
                stamp: mark.stamp.to_string(),
                heard_ms: age(mark.heard),
                life_ms: millis(mark.life),
                cancelled: mark.cancelled,
            }),
            age_ms: state.heard.map(|heard| age(heard.at)),
            never_renewed: state.heard.is_some_and(|heard| !heard.renewed),
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        const REST: usize = 256;
        self.instance.as_ref().map_or(0, |instance| instance.get().len()) + REST
    }

    /// Reads it; its ages are counted back from `at`.
    ///
    /// # Errors
    /// If some part of it is not what it should be.
    pub fn read(self, at: Tick) -> Result<KeyState, Unreadable> {
        // In quotes and cut: another node chooses its names, and must not be able to write log lines.
        let wrong = |what: &str| {
            Unreadable(format!("{:?}: {}", cut(&format!("{}/{}", self.app, self.id)), cut(what)))
        };
        let stamp = |text: &str| text.parse::<Stamp>().map_err(|e| wrong(&e.to_string()));
        let moment = |age_ms: u64| at.before(duration(age_ms));
        if self.app.is_empty() || self.id.is_empty() {
            return Err(wrong("a key needs an application and an id"));
        }
        if self.record.is_none() && self.app.len() + self.id.len() > LONGEST_NAME {
            return Err(Unreadable(format!("a name of more than {LONGEST_NAME} bytes, without a record")));
        }
        let key = Key { app: AppName::new(&self.app), id: InstanceId::new(&self.id) };
        let record = match &self.record {
            None => None,
            Some(text) => {
                let content = match &self.instance {
                    None => None,
                    Some(json) => {
                        let info = decode::instance(Format::Json, json.get().as_bytes());
                        Some(Box::new(info.map_err(|e| wrong(&e.to_string()))?))
                    }
                };
                if content.as_ref().is_some_and(|info| info.app != key.app || info.id() != key.id.as_str()) {
                    return Err(wrong("its record is another instance's"));
                }
                Some(Record { stamp: stamp(text)?, content })
            }
        };
        let over = match &self.over {
            None => None,
            Some(over) => {
                let status: InstanceStatus = over.status.parse().map_err(|_| wrong("no such status"))?;
                let value =
                    if over.cleared { OverrideValue::Cleared(status) } else { OverrideValue::Set(status) };
                Some(Override { value, stamp: stamp(&over.stamp)?, last_dirty: over.last_dirty })
            }
        };
        let floor = match &self.floor {
            None => None,
            Some(floor) => Some((
                Floor {
                    stamp: stamp(&floor.stamp)?,
                    last_dirty: floor.last_dirty,
                    interval: duration(floor.interval_ms).min(LONGEST_INTERVAL),
                    life: duration(floor.life_ms).min(LONGEST_LIFE),
                    blind: floor.blind,
                },
                moment(floor.age_ms),
            )),
        };
        let mark = match &self.mark {
            None => None,
            Some(mark) => Some(Mark {
                stamp: stamp(&mark.stamp)?,
                heard: moment(mark.heard_ms),
                cancelled: mark.cancelled,
                life: duration(mark.life_ms).min(LONGEST_LIFE),
                blind: false,
            }),
        };
        let heard = self.age_ms.map(|age_ms| Heard { at: moment(age_ms), renewed: !self.never_renewed });
        Ok(KeyState { key, record, over, floor, mark, heard })
    }
}

/// A digest as it is written: both sides of a comparison must write it alike.
pub fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// A list of no more than [`MOST_KEYS`].
fn at_most<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<WireState>, D::Error> {
    struct Bounded;
    impl<'de> Visitor<'de> for Bounded {
        type Value = Vec<WireState>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MOST_KEYS} keys")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut keys: A) -> Result<Self::Value, A::Error> {
            let mut taken = Vec::new();
            while let Some(key) = keys.next_element()? {
                if taken.len() == MOST_KEYS {
                    return Err(A::Error::invalid_length(MOST_KEYS + 1, &self));
                }
                taken.push(key);
            }
            Ok(taken)
        }
    }
    deserializer.deserialize_seq(Bounded)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn duration(millis: u64) -> Duration {
    Duration::from_millis(millis).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::NodeId;

    const NOW: Tick = Tick(1 << 41);

    fn whole() -> KeyState {
        let stamp = |millis| Stamp { millis, count: 3, node: NodeId(0xc0ffee) };
        let secs = Duration::from_secs;
        let mut info = eurekad_wire::InstanceInfo::new(AppName::new("A"));
        info.instance_id = Some(InstanceId::new("a"));
        info.status = InstanceStatus::Starting;
        KeyState {
            key: Key::new("A", "a"),
            record: Some(Record { stamp: stamp(5), content: Some(Box::new(info)) }),
            over: Some(Override {
                value: OverrideValue::Cleared(InstanceStatus::Unknown),
                stamp: stamp(6),
                last_dirty: Some(7),
            }),
            floor: Some((
                Floor { stamp: stamp(4), last_dirty: 3, interval: secs(30), life: secs(90), blind: true },
                NOW.before(secs(9)),
            )),
            mark: Some(Mark {
                stamp: stamp(2),
                heard: NOW.before(secs(8)),
                cancelled: true,
                life: secs(90),
                blind: false,
            }),
            heard: Some(Heard { at: NOW.before(secs(2)), renewed: false }),
        }
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        let text = serde_json::to_string(&WireState::of(&whole(), NOW)).unwrap();
        let read: WireState = serde_json::from_str(&text).unwrap();
        // Another clock: the same ages.
        let later = NOW.after(Duration::from_secs(1000));
        let read = read.read(later).unwrap();
        let moved = |tick: Tick| tick.after(Duration::from_secs(1000));
        let whole = whole();
        assert_eq!(read.over, whole.over);
        assert_eq!(read.floor, whole.floor.map(|(floor, at)| (floor, moved(at))));
        assert_eq!(read.mark.map(|m| (m.stamp, m.heard)), whole.mark.map(|m| (m.stamp, moved(m.heard))));
        assert_eq!(read.heard.map(|h| (h.at, h.renewed)), whole.heard.map(|h| (moved(h.at), h.renewed)));
        let (read, written) = (read.record.unwrap(), whole.record.unwrap());
        assert_eq!(read.stamp, written.stamp);
        assert_eq!(read.content.unwrap().status, written.content.unwrap().status);
    }

    #[test]
    fn what_lies_about_its_key_or_is_no_stamp_is_refused() {
        let write = |state: &KeyState| serde_json::to_value(WireState::of(state, NOW)).unwrap();
        let with = |field: &str, value: serde_json::Value| {
            let mut state = write(&whole());
            state[field] = value;
            serde_json::from_value::<WireState>(state).unwrap().read(NOW)
        };
        assert!(with("id", "b".into()).is_err(), "its record is another's");
        assert!(with("app", "".into()).is_err());
        assert!(with("r", "now".into()).is_err());
        assert!(with("a", u64::MAX.into()).is_ok(), "an absurd age is only very old");
    }
}
