"""Check the contexts that users pass, and dump them as stored text.

A context type is user code: its validators never run under a lock or in our transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive import checks
from geneva_drive.definition.definition import Definition
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json


@dataclass(frozen=True, slots=True)
class MergedContext:
    """A context before and after `resume(data=...)`, as stored text."""

    before: str | None
    after: str


def dump(definition: Definition, given: object, limit: int) -> str | None:
    """Return the context of a new workflow as stored text, checked against its type."""
    kind = definition.context_type
    if kind is not None:
        owner = definition.workflow_class.__name__
        values = kind.values_of(owner, {} if given is None else given)
        return typed_json.dump_context(kind.check(owner, values, values), limit)
    if definition.is_document:
        _check_input(definition, {} if given is None else given)
    if given is None:
        return None
    if not checks.is_json_object(given):
        raise InvalidInput(
            f"The context of a workflow must be a dictionary with text as keys, got {shown(given)}."
        )
    return typed_json.dump_context(given, limit)


def _check_input(definition: Definition, given: object) -> None:
    """Raise an error if the context does not fit the `input` of a document."""
    from geneva_drive.declarative.input_schema import check_input
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

    assert isinstance(definition, DocumentDefinition), "it is a document"
    if definition.branch_of is None and checks.is_json_object(given):
        check_input(definition.document, given)


def merge(
    definition: Definition | None, stored: str | None, data: Mapping[str, Any], limit: int
) -> MergedContext:
    """Return the context with new values, checked against its type if the class is known."""
    before: dict[str, Any] = typed_json.load(stored) or {}
    merged = {**before, **data}
    kind = definition.context_type if definition else None
    if definition is not None and kind is not None:
        # Keep the values of fields that the type no longer has: the deploy may be rolled back.
        checked = kind.check(definition.workflow_class.__name__, merged, data)
        merged = {**before, **checked}
    return MergedContext(stored, typed_json.dump_context(merged, limit))
