"""W2: one workflow of a hundred steps, from its first body to its finish."""

from __future__ import annotations

from benchmarks.session import Session

STEPS = 100


def per_step(session: Session) -> float:
    """Give milliseconds per step."""
    times = session.ask("chain", steps=STEPS)
    return float((times["finished_at"] - times["begun_at"]) * 1_000 / STEPS)
