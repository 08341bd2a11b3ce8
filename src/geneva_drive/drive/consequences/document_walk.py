"""Follow a document from where its workflow stands: what is certain, and what it decides later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geneva_drive.declarative.running.document_definition import DocumentDefinition
    from geneva_drive.declarative.running.ways import Way


def decides(document: DocumentDefinition, node_id: str) -> bool:
    """True if what follows a step depends on how it ends."""
    from geneva_drive.declarative.running import ways

    return len(ways.routes_of(document, node_id)) > 1


def ahead_of(document: DocumentDefinition, present: str | None) -> Sequence[str]:
    """Return the step at which a workflow stands, and all that may still follow."""
    from geneva_drive.declarative.running import ways

    if present is None or document.get(present) is None:
        return ()
    return tuple(ways.reachable(document, present))


def way_past(document: DocumentDefinition, node_id: str) -> Way:
    """Return the way behind a step that is passed over."""
    from geneva_drive.declarative.running import ways

    return ways.way_after(document, node_id)


def way_behind(document: DocumentDefinition, node_id: str | None) -> Way:
    """Return the way behind a step that is still to end; none if the document lacks it."""
    from geneva_drive.declarative.routes import GoTo
    from geneva_drive.declarative.running import ways

    if node_id is None or document.get(node_id) is None:
        return ways.Way(steps=(), end=None)
    found = ways.way(document, GoTo(node_id))
    return replace(found, steps=found.steps[1:])
