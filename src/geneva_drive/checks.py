"""Checks of the numbers, flags, texts, choices and durations that users pass.

Each returns the value, or raises an error whose sentence begins with `name`. The error is an
`InvalidInput` unless the caller passes another class, or a function that makes one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

from geneva_drive.display import shown
from geneva_drive.durations import parse_duration
from geneva_drive.errors import InvalidInput

MakeError = Callable[[str], Exception]
LARGEST_NUMBER = 2**63 - 1  # the largest number that a database column holds


def whole_number(
    name: str,
    value: object,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    error: MakeError = InvalidInput,
    hint: str = "",
) -> int:
    # True is an int in Python, but never intended as a number.
    if not isinstance(value, int) or isinstance(value, bool):
        raise error(f"{name} must be a whole number, got {shown(value)}.{hint}")
    _check_range(name, value, at_least, at_most, error, hint)
    return value


def number(
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    error: MakeError = InvalidInput,
) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise error(f"{name} must be a number, got {shown(value)}.")
    if isinstance(value, float) and math.isinf(value):
        raise error(f"{name} must be finite, got {shown(value)}.")
    _check_range(name, value, at_least, at_most, error)
    return value


def _check_range(
    name: str,
    value: float,
    at_least: float | None,
    at_most: float | None,
    error: MakeError,
    hint: str = "",
) -> None:
    # Negated, because a comparison with NaN is always false.
    if at_least is not None and not value >= at_least:
        raise error(f"{name} must be at least {at_least}, got {shown(value)}.{hint}")
    if at_most is not None and not value <= at_most:
        raise error(f"{name} must be at most {at_most}, got {shown(value)}.{hint}")


def flag(name: str, value: object, *, error: MakeError = InvalidInput) -> bool:
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, got {shown(value)}.")
    return value


def choice(
    name: str,
    value: object,
    choices: Sequence[str],
    *,
    error: MakeError = InvalidInput,
    hint: str = "",
) -> str:
    if not isinstance(value, str) or value not in choices:
        listed = [repr(str(each)) for each in choices]
        options = f"{', '.join(listed[:-1])} or {listed[-1]}"
        raise error(f"{name} must be {options}, got {shown(value)}.{hint}")
    return str(value)


def text(
    name: str, value: object, *, longest: int | None = None, error: MakeError = InvalidInput
) -> str:
    fault = text_fault(value, longest)
    if fault is None:
        return str(value)
    raise error(f"{name} {fault}.")


def text_fault(value: object, longest: int | None = None) -> str | None:
    """Return what is wrong with a text, or None if every database stores it as it is."""
    if not isinstance(value, str):
        return f"must be text, got {shown(value)}"
    if not value:
        return "must not be empty"
    if longest is not None and len(value) > longest:
        return f"must be at most {longest} characters long, got {len(value)}"
    if not value.isprintable() and not _is_storable(value):
        return f"must not contain NUL or lone surrogates, got {shown(value)}"
    return None


def _is_storable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def is_json_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """True for a dictionary with text as keys."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def duration(name: str, value: object, *, error: MakeError = InvalidInput) -> timedelta:
    try:
        return parse_duration(value)
    except ValueError as fault:
        raise error(f"{name}: {fault}.") from None


def duration_or_moment(
    name: str, value: object, *, error: MakeError = InvalidInput
) -> timedelta | datetime:
    """Return a duration, or a moment in UTC."""
    if not isinstance(value, datetime):
        return duration(name, value, error=error)
    if value.tzinfo is None or value.utcoffset() is None:
        raise error(
            f"{name} must be a duration or a datetime with a time zone, got {shown(value)} "
            f"without one. For a moment in UTC, pass tzinfo=UTC."
        )
    return moment(name, value, error=error)


def moment(name: str, value: object, *, error: MakeError = InvalidInput) -> datetime:
    """Return a moment in UTC."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise error(f"{name} must be a datetime with a time zone, got {shown(value)}.")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise error(f"{name}: {shown(value)} is too far away.") from None


def positive_duration(name: str, value: object, *, error: MakeError = InvalidInput) -> timedelta:
    span = duration(name, value, error=error)
    if not span:
        raise error(f"{name} must be longer than zero, got {shown(value)}.")
    return span
