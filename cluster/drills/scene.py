"""A running cluster with clients at work, to which something happens."""
import signal
import sys
import threading
import time
from typing import Callable

from . import wire
from .containers import Cluster, Container, Trouble
from .fleet import Fleet
from .journal import Journal
from .observer import Difference, Observer
from .readers import Reader

SERVICES = 24
READERS = 4
READ_EVERY_S = 0.5
SNAPSHOT_S = 2.0
# What is promised, in seconds.
BALANCER_FAILS_AT_MOST_S = 2.0
AGREE_WITHIN_S = 5.0
# Of a node that dies what it has counted last is not known; attempts that were made again count twice.
HEARTBEATS_COUNTED_AT_LEAST = 0.7
# What is not promised, but must come to an end.
READY_WITHIN_S = 60.0


def to_the_end(main: Callable[[], int]) -> int:
    """Runs a program: what keeps it from going on ends it with words, and when it is told to end it leaves in order."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Also where it was started in the background, which has it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return main()
    except Trouble as e:
        print(e, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("broken off", file=sys.stderr)
        return 130


class Scene:
    """Starts the clients, and waits until every node shows what it should."""

    def __init__(self, cluster: Cluster, beat_s: int = 2, lease_s: int = 90):
        self.cluster, self.journal = cluster, Journal()
        balancer, page = cluster.balancer_ports()
        self.observer = Observer(self.journal, cluster, page)
        self.fleet = Fleet(self.journal, balancer, beat_s, lease_s)
        self.stable: set[str] = set()
        self._stop = threading.Event()
        self.readers = [Reader(self.journal, balancer, f"reader-{n}", READ_EVERY_S, self._stop, lambda: set(self.stable))
                        for n in range(READERS)]

    def __enter__(self) -> "Scene":
        """Raises if the cluster is in no state for it."""
        threading.excepthook = self._thread_ended
        try:
            self._prepare()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Also in the middle, by Ctrl-C: nothing of this remains in the cluster."""
        self.mend()
        self._leave()

    def _thread_ended(self, args: threading.ExceptHookArgs) -> None:
        """A client that is no longer there finds nothing wrong."""
        who = args.thread.name if args.thread else "a thread"
        self.journal.say(f"{who} has ended: {args.exc_value!r}")
        self.journal.broken.append(f"{who} has ended")

    def _prepare(self) -> None:
        self.observer.start()
        nodes = self.observer.refresh()
        broken = [node.name for node in nodes if not node.works or self.cluster.is_cut(node)]
        if broken:
            raise Trouble(f"{', '.join(broken)}: not running, frozen or cut off; repair that first, or "
                          "`docker compose down` and begin anew")
        print(f"{time.strftime('%H:%M:%S')} on this machine's clock is the beginning")
        for node in nodes:
            print(f"{node.name}: port {node.port}, {', '.join(node.addresses)}, {node.id[:12]}")
        if not self.all_ready(len(nodes)):
            raise Trouble("the nodes are not ready, or the balancer does not send to them; see `docker compose logs`")
        if wire.Line(self.fleet.balancer).ask("GET", "/eureka/apps/NONE").status == 401:
            raise Trouble("the cluster asks for a user and a password, and these are not it: --user NAME:PASSWORD (the user of "
                          "cluster/compose.auth.yml is eureka if CLUSTER_USER does not say otherwise)")
        self.fleet.start()
        ids = self.fleet.register(SERVICES)
        if self.agree() is None:
            raise Trouble("the nodes do not agree before anything has happened:\n"
                          + "\n".join(difference.words for difference in self.differences()))
        for reader in self.readers:
            reader.start()
        # What clients fetch is a snapshot that each node renews in its own time.
        time.sleep(SNAPSHOT_S)
        if self.observer.wait(lambda: all(reader.sees(ids) for reader in self.readers), READY_WITHIN_S) is None:
            raise Trouble("clients that fetch the registry do not see all services")
        self.stable = set(ids)
        self.journal.say(f"{len(nodes)} nodes agree on {SERVICES} services that send heartbeats through the balancer; "
                         f"{READERS} clients read")

    def _leave(self) -> None:
        self._stop.set()
        for reader in self.readers:
            if reader.is_alive():
                reader.join()
        self.fleet.stop()
        self.observer.stop()
        threading.excepthook = threading.__excepthook__

    # ---- looking --------------------------------------------------------------------------------

    def differences(self, since: float = 0.0) -> list[Difference]:
        return self.observer.differences(self.fleet.expected(), since)

    def say_differences(self) -> None:
        """What is wrong where, and what had been done to a service that is."""
        differences = self.differences()
        for difference in differences:
            self.journal.say(difference.words)
        for id in sorted({id for difference in differences for id in difference.ids[:4]}):
            for line in self.fleet.history(id):
                self.journal.say(f"  {line}")

    def agree(self, within_s: float = READY_WITHIN_S) -> float | None:
        """Waits until every node that works shows what it should; how long that took from now, or None."""
        since = time.monotonic()
        return self.observer.wait(lambda: not self.differences(since), within_s)

    def promise_agreement(self, after: str, within_s: float = AGREE_WITHIN_S) -> None:
        took = self.agree()
        if took is None:
            self.say_differences()
            self.journal.say("they still do not agree")
        else:
            self.journal.say(f"all nodes that work agree, {took:.1f} s after {after}")
        how = "they never did" if took is None else f"{took:.1f} s"
        self.journal.promise(took is not None and took <= within_s,
                             f"all nodes agree within {within_s:.0f} s after {after} ({how})")

    def all_ready(self, count: int, within_s: float = READY_WITHIN_S) -> bool:
        """Waits until so many nodes are ready and the balancer sends to all of them."""
        def ready() -> bool:
            names = self.observer.working()
            return (len(names) == count and all(map(self.observer.is_ready, names))
                    and self.observer.in_balance == count)
        return self.observer.wait(ready, within_s) is not None

    def node(self, name: str) -> Container:
        return next(node for node in self.observer.refresh() if node.name == name)

    # ---- acting ---------------------------------------------------------------------------------

    def mend(self) -> None:
        """Every node that is still in trouble goes on."""
        for node in self.cluster.containers():
            if self.cluster.mend(node):
                self.journal.say(f"{node.name} goes on")
        self.observer.refresh()

    def change(self, own: list[str], at: int | None = None) -> list[str]:
        """Changes of all kinds, of services that nobody else changes: four of `own` are used up. Which are new."""
        first, second, third, fourth = own
        new = self.fleet.register(3, at)
        self.fleet.cancel([first, second], at)
        self.fleet.set_status([third], "OUT_OF_SERVICE", at)
        self.fleet.set_metadata([fourth], "changed", "yes", at)
        return new

    def change_back(self, own: list[str], new: list[str]) -> None:
        """The opposite of what has just been changed."""
        self.fleet.remove_status(own[2:3])
        self.fleet.set_metadata(own[3:], "changed", "back")
        self.fleet.cancel(new)

    # ---- the verdict ----------------------------------------------------------------------------

    def summary(self) -> int:
        """Prints how it went for whom; the exit code."""
        self.journal.tick()
        print(f"\n{self.journal.table()}\n")
        whole = sum(reader.whole_fetches for reader in self.readers)
        print(f"clients fetched the whole registry {whole} times: {READERS} to begin with, {whole - READERS} because a delta did "
              "not fit")
        print(f"{self.fleet.registered_again} heartbeats were answered 404, and their services registered again\n")
        self._promise_heartbeats()
        lost = set().union(*(reader.lost_sight for reader in self.readers))
        self.journal.promise(not lost, f"no client loses sight of a service that lives ({len(lost)} lost)")
        return 1 if self.journal.broken else 0

    def _promise_heartbeats(self) -> None:
        """So that none is answered by somebody else."""
        beats = [stream for who, stream in self.journal.streams().items() if who.startswith("heartbeats")]
        answered, counted = sum(stream.count - stream.failed for stream in beats), self.observer.counted
        held = self.observer.wait(lambda: counted["heartbeats"] >= HEARTBEATS_COUNTED_AT_LEAST * answered, AGREE_WITHIN_S)
        self.journal.promise(held is not None, "heartbeats that are answered have come to a node "
                                               f"({answered} answered, {counted['heartbeats']} counted)")

    def verdict(self, none_fails: bool = False) -> int:
        """The same, with what a single fault may cost."""
        through = [stream for stream in self.journal.streams().values() if stream.through_balancer]
        longest = max(stream.longest_s for stream in through)
        self.journal.promise(longest <= BALANCER_FAILS_AT_MOST_S,
                             f"no request through the balancer fails for longer than {BALANCER_FAILS_AT_MOST_S:.0f} s "
                             f"({longest:.1f} s)")
        if none_fails:
            failed = sum(stream.failed for stream in through if stream.idempotent)
            self.journal.promise(failed == 0, f"no idempotent request through the balancer fails ({failed} failed)")
        return self.summary()
