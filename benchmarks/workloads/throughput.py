"""W1: many workflows of ten no-op steps, from the first enqueue to the last finish."""

from __future__ import annotations

from benchmarks.session import Session

STEPS = 10


def measure(session: Session, workflows: int, enqueuers: int) -> dict[str, float]:
    """Give steps per second, and workflows enqueued per second."""
    times = session.ask("load", workflows=workflows, steps=STEPS, enqueuers=enqueuers)
    return {
        "steps": workflows * STEPS / (times["finished_at"] - times["began_at"]),
        "enqueue": workflows / (times["enqueued_at"] - times["began_at"]),
    }
