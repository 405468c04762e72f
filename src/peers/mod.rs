//! The other nodes: who they are, what they have to be told, and what is known of each.
//!
//! A node tells its peers what its own clients and operators did, and nothing it learned from another node: every node
//! hears of a change from the node that took it. Per peer there is a queue of *keys*, not of messages; what is sent is
//! read from the registry when it is sent.
//!
//! | file | what |
//! |---|---|
//! | `list.rs`, `resolve.rs`, `txt.rs` | who the peers are: URLs, names, TXT records, a file |
//! | `queue.rs` | which keys a peer has still to be told of |
//! | `messages.rs` | from a key to Eureka's batch items, and what their answers mean |
//! | `node.rs` | one peer: its queue, its sender |
//! | `view.rs`, `problem.rs` | what is known of a peer, and why it could not be told |
//! | `nodes.rs` | all peers: feeding their queues |
//! | `sync.rs` | the copy of the peers' registry at start |
//! | `transport.rs` | the only door to the network |

mod backoff;
mod http_transport;
mod list;
mod messages;
mod node;
mod nodes;
mod problem;
mod queue;
mod resolve;
mod sync;
mod transport;
mod txt;
mod view;

pub use http_transport::HttpTransport;
pub use node::PeerEurekaNode;
pub use nodes::{PeerEurekaNodes, Wiring};
pub use queue::{Flags, Queue};
pub use resolve::{LookUp, Resolve, SystemResolver};
pub use sync::Synced;
pub use transport::{Failure, Transport, TransportError};
pub use view::{PeerKind, PeerView};

/// The header by which a node of this kind names itself to another: its random id.
pub const NODE_HEADER: &str = "eurekad-node";

/// The header by which a node of this kind says how far it is: `booting`, `copying`, `open` or `draining`.
pub const STATE_HEADER: &str = "eurekad-state";

/// The header by which a node of this kind numbers its batches to another: one that was given up on may arrive after a
/// later one, and must not undo it.
pub const BATCH_HEADER: &str = "eurekad-batch";

/// The random id of one process. Host names are never compared: two nodes may share one, and one node may have many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(pub u64);

impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::str::FromStr for NodeId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}
