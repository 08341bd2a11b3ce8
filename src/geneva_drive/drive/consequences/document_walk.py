"""The steps of a document that are still to come: the certain ones, and those decided later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.certain_path import CertainPath
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition


def decides(document: DocumentDefinition, node_id: str) -> bool:
    """True if what follows a step depends on how it ends."""
    from geneva_drive.declarative.runtime import certain_path

    return len(certain_path.routes_of(document, node_id)) > 1


def ahead_of(document: DocumentDefinition, present: str | None) -> Sequence[str]:
    """Return the current step of a workflow, and every step that may still follow."""
    from geneva_drive.declarative.runtime import certain_path

    if present is None or document.get(present) is None:
        return ()
    return tuple(certain_path.reachable(document, present))


def path_after_skip(document: DocumentDefinition, node_id: str) -> CertainPath:
    """Return the certain path after a step that is skipped."""
    from geneva_drive.declarative.runtime import certain_path

    return certain_path.way_after(document, node_id)


def path_after(document: DocumentDefinition, node_id: str | None) -> CertainPath:
    """Return the certain path after a step that has not ended; empty if the document lacks it."""
    from geneva_drive.declarative.routes import GoTo
    from geneva_drive.declarative.runtime import certain_path

    if node_id is None or document.get(node_id) is None:
        return certain_path.CertainPath(steps=(), end=None)
    found = certain_path.way(document, GoTo(node_id))
    return replace(found, steps=found.steps[1:])
