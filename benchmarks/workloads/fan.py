"""W7: one node, many that may run at once after it, and one after all of them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.measures import Figures
from benchmarks.session import Session
from benchmarks.workloads import footprint

MEASURES = {1_000: "W7.thousand", 10_000: "W7.ten_thousand", 100_000: "W7.hundred_thousand"}
LARGEST = max(MEASURES)
_WARM_UP = 10


def measure(session: Session, sizes: Sequence[int], small_fans: int) -> Figures:
    """Give the seconds from the start call to the finish, from the smallest fan to the largest."""
    session.ask("fan", nodes=_WARM_UP)
    smallest, *larger = sorted(sizes)
    fans = [session.ask("fan", nodes=smallest) for _ in range(small_fans)]
    yield MEASURES[smallest], median(fan["finished_at"] - fan["called_at"] for fan in fans)
    for size in larger:
        fan = session.ask("fan", nodes=size)
        yield MEASURES[size], fan["finished_at"] - fan["called_at"]
        if size == LARGEST:
            yield "W7.create", fan["started_at"] - fan["began_at"]
            yield "W7.memory", footprint.peak(session)
