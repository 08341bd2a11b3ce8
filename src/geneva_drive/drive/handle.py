"""A workflow as code outside its steps holds it: what it is, and what can be done to it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.explanation import MOST_NAMED
from geneva_drive.drive.graph_handle import GraphHandle
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine import heroes
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.pause import pause
from geneva_drive.engine.commands.repair import reattempt, rewind, skip
from geneva_drive.engine.commands.resume import resume, resume_at
from geneva_drive.engine.transitions.loop_position import rewound_to
from geneva_drive.errors import HeroGone, InvalidInput, WorkflowNotFound
from geneva_drive.serialization import typed_json
from geneva_drive.states import ENDED_WORKFLOW_STATES, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import AuditRecord, ExecutionRecord, WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

W = TypeVar("W", bound=Workflow[Any], covariant=True)

_MAX_ACTOR_LENGTH = 255


class WorkflowHandle(GraphHandle, Generic[W]):
    """A workflow as it was when it was read; `reload()` looks again, commands do so by themselves.

    >>> import geneva_drive as gd
    >>> _ = gd.configure("sqlite:///doctest.db").migrate()
    >>> class Greeting(gd.Workflow):
    ...     @gd.step
    ...     def greet(self): ...
    >>> workflow = Greeting.create()
    >>> workflow.pause(reason="not before the weekend").state
    <WorkflowState.PAUSED: 'paused'>
    """

    def __init__(
        self,
        drive: Drive,
        record: WorkflowRecord,
        active: tuple[ExecutionRecord, ...] | None = None,
    ) -> None:
        self._drive = drive
        self._record = record
        self._known_active = active
        self._known_oldest: tuple[ExecutionRecord, ...] | None = None
        # Classes are registered weakly: one that a function defined, and left with no more than a
        # handle, would be gone before its steps had run.
        self._kept_class = registry.get(record.type)

    @property
    def id(self) -> Any:
        return self._record.id

    @property
    def drive(self) -> Drive:
        """The Drive that the workflow lives in."""
        return self._drive

    @property
    def type(self) -> str | None:
        """The type of its class; None for a dynamic workflow, which has none."""
        return self._record.type or None

    @property
    def workflow_class(self) -> builtins.type[W] | None:
        """The class, or None where it is not in this process."""
        known: Any = registry.get(self._record.type)
        return known  # type: ignore[no-any-return]  # the row's type names the class W

    @property
    def state(self) -> WorkflowState:
        is_performing = self._record.state is WorkflowState.READY and self._running is not None
        return WorkflowState.PERFORMING if is_performing else self._record.state

    @property
    def is_ongoing(self) -> bool:
        return self._record.state not in ENDED_WORKFLOW_STATES

    @property
    def requested(self) -> Request | None:
        """What was asked for while a step was running, and takes effect when it ends."""
        return self._record.requested

    @property
    def hero(self) -> Any:
        """The hero as it is now; None if there is none, or it was deleted."""
        try:
            return heroes.load(
                self._drive.environment,
                self.workflow_class,
                self._record.hero_type,
                self._record.hero_id,
            )
        except HeroGone:
            return None

    @property
    def hero_type(self) -> str | None:
        return self._record.hero_type

    @property
    def hero_id(self) -> str | None:
        return self._record.hero_id

    @property
    def context(self) -> Mapping[str, Any]:
        context: dict[str, Any] = typed_json.load(self._record.context) or {}
        return context

    @property
    def stored_context(self) -> str:
        """The context as typed JSON, also where its types are not known."""
        return self._record.context or "{}"

    @property
    def allow_multiple(self) -> bool:
        return self._record.allow_multiple

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
        """The step whose body runs now; None between steps."""
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
    def previous_step_name(self) -> str | None:
        return self._record.previous_step_name

    @property
    def created_at(self) -> datetime:
        return self._record.created_at

    @property
    def updated_at(self) -> datetime:
        return self._record.updated_at

    @property
    def started_at(self) -> datetime | None:
        """When the first step started."""
        if self._record.started_at is None and self._running is not None:
            return self._running.started_at
        return self._record.started_at

    @property
    def finished_at(self) -> datetime | None:
        return self._record.finished_at

    @property
    def canceled_at(self) -> datetime | None:
        return self._record.canceled_at

    @property
    def paused_at(self) -> datetime | None:
        return self._record.paused_at

    @property
    def paused_reason(self) -> str | None:
        return self._record.paused_reason

    @property
    def paused_step_name(self) -> str | None:
        # It is noted when a node fails, and takes effect when those beside it have ended.
        is_paused = self._record.state is WorkflowState.PAUSED
        return self._record.paused_step_name if is_paused else None

    @property
    def step_executions(self) -> list[StepExecution]:
        """Every attempt at every step so far, in the order in which they were scheduled."""
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
        """What operators did to the workflow, oldest first."""
        store = self._drive.store
        with store.reading() as connection:
            return store.audit_entries.of_workflow(connection, self.id)

    def name_of(self, step: object) -> str:
        """Give the name of a step that is named by itself or by its decorated method."""
        definition = self._definition
        return str(step) if definition is None else definition.name_of(step)

    def why(self) -> str:
        """Say in one sentence what the workflow waits for, just now."""
        # A state that was read before would not fit the executions that are found now.
        now = copy(self)
        with suppress(WorkflowNotFound):  # it is not committed yet, or was deleted
            now.reload()
        return self._drive.explain(now._record, now._oldest)

    def reload(self) -> Self:
        """Look again, and return the handle itself."""
        store = self._drive.store
        with store.reading() as connection:
            record = store.workflows.get(connection, self.id)
            # Of a dynamic workflow there may be very many: they are read when asked for.
            is_small = record is None or record.type != DYNAMIC_TYPE
            active = store.executions.active_of(connection, [self.id]) if is_small else None
        if record is None:
            raise WorkflowNotFound(self.id)
        self._record = record
        self._known_active = None if active is None else tuple(active)
        self._known_oldest = None
        return self

    def pause(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Hold the workflow; if a step is running, as soon as it has ended."""
        return self._command("pause", lambda s: pause(s, reason), reason, actor)

    def resume(
        self,
        data: Mapping[str, Any] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Let a paused workflow go on; a failed step is run again.

        `data` is merged into the workflow's context, new keys winning.
        """
        if data is not None and not _is_json_object(data):
            raise InvalidInput(
                f"resume(data=...) takes a dictionary with text as keys, not {data!r}."
            )
        settings = self._drive.settings
        return self._command("resume", lambda s: resume(s, settings, data), reason, actor)

    def resume_at(self, step: object, reason: str | None = None, actor: str | None = None) -> Self:
        """Go on at `step`, be it before or after the one that the workflow stands at."""
        return self._command("resume_at", lambda s: resume_at(s, step), reason, actor)

    def cancel(
        self, force: bool = False, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """End the workflow; a running step ends first, unless `force` fences it off at once."""
        return self._command("cancel", lambda s: cancel(s, reason, force=force), reason, actor)

    def skip(
        self, node: object | None = None, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """Pass over the step that is next, or that failed, and go on after it."""
        return self._command("skip", lambda s: skip(s, node), reason, actor)

    def reattempt(
        self,
        node: object,
        rewind: bool = False,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Run a step again that failed or was canceled, from its cursor unless `rewind`."""
        return self._command(
            "reattempt", lambda s: reattempt(s, node, rewind=rewind), reason, actor
        )

    def rewind(
        self,
        node: object,
        to: Any = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Let a resumable step start over, or from the cursor `to`; it starts counting anew."""
        limit = self._drive.settings.max_cursor_size
        position = None if to is None else rewound_to(typed_json.dump_cursor(to, limit))
        return self._command("rewind", lambda s: rewind(s, node, position), reason, actor)

    @property
    def _active(self) -> tuple[ExecutionRecord, ...]:
        if self._known_active is None:
            store = self._drive.store
            with store.reading() as connection:
                self._known_active = tuple(store.executions.active_of(connection, [self.id]))
        return self._known_active

    @property
    def _running(self) -> ExecutionRecord | None:
        return next((e for e in self._oldest if e.state is StepState.IN_PROGRESS), None)

    @property
    def _oldest(self) -> tuple[ExecutionRecord, ...]:
        """What is active; of a dynamic workflow the oldest few in each state, if no more is known.

        There may be a hundred thousand, and to say where it stands a few are enough.
        """
        if self._known_active is not None or self._record.type != DYNAMIC_TYPE:
            return self._active
        if self._known_oldest is None:
            store = self._drive.store
            with store.reading() as connection:
                self._known_oldest = tuple(
                    store.overviews.oldest_active(connection, self.id, MOST_NAMED)
                )
        return self._known_oldest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkflowHandle) and (self.type, self.id) == (other.type, other.id)

    def __hash__(self) -> int:
        return hash((self.type, self.id))

    def __repr__(self) -> str:
        return f"<{self.type or 'dynamic'} workflow {self.id}: {self._record.state}>"


def _is_json_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
