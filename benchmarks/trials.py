"""The trials of a round: which system does which workloads, and which take turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks import systems
from benchmarks.measures import Figures
from benchmarks.scale import Scale
from benchmarks.session import Session, at_work
from benchmarks.systems import System
from benchmarks.workloads import (
    backlog,
    batch,
    chain,
    decision,
    decision_floor,
    event,
    event_floor,
    fan,
    floors,
    footprint,
    loop_floors,
    loops,
    start,
    throughput,
)


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


# Trials that take turns, figure by figure: what a ratio has a target for is measured within the
# same seconds, as the machine is another one some minutes later.
Turns = tuple[Trial, ...]
_IN_TURN = {"W1": ("geneva-postgresql", "geneva-sqlite"), "W2": ("geneva-postgresql",)}


def plan(wish: Wish) -> list[Turns]:
    """List the trials of one round, systems in turn within each kind of trial.

    What a disk still writes minutes after a large load would be counted as the delay of single
    starts, so these come first.
    """
    trials = [
        *_one_by_one(_floors(wish)),
        *_one_by_one(_idle(wish)),
        *_one_by_one(_decisions(wish)),
        *_one_by_one(_events(wish)),
        *_loops(wish),
        *_in_turn(wish),
        *_one_by_one(_one_process(wish)),
        *_one_by_one(_two_processes(wish)),
        *_one_by_one(_backlogs(wish)),
        *_one_by_one(_waiting(wish)),
        *_one_by_one(_awaiting(wish)),
        *_one_by_one(_fans(wish)),
        *_one_by_one(_batches(wish)),
        *_one_by_one(_imports(wish)),
    ]
    wanted = [tuple(trial for trial in turns if _is_wanted(trial, wish)) for turns in trials]
    return [turns for turns in wanted if turns]


def _is_wanted(trial: Trial, wish: Wish) -> bool:
    return systems.is_selected(trial.system, wish.systems) and any(
        wish.wants(workload) for workload in trial.workloads
    )


def _one_by_one(trials: list[Trial]) -> list[Turns]:
    return [(trial,) for trial in trials]


def _in_turn(wish: Wish) -> list[Turns]:
    """W2 with its floor, and W1 on the two databases of which one may not fall behind."""
    bare = partial(floors.fused_steps, wish.scale.chains)
    floor = Trial("floor-postgresql", "postgresql", "chains", ("W2",), bare)
    chains, loads = (
        [
            Trial(system.name, system.service, title, (workload,), partial(run, system, wish))
            for system in systems.ALL
            if system.name in _IN_TURN[workload]
        ]
        for workload, title, run in (("W2", "chains", _run_chains), ("W1", "loads", _run_loads))
    )
    return [(floor, *chains), tuple(loads)]


def _run_chains(system: System, wish: Wish) -> Figures:
    with at_work(system) as session:
        yield from _chains(session, wish)


def _run_loads(system: System, wish: Wish) -> Figures:
    with at_work(system) as session:
        for _ in range(wish.scale.loads):
            yield from _load(session, wish)


def _chains(session: Session, wish: Wish) -> Figures:
    for _ in range(wish.scale.chains):
        yield "W2.step", chain.per_step(session)


def _load(session: Session, wish: Wish) -> Figures:
    rates = throughput.measure(session, wish.scale.workflows, wish.enqueuers)
    yield "W1.one", rates["steps"]
    yield "W1.enqueue", rates["enqueue"]


def _idle(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "an idle worker",
            ("W3", "W5"),
            partial(_run_idle, system, wish),
        )
        for system in systems.ALL
    ]


def _run_idle(system: System, wish: Wish) -> Figures:
    scale = wish.scale
    with at_work(system) as session:
        if wish.wants("W5") and (system.is_ours or scale.idles_peers):
            idle = footprint.idle(session, scale.idle_seconds)
            yield "W5.memory", idle["memory"]
            yield "W5.cpu", idle["cpu"]
        if wish.wants("W3"):
            latency = start.measure(session, scale.latencies)
            yield "W3.p50", latency["p50"]
            yield "W3.p99", latency["p99"]


def _one_process(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "one worker process",
            _of_one_process(system),
            partial(_run_one_process, system, wish),
        )
        for system in systems.ALL
    ]


def _of_one_process(system: System) -> tuple[str, ...]:
    return tuple(
        workload for workload in ("W1", "W2") if system.name not in _IN_TURN.get(workload, ())
    )


def _run_one_process(system: System, wish: Wish) -> Figures:
    wanted = {workload for workload in _of_one_process(system) if wish.wants(workload)}
    # From the least rows to the most, so that no workload meets what another has left.
    with at_work(system) as session:
        if "W2" in wanted:
            yield from _chains(session, wish)
        if "W1" in wanted:
            yield from _load(session, wish)


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


def _decisions(wish: Wish) -> list[Trial]:
    bare = partial(decision_floor.measure, wish.scale)
    floor = Trial("floor-postgresql", "postgresql", "decisions", ("W9a",), bare)
    return [floor] + [
        Trial(
            system.name,
            system.service,
            "decisions",
            ("W9a",),
            partial(decision.measure, system, wish.scale),
        )
        for system in systems.ALL
        if system.is_ours
    ]


def _waiting(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "waiting workflows",
            ("W9a",),
            partial(decision.measure_beside, system, wish.scale),
        )
        for system in systems.ALL
        if system.is_ours
    ]


def _events(wish: Wish) -> list[Trial]:
    bare = partial(event_floor.measure, wish.scale)
    floor = Trial("floor-postgresql", "postgresql", "events", ("W9b",), bare)
    return [floor] + [
        Trial(
            system.name,
            system.service,
            "events",
            ("W9b",),
            partial(event.measure, system, wish.scale),
        )
        for system in systems.ALL
        if system.is_ours
    ]


def _awaiting(wish: Wish) -> list[Trial]:
    bare = partial(event.measure_floor, wish.scale)
    floor = Trial("floor-postgresql", "postgresql", "event waits", ("W9b",), bare)
    return [floor] + [
        Trial(
            system.name,
            system.service,
            "event waits",
            ("W9b",),
            partial(event.measure_beside, system, wish.scale),
        )
        for system in systems.ALL
        if system.is_ours
    ]


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
        if system.is_ours or wish.scale.peer_fans
    ]


def _run_fans(system: System, scale: Scale) -> Figures:
    sizes = scale.fans if system.is_ours else scale.peer_fans
    with at_work(system) as session:
        yield from fan.measure(session, sizes, scale.small_fans)


def _batches(wish: Wish) -> list[Trial]:
    return [
        Trial(
            system.name,
            system.service,
            "batches",
            ("W8",),
            partial(batch.measure, system, wish.scale),
        )
        for system in systems.BATCHING
    ]


def _floors(wish: Wish) -> list[Trial]:
    return [
        Trial(
            "floor-postgresql",
            "postgresql",
            "bare driver",
            ("W3", "F"),
            partial(_run_floors, wish),
        )
    ]


def _run_floors(wish: Wish) -> Figures:
    if wish.wants("F"):
        yield from floors.rows_per_second(wish.scale.commits).items()
    if wish.wants("W3"):
        yield from floors.notified(wish.scale.latencies).items()


def _loops(wish: Wish) -> list[Turns]:
    pairs: list[Turns] = [
        (
            Trial(
                f"floor-{database}",
                database,
                "loops",
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
        for database in ("postgresql", "mariadb", "sqlite")
    ]
    long_loop = Trial(
        "geneva-sqlite", "sqlite", "long loop", ("W6",), partial(_run_long_loop, wish.scale)
    )
    return [*pairs, (long_loop,)]


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
