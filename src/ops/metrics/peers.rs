//! What is known of each peer, by its URL. As many as the settings list.

use super::figures::Figures;
use crate::http::Api;
use crate::peers::PeerView;

pub(super) fn measure(api: &Api, figures: &mut Figures) {
    let peers = api.peers.views();
    let label = |peer: &PeerView| [("peer", peer.url.clone())];
    let all = |of: fn(&PeerView) -> u64| peers.iter().map(|peer| (label(peer), of(peer))).collect::<Vec<_>>();
    figures.gauges("peer_up", "1 if the peer answered last time", all(|peer| u64::from(peer.available)));
    figures.gauges("peer_queued", "Keys that the peer has not taken yet", all(|peer| peer.queued as u64));
    figures.counters(
        "peer_dropped",
        "Keys dropped for want of room, or because the peer refused them alone",
        all(|peer| peer.dropped),
    );
    figures.seconds_each(
        "peer_round_trip",
        "How long the last answered request took",
        peers.iter().filter_map(|peer| Some((label(peer), peer.round_trip?.as_secs_f64()))),
    );
    figures.seconds_each(
        "peer_last_answer_timestamp",
        "When the peer last answered",
        peers.iter().filter_map(|peer| Some((label(peer), peer.last_success? as f64 / 1000.0))),
    );
    let compared = || {
        let answering = peers.iter().filter(|peer| peer.available);
        answering.filter_map(|peer| Some((label(peer), peer.compared?)))
    };
    figures.gauges(
        "peer_agrees",
        "1 if the last comparison found the same registry there",
        compared().map(|(label, found)| (label, u64::from(found.equal))),
    );
    figures.gauges(
        "peer_instances",
        "Instances there at the last comparison",
        compared().map(|(label, found)| (label, found.instances as u64)),
    );
}
