"""The colours, order and words of states in pictures of graphs."""

from __future__ import annotations

from typing import NamedTuple

from geneva_drive.states import StepState


class Colours(NamedTuple):
    fill: str
    stroke: str
    text: str


PLAIN = Colours("#ffffff", "#495057", "#212529")

COLOURS: dict[StepState, Colours] = {
    StepState.PENDING: Colours("#e9ecef", "#adb5bd", "#495057"),
    StepState.SCHEDULED: Colours("#d0ebff", "#1c7ed6", "#0b4a86"),
    StepState.IN_PROGRESS: Colours("#ffd866", "#d98e04", "#4d3500"),
    StepState.SUSPENDED: Colours("#fff0c2", "#d98e04", "#6b4a00"),
    StepState.WAITING: Colours("#e5dbff", "#7048e8", "#3b2391"),
    StepState.COMPLETED: Colours("#b2e8bb", "#2b8a3e", "#10451d"),
    StepState.SKIPPED: Colours("#fafafa", "#ced4da", "#868e96"),
    StepState.FAILED: Colours("#ffb3b3", "#e03131", "#7a1212"),
    StepState.CANCELED: Colours("#495057", "#212529", "#f8f9fa"),
}

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


def done_first(counts: dict[StepState, int]) -> list[tuple[StepState, int]]:
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


def most_important(counts: dict[StepState, int]) -> StepState:
    return next(state for state in _BY_IMPORTANCE if counts.get(state))
