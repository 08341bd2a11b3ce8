"""Checks of an approval's values, whether declared or returned by a callable.

Each returns the value in its normal form, or raises an `InvalidInput`, or the error that the caller
passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any

from geneva_drive import checks
from geneva_drive.checks import MakeError
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json

MAX_ROLE_LENGTH = 191  # also of a choice
MAX_PERSON_LENGTH = 255
_MOST = 2**31 - 1


def role(option: str, value: object, *, error: MakeError = InvalidInput) -> str:
    return checks.text(option, value, longest=MAX_ROLE_LENGTH, error=error)


def people(option: str, value: object, *, error: MakeError = InvalidInput) -> tuple[str, ...]:
    """Return the names of people, without repetition."""
    listed = texts(option, value, longest=MAX_PERSON_LENGTH, error=error)
    if not listed:
        raise error(f"{option} is empty, so the request could never be decided.")
    return listed


def texts(option: str, value: object, *, longest: int, error: MakeError) -> tuple[str, ...]:
    """Return a list of texts without repetition."""
    # A string is a sequence, too, of single letters.
    if isinstance(value, str):
        raise error(
            f"{option} must be a list of texts, got {shown(value)}. Write "
            f"{option}=[{shown(value)}]."
        )
    if not isinstance(value, Sequence | AbstractSet):
        raise error(f"{option} must be a list of texts, got {shown(value)}.")
    listed = [
        checks.text(f"Each of the {option}", one, longest=longest, error=error) for one in value
    ]
    for place, one in enumerate(listed):
        if one in listed[:place]:
            raise error(f"{option} has {shown(one)} twice. Name each once.")
    return tuple(sorted(listed) if isinstance(value, AbstractSet) else listed)


def quorum(option: str, value: object, *, error: MakeError = InvalidInput) -> int:
    return checks.whole_number(option, value, at_least=1, at_most=_MOST, error=error)


def check_enough(
    approvers: Sequence[str], needed: int, to_reject: int, *, error: MakeError = InvalidInput
) -> None:
    """Raise an error if all approvers could vote without reaching one of the two quorums."""
    least = needed + to_reject - 1
    if len(approvers) < least:
        raise error(
            f"quorum={needed} and reject_quorum={to_reject} need at least {least} approvers, got "
            f"{len(approvers)}: with fewer, all of them could vote without a decision."
        )


def timeout(option: str, value: object, *, error: MakeError = InvalidInput) -> timedelta:
    return checks.positive_duration(option, value, error=error)


def fields(option: str, value: object, *, error: MakeError = InvalidInput) -> dict[str, Any]:
    """Return a dictionary with text as keys that can be stored."""
    if not checks.is_json_object(value):
        raise error(f"{option} must be a dictionary with text as keys, got {shown(value)}.")
    try:
        typed_json.dump(value, option)
    except InvalidInput as refusal:
        raise error(str(refusal)) from None
    return dict(value)


def facts(option: str, value: object, *, error: MakeError = InvalidInput) -> dict[str, Any]:
    """Return a dictionary that contains no lists or dictionaries."""
    found = fields(option, value, error=error)
    for key, fact in found.items():
        if isinstance(fact, Mapping | list | tuple | AbstractSet):
            raise error(
                f"{option} must be flat, and {key!r} is a {type(fact).__name__}. Write each fact "
                f"under a name of its own, or as text."
            )
    return found
