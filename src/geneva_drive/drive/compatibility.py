"""The check of `geneva check`: which ongoing workflows this code cannot continue."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.declarative.actions import registry as functions
from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.document_workflow import DOCUMENTS
from geneva_drive.definition.dynamic.node_arguments import CHILD_JOB, OWN_JOBS
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.documents.definition_lookup import BRANCH
from geneva_drive.states import ENDED_WORKFLOW_STATES, STORED_WORKFLOW_STATES
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.requirements import Needed, Needs

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_EXAMPLES = 3


class Obstacle(StrEnum):
    """Why a workflow cannot continue."""

    CLASS_UNKNOWN = "class_unknown"
    STEP_GONE = "step_gone"  # the workflow is at this step
    DONE_STEP_GONE = "done_step_gone"  # the workflow can continue
    JOB_UNKNOWN = "job_unknown"
    METHOD_GONE = "method_gone"
    CHILD_CLASS_UNKNOWN = "child_class_unknown"
    DONE_NODE_GONE = "done_node_gone"  # the stored graph was edited by hand
    FUNCTION_UNKNOWN = "function_unknown"  # a document calls an action or loader

    @property
    def is_warning(self) -> bool:
        return self is Obstacle.DONE_STEP_GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    """The workflows of one type that cannot continue for the same reason."""

    obstacle: Obstacle
    type: str | None  # None: dynamic workflows
    name: str  # of the missing step, job, method or class
    workflow_count: int
    examples: tuple[Key, ...]

    @property
    def is_warning(self) -> bool:
        return self.obstacle.is_warning

    @property
    def reason(self) -> str:
        return _REASONS[self.obstacle][0].format(name=self.name, type=self.type)

    @property
    def way_out(self) -> str:
        return _REASONS[self.obstacle][1].format(name=self.name, type=self.type)


_REASONS = {  # what is wrong, and what to do
    Obstacle.CLASS_UNKNOWN: (
        "No class of type {type!r} is imported.",
        "Import its module in the app. If the class was renamed, keep its type: "
        "type_name = {type!r}.",
    ),
    Obstacle.STEP_GONE: (
        "They are at step {name!r}, which {type} no longer has.",
        "Keep `{name} = gd.removed_step()` in its place, or set renamed_from={name!r} on its "
        "successor.",
    ),
    Obstacle.DONE_STEP_GONE: (
        "They completed step {name!r}, which {type} no longer has. They can continue.",
        "To be safe, keep `{name} = gd.removed_step()` in its place until they have ended.",
    ),
    Obstacle.JOB_UNKNOWN: (
        "Their stored graphs call the job {name!r}, which no imported module defines.",
        "Import its module in the app. If the function was moved or renamed, keep the job's name: "
        "@gd.job(name={name!r}).",
    ),
    Obstacle.METHOD_GONE: (
        "Their stored graphs call the method {name!r}, which {type} no longer has.",
        "Restore the method, or keep `{name} = gd.removed_step()` in its place.",
    ),
    Obstacle.CHILD_CLASS_UNKNOWN: (
        "Their stored graphs start child workflows of type {name!r}, but no such class is "
        "imported.",
        "Import its module in the app. If the class was renamed, keep its type: "
        "type_name = {name!r}.",
    ),
    Obstacle.FUNCTION_UNKNOWN: (
        "The document {type!r} calls the {name}, which no imported module registers.",
        "Import its module in the app, which registers it with @gd.action(...) or @gd.loader(...).",
    ),
    Obstacle.DONE_NODE_GONE: (
        "They completed node {name!r}, which their stored graphs do not have.",
        "Repair the graph with export_dag() and import_dag().",
    ),
}


def check(drive: Drive) -> list[Stuck]:
    """Find the ongoing workflows that this process cannot continue, in a few queries."""
    store = drive.store
    definitions = {one.type: one for one in registry.definitions() if one is not DOCUMENTS}
    graph_types = [name for name, known in definitions.items() if known.is_graph]
    needs = store.requirements
    with store.reading() as connection:
        checker = _Checker(drive, connection, definitions)
        return [
            *checker.check_classes(),
            *checker.check_names(Obstacle.STEP_GONE, needs.steps(graph_types), checker.lacks_step),
            *checker.check_names(Obstacle.JOB_UNKNOWN, needs.jobs(), _lacks_job),
            *checker.check_names(Obstacle.METHOD_GONE, needs.methods(), checker.lacks_step),
            *checker.check_children(),
            *checker.check_names(Obstacle.DONE_NODE_GONE, needs.lost_nodes(), checker.lost_node),
            *checker.check_names(Obstacle.DONE_STEP_GONE, needs.done_steps(), checker.lacks_step),
            *checker.check_documents(),
        ]


class _Checker:
    """Compares what ongoing workflows need with what this process has imported."""

    def __init__(
        self, drive: Drive, connection: Connection, definitions: dict[str, Definition]
    ) -> None:
        self._store = drive.store
        self._needs = drive.store.requirements
        self._search = drive.store.workflow_search
        self._connection = connection
        self._definitions = definitions

    def check_names(
        self, obstacle: Obstacle, needs: Needs, is_lacking: Callable[[Needed], bool]
    ) -> Iterator[Stuck]:
        for needed in self._needs.names(self._connection, needs):
            if is_lacking(needed):
                yield self._stuck(obstacle, needs, needed)

    def check_classes(self) -> Iterator[Stuck]:
        """Check the types of ongoing workflows."""
        found: set[str] = set()
        for state in STORED_WORKFLOW_STATES - ENDED_WORKFLOW_STATES:
            found.update(self._search.types_in(self._connection, state))
        deployed = set(self._store.definitions.names(self._connection))
        known = {DYNAMIC_TYPE, *self._definitions}
        for name in sorted(found - known):
            if name.partition(BRANCH)[0] in deployed:
                continue
            yield self._stuck(Obstacle.CLASS_UNKNOWN, self._needs.classes(), Needed(name, name))

    def check_documents(self) -> Iterator[Stuck]:
        """Check what documents call: their current versions, and those of ongoing workflows."""
        here = set(functions.registered())
        lacking: set[tuple[str, str]] = set()
        for stored in self._store.definitions.in_use(self._connection):
            lacking |= {(stored.name, name) for name in _called_by(stored) - here}
        for type_name, name in sorted(lacking):
            needs, needed = self._needs.classes(), Needed(type_name, type_name)
            stuck = self._stuck(Obstacle.FUNCTION_UNKNOWN, needs, needed)
            yield replace(stuck, name=name)

    def _stuck(self, obstacle: Obstacle, needs: Needs, needed: Needed) -> Stuck:
        return Stuck(
            obstacle=obstacle,
            type=needed.type or None,
            name=needed.name,
            workflow_count=self._needs.count(self._connection, needs, needed),
            examples=tuple(self._needs.examples(self._connection, needs, needed, _EXAMPLES)),
        )

    def lacks_step(self, needed: Needed) -> bool:
        definition = self._definitions.get(needed.type)
        return definition is not None and definition.get(needed.name) is None

    def lost_node(self, needed: Needed) -> bool:
        definition = self._definitions.get(needed.type)
        node = definition.get(needed.name) if needed.type and definition else None
        # A renamed node was completed under its former name, before the graph was stored.
        return node is None or node.name == needed.name

    def check_children(self) -> Iterator[Stuck]:
        """Check the types of child workflows, which are arguments of the nodes that start them."""
        found: dict[tuple[str, str], set[Key]] = {}
        for workflow_type, args, workflow_id in self._needs.children(self._connection, CHILD_JOB):
            child_type = json.loads(args).get("type", "")
            if child_type not in self._definitions:
                found.setdefault((workflow_type, child_type), set()).add(workflow_id)
        for (workflow_type, child_type), ids in sorted(found.items()):
            yield Stuck(
                obstacle=Obstacle.CHILD_CLASS_UNKNOWN,
                type=workflow_type or None,
                name=child_type,
                workflow_count=len(ids),
                examples=tuple(sorted(ids)[:_EXAMPLES]),
            )


def calls_of_documents(drive: Drive) -> dict[str, set[str]]:
    """Return the actions and loaders that each document in use calls."""
    store, found = drive.store, dict[str, set[str]]()
    for stored in store.read(store.definitions.in_use):
        names = _called_by(stored)
        if names:
            found.setdefault(stored.name, set()).update(names)
    return found


def _called_by(stored: DefinitionRecord) -> set[str]:
    from geneva_drive.declarative.actions.execution import needed

    definition = definition_lookup.compiled(stored)
    document = getattr(definition, "document", None)
    return set() if document is None else needed(document)


def _lacks_job(needed: Needed) -> bool:
    return needed.name not in OWN_JOBS and jobs.get(needed.name) is None
