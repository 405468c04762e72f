"""What happened when, as lines for people, and how it went for whom."""
import threading
import time
from dataclasses import dataclass, field

# A time of failures is over when requests have worked for so long.
APART_S = 1.0
# What somebody notices who waits for it.
SLOW_S = 1.0


@dataclass
class Failing:
    """A time in which requests failed."""
    first: float  # when the first of them began
    last: float  # when the last of them ended
    count: int
    why: str
    over: bool = False  # a request has worked since
    told: bool = False

    @property
    def lasted_s(self) -> float:
        return self.last - self.first


@dataclass
class Stream:
    """The requests of one kind, by one way."""
    through_balancer: bool
    idempotent: bool
    count: int = 0
    slow: int = 0
    slowest_s: float = 0.0
    failures: list[Failing] = field(default_factory=list)
    # By what had been done last: when the first request failed after it, and when the last one did.
    after: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return sum(failing.count for failing in self.failures)

    @property
    def longest_s(self) -> float:
        """The longest time from the first to the last failure between two things that were done to the cluster, however
        many worked in between."""
        return max((last - first for first, last in self.after.values()), default=0.0)


class Journal:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self._lock = threading.RLock()
        self._streams: dict[str, Stream] = {}
        self.broken: list[str] = []
        self._faults = 0

    def fault(self, text: str) -> None:
        """Says what is done to the cluster, at the moment in which it is."""
        with self._lock:
            self._faults += 1
            self.say(text)

    def say(self, text: str, at: float | None = None) -> None:
        with self._lock:
            print(f"{(at or time.monotonic()) - self.began:7.1f} s  {text}", flush=True)

    def record(self, who: str, answer, ok: bool, *, through_balancer: bool = False, idempotent: bool = True) -> None:
        """One request of a kind. The beginning of a time of failures is told at once."""
        with self._lock:
            stream = self._streams.setdefault(who, Stream(through_balancer, idempotent))
            stream.count += 1
            stream.slowest_s = max(stream.slowest_s, answer.took_s)
            stream.slow += answer.took_s > SLOW_S
            ended = answer.began + answer.took_s
            last = stream.failures[-1] if stream.failures else None
            if ok:
                if last is not None and ended > last.last:
                    last.over = True
                return
            first = stream.after.get(self._faults, (answer.began, 0.0))[0]
            stream.after[self._faults] = first, ended
            if last is None or last.over and answer.began - last.last > APART_S:
                why = answer.why or f"answered {answer.status}"
                stream.failures.append(Failing(answer.began, ended, 1, why))
                self.say(f"{who} fail: {why}", ended)
            else:
                last.count += 1
                last.last, last.over = max(last.last, ended), False

    def tick(self) -> None:
        """Tells which times of failures are over."""
        now = time.monotonic()
        with self._lock:
            for who, stream in self._streams.items():
                for failing in stream.failures:
                    if failing.over and not failing.told and now - failing.last > APART_S:
                        failing.told = True
                        self.say(f"{who} work again: {failing.count} failed, for {failing.lasted_s:.1f} s")

    def streams(self) -> dict[str, Stream]:
        with self._lock:
            return dict(self._streams)

    def table(self) -> str:
        lines = [f"{'':44} {'requests':>9} {'failed':>7} {'for':>7} {'over 1 s':>9} {'slowest':>8}"]
        for who, stream in sorted(self.streams().items()):
            lines.append(f"{who:44} {stream.count:>9} {stream.failed:>7} {stream.longest_s:>5.1f} s {stream.slow:>9} "
                         f"{stream.slowest_s:>6.2f} s")
        return "\n".join(lines)

    def promise(self, held: bool, text: str) -> bool:
        """Something that a drill promises, and whether it held."""
        with self._lock:
            print(f"{'held' if held else 'BROKEN':>9}  {text}", flush=True)
            if not held:
                self.broken.append(text)
        return held
