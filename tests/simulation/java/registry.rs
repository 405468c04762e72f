//! What a Java server knows of instances, and Eureka's rules about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use eurekad::clock::{Clock, Tick};
use serde_json::{Value, json};

/// The application's name, in upper case, and the instance's id.
pub(super) type Key = (String, String);

pub(super) const UNKNOWN: &str = "UNKNOWN";
pub(super) const STATUSES: [&str; 5] = ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", UNKNOWN];
pub(super) const STATUS: &str = "status";
pub(super) const OVERRIDDEN: &str = "overriddenStatus";
const DIRTY: &str = "lastDirtyTimestamp";

/// Fields that may hold objects; any other makes Java's decoder lose its way.
const OBJECTS: [&str; 5] = ["port", "securePort", "dataCenterInfo", "leaseInfo", "metadata"];

/// Overrides that nobody looked at for so long are forgotten.
const OVERRIDE_LIFE: Duration = Duration::from_secs(3600);

/// Of all leases, one pass leaves so many percent alone, expired or not.
const SPARED_PERCENT: usize = 85;

/// An instance. Leases and messages that wait to be sent share it, so what is sent is what it is by then.
#[derive(Debug, Clone)]
pub(super) struct Info(Arc<Mutex<Value>>);

impl Info {
    /// Reads an instance as Java's decoder does; `None` where that fails.
    pub(super) fn read(mut body: Value, now: i64) -> Option<Self> {
        let fields = body.as_object_mut()?;
        fields.retain(|_, value| !value.is_null());
        if fields
            .iter()
            .any(|(name, value)| (value.is_object() || value.is_array()) && !OBJECTS.contains(&name.as_str()))
        {
            return None;
        }
        let app = fields.get("app")?.as_str()?.to_uppercase();
        let word = |value: Option<Value>, missing: &str| match value {
            None => missing.to_owned(),
            Some(Value::String(word)) if STATUSES.contains(&word.as_str()) => word,
            Some(_) => UNKNOWN.to_owned(),
        };
        let overridden = fields.remove("overriddenstatus").or_else(|| fields.remove(OVERRIDDEN));
        let status = word(fields.remove(STATUS), "UP");
        let dirty = match fields.get(DIRTY) {
            None => now,
            Some(Value::String(text)) => text.parse().unwrap_or(0),
            Some(number) => number.as_i64().unwrap_or(0),
        };
        fields.insert("app".to_owned(), app.into());
        fields.insert(STATUS.to_owned(), status.into());
        fields.insert(OVERRIDDEN.to_owned(), word(overridden, UNKNOWN).into());
        fields.insert(DIRTY.to_owned(), dirty.to_string().into());
        Some(Self(Arc::new(Mutex::new(body))))
    }

    /// Whether Java takes it as a registration of this application.
    pub(super) fn is_valid_for(&self, app: &str) -> bool {
        let here = |field: &str| !self.text(field).is_empty();
        let named = self.0.lock().unwrap()["dataCenterInfo"]["name"].is_string();
        here("hostName") && here("ipAddr") && self.text("app") == app && named
    }

    pub(super) fn key(&self) -> Key {
        let id = Some(self.text("instanceId")).filter(|id| !id.is_empty());
        (self.text("app"), id.unwrap_or_else(|| self.text("hostName")))
    }

    pub(super) fn text(&self, field: &str) -> String {
        self.0.lock().unwrap()[field].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn dirty(&self) -> i64 {
        self.text(DIRTY).parse().unwrap()
    }

    /// One of the numbers of its lease, if it is there and positive.
    pub(super) fn lease(&self, field: &str) -> Option<i64> {
        self.0.lock().unwrap()["leaseInfo"][field].as_i64().filter(|secs| *secs > 0)
    }

    pub(super) fn has_lease(&self) -> bool {
        self.0.lock().unwrap()["leaseInfo"].is_object()
    }

    pub(super) fn document(&self) -> Value {
        self.0.lock().unwrap().clone()
    }

    fn set(&self, field: &str, value: impl Into<Value>) {
        self.0.lock().unwrap()[field] = value.into();
    }
}

#[derive(Debug)]
struct Lease {
    info: Info,
    duration: i64,
    registered: i64,
    updated: i64,
}

impl Lease {
    /// The duration is added here and once more where the end is looked for: a renewed lease lives twice as long.
    fn renew(&mut self, now: i64) {
        self.updated = now + self.duration;
    }

    fn is_expired(&self, now: i64) -> bool {
        now > self.updated + self.duration
    }

    /// The instance with its lease written into it, as whoever asks for it gets it.
    fn decorated(&self) -> Info {
        let lease = json!({
            "renewalIntervalInSecs": self.info.lease("renewalIntervalInSecs").unwrap_or(30),
            "durationInSecs": self.duration / 1000,
            "registrationTimestamp": self.registered,
            "lastRenewalTimestamp": self.updated,
            "evictionTimestamp": 0,
            "serviceUpTimestamp": self.registered,
        });
        self.info.set("leaseInfo", lease);
        self.info.clone()
    }
}

/// Leases and overrides.
#[derive(Debug)]
pub(super) struct Registry {
    clock: Clock,
    leases: BTreeMap<Key, Lease>,
    /// By id alone, whatever the application; with the moment of the last look.
    overrides: BTreeMap<String, (String, Tick)>,
}

impl Registry {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, leases: BTreeMap::new(), overrides: BTreeMap::new() }
    }

    /// A known instance with a newer `lastDirtyTimestamp` stays, with a new lease.
    pub(super) fn register(&mut self, info: &Info, replica: bool) {
        let key = info.key();
        let old = self.leases.get(&key).map(|lease| lease.info.clone());
        let registrant = old.clone().filter(|old| old.dirty() > info.dirty()).unwrap_or_else(|| info.clone());
        let told = registrant.text(OVERRIDDEN);
        if told != UNKNOWN && self.override_of(&key.1).is_none() {
            self.put_override(&key.1, &told);
        }
        if let Some(over) = self.override_of(&key.1) {
            registrant.set(OVERRIDDEN, over);
        }
        let status = self.status_by_rules(&registrant, old.map(|old| old.text(STATUS)), replica);
        registrant.set(STATUS, status);
        let (now, duration) = (self.clock.epoch_millis(), info.lease("durationInSecs").unwrap_or(90) * 1000);
        self.leases.insert(key, Lease { info: registrant, duration, registered: now, updated: now });
    }

    /// False also where the rules come to UNKNOWN: the client has to register.
    pub(super) fn renew(&mut self, key: &Key, replica: bool) -> bool {
        let Some(info) = self.leases.get(key).map(|lease| lease.info.clone()) else { return false };
        let status = self.status_by_rules(&info, Some(info.text(STATUS)), replica);
        if status == UNKNOWN {
            return false;
        }
        info.set(STATUS, status);
        self.touch(key);
        true
    }

    /// What a heartbeat with such a timestamp is answered once the lease is renewed; 409 comes with the instance.
    pub(super) fn compare(
        &mut self,
        key: &Key,
        dirty: Option<i64>,
        over: Option<&str>,
        replica: bool,
    ) -> (u16, Option<Value>) {
        let (Some(theirs), Some(info)) = (dirty, self.live(key)) else { return (200, None) };
        if theirs < info.dirty() && replica {
            return (409, Some(info.document()));
        }
        match over {
            _ if theirs <= info.dirty() => (200, None),
            Some(over) if replica && !STATUSES.contains(&over) => (500, None),
            Some(over) if replica => {
                self.store_override(key, over);
                (404, None)
            }
            _ => (404, None),
        }
    }

    pub(super) fn cancel(&mut self, key: &Key) -> bool {
        self.overrides.remove(&key.1);
        self.leases.remove(key).is_some()
    }

    /// Of a status that is shown already no override is stored.
    pub(super) fn set_status(&mut self, key: &Key, status: &str, dirty: Option<i64>) {
        let info = self.touch(key);
        if info.text(STATUS) != status {
            self.put_override(&key.1, status);
            info.set(OVERRIDDEN, status);
            adopt(&info, status, dirty);
        }
    }

    pub(super) fn clear_status(&mut self, key: &Key, status: &str, dirty: Option<i64>) {
        let info = self.touch(key);
        if self.override_of(&key.1).is_some() {
            self.overrides.remove(&key.1);
            info.set(OVERRIDDEN, UNKNOWN);
            adopt(&info, status, dirty);
        }
    }

    /// An override that a peer has; the status follows with the next heartbeat or registration.
    pub(super) fn store_override(&mut self, key: &Key, over: &str) {
        if over != UNKNOWN && self.override_of(&key.1).as_deref() != Some(over) {
            self.put_override(&key.1, over);
            if let Some(lease) = self.leases.get(key) {
                lease.info.set(OVERRIDDEN, over);
            }
        }
    }

    /// One pass. It is told to nobody: each server evicts on its own.
    pub(super) fn evict(&mut self) {
        let (now, size) = (self.clock.epoch_millis(), self.leases.len());
        let most = size - size * SPARED_PERCENT / 100;
        let expired = self.leases.iter().filter(|(_, lease)| lease.is_expired(now));
        let gone: Vec<Key> = expired.map(|(key, _)| key.clone()).take(most).collect();
        for key in gone {
            self.cancel(&key);
        }
    }

    /// An instance whose lease has not ended.
    pub(super) fn live(&self, key: &Key) -> Option<Info> {
        let now = self.clock.epoch_millis();
        self.leases.get(key).filter(|lease| !lease.is_expired(now)).map(Lease::decorated)
    }

    /// All instances, those whose lease has ended too.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, Info)> {
        self.leases.iter().map(|(key, lease)| (key, lease.decorated()))
    }

    pub(super) fn override_of(&mut self, id: &str) -> Option<String> {
        let now = self.clock.tick();
        self.overrides.retain(|_, (_, seen)| now.since(*seen) < OVERRIDE_LIFE);
        let (status, seen) = self.overrides.get_mut(id)?;
        *seen = now;
        Some(status.clone())
    }

    fn put_override(&mut self, id: &str, status: &str) {
        self.overrides.insert(id.to_owned(), (status.to_owned(), self.clock.tick()));
    }

    /// Renews a lease that is there.
    fn touch(&mut self, key: &Key) -> Info {
        let now = self.clock.epoch_millis();
        let lease = self.leases.get_mut(key).unwrap();
        lease.renew(now);
        lease.info.clone()
    }

    /// The first rule that applies: other words than these two, the override, (for clients) what was shown, the word.
    fn status_by_rules(&mut self, info: &Info, shown: Option<String>, replica: bool) -> String {
        let in_traffic = |status: &String| ["UP", "OUT_OF_SERVICE"].contains(&status.as_str());
        let said = info.text(STATUS);
        if !in_traffic(&said) {
            return said;
        }
        let over = self.override_of(&info.key().1);
        over.or_else(|| shown.filter(|shown| !replica && in_traffic(shown))).unwrap_or(said)
    }
}

/// Takes a status over, and the timestamp that came with it if it is newer.
fn adopt(info: &Info, status: &str, dirty: Option<i64>) {
    info.set(STATUS, status);
    if let Some(dirty) = dirty.filter(|dirty| *dirty > info.dirty()) {
        info.set(DIRTY, dirty.to_string());
    }
}
