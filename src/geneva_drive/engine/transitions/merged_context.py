"""Merge what a step of a document writes into the context of its locked workflow."""

from __future__ import annotations

from geneva_drive.declarative.actions.changes import apply_changes
from geneva_drive.engine.transitions.outcome import ContextUpdate
from geneva_drive.errors import ExpressionFailed
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.records import WorkflowRecord


def merged_context(workflow: WorkflowRecord, update: ContextUpdate | None) -> str | None:
    """Return the new context as stored text; None if nothing is written."""
    if update is None:
        return None
    if workflow.context == update.before:  # as nearly always
        return update.after
    present = typed_json.load(workflow.context) or {}
    try:
        return typed_json.dump(apply_changes(present, update.changes))
    except ExpressionFailed:
        return update.after  # new data is in the way of what the step has written since
