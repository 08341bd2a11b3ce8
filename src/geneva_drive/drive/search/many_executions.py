"""Which workflows may have thousands of active executions."""

from __future__ import annotations

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.storage.schema.records import WorkflowRecord


def may_expand(record: WorkflowRecord) -> bool:
    """True if the workflow may have a batch or map, as far as this process knows."""
    if record.definition_signature is not None:
        return False  # the branches of a document are workflows of their own
    definition = registry.definition_for(record.type)
    return record.type == DYNAMIC_TYPE or definition is None or definition.expands


def may_have_many(record: WorkflowRecord) -> bool:
    """True if the active executions may be too many to read: 100,000 in a graph or a batch."""
    if record.definition_signature is not None:
        return False
    definition = registry.definition_for(record.type)
    return record.type == DYNAMIC_TYPE or (definition is not None and definition.expands)
