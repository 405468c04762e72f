//! Single calls, for histories that are about few of them: no client beats there.

use axum::http::{Method, Request};
use bytes::Bytes;
use eurekad::peers::Transport;
use tokio::time::Instant;

use crate::client::{Times, registration};
use crate::history::tell;
use crate::invariants::Broken;
use crate::world::{EPOCH, Plan, World};

/// A calm cluster of three, of leases that live longer than the history. Neither a heartbeat, a comparison nor the end of
/// a lease makes good what a call has left wrong.
pub(crate) fn calm(seed: u64) -> Plan {
    Plan { repair: false, balanced: false, clients: 0, times: Times::USUAL, java: false, ..Plan::of(seed) }
}

/// Runs one history for each seed, in the cluster that is planned for it.
pub(crate) fn run(
    seeds: u64,
    plan: fn(u64) -> Plan,
    history: &impl AsyncFn(&Calls, u64) -> Result<(), Broken>,
) {
    for seed in 0..seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let world = World::start(plan(seed)).await;
            let calls = Calls { world, started: Instant::now() };
            let broken = history(&calls, seed).await.err();
            assert!(broken.is_none(), "{}", tell(seed, &broken.unwrap(), calls.world.history()));
            calls.world.end().await;
        });
    }
}

/// Who calls.
pub(crate) struct Calls {
    pub(crate) world: World,
    started: Instant,
}

impl Calls {
    /// Registers an instance at a node, with a timestamp that is greater than any before.
    pub(crate) async fn register(&self, host: &str, id: &str) {
        let dirty = EPOCH + i64::try_from(self.started.elapsed().as_millis()).unwrap();
        self.call(Method::POST, host, "", registration(id, "UP", dirty, Times::USUAL)).await;
    }

    /// Cancels an instance at a node, whether it is known there or not.
    pub(crate) async fn cancel(&self, host: &str, id: &str) {
        self.call(Method::DELETE, host, &format!("/{id}"), Bytes::new()).await;
    }

    /// Sets a status at a node, if it knows the instance.
    pub(crate) async fn set_status(&self, host: &str, id: &str, value: &str) {
        self.call(Method::PUT, host, &format!("/{id}/status?value={value}"), Bytes::new()).await;
    }

    async fn call(&self, method: Method, host: &str, path: &str, body: Bytes) {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{host}/eureka/apps/SIM{path}"))
            .header("content-type", "application/json")
            .body(body)
            .unwrap();
        let code = self.world.net.link("client").send(request).await.unwrap().status();
        assert!(!code.is_server_error(), "{code}");
    }

    /// That all nodes show the same.
    pub(crate) fn agree(&self, name: &'static str) -> Result<(), Broken> {
        let shown = self.world.shown();
        let (first, reference) = &shown[0];
        match shown.iter().find(|(_, shows)| shows != reference) {
            Some((host, shows)) => {
                Broken::new(name, format!("{first} shows {reference:?}, {host} shows {shows:?}"))
            }
            None => Ok(()),
        }
    }
}
