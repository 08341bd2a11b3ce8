"""W8: what a batch adds to its items, to its yields and to its workers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from benchmarks.measures import Figures
from benchmarks.scale import Scale
from benchmarks.session import WARM_UP_WORKFLOWS, Session, at_work
from benchmarks.systems import System
from benchmarks.workloads import throughput

_WARM_UP = 10  # workers
_MICRO, _MILLI = 1_000_000, 1_000
_FORMS = {"items": "W8.item", "yields": "W8.yielded_item"}


def measure(system: System, scale: Scale) -> Figures:
    """Give the seconds of a batch; of ours, also what its parts cost."""
    with at_work(system) as session:
        for form in _FORMS if system.is_ours else ("items",):
            _seconds(session, _WARM_UP, _WARM_UP, form)
        if not system.is_ours:
            for _ in range(scale.batch_turns):
                yield "W8.batch", _seconds(session, scale.batch_workers, scale.batch_items)
            return
        yield from items(session, scale)
        yield from yields(session, scale)
        yield from workers(session, scale)


def items(session: Session, scale: Scale) -> Figures:
    """Give the microseconds that a batch takes for an item beyond those of a bare loop.

    The bare loop takes its turn with each form of the batch.
    """
    workers, count = scale.batch_workers, scale.batch_items
    for _ in range(scale.batch_turns):
        for form, name in _FORMS.items():
            bare = bare_loop(workers, count)
            seconds = _seconds(session, workers, count, form)
            if form == "items":
                yield "W8.batch", seconds
                yield "W8.bare", bare
            yield name, (seconds - bare) * _MICRO / count


def yields(session: Session, scale: Scale) -> Figures:
    """Give the milliseconds of a yield among the first and among the last of many."""
    _wake(session)
    moments = session.ask("yields", count=scale.yields)
    if len(moments) != scale.yields:
        raise RuntimeError(f"{scale.yields} yields were made and {len(moments)} are recorded.")
    yield "W8.first_yields", _typical(moments[: scale.counted_yields])
    yield "W8.last_yields", _typical(moments[-scale.counted_yields :])


def workers(session: Session, scale: Scale) -> Figures:
    """Give the milliseconds per worker of small batches, and of a large one between them."""
    small = [_per_worker(session, scale.small_batch) for _ in range(scale.small_batches)]
    large = _per_worker(session, scale.large_batch)
    small += [_per_worker(session, scale.small_batch) for _ in range(scale.small_batches)]
    yield "W8.hundred_workers", median(small)
    yield "W8.ten_thousand_workers", large


def bare_loop(workers: int, items: int) -> float:
    """Add up the same numbers without any system; give seconds."""
    size = items // workers
    began = time.perf_counter()
    for start in range(0, items, size):
        total = 0
        for number in range(start, start + size):
            total += number
    return time.perf_counter() - began


def _typical(moments: Sequence[float]) -> float:
    # The median: one slow commit of the disk is no growth.
    return median(after - before for before, after in pairwise(moments)) * _MILLI


def _per_worker(session: Session, workers: int) -> float:
    return _seconds(session, workers, workers) * _MILLI / workers


def _seconds(session: Session, workers: int, items: int, form: str = "items") -> float:
    _wake(session)
    times = session.ask("batch", workers=workers, items=items, form=form)
    return float(times["finished_at"] - times["called_at"])


def _wake(session: Session) -> None:
    # A worker that has rested looks only rarely for work where it cannot be notified.
    throughput.measure(session, WARM_UP_WORKFLOWS, 1)
