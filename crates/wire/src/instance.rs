//! An instance, the thing a registry is about.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::{AppName, DataCenterInfo, InstanceId, LeaseInfo};

/// Free key-value pairs of an instance. Sorted, so that equal content is equal however it was sent.
pub type Metadata = BTreeMap<Box<str>, Box<str>>;

/// Whether an instance takes traffic.
///
/// The order is the alphabetical one of the wire words, which the hash code needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstanceStatus {
    /// Its health check fails.
    Down,
    /// Taken out on purpose.
    OutOfService,
    /// Not ready yet.
    Starting,
    /// Not known; also the word for "no override".
    Unknown,
    /// Takes traffic.
    Up,
}

impl InstanceStatus {
    /// All of them, in alphabetical order of their words.
    pub const ALL: [Self; 5] = [Self::Down, Self::OutOfService, Self::Starting, Self::Unknown, Self::Up];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Down => "DOWN",
            Self::OutOfService => "OUT_OF_SERVICE",
            Self::Starting => "STARTING",
            Self::Unknown => "UNKNOWN",
            Self::Up => "UP",
        }
    }
}

impl fmt::Display for InstanceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The word is none of UP, DOWN, STARTING, OUT_OF_SERVICE, UNKNOWN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected one of UP, DOWN, STARTING, OUT_OF_SERVICE, UNKNOWN")]
pub struct NoSuchStatus;

impl FromStr for InstanceStatus {
    type Err = NoSuchStatus;

    /// Exactly the upper-case words; what a lenient decoder makes of others is its own business.
    fn from_str(word: &str) -> Result<Self, NoSuchStatus> {
        Self::ALL.into_iter().find(|s| s.as_str() == word).ok_or(NoSuchStatus)
    }
}

/// What happened to an instance last, as a delta tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionType {
    /// Registered, for the first time or again.
    Added,
    /// Its status changed.
    Modified,
    /// Cancelled or evicted.
    Deleted,
}

impl ActionType {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A port and whether it is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Port {
    /// The number. Java keeps any 32-bit integer here, and so does this.
    pub number: i32,
    /// Whether the instance listens there.
    pub enabled: bool,
}

/// One instance of an application.
///
/// **Compat:** the fields, their names on the wire and their defaults are those of Netflix's `InstanceInfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceInfo {
    /// The id its client chose; see [`id`](Self::id) for the one it goes by.
    pub instance_id: Option<InstanceId>,
    /// The host's name, or its address where the client prefers that. Empty if the client sent none.
    pub host_name: Box<str>,
    /// The application it is an instance of.
    pub app: AppName,
    /// The address. Empty if the client sent none.
    pub ip_addr: Box<str>,
    /// An old field, kept when it says something; `None` stands for the default `na`.
    pub sid: Option<Box<str>>,
    /// The status shown to clients.
    pub status: InstanceStatus,
    /// A status set from outside; [`InstanceStatus::Unknown`] if there is none.
    pub overridden_status: InstanceStatus,
    /// The plain port.
    pub port: Port,
    /// The TLS port.
    pub secure_port: Port,
    /// An old field, 1 everywhere.
    pub country_id: i32,
    /// Where it runs.
    pub data_center_info: Option<DataCenterInfo>,
    /// Its lease. What a client sends is a wish; what a server shows is in [`Shown`](crate::Shown).
    pub lease_info: Option<LeaseInfo>,
    /// Free key-value pairs.
    pub metadata: Metadata,
    /// A group of applications, upper case.
    pub app_group_name: Option<Box<str>>,
    /// A page about the instance.
    pub home_page_url: Option<Box<str>>,
    /// A page about its state.
    pub status_page_url: Option<Box<str>>,
    /// Where its health can be asked, plainly.
    pub health_check_url: Option<Box<str>>,
    /// Where its health can be asked over TLS.
    pub secure_health_check_url: Option<Box<str>>,
    /// Names by which clients find it, separated by commas.
    pub vip_address: Option<Box<str>>,
    /// Names by which clients find its TLS port, separated by commas.
    pub secure_vip_address: Option<Box<str>>,
    /// Whether it is the registry server that answers.
    pub is_coordinating_discovery_server: bool,
    /// When the server last changed it, epoch milliseconds.
    pub last_updated_timestamp: i64,
    /// When its client last changed it, epoch milliseconds by the client's clock. `None` if the client did not say.
    pub last_dirty_timestamp: Option<i64>,
    /// What happened to it last.
    pub action_type: Option<ActionType>,
    /// Its auto-scaling group.
    pub asg_name: Option<Box<str>>,
}

impl InstanceInfo {
    /// The plain port of an instance that names none.
    pub const DEFAULT_PORT: Port = Port { number: 7001, enabled: true };
    /// The TLS port of an instance that names none.
    pub const DEFAULT_SECURE_PORT: Port = Port { number: 7002, enabled: false };

    /// An instance with nothing but an application and Eureka's defaults.
    pub fn new(app: AppName) -> Self {
        Self {
            instance_id: None,
            host_name: "".into(),
            app,
            ip_addr: "".into(),
            sid: None,
            status: InstanceStatus::Up,
            overridden_status: InstanceStatus::Unknown,
            port: Self::DEFAULT_PORT,
            secure_port: Self::DEFAULT_SECURE_PORT,
            country_id: 1,
            data_center_info: None,
            lease_info: None,
            metadata: Metadata::new(),
            app_group_name: None,
            home_page_url: None,
            status_page_url: None,
            health_check_url: None,
            secure_health_check_url: None,
            vip_address: None,
            secure_vip_address: None,
            is_coordinating_discovery_server: false,
            last_updated_timestamp: 0,
            last_dirty_timestamp: None,
            action_type: None,
            asg_name: None,
        }
    }

    /// The id it goes by: its own, else the data centre's, else its host name. Empty if it has none of them.
    ///
    /// **Compat:** Netflix's `InstanceInfo.getId`.
    pub fn id(&self) -> &str {
        if let Some(id) = &self.instance_id
            && !id.as_str().is_empty()
        {
            return id.as_str();
        }
        self.data_center_info.as_ref().and_then(DataCenterInfo::unique_id).unwrap_or(&self.host_name)
    }

    /// The bytes of all its texts: about what it takes in memory and in a document.
    pub fn text_bytes(&self) -> usize {
        let Self {
            instance_id,
            host_name,
            app,
            ip_addr,
            sid,
            data_center_info,
            metadata,
            app_group_name,
            home_page_url,
            status_page_url,
            health_check_url,
            secure_health_check_url,
            vip_address,
            secure_vip_address,
            asg_name,
            status: _,
            overridden_status: _,
            port: _,
            secure_port: _,
            country_id: _,
            lease_info: _,
            is_coordinating_discovery_server: _,
            last_updated_timestamp: _,
            last_dirty_timestamp: _,
            action_type: _,
        } = self;
        let optional = [
            sid,
            app_group_name,
            home_page_url,
            status_page_url,
            health_check_url,
            secure_health_check_url,
            vip_address,
            secure_vip_address,
            asg_name,
        ];
        let amazon = data_center_info.as_ref().and_then(DataCenterInfo::metadata);
        let pairs = metadata.iter().chain(amazon.into_iter().flatten());
        host_name.len()
            + app.as_str().len()
            + ip_addr.len()
            + instance_id.as_ref().map_or(0, |id| id.as_str().len())
            + optional.into_iter().flatten().map(|text| text.len()).sum::<usize>()
            + pairs.map(|(key, value)| key.len() + value.len()).sum::<usize>()
    }

    /// The names by which clients find it: the VIP address split at its commas, nothing trimmed.
    pub fn vips(&self) -> impl Iterator<Item = &str> {
        self.vip_address.iter().flat_map(|v| v.split(','))
    }

    /// The names by which clients find its TLS port.
    pub fn secure_vips(&self) -> impl Iterator<Item = &str> {
        self.secure_vip_address.iter().flat_map(|v| v.split(','))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case: P023
    /// Catalog: F5
    #[test]
    fn an_instance_goes_by_its_own_id_else_by_amazons_else_by_its_host() {
        let mut info = InstanceInfo::new("A".into());
        assert_eq!(info.id(), "");
        info.host_name = "h".into();
        assert_eq!(info.id(), "h");
        info.data_center_info = Some(DataCenterInfo::Amazon(Metadata::new()));
        assert_eq!(info.id(), "h");
        let amazon = [(crate::AMAZON_INSTANCE_ID.into(), "i-1".into())];
        info.data_center_info = Some(DataCenterInfo::Amazon(amazon.into()));
        assert_eq!(info.id(), "i-1");
        info.instance_id = Some("".into());
        assert_eq!(info.id(), "i-1");
        info.instance_id = Some("own".into());
        assert_eq!(info.id(), "own");
    }

    /// Case: P029
    #[test]
    fn vip_addresses_are_split_at_commas_and_left_as_they_are() {
        let mut info = InstanceInfo::new("A".into());
        assert_eq!(info.vips().count(), 0);
        info.vip_address = Some("orders,Orders-V2, x".into());
        info.secure_vip_address = Some("s".into());
        assert_eq!(info.vips().collect::<Vec<_>>(), ["orders", "Orders-V2", " x"]);
        assert_eq!(info.secure_vips().collect::<Vec<_>>(), ["s"]);
    }
}
