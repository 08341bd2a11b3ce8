"""W3: from the call that starts a workflow to its first body, on an idle worker."""

from __future__ import annotations

from benchmarks.percentiles import percentile
from benchmarks.session import Session


def measure(session: Session, samples: int) -> dict[str, float]:
    """Give the median and the 99th percentile in milliseconds."""
    found = [seconds * 1_000 for seconds in session.ask("latencies", samples=samples)]
    return {"p50": percentile(found, 0.5), "p99": percentile(found, 0.99)}
