//! Where an instance runs.

use crate::Metadata;

/// The key under which Amazon's own instance id stands in the data centre's metadata.
pub const AMAZON_INSTANCE_ID: &str = "instance-id";

/// The Amazon metadata that a compact document keeps.
pub const AMAZON_COMPACT_KEYS: [&str; 5] =
    ["instance-id", "public-ipv4", "public-hostname", "local-ipv4", "availability-zone"];

/// The data centre an instance says it runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataCenterInfo {
    /// A data centre of one's own; what nearly every client sends.
    MyOwn,
    /// Netflix's.
    Netflix,
    /// Amazon's, with what the instance metadata service told.
    Amazon(Metadata),
    /// Sent without a name. It decodes, and registering it is refused with Eureka's own text.
    Unnamed,
}

impl DataCenterInfo {
    /// The name on the wire; `None` for one that was sent without.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::MyOwn => Some("MyOwn"),
            Self::Netflix => Some("Netflix"),
            Self::Amazon(_) => Some("Amazon"),
            Self::Unnamed => None,
        }
    }

    /// The Java class by which the Java decoders tell data centres apart.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Amazon(_) => "com.netflix.appinfo.AmazonInfo",
            Self::MyOwn | Self::Netflix | Self::Unnamed => {
                "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
            }
        }
    }

    /// What the data centre tells of the instance; only Amazon's does.
    pub fn metadata(&self) -> Option<&Metadata> {
        match self {
            Self::Amazon(metadata) => Some(metadata),
            Self::MyOwn | Self::Netflix | Self::Unnamed => None,
        }
    }

    /// The id that the data centre itself gave the instance, if it gave one.
    pub fn unique_id(&self) -> Option<&str> {
        match self {
            Self::Amazon(metadata) => {
                metadata.get(AMAZON_INSTANCE_ID).map(|id| &**id).filter(|id| !id.is_empty())
            }
            Self::MyOwn | Self::Netflix | Self::Unnamed => None,
        }
    }
}
