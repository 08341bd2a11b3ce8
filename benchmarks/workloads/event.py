"""W9b: from a published event to the next step, and what many that wait for events cost."""

from __future__ import annotations

import time

import psycopg

import geneva_drive as gd
from benchmarks import places
from benchmarks.measures import Figures
from benchmarks.percentiles import percentile
from benchmarks.scale import Scale
from benchmarks.session import Session, at_work, prepared, working
from benchmarks.systems import System
from benchmarks.workloads import backlog
from benchmarks.workloads.decision import CALLERS

_WARM_UP = 10
# One transaction with two rows of the library's own tables: an event, and what came of it.
_EVENT = """
INSERT INTO geneva_drive_events (source, event_id, type, event_key, payload, published_at,
    expires_at, undelivered_at)
VALUES ('floor', %s, 'payment.received', %s, '{}', now(), now(), NULL) RETURNING id
"""
_START = "INSERT INTO geneva_drive_event_starts (event_id, type, done_at) VALUES (%s, 'x', now())"


def latencies(session: Session, samples: int) -> Figures:
    """Give milliseconds of events, and of starts that took turns with them."""
    session.ask("events", samples=_WARM_UP)
    found = session.ask("events", samples=samples)
    for kind, name in (("decided", ""), ("started", "start_")):
        values = [seconds * 1_000 for seconds in found[kind]]
        yield f"W9b.{name}p50", percentile(values, 0.5)
        yield f"W9b.{name}p99", percentile(values, 0.99)


def bursts(session: Session, scale: Scale) -> Figures:
    """Give the milliseconds until the last of some that were released at once continues."""
    waiting = scale.waiting
    for _ in range(scale.bursts):
        seconds = session.ask(
            "released_at_once", waiting=waiting, decided=scale.decided_at_once, callers=CALLERS
        )
        yield "W9b.many", seconds * 1_000
        waiting = scale.decided_at_once  # as many as the last burst has taken away


def measure(system: System, scale: Scale) -> Figures:
    """Give what one worker and one client show."""
    with at_work(system) as session:
        yield from latencies(session, scale.decisions)
        yield from bursts(session, scale)


def measure_beside(system: System, scale: Scale) -> Figures:
    """Give the rate of a load beside workflows that wait for events, and of publishing."""
    sizes = {"empty": 0, "awaiting": scale.waiting_load}
    load = (scale.backlog_workflows, scale.backlog_loads)
    yield from backlog.measure(system, sizes, load, "W9b")
    with prepared(system) as (url, environment):
        backlog.stand_awaiting(url, scale.waiting_load)
        with working(system, url, environment, processes=1) as session:
            session.ask("publish", count=_WARM_UP)
            yield "W9b.publish", scale.published / session.ask("publish", count=scale.published)


def measure_floor(scale: Scale) -> Figures:
    """Give the rate of bare commits of two rows."""
    with places.fresh("postgresql") as url:
        gd.Drive(url).migrate()
        with psycopg.connect(url) as connection:
            _insert(connection, range(_WARM_UP))
            began = time.perf_counter()
            _insert(connection, range(_WARM_UP, _WARM_UP + scale.published))
            yield "W9b.publish", scale.published / (time.perf_counter() - began)


def _insert(connection: psycopg.Connection, numbers: range) -> None:
    for number in numbers:
        row = connection.execute(_EVENT, [str(number), str(number)], prepare=True).fetchone()
        connection.execute(_START, row, prepare=True)
        connection.commit()
