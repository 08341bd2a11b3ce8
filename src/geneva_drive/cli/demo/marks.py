"""The symbols of the states of steps, and their legend."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from rich.text import Text

from geneva_drive.states import StepState


class Mark(Enum):
    """A symbol, its style and its meaning."""

    DONE = "●", "green", "done"
    SKIPPED = "↷", "dim", "skipped"
    UNDER_WAY = "◉", "bold yellow", "under way"
    WAITING = "?", "bold cyan", "waiting"
    TO_COME = "○", "dim", "to come"
    FAILED = "✗", "bold red", "failed"

    @property
    def text(self) -> Text:
        symbol, style, _ = self.value
        return Text(symbol, style)


_OF_STATE = {
    StepState.COMPLETED: Mark.DONE,
    StepState.SKIPPED: Mark.SKIPPED,
    StepState.IN_PROGRESS: Mark.UNDER_WAY,
    StepState.WAITING: Mark.WAITING,
    StepState.FAILED: Mark.FAILED,
}


def mark_of(states: Iterable[StepState | None]) -> Mark:
    """Return one mark for all these states: of the same step in several workflows, or of nodes."""
    marks = {_OF_STATE.get(state, Mark.TO_COME) if state else Mark.TO_COME for state in states}
    if Mark.FAILED in marks:
        return Mark.FAILED
    if marks == {Mark.DONE, Mark.SKIPPED}:
        return Mark.DONE
    return marks.pop() if len(marks) == 1 else Mark.UNDER_WAY


def legend() -> Text:
    line = Text("steps  ", no_wrap=True, overflow="ellipsis")
    for mark in Mark:
        line.append("   ").append(mark.text).append(f" {mark.value[2]}")
    return line
