"""The fields of a workflow, as its handle shows them."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.drive.explanation.explanation import MOST_NAMED
from geneva_drive.drive.explanation.needs import resting_reason, who_is_needed
from geneva_drive.drive.handle.listed_fields import ListedFields, waiting_since
from geneva_drive.drive.record_field import RecordField
from geneva_drive.drive.search.many_executions import may_expand, may_have_many
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.transitions.wait_kinds import waits_externally
from geneva_drive.errors import HeroGone, NotCommitted, WorkflowNotFound
from geneva_drive.masked_fields import mask_text
from geneva_drive.serialization import typed_json
from geneva_drive.states import ENDED_WORKFLOW_STATES, Need, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import UNREAD, ExecutionRecord, WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

W = TypeVar("W", bound=Workflow[Any, Any], covariant=True)


class HandleFields(Generic[W]):
    """The fields of the workflow's row, and its active executions."""

    def __init__(
        self,
        drive: Drive,
        record: WorkflowRecord,
        active: tuple[ExecutionRecord, ...] | None = None,
        *,
        may_be_uncommitted: bool = False,
    ) -> None:
        self._drive = drive
        self._record = record
        self._known_active = active
        self._known_oldest: tuple[ExecutionRecord, ...] | None = None
        self._listed: ListedFields | None = None
        self.was_known = False  # create() found it by its idempotency key
        self.firsts: tuple[ExecutionRecord, ...] | None = None  # what create() inserted
        self._may_be_uncommitted = may_be_uncommitted  # only the session of create() may see it
        # The registry holds classes by weak references. Without this reference, a class defined in
        # a function that returns only a handle would be collected before its steps ran.
        self._kept_class = registry.get(record.type)

    id = RecordField[Any]()

    @property
    def drive(self) -> Drive:
        """The Drive of the workflow."""
        return self._drive

    @property
    def type(self) -> str | None:
        """The type of the workflow's class; None for a dynamic workflow."""
        return self._record.type or None

    @property
    def workflow_class(self) -> builtins.type[W] | None:
        """The class, or None if this process has not imported it."""
        is_document = self._record.definition_signature is not None
        known: Any = None if is_document else registry.get(self._record.type)
        return known  # type: ignore[no-any-return]  # the row's type names W

    @property
    def state(self) -> WorkflowState:
        if self._record.state is not WorkflowState.READY:
            return self._record.state
        if self._is_resting:
            return WorkflowState.PAUSED
        return WorkflowState.PERFORMING if self._running is not None else WorkflowState.READY

    @property
    def needs(self) -> Need:
        """Who acts next: an operator, a worker, a person, an event, a child, a timer or none."""
        return who_is_needed(self._record, self._oldest, self._drive.clock.now())

    @property
    def is_ongoing(self) -> bool:
        return self._record.state not in ENDED_WORKFLOW_STATES

    @property
    def requested(self) -> Request | None:
        """The pause or cancel that takes effect when the running step ends."""
        return self._record.requested

    @property
    def hero(self) -> Any:
        """The hero, loaded on access; None if the workflow has none, or if it was deleted."""
        try:
            return heroes.load(
                self._drive.environment,
                self.workflow_class,
                self._record.hero_type,
                self._record.hero_id,
            )
        except HeroGone:
            return None

    hero_type = RecordField[str | None]()
    hero_id = RecordField[str | None]()

    @property
    def context(self) -> Mapping[str, Any]:
        context: dict[str, Any] = typed_json.load(self._record.context) or {}
        return context

    @property
    def stored_context(self) -> str:
        """The context as typed JSON for display: masked fields are hidden."""
        masked = self._drive.settings.masked_fields
        return mask_text(self._record.context, masked) or "{}"

    allow_multiple = RecordField[bool]()

    @property
    def queue(self) -> str:
        definition = self._definition
        return self._record.queue or (definition.queue if definition else "default")

    @property
    def priority(self) -> int:
        if self._record.priority is not None:
            return self._record.priority
        return self._definition.priority if self._definition else 0

    @property
    def current_step_name(self) -> str | None:
        """The step that is running; None between steps."""
        return self._running.step_name if self._running else None

    @property
    def next_step_name(self) -> str | None:
        """The step that runs next, or that `resume` runs again."""
        if self.is_graph or self._record.next_step_name is None:
            waiting = (one for one in self._oldest if one.state is not StepState.IN_PROGRESS)
            oldest = next(waiting, None)
            return oldest.step_name if oldest else None
        if self._running is None:
            return self._record.next_step_name
        definition = self._definition
        if definition is None or definition.get(self._running.step_name) is None:
            return None
        following = definition.after(self._running.step_name)
        return following.name if following else None

    @property
    def definition_version(self) -> str | None:
        """The version of the document that the workflow follows to its end; None for a class."""
        record = self._record
        if record.definition_version is None and record.definition_signature is not None:
            self.reload()  # a running step has read only a part of its workflow
        return self._record.definition_version

    result_reason = RecordField[str | None]()

    @property
    def started_by(self) -> str | None:
        """The `actor` that was passed to `create`."""
        started_by = self._record.started_by
        if started_by is not UNREAD:
            return started_by
        store, key = self._drive.store, self._record.id
        return store.read(lambda connection: store.workflows.started_by(connection, key))

    @property
    def scheduled_at(self) -> datetime | None:
        """When the schedule run that started it was due; None if no schedule started it."""
        store, key = self._drive.store, self._record.id
        return store.read(lambda connection: store.schedule_runs.moment_of(connection, key))

    previous_step_name = RecordField[str | None]()
    created_at = RecordField[datetime]()
    updated_at = RecordField[datetime]()

    @property
    def started_at(self) -> datetime | None:
        """When the first step started."""
        if self._record.started_at is None and self._running is not None:
            return self._running.started_at
        return self._record.started_at

    finished_at = RecordField[datetime | None]()
    canceled_at = RecordField[datetime | None]()

    @property
    def paused_at(self) -> datetime | None:
        """When the workflow was paused, or began to wait for a person or an event."""
        if not self._is_resting:
            return self._record.paused_at
        if self._listed is not None:
            return self._listed.waiting_since
        store, active = self._drive.store, self._active
        found = store.read(lambda connection: waiting_since(connection, store, active))
        return found.get(self.id)

    @property
    def paused_reason(self) -> str | None:
        if self._is_resting:
            return resting_reason(self._active[0])
        return self._record.paused_reason

    @property
    def paused_step_name(self) -> str | None:
        if self._is_resting:
            return self._active[0].step_name
        # Stored when a node fails; the workflow pauses once the other active nodes have ended.
        is_paused = self._record.state is WorkflowState.PAUSED
        return self._record.paused_step_name if is_paused else None

    def reload(self) -> Self:
        """Read the workflow again and return the handle."""
        record, active = self._drive.store.read(self._read)
        if record is None:
            raise (NotCommitted if self._may_be_uncommitted else WorkflowNotFound)(self.id)
        self._may_be_uncommitted = False
        self._record = record
        self._known_active = None if active is None else tuple(active)
        self._known_oldest = None
        self._listed = None
        return self

    def as_created(self) -> Self:
        """Use the executions that `create` inserted until the next `reload`; this saves a query."""
        if self.firsts is not None:
            self._known_active = self.firsts
        return self

    def know(self, listed: ListedFields) -> Self:
        """Use fields that were read for a whole list, until the next `reload`."""
        self._listed = listed
        return self

    @property
    def standing(self) -> tuple[WorkflowRecord, tuple[ExecutionRecord, ...]]:
        """The row with its active executions, or with only the oldest few if there may be many."""
        return self._record, self._oldest

    def _read(
        self, connection: Connection
    ) -> tuple[WorkflowRecord | None, Sequence[ExecutionRecord] | None]:
        store = self._drive.store
        record = store.workflows.get(connection, self.id)
        is_small = record is None or not may_have_many(record)
        return record, store.executions.active_of(connection, [self.id]) if is_small else None

    @property
    def _definition(self) -> Definition | None:
        return definition_lookup.definition_of(self._drive.store, self._record)

    @property
    def is_graph(self) -> bool:
        """True if several nodes may be active at once, as far as this process knows."""
        definition = self._definition
        return self._record.has_graph or (definition is not None and definition.is_graph)

    @property
    def _may_expand(self) -> bool:
        return may_expand(self._record)

    def name_of(self, step: object) -> str:
        """Return the name of a step, given as its name or as its decorated method."""
        definition = self._definition
        if definition is None:
            return step if isinstance(step, str) else shown(step)
        return definition.name_of(step)

    @property
    def _active(self) -> tuple[ExecutionRecord, ...]:
        if self._known_active is None:
            store = self._drive.store
            self._known_active = tuple(
                store.read(lambda connection: store.executions.active_of(connection, [self.id]))
            )
        return self._known_active

    @property
    def _is_resting(self) -> bool:
        """True if only a person or an event from outside can continue the workflow."""
        is_open = self._record.state is WorkflowState.READY and self._record.open_waits > 0
        return is_open and all(waits_externally(one) for one in self._active)

    @property
    def _running(self) -> ExecutionRecord | None:
        return next((e for e in self._oldest if e.state is StepState.IN_PROGRESS), None)

    @property
    def _oldest(self) -> tuple[ExecutionRecord, ...]:
        """The active executions, or only the oldest few in each state if there may be many.

        A few are enough to describe the workflow.
        """
        if self._known_active is not None or not may_have_many(self._record):
            return self._active
        if self._known_oldest is None:
            store = self._drive.store
            self._known_oldest = tuple(
                store.read(
                    lambda connection: store.overviews.oldest_active(
                        connection, self.id, MOST_NAMED
                    )
                )
            )
        return self._known_oldest

    def _read_executions(self) -> list[ExecutionRecord]:
        store = self._drive.store
        return store.read(
            lambda connection: store.executions.of_workflow(connection, self._record.id)
        )
