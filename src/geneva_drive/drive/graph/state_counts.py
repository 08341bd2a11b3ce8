"""The states of nodes that share one box: their words, their order, and the most important."""

from __future__ import annotations

from collections.abc import Mapping

from geneva_drive.states import StepState

# A box of many nodes has the colour of the first of these states that any of them has.
_BY_IMPORTANCE = (
    StepState.FAILED,
    StepState.IN_PROGRESS,
    StepState.SUSPENDED,
    StepState.SCHEDULED,
    StepState.WAITING,
    StepState.PENDING,
    StepState.CANCELED,
    StepState.COMPLETED,
    StepState.SKIPPED,
)

_WORDS = {StepState.IN_PROGRESS: "running"}


def word_for(state: StepState) -> str:
    return _WORDS.get(state, state.value)


def done_first(counts: Mapping[StepState, int]) -> list[tuple[StepState, int]]:
    """Return the states that occur, done ones first."""
    order = (
        StepState.COMPLETED,
        StepState.SKIPPED,
        StepState.FAILED,
        StepState.CANCELED,
        StepState.IN_PROGRESS,
        StepState.SUSPENDED,
        StepState.WAITING,
        StepState.SCHEDULED,
        StepState.PENDING,
    )
    return [(state, counts[state]) for state in order if counts.get(state)]


def most_important(counts: Mapping[StepState, int]) -> StepState:
    return next(state for state in _BY_IMPORTANCE if counts.get(state))
