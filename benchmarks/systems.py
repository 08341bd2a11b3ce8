"""The systems that are compared: what each needs and how its processes are started."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT

PEERS_PYTHON = (
    Path(os.environ.get("GENEVA_BENCH_PEERS", ROOT / "benchmarks" / ".venv")) / "bin/python"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system on one service."""

    name: str
    driver: str
    service: str
    is_ours: bool = False
    has_tables: bool = True
    url_variable: str = "GENEVA_BENCH_URL"

    def command(self, role: str) -> list[str]:
        if self.is_ours and role == "work":
            geneva = str(Path(sys.executable).with_name("geneva"))
            return [geneva, "worker", "--app", "benchmarks.drivers.geneva_app"]
        python = sys.executable if self.is_ours else str(PEERS_PYTHON)
        return [python, "-m", f"benchmarks.drivers.{self.driver}", role]


def _ours(service: str) -> System:
    return System(
        name=f"geneva-{service}",
        driver="geneva",
        service=service,
        is_ours=True,
        url_variable="GENEVA_DATABASE_URL",
    )


ALL = (
    _ours("postgresql"),
    System(name="dbos", driver="dbos", service="postgresql"),
    System(name="absurd", driver="absurd", service="postgresql"),
    System(name="procrastinate", driver="procrastinate", service="postgresql"),
    System(name="celery-redis", driver="celery", service="redis", has_tables=False),
    System(name="celery-rabbitmq", driver="celery", service="rabbitmq", has_tables=False),
    _ours("mariadb"),
    _ours("sqlite"),
)
# Another way to divide work, which differs in nothing else.
DBOS_STEPS = System(name="dbos-steps", driver="dbos_steps", service="postgresql")
FANNING = (*ALL, DBOS_STEPS)
# Those that give the results of the parts to a last one.
BATCHING = tuple(system for system in FANNING if system.name not in ("absurd", "procrastinate"))
FLOORS = ("floor-postgresql", "floor-mariadb", "floor-sqlite")
NOT_DURABLE = ("celery-redis", "celery-rabbitmq")


def is_selected(name: str, wanted: tuple[str, ...]) -> bool:
    """A name selects itself and what begins with it: `geneva` means all of ours."""
    return not wanted or any(name == each or name.startswith(f"{each}-") for each in wanted)
