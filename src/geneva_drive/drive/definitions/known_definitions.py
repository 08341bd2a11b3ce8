"""The classes and documents from which workflows can be started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.drive.activity.overview_rows import MOST, counted
from geneva_drive.drive.definitions.definitions import DeployedDefinition
from geneva_drive.drive.definitions.known_types import DefinedNode
from geneva_drive.drive.graph.graph_view import GraphView, view_of_definition
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.errors import DefinitionNotFound

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_MOST_PHRASES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDefinition:
    """A class or a document, and how many workers serve it."""

    name: str
    is_document: bool
    can_start: bool  # in this process: the class is imported, or the document is enabled
    is_enabled: bool
    workers: int
    versions: int  # of a class: how many different versions of its code workers have
    ongoing: SearchCount
    description: str | None
    cron: str | None
    triggers: tuple[str, ...]  # types of events that start a workflow
    version: str | None = None  # the current one of a document


def known_definitions(drive: Drive) -> list[KnownDefinition]:
    """Return classes and documents, sorted by name, in a fixed number of statements."""
    classes = [
        KnownDefinition(
            name=one.type,
            is_document=False,
            can_start=one.is_imported,
            is_enabled=True,
            workers=one.workers,
            versions=one.versions,
            ongoing=one.ongoing,
            description=one.description or _steps(one.nodes),
            cron=one.cron,
            triggers=one.triggers,
        )
        for one in drive.known_types()
    ]
    return sorted([*classes, *_documents(drive)], key=lambda one: one.name.lower())


def _steps(nodes: Sequence[DefinedNode]) -> str | None:
    """Describe a class without a docstring by what its steps do."""
    phrases = [one.phrase for one in nodes[:_MOST_PHRASES]]
    more = f" and {len(nodes) - len(phrases)} more" if len(nodes) > len(phrases) else ""
    words = ", ".join(phrases) + more
    return f"{words[:1].upper()}{words[1:]}." if words else None


def _documents(drive: Drive) -> list[KnownDefinition]:
    found = drive.definitions.list()
    if not found:
        return []
    store = drive.store
    names = [one.name for one in found]

    def count(connection: Connection) -> dict[str, int]:
        return store.front_page.ongoing_by_type(connection, names, MOST)

    counts = store.read(count)
    workers = sum(one.knows(DOCUMENT_LANE) for one in drive.workers)
    return [_document(one, workers, counted(counts[one.name])) for one in found]


def _document(one: DeployedDefinition, workers: int, ongoing: SearchCount) -> KnownDefinition:
    trigger = one.document.get("trigger") or {}
    return KnownDefinition(
        name=one.name,
        is_document=True,
        can_start=one.enabled,
        is_enabled=one.enabled,
        workers=workers,
        versions=1,
        ongoing=ongoing,
        description=one.document.get("description") or one.title,
        cron=trigger.get("cron"),
        triggers=tuple(filter(None, [trigger.get("event")])),
        version=one.version,
    )


def require_known(drive: Drive, name: str) -> KnownDefinition:
    """Return what is known of a name, or raise `NotFound`."""
    found = next((one for one in known_definitions(drive) if one.name == name), None)
    if found is None:
        raise DefinitionNotFound(name)
    return found


def graph_of(drive: Drive, name: str, version: str | None = None) -> GraphView | None:
    """Return the graph of a class, or of a document; None if this process cannot read it."""
    known = None if name in RESERVED_TYPES else registry.definition_for(name)
    if known is None:
        store = drive.store

        def read(connection: Connection) -> Any:
            if version is None:
                return store.definitions.current(connection, name)
            return store.definitions.version(connection, name, version)

        stored = store.read(read)
        known = None if stored is None else definition_lookup.compiled(stored)
    return None if known is None else view_of_definition(known)


def schema_of(drive: Drive, name: str) -> Mapping[str, Any]:
    """Return the JSON Schema of the contexts of a class or a document; empty without one."""
    if name not in RESERVED_TYPES and registry.definition_for(name) is not None:
        return drive.context_schema(name)
    return drive.definitions.get(name).document.get("input") or {}
