"""Conditions on workflows in addition to type and state, such as needs, current step and error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, exists, literal, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    ApprovalState,
    EventWaitState,
    Need,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.execution_conditions import (
    is_active_execution,
    is_failed_execution,
)
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

APPROVAL_REQUIRED = "approval_required"
WAITING_FOR_EVENT = "waiting_for_event"
_HIGHEST = "\U0010ffff"  # above every character, in the order of bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeroBeginning:
    """The heroes whose id begins with a text, and the workflow whose id is that text."""

    text: str
    hero_types: tuple[str, ...]  # all existing ones: they are the first column of the index
    workflow_id: Key | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureTraits:
    """A failure for which a workflow is paused, or which is being reattempted."""

    step: str | None
    error_class: str | None
    is_reattempting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTraits:
    """The conditions on a workflow; a field that is None is no condition."""

    now: datetime
    failure: FailureTraits | None = None
    until: Key | None = None  # the highest id
    ids: Sequence[Key] | None = None
    other_than_type: str | None = None
    is_walk: bool = False  # reads most workflows in portions, so conditions are checked per row
    needs: Need | None = None
    step: str | None = None
    queue: str | None = None
    paused_reason: str | None = None
    error_class: str | None = None
    hero_type: str | None = None
    hero_id: str | None = None
    created_before: datetime | None = None
    beginning: HeroBeginning | None = None

    @property
    def is_narrow(self) -> bool:
        """True if another index than that of states finds the workflows."""
        return any(one is not None for one in (self.beginning, self.hero_id, self.ids))

    @property
    def is_asking(self) -> bool:
        """True if there is a condition of a list that a workflow may not fulfill."""
        asked = (self.needs, self.step, self.queue, self.paused_reason)
        others = (self.failure, self.hero_type, self.created_before)
        return any(one is not None for one in (*asked, *others))


def conditions_of(tables: Tables, traits: WorkflowTraits) -> list[ColumnElement[bool]]:
    return list(_Conditions(tables, traits).all())


class _Conditions:
    def __init__(self, tables: Tables, traits: WorkflowTraits) -> None:
        self._tables = tables
        self._traits = traits
        self._w = tables.workflows.c
        self._e = tables.step_executions.c

    def all(self) -> list[ColumnElement[bool]]:
        traits, w = self._traits, self._w
        found: list[ColumnElement[bool]] = []
        if traits.needs is not None:
            found.append(self._needs(traits.needs))
        if traits.step is not None:
            found.append(self._stands_at(traits.step))
        if traits.queue is not None:
            # A workflow without its own queue has that of its class, which its executions have.
            own = and_(w.queue.is_(None), self._has(self._e.queue == traits.queue))
            found.append((w.queue == traits.queue) | own)
        if traits.paused_reason is not None:
            found.append(self._paused_because(traits.paused_reason))
        if traits.error_class is not None:
            found.append(self._failed_last_with(traits.error_class))
        if traits.hero_type is not None:
            found.append(w.hero_type == traits.hero_type)
        if traits.hero_id is not None:
            found.append(w.hero_id == traits.hero_id)
        if traits.created_before is not None:
            found.append(w.created_at < traits.created_before)
        if traits.beginning is not None:
            found.append(self._begins(traits.beginning))
        return [*found, *self._of_bulk()]

    def _of_bulk(self) -> Iterator[ColumnElement[bool]]:
        """Yield the conditions that only bulk commands use."""
        traits, w = self._traits, self._w
        if traits.failure is not None:
            yield self._stands_on(traits.failure)
        if traits.until is not None:
            yield w.id <= traits.until
        if traits.other_than_type is not None:
            yield w.type != traits.other_than_type

    def _begins(self, beginning: HeroBeginning) -> ColumnElement[bool]:
        w, text = self._w, beginning.text
        is_hero = and_(
            w.hero_type.in_(beginning.hero_types),
            w.hero_id >= text,
            w.hero_id < text + _HIGHEST,
        )
        if beginning.workflow_id is None:
            return is_hero
        either: ColumnElement[bool] = (w.id == beginning.workflow_id) | is_hero
        return either

    def _stands_at(self, step: str) -> ColumnElement[bool]:
        w = self._w
        is_named = (w.next_step_name == step) | (w.paused_step_name == step)
        return is_named | self._has(is_active_execution(self._tables), self._e.step_name == step)

    def _paused_because(self, reason: str) -> ColumnElement[bool]:
        # A workflow that only waits stores no reason; readers derive it.
        stored: ColumnElement[bool] = self._w.paused_reason == reason
        is_ready = self._w.state == WorkflowState.READY
        if reason == APPROVAL_REQUIRED:
            return stored | and_(is_ready, self._w.open_waits > 0, self._asks_a_person())
        if reason == WAITING_FOR_EVENT:
            return stored | and_(is_ready, self._w.open_waits > 0, self._waits_for_an_event())
        return stored

    def _stands_on(self, failure: FailureTraits) -> ColumnElement[bool]:
        return self._has(*failure_conditions(self._tables, failure))

    def _failed_last_with(self, error_class: str) -> ColumnElement[bool]:
        """True if the last failure of a workflow has this error class."""
        failed = self._tables.step_executions.c
        is_of_class = and_(failed.error_class == error_class, is_last_failure(self._tables))
        if self._traits.is_walk:
            return self._has(failed.state == StepState.FAILED, is_of_class)
        found = select(failed.workflow_id).where(is_failed_execution(self._tables), is_of_class)
        return self._w.id.in_(found)

    def _needs(self, need: Need) -> ColumnElement[bool]:
        """Return `who_is_needed` as SQL: with several needs, the first in the order of `Need`."""
        w = self._w
        if need is Need.NONE:
            return w.state.in_(sorted(ENDED_WORKFLOW_STATES))
        if need is Need.OPERATOR:
            return w.state == WorkflowState.PAUSED
        kinds = {
            Need.WORKER: self._has_due() | ~self._has(is_active_execution(self._tables)),
            Need.PERSON: and_(w.open_waits > 0, self._asks_a_person()),
            Need.EVENT: and_(w.open_waits > 0, self._waits_for_an_event()),
            # The workflow's row shows whether it waits for a person or an event.
            Need.CHILD: (w.open_waits == 0)
            & self._has(
                is_active_execution(self._tables),
                self._e.state == StepState.WAITING,
                self._e.child_id.is_not(None),
            ),
            Need.TIMER: (w.open_waits == 0)
            & self._has(
                is_active_execution(self._tables),
                self._e.state.not_in([StepState.WAITING, StepState.IN_PROGRESS]),
                self._e.scheduled_for > self._traits.now,
            ),
        }
        earlier = [condition for kind, condition in kinds.items() if _comes_before(kind, need)]
        return and_(w.state == WorkflowState.READY, kinds[need], *(~one for one in earlier))

    def _has_due(self) -> ColumnElement[bool]:
        e = self._e
        is_due = and_(e.state != StepState.WAITING, e.scheduled_for <= self._traits.now)
        is_going_on = (e.state == StepState.IN_PROGRESS) | is_due
        return self._has(is_active_execution(self._tables), is_going_on)

    def _asks_a_person(self) -> ColumnElement[bool]:
        c = self._tables.approvals.c
        return exists().where(c.workflow_id == self._w.id, c.state == ApprovalState.PENDING)

    def _waits_for_an_event(self) -> ColumnElement[bool]:
        c = self._tables.event_waits.c
        return exists().where(c.workflow_id == self._w.id, c.state == EventWaitState.OPEN)

    def _has(self, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
        return exists().where(self._e.workflow_id == self._w.id, and_(*conditions))


def is_last_failure(tables: Tables) -> ColumnElement[bool]:
    """True for a failed execution after which no other execution of its workflow failed."""
    failed, later = tables.step_executions.c, tables.step_executions.alias("later").c
    return ~exists().where(
        later.workflow_id == failed.workflow_id,
        later.state == literal(StepState.FAILED.value, literal_execute=True),
        later.id > failed.id,
    )


def failure_conditions(tables: Tables, failure: FailureTraits) -> list[ColumnElement[bool]]:
    """Return the conditions on the failed execution, and on its workflow."""
    w, e, later = tables.workflows.c, tables.step_executions.c, tables.step_executions.alias()
    found: list[ColumnElement[bool]] = [e.state == StepState.FAILED]
    if failure.step is not None:
        found.append(e.step_name == failure.step)
    if failure.error_class is not None:
        found.append(e.error_class == failure.error_class)
    is_later = and_(
        later.c.workflow_id == e.workflow_id,
        later.c.node_id == e.node_id,
        later.c.attempt_number > e.attempt_number,
    )
    if failure.is_reattempting:
        is_active = later.c.state.in_(sorted(ACTIVE_STEP_STATES))
        return [*found, exists().where(is_later, is_active)]
    return [*found, w.state == WorkflowState.PAUSED, ~exists().where(is_later)]


def _comes_before(need: Need, other: Need) -> bool:
    order = list(Need)
    return order.index(need) < order.index(other)
