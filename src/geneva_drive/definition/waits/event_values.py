"""Checks of the types, keys and patterns of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geneva_drive import checks
from geneva_drive.checks import MakeError
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

MAX_LENGTH = 191  # of a type, key, source and id of an event


def event_type(name: str, value: object, *, error: MakeError = InvalidInput) -> str:
    text = checks.text(name, value, longest=MAX_LENGTH, error=error)
    if any(letter.isspace() for letter in text) or "*" in text:
        raise error(
            f"{name} must not contain blanks or '*', got {shown(value)}. Write a type such as "
            f"'payment.received'."
        )
    return text


def pattern(name: str, value: object, *, error: MakeError = InvalidInput) -> str:
    """Return a type, or a prefix of types followed by `*`."""
    text = checks.text(name, value, longest=MAX_LENGTH, error=error)
    if any(letter.isspace() for letter in text) or "*" in text[:-1]:
        raise error(
            f"{name} must not contain blanks, and '*' only at its end, got {shown(value)}. Write a "
            f"type such as 'payment.received' or 'payment.*'."
        )
    return text


def patterns(name: str, value: object, *, error: MakeError = InvalidInput) -> tuple[str, ...]:
    listed: Any = [value] if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not listed:
        raise error(f"{name} must be the type of an event or a list of these, got {shown(value)}.")
    return tuple(dict.fromkeys(pattern(name, each, error=error) for each in listed))


def key(name: str, value: object, *, error: MakeError = InvalidInput) -> str:
    """Return a key as text; numbers and UUIDs, such as the ids of records, become text."""
    if value is None or isinstance(value, bool | list | dict | tuple | set):
        raise error(f"{name} must be text or the id of a record, got {shown(value)}.")
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # noqa: BLE001 - the id of a record is an object of the user's
        raise error(f"{name} must be text or the id of a record, got {shown(value)}.") from None
    return checks.text(name, text, longest=MAX_LENGTH, error=error)


def patterns_of(event_type: str) -> list[str]:
    """Return every pattern that matches a type: the type itself, and each prefix with `*`."""
    return [event_type, *(f"{event_type[:end]}*" for end in range(len(event_type) + 1))]


def fits(event_type: str, pattern: str) -> bool:
    if pattern.endswith("*") and pattern != event_type:
        return event_type.startswith(pattern[:-1])
    return event_type == pattern
