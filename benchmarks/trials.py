"""The trials of a round: which system does which workloads, in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks import systems
from benchmarks.scale import Scale
from benchmarks.session import at_work
from benchmarks.systems import System
from benchmarks.workloads import (
    backlog,
    chain,
    fan,
    floors,
    footprint,
    loop_floors,
    loops,
    start,
    throughput,
)

Figures = Iterator[tuple[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the command line asks for."""

    scale: Scale
    workloads: tuple[str, ...]
    systems: tuple[str, ...]
    enqueuers: int

    def wants(self, workload: str) -> bool:
        return not self.workloads or workload in self.workloads


@dataclass(frozen=True, slots=True)
class Trial:
    """One system's turn; its figures come one by one, so that a late failure keeps the early."""

    system: str
    service: str
    title: str
    workloads: tuple[str, ...]
    run: Callable[[], Figures]


def plan(wish: Wish) -> list[Trial]:
    """List the trials of one round, systems in turn within each kind of trial."""
    trials = [
        *_floors(wish),
        *_loops(wish),
        *_one_process(wish),
        *_two_processes(wish),
        *_backlogs(wish),
        *_fans(wish),
    ]
    if wish.wants("W5"):
        trials += _imports(wish)
    return [
        trial
        for trial in trials
        if systems.is_selected(trial.system, wish.systems)
        and any(wish.wants(workload) for workload in trial.workloads)
    ]


def _one_process(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "one worker process",
            ("W1", "W2", "W3", "W5"),
            partial(_run_one_process, system, wish),
        )
        for system in systems.ALL
    ]


def _run_one_process(system: System, wish: Wish) -> Figures:
    scale = wish.scale
    # From the least rows to the most, so that no workload meets what another has left.
    with at_work(system) as session:
        if wish.wants("W5") and (system.is_ours or scale.idles_peers):
            idle = footprint.idle(session, scale.idle_seconds)
            yield "W5.memory", idle["memory"]
            yield "W5.cpu", idle["cpu"]
        if wish.wants("W3"):
            latency = start.measure(session, scale.latencies)
            yield "W3.p50", latency["p50"]
            yield "W3.p99", latency["p99"]
        if wish.wants("W2"):
            yield "W2.step", chain.measure(session, scale.chains)
        if wish.wants("W1"):
            rates = throughput.measure(session, scale.workflows, wish.enqueuers)
            yield "W1.one", rates["steps"]
            yield "W1.enqueue", rates["enqueue"]


def _two_processes(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "two worker processes",
            ("W1",),
            partial(_run_two_processes, system, wish),
        )
        for system in systems.ALL
    ]


def _run_two_processes(system: System, wish: Wish) -> Figures:
    with at_work(system, processes=2) as session:
        yield "W1.two", throughput.measure(session, wish.scale.workflows, wish.enqueuers)["steps"]


def _backlogs(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "backlogs",
            ("W4",),
            partial(_run_backlogs, system, wish.scale),
        )
        for system in systems.ALL
        if system.is_ours
    ]


def _run_backlogs(system: System, scale: Scale) -> Figures:
    sizes = {"empty": 0, "sleepers": scale.sleepers, "unserved": scale.unserved}
    load = (scale.backlog_workflows, scale.backlog_loads)
    yield from backlog.measure(system, sizes, load)


def _fans(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "fan-out and fan-in",
            ("W7",),
            partial(_run_fans, system, wish.scale),
        )
        for system in systems.FANNING
    ]


def _run_fans(system: System, scale: Scale) -> Figures:
    sizes = scale.fans if system.is_ours else scale.peer_fans
    with at_work(system) as session:
        yield from fan.measure(session, sizes, scale.small_fans)


def _floors(wish: Wish) -> list[Trial]:
    return [
        Trial(
            "floor-postgresql",
            "postgresql",
            "bare driver",
            ("W2", "W3", "F"),
            partial(_run_floors, wish),
        )
    ]


def _run_floors(wish: Wish) -> Figures:
    if wish.wants("F"):
        yield from floors.rows_per_second(wish.scale.commits).items()
    if wish.wants("W2"):
        yield "W2.step", floors.fused_step(wish.scale.chains)
    if wish.wants("W3"):
        yield from floors.notified(wish.scale.latencies).items()


def _loops(wish: Wish) -> list[Trial]:
    # Ours right after its floor: what else the machine does meanwhile is then much the same.
    pairs = [
        trial
        for database in ("postgresql", "mariadb", "sqlite")
        for trial in (
            Trial(
                f"floor-{database}",
                database,
                "bare commits and reads",
                ("W6",),
                partial(loop_floors.measure, database, wish.scale),
            ),
            Trial(
                f"geneva-{database}",
                database,
                "loops",
                ("W6",),
                partial(loops.measure, database, wish.scale),
            ),
        )
    ]
    return [
        *pairs,
        Trial("geneva-sqlite", "sqlite", "long loop", ("W6",), partial(_run_long_loop, wish.scale)),
    ]


def _run_long_loop(scale: Scale) -> Figures:
    yield "W6.memory", loops.growth(scale.long_loop)


def _imports(wish: Wish) -> list[Trial]:
    packages = {"geneva-postgresql": "geneva_drive", "sqlalchemy": "sqlalchemy"}
    return [
        Trial(system, "sqlite", "import", ("W5",), partial(_run_import, package, wish.scale))
        for system, package in packages.items()
    ]


def _run_import(package: str, scale: Scale) -> Figures:
    yield "W5.import", footprint.import_time(package, scale.imports)
