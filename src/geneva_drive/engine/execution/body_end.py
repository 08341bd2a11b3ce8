"""How a run of an execution ended: with an outcome to commit, or one already committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import StepOutcome

# Called just before the outcome is written, because the worker may have begun to stop meanwhile.
MayChain = Callable[[], NextClaim | None]


@dataclass(frozen=True, slots=True)
class Concluded:
    """The body is over; its outcome is still to be committed."""

    outcome: StepOutcome
    position: LoopPosition | None = None  # how far the loop of a resumable step has come


@dataclass(frozen=True, slots=True)
class Committed:
    """The outcome was committed, with the body's own writes or before the body could run."""

    applied: Applied | None  # None: the claim was lost
    has_run: bool = True
