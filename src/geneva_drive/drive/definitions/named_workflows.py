"""Workflows of a Drive that need no class: documents, by name, and dynamic workflows."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from geneva_drive import checks
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.dynamic.builder import DynamicWorkflow
from geneva_drive.definition.dynamic.dynamic_workflow import DynamicRun
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.drive.definitions.definitions import Definitions
from geneva_drive.durations import Duration
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.errors import DefinitionNotFound

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction
    from geneva_drive.drive.search.queries import WorkflowQuery


class NamedWorkflows:
    """The part of a Drive for documents and dynamic workflows."""

    @property
    def definitions(self) -> Definitions:
        """The deployed documents."""
        return Definitions(cast("Drive", self))

    def start(
        self, name: str, version: str | None = None, **options: Unpack[StartOptions]
    ) -> WorkflowHandle[Any]:
        """Start a workflow by name: of a document (by default its current version) or of a class.

        Raises `InvalidStateError` if the document is disabled, and `InvalidInput` if the context
        does not fit its `input`. The other options are those of `create`.
        """
        return start_by_name(cast("Drive", self), name, version, **options)

    def start_dynamic(
        self, built: DynamicWorkflow, session: JoinedTransaction | None = None
    ) -> WorkflowHandle[DynamicRun]:
        """Start a workflow built with `gd.DynamicWorkflow`, like its `start()`."""
        return ClassWorkflows(cast("Drive", self), DynamicRun).start_built(built, session)

    def workflows_of_template(self, name: str) -> WorkflowQuery[DynamicRun]:
        """Query the workflows built by a template."""
        return ClassWorkflows(cast("Drive", self), DynamicRun).query().of_template(name)


class StartOptions(TypedDict, total=False):
    """The keywords of `start`, which are those of `create`."""

    hero: object
    context: Mapping[str, Any] | None
    actor: str | None
    allow_multiple: bool
    queue: str | None
    priority: int | None
    wait: Duration | datetime | None
    idempotency_key: str | None
    session: JoinedTransaction | None


def start_by_name(
    drive: Drive, name: str, version: str | None, **options: Unpack[StartOptions]
) -> WorkflowHandle[Any]:
    """Start a workflow of a class, or of a document in this version; see `Drive.start`."""
    checks.text("start(name)", name)
    if name in RESERVED_TYPES:
        raise DefinitionNotFound(name)
    if version is not None:
        checks.text("start(version=...)", version)
    definition = definition_lookup.require_startable(drive.store, name, version)
    document = definition if definition.is_document else None
    workflows: ClassWorkflows[Any] = ClassWorkflows(drive, definition.workflow_class, document)
    return workflows.create(**options)
