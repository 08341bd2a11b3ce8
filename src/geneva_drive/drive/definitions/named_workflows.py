"""Workflows of a Drive that need no class: documents, by name, and dynamic workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, cast

from geneva_drive.definition.dynamic.builder import DynamicWorkflow
from geneva_drive.definition.dynamic.dynamic_run import DynamicRun
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.drive.definitions.definitions import Definitions
from geneva_drive.drive.definitions.start import StartOptions, start_by_name

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.joined_transaction import JoinedTransaction
    from geneva_drive.drive.search.queries import WorkflowQuery


class NamedWorkflows:
    """What a Drive does with documents and dynamic workflows."""

    @property
    def definitions(self) -> Definitions:
        """The workflows that are documents."""
        return Definitions(cast("Drive", self))

    def start(
        self, name: str, version: str | None = None, **options: Unpack[StartOptions]
    ) -> WorkflowHandle[Any]:
        """Start a workflow of a document, by default its current version, or of a class, by name.

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
