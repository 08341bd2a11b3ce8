"""The targets: what a run must show, as ratios and bounds of its medians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.results import Medians

OURS = "geneva-postgresql"
DURABLE_PEERS = ("dbos", "absurd", "procrastinate")
DATABASES = ("postgresql", "mariadb", "sqlite")

Value = Callable[[Medians], float | None]


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on one value; the value is None where the run did not measure what it needs."""

    workload: str
    text: str
    bound: float
    is_floor: bool
    value: Value

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.is_floor else value <= self.bound

    @property
    def needed(self) -> str:
        return f"{'≥' if self.is_floor else '≤'} {self.bound:,g}"


def _figure(measure: str, system: str = OURS) -> Value:
    return lambda medians: medians.get((measure, system))


def _ratio(upper: tuple[str, str], lower: tuple[str, str]) -> Value:
    def value(medians: Medians) -> float | None:
        if upper not in medians or lower not in medians:
            return None
        return medians[upper] / medians[lower]

    return value


def _against_fastest_durable_peer(medians: Medians) -> float | None:
    peers = [medians[key] for peer in DURABLE_PEERS if (key := ("W1.one", peer)) in medians]
    ours = medians.get(("W1.one", OURS))
    return None if ours is None or not peers else ours / max(peers)


def _at_least(workload: str, text: str, bound: float, value: Value) -> Target:
    return Target(workload, text, bound, True, value)


def _at_most(workload: str, text: str, bound: float, value: Value) -> Target:
    return Target(workload, text, bound, False, value)


def _backlog(database: str) -> list[Target]:
    system = f"geneva-{database}"
    empty = ("W4.empty", system)
    return [
        _at_least(
            "W4",
            f"{database}, beside sleepers / empty",
            0.9,
            _ratio(("W4.sleepers", system), empty),
        ),
        _at_least(
            "W4",
            f"{database}, behind unserved / empty",
            0.9,
            _ratio(("W4.unserved", system), empty),
        ),
    ]


def _idleness(database: str) -> list[Target]:
    system = f"geneva-{database}"
    return [
        _at_most("W5", f"{database}, idle worker, MiB", 70, _figure("W5.memory", system)),
        _at_most("W5", f"{database}, idle worker, % of a core", 1, _figure("W5.cpu", system)),
    ]


def _loops(database: str) -> list[Target]:
    ours, floor = f"geneva-{database}", f"floor-{database}"
    return [
        _at_least(
            "W6",
            f"{database}, checkpoint per item / bare commits",
            0.7,
            _ratio(("W6.checkpoints", ours), ("W6.checkpoints", floor)),
        ),
        _at_least(
            "W6",
            f"{database}, checkpoint per 100, items/s",
            50_000,
            _figure("W6.sequence", ours),
        ),
        _at_least(
            "W6",
            f"{database}, records as objects / bare keyset reading",
            0.5,
            _ratio(("W6.entities", ours), ("W6.entities", floor)),
        ),
        _at_least(
            "W6",
            f"{database}, records as bare rows / bare keyset reading",
            0.5,
            _ratio(("W6.records", ours), ("W6.records", floor)),
        ),
        _at_most(
            "W6",
            f"{database}, resumed late / resumed early",
            1.5,
            _ratio(("W6.resume_far", ours), ("W6.resume_near", ours)),
        ),
    ]


def _batches(database: str) -> list[Target]:
    system = f"geneva-{database}"
    return [
        _at_most("W8", f"{database}, an item of items(), µs", 2, _figure("W8.item", system)),
        _at_most("W8", f"{database}, an item of yields, µs", 2, _figure("W8.yielded_item", system)),
        _at_most(
            "W8",
            f"{database}, last yields / first yields",
            1.1,  # it does not grow; two medians differ by as much
            _ratio(("W8.last_yields", system), ("W8.first_yields", system)),
        ),
        _at_most(
            "W8",
            f"{database}, per worker, 10,000 / 100 workers",
            1.3,
            _ratio(("W8.ten_thousand_workers", system), ("W8.hundred_workers", system)),
        ),
    ]


def _decisions(database: str) -> list[Target]:
    system = f"geneva-{database}"
    return [
        _at_most(
            "W9a",
            f"{database}, decision / start, p50",
            1.5,
            _ratio(("W9a.p50", system), ("W9a.start_p50", system)),
        ),
        _at_most(
            "W9a",
            f"{database}, decision / start, p99",
            1.5,
            _ratio(("W9a.p99", system), ("W9a.start_p99", system)),
        ),
        _at_most(
            "W9a", f"{database}, 100 of 1,000 decided at once, ms", 100, _figure("W9a.many", system)
        ),
        _at_most("W9a", f"{database}, pause, ms", 100, _figure("W9a.pause", system)),
        _at_most("W9a", f"{database}, resume, ms", 500, _figure("W9a.resume", system)),
        _at_least(
            "W9a",
            f"{database}, beside waiting / empty",
            0.9,
            _ratio(("W9a.waiting", system), ("W9a.empty", system)),
        ),
        _at_most("W9a", f"{database}, first page, ms", 50, _figure("W9a.page", system)),
    ]


def _events(database: str) -> list[Target]:
    system = f"geneva-{database}"
    return [
        _at_most(
            "W9b",
            f"{database}, event / start, p50",
            1.5,
            _ratio(("W9b.p50", system), ("W9b.start_p50", system)),
        ),
        _at_most(
            "W9b",
            f"{database}, event / start, p99",
            1.5,
            _ratio(("W9b.p99", system), ("W9b.start_p99", system)),
        ),
        _at_most(
            "W9b",
            f"{database}, 100 of 1,000 released at once, ms",
            100,
            _figure("W9b.many", system),
        ),
        _at_least(
            "W9b",
            f"{database}, beside event waits / empty",
            0.9,
            _ratio(("W9b.awaiting", system), ("W9b.empty", system)),
        ),
    ]


def _growth_per_node(medians: Medians) -> float | None:
    """How many times longer a node takes among 100,000 than among 1,000."""
    small = medians.get(("W7.thousand", OURS))
    large = medians.get(("W7.hundred_thousand", OURS))
    return None if small is None or large is None else (large / 100_000) / (small / 1_000)


ALL = (
    _at_least("W1", "ours / DBOS", 15, _ratio(("W1.one", OURS), ("W1.one", "dbos"))),
    _at_least("W1", "ours / fastest durable peer", 6, _against_fastest_durable_peer),
    _at_least("W1", "ours, steps/s (aim)", 10_000, _figure("W1.one")),
    _at_least(
        "W1", "SQLite / PostgreSQL", 1, _ratio(("W1.one", "geneva-sqlite"), ("W1.one", OURS))
    ),
    _at_most(
        "W2",
        "ours / bare fused statement",
        1.5,
        _ratio(("W2.step", OURS), ("W2.step", "floor-postgresql")),
    ),
    _at_most("W3", "p50, ms", 2, _figure("W3.p50")),
    _at_most("W3", "p99, ms", 6, _figure("W3.p99")),
    *(target for database in DATABASES for target in _backlog(database)),
    _at_most(
        "W5",
        "import / import sqlalchemy",
        1.5,
        _ratio(("W5.import", OURS), ("W5.import", "sqlalchemy")),
    ),
    *(target for database in DATABASES for target in _idleness(database)),
    *(target for database in DATABASES for target in _loops(database)),
    _at_most("W6", "growth over a long loop, MiB", 5, _figure("W6.memory", "geneva-sqlite")),
    _at_most("W7", "1,000 nodes, s", 0.4, _figure("W7.thousand")),
    _at_most("W7", "10,000 nodes, s", 4, _figure("W7.ten_thousand")),
    _at_most("W7", "per node, 100,000 / 1,000 nodes", 1.3, _growth_per_node),
    _at_most("W7", "creating 100,000 nodes, s", 10, _figure("W7.create")),
    *(target for database in DATABASES for target in _batches(database)),
    *(target for database in DATABASES for target in _decisions(database)),
    *(target for database in DATABASES for target in _events(database)),
    _at_least(
        "W9b",
        "publishing / bare commits of two rows",
        0.7,
        _ratio(("W9b.publish", OURS), ("W9b.publish", "floor-postgresql")),
    ),
)
