"""Start a workflow by the name of its document or class."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from geneva_drive import checks
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.durations import Duration
from geneva_drive.engine.documents import documents
from geneva_drive.errors import DefinitionNotFound

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction


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
    definition = documents.startable(drive.store, name, version)
    document = definition if definition.is_document else None
    workflows: ClassWorkflows[Any] = ClassWorkflows(drive, definition.workflow_class, document)
    return workflows.create(**options)
