"""The handle of a workflow, which code outside its steps uses to read and command it."""

from __future__ import annotations

from copy import copy

from geneva_drive import checks
from geneva_drive.definition.compiler.reserved_types import BULK_TYPE
from geneva_drive.drive.bulk.progress import BulkProgress, bulk_progress
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.what_if import what_if
from geneva_drive.drive.handle.async_forms import HandleAsyncForms
from geneva_drive.drive.handle.fields import W
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.drive.timeline.timeline import Timeline, read_timeline
from geneva_drive.errors import NotCommitted, WorkflowNotFound
from geneva_drive.storage.schema.records import AuditRecord


class WorkflowHandle(HandleAsyncForms[W]):
    """A workflow as it was when it was read.

    `reload()` reads it again. Commands such as `pause()` reload the handle and return it.

    >>> import geneva_drive as gd
    >>> _ = gd.configure("sqlite:///doctest.db").migrate()
    >>> class Greeting(gd.Workflow):
    ...     @gd.step
    ...     def greet(self): ...
    >>> workflow = Greeting.create()
    >>> workflow.pause(reason="not before the weekend").state
    <WorkflowState.PAUSED: 'paused'>
    """

    @property
    def step_executions(self) -> list[StepExecution]:
        """Every attempt at every step, in the order in which they were scheduled."""
        return [self._drive.open_execution(record) for record in self._read_executions()]

    @property
    def execution_history(self) -> list[StepExecution]:
        return self.step_executions

    @property
    def current_execution(self) -> StepExecution | None:
        """The oldest execution that is scheduled, running, suspended or waiting."""
        return next(iter(self.current_executions), None)

    @property
    def current_executions(self) -> list[StepExecution]:
        return [self._drive.open_execution(record) for record in self._active]

    @property
    def audit_entries(self) -> list[AuditRecord]:
        """The commands that operators gave, oldest first."""
        store = self._drive.store
        return store.read(lambda connection: store.audit_entries.of_workflow(connection, self.id))

    @property
    def bulk(self) -> BulkProgress | None:
        """The progress of a bulk; None for any other workflow."""
        is_bulk = self._record.type == BULK_TYPE
        return bulk_progress(self._drive, self._record) if is_bulk else None

    def why(self) -> str:
        """Return one sentence about what the workflow waits for now."""
        # The state and the executions must be read together, or they contradict each other.
        now = copy(self)
        try:
            now.reload()
        except NotCommitted:
            return (
                "It waits for the session that created it to commit; until then, no worker sees "
                "it. If the session was rolled back, the workflow does not exist."
            )
        except WorkflowNotFound:
            pass  # deleted meanwhile: the handle still knows how it ended
        return now.why_as_read()

    def why_as_read(self) -> str:
        """Return the sentence of `why()` without reading the workflow again."""
        return self._drive.explain(self._record, self._oldest)

    def timeline(self) -> Timeline:
        """Return when each node ran and waited, for at most the first 200 nodes."""
        return read_timeline(self._drive, self.id)

    def what_if(self, node: str | None = None, reader: str | None = None) -> list[Consequence]:
        """Return the commands that are possible now, and what each would do.

        Commands on single nodes are listed for the first five nodes; pass `node` to list those of
        one node. The counts of an approval include the vote that `reader`, a person, could add.
        """
        for name, value in (("node", node), ("reader", reader)):
            if value is not None:
                checks.text(f"what_if({name}=...)", value)
        return what_if(self._drive, self.id, node=node, reader=reader)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkflowHandle) and (self.type, self.id) == (other.type, other.id)

    def __hash__(self) -> int:
        return hash((self.type, self.id))

    def __repr__(self) -> str:
        return f"<{self.type or 'dynamic'} workflow {self.id}: {self._record.state}>"
