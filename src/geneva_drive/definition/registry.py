"""The workflow definitions that this process knows, by type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geneva_drive.definition.name_registry import NameRegistry
from geneva_drive.errors import UnknownWorkflowClass

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition
    from geneva_drive.definition.workflow import Workflow


def _full_name(definition: Definition) -> str:
    return f"{definition.workflow_class.__module__}.{definition.workflow_class.__qualname__}"


# Weak: a class that is out of reach (a test function's, say) does not block its name. A class and
# its definition refer to each other, so they are collected together.
_definitions: NameRegistry[Definition] = NameRegistry(
    noun="workflow type",
    remedy='type_name = "..."',
    identity=_full_name,
    describe=_full_name,
    weak=True,
)

definition_for = _definitions.get
definitions = _definitions.entries
types = _definitions.names
isolated = _definitions.isolated


def add(definition: Definition, where: str) -> None:
    _definitions.add(definition.type, definition, where)


def require_definition(type_name: str) -> Definition:
    definition = definition_for(type_name)
    if definition is None:
        raise UnknownWorkflowClass(type_name)
    return definition


def get(type_name: str) -> type[Workflow[Any, Any]] | None:
    definition = definition_for(type_name)
    return None if definition is None else definition.workflow_class
