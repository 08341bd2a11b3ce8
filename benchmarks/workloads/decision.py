"""W9a: from a person's decision to the next step, and what many that wait for one cost."""

from __future__ import annotations

from statistics import median

from benchmarks.measures import Figures
from benchmarks.percentiles import percentile
from benchmarks.scale import Scale
from benchmarks.session import Session, at_work, prepared, working
from benchmarks.systems import System
from benchmarks.workloads import backlog

CALLERS = 8  # threads of the client that decide at once
_WARM_UP = 10


def latencies(session: Session, samples: int) -> Figures:
    """Give milliseconds of decisions, and of starts that took turns with them."""
    session.ask("decisions", samples=_WARM_UP)
    found = session.ask("decisions", samples=samples)
    for kind, name in (("decided", ""), ("started", "start_")):
        values = [seconds * 1_000 for seconds in found[kind]]
        yield f"W9a.{name}p50", percentile(values, 0.5)
        yield f"W9a.{name}p99", percentile(values, 0.99)


def bursts(session: Session, scale: Scale) -> Figures:
    """Give the milliseconds until the last of some that were decided at once continues."""
    waiting = scale.waiting
    for _ in range(scale.bursts):
        seconds = session.ask(
            "decided_at_once", waiting=waiting, decided=scale.decided_at_once, callers=CALLERS
        )
        yield "W9a.many", seconds * 1_000
        waiting = scale.decided_at_once  # as many as the last burst has taken away


def holds(session: Session, scale: Scale) -> Figures:
    """Give the milliseconds of `pause` and `resume` beside many paused workflows."""
    times = session.ask("hold", paused=scale.paused, count=scale.holds)
    yield "W9a.pause", median(times["paused"]) * 1_000
    yield "W9a.resume", median(times["resumed"]) * 1_000


def measure(system: System, scale: Scale) -> Figures:
    """Give what one worker and one client show, from the fewest rows to the most."""
    with at_work(system) as session:
        yield from latencies(session, scale.decisions)
        yield from bursts(session, scale)
        yield from holds(session, scale)


def measure_beside(system: System, scale: Scale) -> Figures:
    """Give the rate of a load beside workflows that wait, and the time to list requests."""
    sizes = {"empty": 0, "waiting": scale.waiting_load}
    load = (scale.backlog_workflows, scale.backlog_loads)
    yield from backlog.measure(system, sizes, load, "W9a")
    with prepared(system) as (url, environment):
        backlog.stand_waiting(url, scale.pending)
        with working(system, url, environment, processes=1) as session:
            session.ask("first_pages", count=1)
            times = session.ask("first_pages", count=scale.pages)
            yield "W9a.page", median(times) * 1_000
