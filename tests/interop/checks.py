"""What the scenarios share: a line with its time, checks that wait for their condition, and how the run ends."""
import os
import shutil
import time
from typing import Callable

import server

# What is checked comes about within seconds; the bound is for machines that are busy.
CHECK_WITHIN_S = 60
# When this is over, a check gets one look only.
ALL_WITHIN_S = 400

began = time.monotonic()
passed = failed = 0


def now() -> float:
    """Seconds since the start, as the lines show them."""
    return time.monotonic() - began


def say(text: str) -> None:
    print(f"{now():6.1f} s  {text}", flush=True)


def check(what: str, holds: Callable[[], bool], within_s: float = CHECK_WITHIN_S) -> bool:
    """Looks until it holds, once at least, and says what came of it and after how long."""
    global passed, failed
    first = now()
    deadline = min(first + within_s, ALL_WITHIN_S)
    while not (ok := bool(holds())) and now() < deadline:
        time.sleep(0.02)
    passed, failed = passed + ok, failed + (not ok)
    waited = (now() - first) * 1000
    say(f"{'ok   ' if ok else 'FAIL '} {what}" + (f" ({waited:.0f} ms)" if within_s else ""))
    return ok


def end(folder: str, ended: bool) -> int:
    """The closing line; logs are shown and kept if not all went well. Returns the exit code."""
    if ended and not failed:
        shutil.rmtree(folder)
    else:
        for name in sorted(os.listdir(folder)):
            print(f"{name} ends:\n{server.tail(os.path.join(folder, name))}")
        print(f"the whole logs are in {folder}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
