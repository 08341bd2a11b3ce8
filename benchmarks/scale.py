"""How much of each workload a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes of one run; both kinds do the same work, and a quick one less of it."""

    name: str
    rounds: int
    workflows: int
    chains: int
    latencies: int
    backlog_workflows: int
    backlog_loads: int
    sleepers: int
    unserved: int
    idle_seconds: float
    idles_peers: bool
    imports: int
    commits: int


FULL = Scale(
    name="full",
    rounds=3,
    workflows=1_000,
    chains=10,
    latencies=200,
    backlog_workflows=300,
    backlog_loads=3,
    sleepers=1_000_000,
    unserved=100_000,
    idle_seconds=10.0,
    idles_peers=True,
    imports=10,
    commits=2_000,
)

QUICK = Scale(
    name="quick",
    rounds=1,
    workflows=100,
    chains=2,
    latencies=20,
    backlog_workflows=60,
    backlog_loads=1,
    sleepers=50_000,
    unserved=10_000,
    idle_seconds=2.0,
    idles_peers=False,
    imports=3,
    commits=200,
)
