//! Running histories, many of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::coverage::Coverage;
use crate::invariants::{self, Broken};
use crate::world::{Plan, World};

/// How many seeds are run, if nobody says otherwise.
const SEEDS: u64 = 1000;

/// How long things go wrong.
const TROUBLE: Duration = Duration::from_secs(60);
/// After so long in which all is well, the nodes agree: the longest back-off, a repair, a lease and its eviction.
pub(crate) const SETTLED: Duration = Duration::from_secs(45);
/// How long clients and operators go on while all is well.
const PEACE: Duration = Duration::from_secs(15);
/// From then on nobody has anything to tell but heartbeats.
const QUIET: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// What a history came to.
pub(crate) struct Outcome {
    pub(crate) coverage: Coverage,
    pub(crate) hash: u64,
    pub(crate) broken: Option<Broken>,
    pub(crate) history: String,
}

/// Runs one history in a runtime of its own.
pub(crate) fn run(plan: Plan) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async move {
        let mut world = World::start(plan).await;
        let broken = unless_broken(&mut world).await.err();
        let coverage = Coverage::of(&world);
        let (hash, history) = (world.net.hash(), world.history().to_owned());
        world.end().await;
        Outcome { coverage, hash, broken, history }
    })
}

async fn unless_broken(world: &mut World) -> Result<(), Broken> {
    world.trouble(TROUBLE).await?;
    sleep(SETTLED).await;
    invariants::agreement::check(world)?;
    world.peace(PEACE).await?;
    sleep(SETTLED).await;
    world.note("quiet");
    let mut quiet = invariants::Quiet::begin(world);
    let end = Instant::now() + QUIET;
    while Instant::now() < end {
        sleep(LOOK).await;
        quiet.look(world)?;
    }
    quiet.end(world)?;
    invariants::agreement::check(world)?;
    invariants::overrides::check(world)?;
    invariants::repair::check(world)
}

/// Runs seeds on as many threads as there are processors; panics with the first that fails.
fn run_all(seeds: std::ops::Range<u64>) -> (Coverage, u64) {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let (mut coverage, mut ran) = (Coverage::default(), 0);
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok((coverage, ran));
            }
            let outcome = run(Plan::of(seed));
            if let Some(broken) = outcome.broken {
                // The others stop too.
                next.store(seeds.end, Ordering::Relaxed);
                return Err(tell(seed, &broken, &outcome.history));
            }
            coverage.add(outcome.coverage);
            ran += 1;
        }
    };
    let results: Vec<Result<(Coverage, u64), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = (Coverage::default(), 0);
    for result in results {
        match result {
            Ok((coverage, ran)) => {
                all.0.add(coverage);
                all.1 += ran;
            }
            Err(why) => panic!("{why}"),
        }
    }
    all
}

pub(crate) fn tell(seed: u64, broken: &Broken, history: &str) -> String {
    let Broken { invariant, why } = broken;
    format!(
        "{history}\n\nseed {seed}: {invariant}: {why}\nrun it again: SIM_SEED={seed} cargo test --profile ci --test simulation"
    )
}

/// The time of a simulation, for the log of one that is run again.
#[derive(Debug, Default)]
struct VirtualTime(std::sync::OnceLock<Instant>);

impl FormatTime for VirtualTime {
    fn format_time(&self, to: &mut Writer<'_>) -> std::fmt::Result {
        let start = self.0.get_or_init(Instant::now);
        write!(to, "{:8.3}", start.elapsed().as_secs_f64())
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn clusters_agree_and_lose_nobody_whatever_goes_wrong() {
    if let Some(seed) = number("SIM_SEED") {
        let log = tracing_subscriber::fmt()
            .with_env_filter("info,eurekad::peers=debug,eurekad::registry=trace")
            .with_ansi(false);
        log.with_timer(VirtualTime::default()).init();
        let outcome = run(Plan::of(seed));
        println!("{}\n{:?}", outcome.history, outcome.coverage);
        assert!(outcome.broken.is_none(), "{:?}", outcome.broken);
        return;
    }
    let seeds = number("SIM_SEEDS").unwrap_or(SEEDS);
    let started = std::time::Instant::now();
    let (coverage, ran) = run_all(0..seeds);
    println!("{ran} histories in {:?}: {coverage:?}", started.elapsed());
    coverage.check();
}

#[test]
fn the_same_seed_gives_the_same_history_twice() {
    for seed in 0..5 {
        let (first, second) = (run(Plan::of(seed)), run(Plan::of(seed)));
        assert_eq!(first.hash, second.hash, "seed {seed}");
        assert_eq!(first.history, second.history, "seed {seed}");
    }
    assert_ne!(run(Plan::of(0)).hash, run(Plan::of(1)).hash);
}
