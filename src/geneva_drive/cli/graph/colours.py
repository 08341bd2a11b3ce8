"""The colours of states in pictures of graphs."""

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
