//! Which instance each peer is: behind a balancer, or with peers from a name, its URL does not tell.

use std::collections::HashMap;

use crate::http::Api;
use crate::peers::{NodeId, PeerKind};

/// What other nodes of this kind are registered as, by their ids; as `host (instance)`.
///
/// Who else registers under the name of servers, as Java servers do, may have told it to any node: with a Java server among
/// the peers, or several instances of one node, nobody is named.
pub(super) fn registered_as(api: &Api) -> HashMap<NodeId, String> {
    if api.peers.views().iter().any(|view| view.kind == PeerKind::Java) {
        return HashMap::new();
    }
    let mut found: HashMap<NodeId, Option<String>> = HashMap::new();
    for (node, info) in api.peers.registered_nodes() {
        let name = format!("{} ({})", info.host_name, info.id());
        found.entry(node).and_modify(|known| *known = None).or_insert(Some(name));
    }
    found.into_iter().filter_map(|(id, name)| Some((id, name?))).collect()
}
