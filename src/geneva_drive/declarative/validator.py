"""Validate documents: every fault is reported, with its path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from geneva_drive.declarative import input_schema, templates
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.faults import flow, structure
from geneva_drive.declarative.faults.order import LocationOrder
from geneva_drive.declarative.faults.suggestions import Suggestions
from geneva_drive.declarative.field_types import RefusedParts
from geneva_drive.declarative.source.reader import MAX_SIZE, Unreadable, read
from geneva_drive.declarative.source.variants import Location, Origins, normal_form
from geneva_drive.display import shown
from geneva_drive.errors import Fault, StepConfigurationError

__all__ = ["MAX_SIZE", "examine", "parse", "refusal"]

_LISTED = 20  # faults that a message shows; `faults` has all

# Keys of texts for people and of schemas, in which braces are not templates.
_NO_TEMPLATES = frozenset({"$schema", "name", "description", "input"})


def parse(written: str | bytes | Mapping[str, Any]) -> Document:
    """Return a document in its normal form, or raise a `StepConfigurationError` with all faults."""
    document, faults = examine(written)
    if document is None:
        name = written.get("workflow_id") if isinstance(written, Mapping) else None
        raise refusal(name, faults)
    return document


def examine(written: str | bytes | Mapping[str, Any]) -> tuple[Document | None, list[Fault]]:
    """Return the document, or None and every fault."""
    try:
        values = read(written)
    except Unreadable as error:
        return None, [Fault("$", str(error))]
    origins = Origins()
    normal = normal_form(values, origins)
    hints = Suggestions()
    found: list[tuple[Location, str]] = [*origins.conflicts]
    document = None
    refused: RefusedParts = []
    try:
        document = Document.model_validate(normal, context=refused)
        ordered = document.steps
    except ValidationError as error:
        found += structure.faults(error, hints)
        found += structure.hidden_faults(refused, normal, {location for location, _ in found})
        ordered = flow.lenient(normal.get("steps"))
    found += flow.faults(ordered, hints, origins.path)
    found += _template_faults(normal)
    found += input_schema.faults(normal.get("input"))
    if not found:
        return document, []
    ordered_faults = sorted(found, key=LocationOrder(normal).of)
    return None, [Fault(origins.path(location), message) for location, message in ordered_faults]


def refusal(name: object, faults: list[Fault]) -> StepConfigurationError:
    """Return the error for a document with these faults."""
    subject = f"The document {shown(name)}" if name else "The document"
    count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
    listed = "; ".join(f"{fault.path}: {fault.message}" for fault in faults[:_LISTED])
    more = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
    words = f"{subject} has {count}: {listed}{more}"
    return StepConfigurationError(words if words.endswith("?") else f"{words}.", faults=faults)


def _template_faults(document: dict[str, Any]) -> Iterator[tuple[Location, str]]:
    rest: list[tuple[Location, Any]] = [
        ((key,), value) for key, value in document.items() if key not in _NO_TEMPLATES
    ]
    rest.reverse()
    while rest:
        location, value = rest.pop()
        if isinstance(value, str):
            if "{{" in value:
                yield from ((location, message) for message in templates.faults(value))
        elif isinstance(value, dict):
            rest.extend(((*location, key), value[key]) for key in reversed(value))
        elif isinstance(value, list):
            last = len(value) - 1
            rest.extend(((*location, last - n), item) for n, item in enumerate(reversed(value)))
