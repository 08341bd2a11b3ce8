"""What is measured: the words, the units, and which way is better."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

# What a trial gives, one by one: a measure's id, and its value.
Figures = Generator[tuple[str, float], None, None]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure that a workload gives for a system."""

    id: str
    title: str
    unit: str
    higher_is_better: bool = False

    @property
    def workload(self) -> str:
        return self.id.partition(".")[0]

    def is_better(self, figure: float, other: float) -> bool:
        return figure > other if self.higher_is_better else figure < other

    def advantage(self, ours: float, other: float) -> float:
        """How many times better ours is: 2.0 is twice as good, 0.5 half as good."""
        better, worse = (ours, other) if self.higher_is_better else (other, ours)
        return better / worse if worse else float("inf")


ALL = (
    Measure("W1.one", "10-step workflows, one worker process", "steps/s", True),
    Measure("W1.two", "10-step workflows, two worker processes", "steps/s", True),
    Measure("W1.enqueue", "Enqueuing them, one call at a time", "workflows/s", True),
    Measure("W2.step", "One workflow of 100 steps", "ms/step"),
    Measure("W3.p50", "Start to first step, idle worker, median", "ms"),
    Measure("W3.p99", "Start to first step, idle worker, 99th percentile", "ms"),
    Measure("W3.claimed", "A notice, and a durable claim by who hears it, median", "ms"),
    Measure("W4.empty", "10-step workflows, empty tables", "steps/s", True),
    Measure("W4.sleepers", "... beside workflows scheduled for later", "steps/s", True),
    Measure("W4.unserved", "... behind due executions nobody serves", "steps/s", True),
    Measure("W5.import", "Importing the package", "ms"),
    Measure("W5.memory", "Idle worker, resident memory", "MiB"),
    Measure("W5.cpu", "Idle worker, share of a core", "%"),
    Measure("W6.checkpoints", "A loop with a checkpoint for each item", "checkpoints/s", True),
    Measure("W6.sequence", "... for every 100 items of a sequence", "items/s", True),
    Measure("W6.entities", "... for every 100 records, as objects", "records/s", True),
    Measure("W6.records", "... for every 100 records, as bare rows", "records/s", True),
    Measure("W6.saved", "A hand-written loop that commits its place per 100", "records/s", True),
    Measure("W6.memory", "Growth over a long loop, from item 100,000 to its end", "MiB"),
    Measure("W6.resume_near", "Body to first record, resumed after record 10", "ms"),
    Measure("W6.resume_far", "... resumed after 9 of 10 records of the table", "ms"),
    Measure("W7.thousand", "1 -> 1,000 -> 1 nodes", "s"),
    Measure("W7.ten_thousand", "1 -> 10,000 -> 1 nodes", "s"),
    Measure("W7.hundred_thousand", "1 -> 100,000 -> 1 nodes", "s"),
    Measure("W7.create", "Building and starting the workflow of 100,000 nodes", "s"),
    Measure("W7.memory", "Peak of the worker's resident memory, 100,000 nodes", "MiB"),
    Measure("W8.batch", "1,000,000 numbers added up by 100 workers, and joined", "s"),
    Measure("W8.bare", "... in a bare loop, in turn with these", "s"),
    Measure("W8.item", "What a batch adds to an item, by batch.items()", "µs"),
    Measure("W8.yielded_item", "... by batch.checkpoint_yield()", "µs"),
    Measure("W8.first_yields", "A yield among the first 1,000 of 10,000, median", "ms"),
    Measure("W8.last_yields", "... among the last 1,000, median", "ms"),
    Measure("W8.hundred_workers", "A worker of a batch of 100", "ms"),
    Measure("W8.ten_thousand_workers", "... of a batch of 10,000", "ms"),
    Measure("W9a.p50", "Decision to next step, idle worker, median", "ms"),
    Measure("W9a.p99", "Decision to next step, idle worker, 99th percentile", "ms"),
    Measure("W9a.start_p50", "... start to first step, in turn with these, median", "ms"),
    Measure("W9a.start_p99", "... in turn with these, 99th percentile", "ms"),
    Measure("W9a.many", "100 of 1,000 decided at once, until the last continues", "ms"),
    Measure("W9a.pause", "Pausing one beside 1,000 paused workflows, median", "ms"),
    Measure("W9a.resume", "Resuming one of them, median", "ms"),
    Measure("W9a.empty", "10-step workflows, empty tables", "steps/s", True),
    Measure("W9a.waiting", "... beside workflows that wait for a decision", "steps/s", True),
    Measure("W9a.page", "First page of a role's pending requests, among a million", "ms"),
    Measure("W9b.p50", "Publish to next step, idle worker, median", "ms"),
    Measure("W9b.p99", "Publish to next step, idle worker, 99th percentile", "ms"),
    Measure("W9b.start_p50", "... start to first step, in turn with these, median", "ms"),
    Measure("W9b.start_p99", "... in turn with these, 99th percentile", "ms"),
    Measure("W9b.many", "100 of 1,000 released at once, until the last continues", "ms"),
    Measure("W9b.empty", "10-step workflows, empty tables", "steps/s", True),
    Measure("W9b.awaiting", "... beside workflows that wait for events", "steps/s", True),
    Measure("W9b.publish", "Publishing beside them", "events/s", True),
    Measure("F.one", "Rows inserted, one per commit", "rows/s", True),
    Measure("F.hundred", "Rows inserted, 100 per commit", "rows/s", True),
    Measure("F.thousand", "Rows inserted, 1,000 per commit", "rows/s", True),
)

BY_ID = {measure.id: measure for measure in ALL}
WORKLOADS = ("W1", "W2", "W3", "W4", "W5", "W6", "W7", "W8", "W9a", "W9b", "F")
