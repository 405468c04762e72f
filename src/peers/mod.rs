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
//! | `node.rs` | one peer: its queue, its sender |
//! | `exchange.rs` | one request to a peer, and who answers it |
//! | `to_ours.rs`, `protocol.rs` | telling a node of this kind: the state of keys |
//! | `to_java.rs`, `messages.rs` | telling a Java server: Eureka's batch items, and what their answers mean |
//! | `known.rs`, `view.rs`, `problem.rs` | what is known of a peer, and why it could not be told |
//! | `nodes.rs` | all peers: feeding their queues |
//! | `repair.rs`, `losses.rs` | comparing with nodes of this kind, and asking them before an eviction |
//! | `sync.rs` | the copy of the peers' registry at start |
//! | `transport.rs` | the only door to the network |

mod backoff;
mod exchange;
mod http_transport;
mod known;
mod list;
mod logged;
mod losses;
mod messages;
mod node;
mod nodes;
mod problem;
pub mod protocol;
mod queue;
mod repair;
mod resolve;
mod strangers;
mod sync;
mod taken;
mod to_java;
mod to_ours;
mod transport;
mod txt;
mod view;

pub use crate::registry::NodeId;
pub use http_transport::HttpTransport;
pub use list::{BadLine, read_file, sources_in};
pub use losses::Losses;
pub use node::PeerEurekaNode;
pub use nodes::{COLLECT, PeerEurekaNodes, Wiring};
pub use queue::{Flags, Queue};
pub use resolve::{LookUp, Resolve, SystemResolver};
pub use sync::Synced;
pub use transport::{Failure, Transport, TransportError};
pub use txt::listed_names;
pub use view::{LastCompared, PeerKind, PeerState, PeerView};

/// The header by which a node of this kind names itself to another: its random id.
pub const NODE_HEADER: &str = "eurekad-node";

/// The header by which a node of this kind says how far it is: `booting`, `copying`, `open` or `draining`.
pub const STATE_HEADER: &str = "eurekad-state";

/// The header by which a node of this kind tells another its stamp clock.
pub const CLOCK_HEADER: &str = "eurekad-clock";

/// The header by which nodes of this kind tell each other how long ago, in milliseconds, something was lost between any
/// nodes, as far as they know.
pub const LOST_HEADER: &str = "eurekad-lost";

/// The header that says why a node of this kind refused the call of another: `clock`.
pub const REFUSED_HEADER: &str = "eurekad-refused";
