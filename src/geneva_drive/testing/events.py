"""The events that a speedrun publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

GivenEvent = str | Mapping[str, Any]  # a type, or the arguments of `publish`
EventArguments = dict[str, Any]

_KNOWN = ("type", "payload", "id", "source", "key", "ttl")


def parse(given: Sequence[GivenEvent]) -> list[EventArguments]:
    """Check the events of a test; `publish` checks their values."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput(f"speedrun(events=...) must be a list, got {shown(given)}.")
    return [_parsed(event) for event in given]


def _parsed(event: object) -> EventArguments:
    arguments = {"type": event} if isinstance(event, str) else event
    if (
        not isinstance(arguments, Mapping)
        or "type" not in arguments
        or not set(arguments) <= set(_KNOWN)
    ):
        raise InvalidInput(
            f"speedrun(events=...) takes types, or dictionaries with type and any of "
            f"{', '.join(_KNOWN[1:])}, got {shown(event)}."
        )
    return dict(arguments)
