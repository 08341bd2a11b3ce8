"""Starting a workflow by its name."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput


def start(
    drive: Drive, name: str, version: str | int | None, **options: Any
) -> WorkflowHandle[Any]:
    """Start a workflow of a document, or of a class that this process has imported."""
    is_class = name not in RESERVED_TYPES and registry.definition_for(name) is not None
    if version is not None and is_class:
        raise InvalidInput(f"{name!r} is a workflow class, which has no versions.")
    return drive.start(name, None if version is None else str(version), **options)
