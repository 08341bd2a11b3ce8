"""W2: one workflow of a hundred steps, from its first body to its finish."""

from __future__ import annotations

from statistics import median

from benchmarks.session import Session

STEPS = 100


def measure(session: Session, chains: int) -> float:
    """Give milliseconds per step, the median of some workflows run one after another."""
    return median(_per_step(session) for _ in range(chains))


def _per_step(session: Session) -> float:
    times = session.ask("chain", steps=STEPS)
    return float((times["finished_at"] - times["begun_at"]) * 1_000 / STEPS)
