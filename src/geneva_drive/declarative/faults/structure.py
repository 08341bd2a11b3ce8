"""Convert the errors of pydantic to faults, in terms of the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from geneva_drive.declarative import action_types, condition, steps
from geneva_drive.declarative.document import ContextTerms, Document, Trigger
from geneva_drive.declarative.faults.suggestions import Suggestions
from geneva_drive.declarative.field_types import (
    VARIABLE_PATTERN,
    DocumentPart,
    PartFaults,
    RefusedParts,
)
from geneva_drive.declarative.json_types import json_text
from geneva_drive.declarative.source.variants import Location
from geneva_drive.errors import MissingExtra

_PARTS: tuple[type[DocumentPart], ...] = (
    Document,
    Trigger,
    ContextTerms,
    condition.Condition,
    steps.RetryTerms,
    steps.Requirement,
    *steps.TYPES.values(),
    action_types.SetAction,
    action_types.NotifyAction,
    action_types.WebhookAction,
)
_KEYS = sorted(
    {field.alias or name for part in _PARTS for name, field in part.model_fields.items()}
)


def faults(refused: ValidationError, hints: Suggestions) -> Iterator[tuple[Location, str]]:
    """Yield the location and words of every fault that pydantic found."""
    for error in refused.errors(include_url=False, include_input=True):
        location = tuple(part for part in error["loc"] if not _is_tag(part))
        cause = error.get("ctx", {}).get("error")
        if isinstance(cause, MissingExtra):
            raise cause  # the installation is at fault, not the document
        if error["type"] == "too_short" and error["input"]:
            continue  # its items have faults of their own
        if isinstance(cause, PartFaults):
            for key, message in cause.faults:
                yield (*location, key) if key else location, message
        else:
            yield _fault(error, location, hints)


def hidden_faults(
    refused: RefusedParts, document: dict[str, Any], known: set[Location]
) -> Iterator[tuple[Location, str]]:
    """Yield contradictions between the keys of parts in which another key has a fault.

    Pydantic compares the keys of a part only once each of them is valid.
    """
    places = {id(value): location for location, value in _objects(document)}
    for part, written in refused:
        here = places.get(id(written))
        if here is None:
            continue
        for key, message in part.model_construct(**written).faults():
            location = (*here, key) if key else here
            if location not in known:
                known.add(location)
                yield location, message


def _objects(document: dict[str, Any]) -> Iterator[tuple[Location, Any]]:
    rest: list[tuple[Location, Any]] = [((), document)]
    while rest:
        location, value = rest.pop()
        if isinstance(value, dict):
            yield location, value
            rest.extend(((*location, key), item) for key, item in value.items())
        elif isinstance(value, list):
            rest.extend(((*location, index), item) for index, item in enumerate(value))


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


def _fault(error: ErrorDetails, location: Location, hints: Suggestions) -> tuple[Location, str]:
    kind, message, value = error["type"], error["msg"], error["input"]
    if kind.startswith("union_tag"):
        return _type_fault(location, value, hints)
    if kind == "extra_forbidden":
        close = hints.closest(str(location[-1]), _KEYS)
        hint = f"; did you mean {close!r}?" if close and close != location[-1] else ""
        return location, f"is not a known key here{hint}"
    if kind == "value_error":
        return location, message.removeprefix("Value error, ")
    if kind in _WHOLE:
        return location, _WHOLE[kind]
    if kind == "string_pattern_mismatch":
        is_variable = error["ctx"]["pattern"] == VARIABLE_PATTERN
        signs = "letters, digits and '_'" if is_variable else "letters, digits, '_', '-' and '.'"
        return location, (
            f"must be a name of {signs} that begins with a letter or '_', got {json_text(value)}"
        )
    words = _WORDS.get(kind) or _own_words(message)
    return location, f"{words}, got {json_text(value)}"


_WHOLE = {
    "missing": "is missing",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
}
_WORDS = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}


def _own_words(message: str) -> str:
    """Return a message of pydantic as a clause about its key."""
    for begin in ("Input should ", "String should "):
        message = message.replace(begin, "must ", 1)
    return message


def _type_fault(location: Location, value: Any, hints: Suggestions) -> tuple[Location, str]:
    if not isinstance(value, dict):
        return location, f"must be an object, got {json_text(value)}"
    if "type" not in value:
        return (*location, "type"), "is missing"
    written = json_text(value["type"])
    if "execute" in location:
        return (*location, "type"), f"must be text, got {written}"
    close = hints.closest(str(value["type"]), steps.TYPES)
    hint = f"did you mean {close!r}?" if close else f"the types are {', '.join(steps.TYPES)}"
    return (*location, "type"), f"there is no step type {written}; {hint}"
