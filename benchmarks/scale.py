"""How much of each workload a run does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The sizes of one run; both kinds do the same work, and a quick one less of it."""

    name: str
    rounds: int
    workflows: int
    loads: int  # of ours, which take turns
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
    turns: int  # of loops and their floors
    checkpoints: int
    loop_items: int
    loop_records: int
    loop_rows: int
    resumptions: int
    long_loop: int
    fans: tuple[int, ...]
    peer_fans: tuple[int, ...]
    small_fans: int  # how often the smallest fan is run
    batch_items: int
    batch_workers: int
    batch_turns: int  # of each form, with the bare loop
    yields: int
    counted_yields: int  # the first and the last of them
    small_batch: int  # workers
    small_batches: int  # how often, before the large one and after it
    large_batch: int
    decisions: int
    waiting: int  # of which some are decided at once
    decided_at_once: int
    bursts: int  # how often
    paused: int
    holds: int
    waiting_load: int  # that stand beside a load
    pending: int  # requests, of which the first page is read
    pages: int
    published: int  # events

    def checkpoints_on(self, database: str) -> int:
        """Say how many there are in a turn; a file takes so little for one that it gets more."""
        return self.checkpoints * 10 if database == "sqlite" else self.checkpoints


FULL = Scale(
    name="full",
    rounds=3,
    workflows=1_000,
    loads=7,
    chains=20,
    latencies=400,
    backlog_workflows=300,
    backlog_loads=21,
    sleepers=1_000_000,
    unserved=100_000,
    idle_seconds=10.0,
    idles_peers=True,
    imports=10,
    commits=2_000,
    turns=5,
    checkpoints=2_000,
    loop_items=200_000,
    loop_records=200_000,
    loop_rows=1_000_000,
    resumptions=20,
    long_loop=10_000_000,
    fans=(1_000, 10_000, 100_000),
    peer_fans=(1_000,),
    small_fans=3,
    batch_items=1_000_000,
    batch_workers=100,
    batch_turns=5,
    yields=10_000,
    counted_yields=1_000,
    small_batch=100,
    small_batches=5,
    large_batch=10_000,
    decisions=400,
    waiting=1_000,
    decided_at_once=100,
    bursts=5,
    paused=1_000,
    holds=100,
    waiting_load=100_000,
    pending=1_000_000,
    pages=20,
    published=2_000,
)

QUICK = Scale(
    name="quick",
    rounds=1,
    workflows=100,
    loads=1,
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
    turns=1,
    checkpoints=500,
    loop_items=20_000,
    loop_records=20_000,
    loop_rows=20_000,
    resumptions=5,
    long_loop=200_000,
    fans=(1_000,),
    peer_fans=(),  # some need as long for it as for all the rest
    small_fans=1,
    batch_items=100_000,
    batch_workers=10,
    batch_turns=1,
    yields=500,
    counted_yields=100,
    small_batch=100,
    small_batches=1,
    large_batch=1_000,
    decisions=20,
    waiting=100,
    decided_at_once=20,
    bursts=1,
    paused=50,
    holds=10,
    waiting_load=10_000,
    pending=20_000,
    pages=5,
    published=300,
)
