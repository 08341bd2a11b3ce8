"""The types of workflows that this process or a running worker knows: `drive.known_types()`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.nodes.phrases import phrase_of
from geneva_drive.drive.activity.overview_rows import MOST, counted
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.errors import UnknownWorkflowClass

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedNode:
    """A node of a class, with what it does in words."""

    name: str
    kind: str
    phrase: str
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownType:
    """What is known of a type of workflows; without the class, only what workers report."""

    type: str
    is_imported: bool  # this process has the class, and can start workflows of it
    signature: str | None  # of this process's code
    workers: int  # running workers that have the class
    versions: int  # different versions of its code among them
    nodes: tuple[DefinedNode, ...]
    queue: str | None
    description: str | None
    cron: str | None
    triggers: tuple[str, ...]  # types of events that start a workflow
    ongoing: SearchCount

    @property
    def is_served(self) -> bool:
        return self.workers > 0


def list_known_types(drive: Drive) -> list[KnownType]:
    """Return the definitions, sorted by type, in a few statements."""
    store, lease = drive.store, drive.settings.lease

    def query(connection: Connection) -> tuple[Counter[str], dict[str, set[str]], dict[str, int]]:
        workers, versions = Counter[str](), dict[str, set[str]]()
        for worker in store.workers.all(connection, lease):
            if worker.is_alive:
                for type_name, signature in worker.signatures.items():
                    workers[type_name] += 1
                    versions.setdefault(type_name, set()).add(signature)
        known = {*registry.types(), *workers} - RESERVED_TYPES
        counts = store.front_page.ongoing_by_type(connection, sorted(known), MOST)
        return workers, versions, counts

    workers, versions, counts = store.read(query)
    return [
        _described(
            type_name,
            registry.definition_for(type_name),
            workers=workers[type_name],
            versions=len(versions.get(type_name, ())),
            ongoing=counted(count),
        )
        for type_name, count in sorted(counts.items())
    ]


def _described(type_name: str, definition: Definition | None, **known: Any) -> KnownType:
    if definition is None:
        return KnownType(
            type=type_name,
            is_imported=False,
            signature=None,
            nodes=(),
            queue=None,
            description=None,
            cron=None,
            triggers=(),
            **known,
        )
    schedule = definition.schedule
    return KnownType(
        type=type_name,
        is_imported=True,
        signature=definition.signature,
        nodes=tuple(
            DefinedNode(
                name=node.name,
                kind=node.kind.value,
                phrase=phrase_of(node),
                depends_on=tuple(definition.graph.parents[node.name]),
            )
            for node in definition.nodes
            if not node.is_removed
        ),
        queue=definition.queue,
        description=_first_paragraph(definition),
        cron=None if schedule is None else schedule.line,
        triggers=definition.triggers,
        **known,
    )


def _first_paragraph(definition: Definition) -> str | None:
    # Not inherited: the docstring of gd.Workflow says nothing about this class.
    text = definition.workflow_class.__dict__.get("__doc__")
    return " ".join(text.strip().split("\n\n")[0].split()) if text and text.strip() else None


def context_schema(type_name: str) -> dict[str, Any]:
    """Return the JSON Schema of the contexts of a type, for a start form; empty without one."""
    definition = registry.definition_for(type_name)
    if definition is None:
        raise UnknownWorkflowClass(type_name)
    return {} if definition.context_type is None else definition.context_type.json_schema()
