"""The workload and the results of a bench."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How much work is measured."""

    workflows: int = 1000
    steps: int = 10
    concurrency: int = 8
    chain: int = 100
    starts: int = 50
    commits: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResults:
    bare_commit: timedelta
    start_p50: timedelta
    start_p99: timedelta
    chain_step: timedelta
    throughput: timedelta  # from the first create to the last end
    workload: Workload

    @property
    def steps_per_second(self) -> float:
        return self.workflows_per_second * self.workload.steps

    @property
    def workflows_per_second(self) -> float:
        return self.workload.workflows / self.throughput.total_seconds()

    def body(self) -> dict[str, Any]:
        """Return the body for `--json`, times in milliseconds."""
        return {
            **asdict(self.workload),
            "steps_per_second": round(self.steps_per_second, 1),
            "workflows_per_second": round(self.workflows_per_second, 1),
            "chain_step_ms": milliseconds(self.chain_step),
            "start_p50_ms": milliseconds(self.start_p50),
            "start_p99_ms": milliseconds(self.start_p99),
            "bare_commit_ms": milliseconds(self.bare_commit),
        }


def milliseconds(span: timedelta) -> float:
    return round(span / timedelta(milliseconds=1), 3)


def nearest_rank(spans: list[timedelta], percent: int) -> timedelta:
    """Return the percentile, as one of the measured values."""
    ordered = sorted(spans)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
