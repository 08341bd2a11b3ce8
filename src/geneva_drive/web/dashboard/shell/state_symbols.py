"""The glyph and the hue of each state and need. Colour says who acts next; shape repeats it."""

from __future__ import annotations

from collections.abc import Mapping

# Workflow states, step states and a few words that pages use like states.
_STATES: Mapping[str, tuple[str, str]] = {
    "pending": ("pending", "quiet"),
    "scheduled": ("scheduled", "rest"),
    "ready": ("ready", "moving"),
    "performing": ("performing", "moving"),
    "in_progress": ("performing", "moving"),
    "suspended": ("suspended", "held"),
    "waiting": ("waiting", "rest"),
    "completed": ("completed", "done"),
    "finished": ("completed", "done"),
    "failed": ("failed", "failed"),
    "dead_letter": ("dead-letter", "failed"),
    "skipped": ("skipped", "quiet"),
    "canceled": ("canceled", "quiet"),
    "approved": ("completed", "done"),
    "rejected": ("canceled", "quiet"),
    "expired": ("scheduled", "quiet"),
    "paused": ("paused", "held"),
    "late": ("late", "held"),
}
_NEEDS: Mapping[str, str] = {
    "person": "person",
    "operator": "failed",
    "event": "rest",
    "timer": "rest",
    "child": "rest",
    "worker": "moving",
    "none": "quiet",
}


def state_glyph(state: str) -> str:
    return _STATES.get(str(state), ("pending", "quiet"))[0]


def state_hue(state: str) -> str:
    return _STATES.get(str(state), ("pending", "quiet"))[1]


def need_hue(need: str) -> str:
    return _NEEDS.get(str(need), "quiet")
