"""Finds workflows by type, state, hero and template, in the order of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
    union_all,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    STORED_WORKFLOW_STATES,
    Need,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.conditions import is_active_execution
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.search.workflow_traits import WorkflowTraits, conditions_of

_STATES_OF_NEEDS = {
    Need.OPERATOR: (WorkflowState.PAUSED,),
    Need.NONE: (WorkflowState.CANCELED, WorkflowState.FINISHED),
}
# The others are found among the active executions: few workflows of a type need a worker.
_NEEDS_WITH_SECTIONS = (Need.PERSON, Need.EVENT, *_STATES_OF_NEEDS)
_MOST_SECTIONS = 400  # in one statement: SQLite takes at most 500 parts of a UNION


@dataclass(frozen=True, slots=True)
class WorkflowFilter:
    """Which workflows are wanted, and in which order; a field that is None leaves all of them."""

    types: Sequence[str] | None = None
    state: WorkflowState | None = None  # as readers see it
    only_ongoing: bool = False
    stored: WorkflowState | None = None  # as it is stored
    hero: tuple[str, str] | None = None  # its type and id
    template: str | None = None
    since: datetime | None = None  # when they were created
    is_newest_first: bool = False
    after: Key | None = None  # the id after which they are wanted, in that order
    traits: WorkflowTraits | None = None

    @property
    def stored_states(self) -> list[WorkflowState]:
        """Return the states that the rows may have; `performing` is stored as `ready`.

        So is a workflow that is paused because it only waits for a person.
        """
        states = STORED_WORKFLOW_STATES
        match self.state:
            case None:
                pass
            case WorkflowState.PERFORMING:
                states = frozenset({WorkflowState.READY})
            case WorkflowState.PAUSED:
                states = frozenset({WorkflowState.PAUSED, WorkflowState.READY})
            case state:
                states = frozenset({state})
        if self.stored is not None:
            states = states & {self.stored}
        return sorted(states - ENDED_WORKFLOW_STATES if self.only_ongoing else states)

    @property
    def is_narrow(self) -> bool:
        """True if few workflows are wanted, and found by other than their state."""
        has_index = self.traits is not None and self.traits.is_narrow
        return self.state is WorkflowState.PERFORMING or self.hero is not None or has_index


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an index in which workflows are ordered by id.

    The index is that by state and type. Of `ready` workflows that wait for a person or an event, it
    is the index of those, by type.
    """

    state: WorkflowState
    type: str
    is_waiting: bool = False


class WorkflowSearch:
    """Reads the workflows that a filter selects."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.workflows
        self._dialect = dialect

    def sections(self, connection: Connection, wanted: WorkflowFilter) -> list[Section] | None:
        """Return the sections that hold what is wanted; None if another index finds it faster.

        A caller that pages keeps them. A workflow of a type that is new meanwhile is not found.
        """
        states = wanted.stored_states
        is_anything = wanted.types is None and len(states) == len(STORED_WORKFLOW_STATES)
        if wanted.is_narrow or wanted.template is not None:
            return None
        given = wanted.types
        need = None if wanted.traits is None or wanted.state is not None else wanted.traits.needs
        if need in _NEEDS_WITH_SECTIONS:
            found = self._sections_of_need(connection, need, given)
            return found if len(found) <= _MOST_SECTIONS else None
        if is_anything:
            return None
        found = [
            Section(state, name)
            for state in states
            # Paused workflows that are stored as ready are among those that wait.
            if not (wanted.state is WorkflowState.PAUSED and state is WorkflowState.READY)
            for name in (self.types_in(connection, state) if given is None else given)
        ]
        may_rest = wanted.stored in (None, WorkflowState.READY)
        if wanted.state in (WorkflowState.READY, WorkflowState.PAUSED) and may_rest:
            waiting = self._waiting_types(connection)
            found += [
                Section(WorkflowState.READY, name, is_waiting=True)
                for name in (waiting if given is None else sorted(set(given) & set(waiting)))
            ]
        return found if len(found) <= _MOST_SECTIONS else None

    def _sections_of_need(
        self, connection: Connection, need: Need, given: Sequence[str] | None
    ) -> list[Section]:
        """Return the sections in which workflows may need this; the trait tells which do."""
        if need in (Need.PERSON, Need.EVENT):
            waiting = self._waiting_types(connection)
            names = waiting if given is None else sorted(set(given) & set(waiting))
            return [Section(WorkflowState.READY, name, is_waiting=True) for name in names]
        return [
            Section(state, name)
            for state in _STATES_OF_NEEDS[need]
            for name in (self.types_in(connection, state) if given is None else given)
        ]

    def _waiting_types(self, connection: Connection) -> list[str]:
        """Return the types that have a workflow which waits for a person or an event."""
        return self._types_along(connection, self._tables.workflows_by_waits, self._has_waits())

    def _has_waits(self, workflows: Any = None) -> list[ColumnElement[bool]]:
        """Return the condition of the index of workflows that wait."""
        c = self._table.c if workflows is None else workflows
        return [c.open_waits > 0] if self._tables.has_partial_indexes else [c.waits == 1]

    def types_in(self, connection: Connection, state: WorkflowState) -> list[str]:
        """Return the types that have a workflow in a stored state."""
        index, is_in_state = self._tables.workflows_by_state, self._table.c.state == state
        return self._types_along(connection, index, [is_in_state])

    def _types_along(
        self, connection: Connection, index: Index, conditions: Sequence[ColumnElement[bool]]
    ) -> list[str]:
        # One index lookup per type: DISTINCT would read a million sleepers one by one.
        c = self._table.c
        query = select(c.type).where(*conditions).order_by(c.type).limit(1)
        query = self._dialect.by_index(query, self._table, str(index.name))
        types: list[str] = []
        found = connection.scalar(query)
        while found is not None:
            types.append(found)
            found = connection.scalar(query.where(c.type > found))
        return types

    def page(
        self,
        connection: Connection,
        wanted: WorkflowFilter,
        sections: Sequence[Section] | None,
        *,
        limit: int,
    ) -> list[WorkflowRecord]:
        """Return the first workflows; `sections` are those of the filter."""
        if sections is None:
            query = select(self._table).where(*self._conditions(wanted)).limit(limit)
        else:
            found = self._first_ids(wanted, sections, limit).subquery()
            query = select(self._table).join(found, found.c.id == self._table.c.id)
        ordered = query.order_by(_order(wanted, self._table.c.id))
        return [WorkflowRecord.of(row) for row in connection.execute(ordered).mappings()]

    def ids(self, connection: Connection, wanted: WorkflowFilter, limit: int | None) -> list[Key]:
        sections = None if limit is None else self.sections(connection, wanted)
        if limit is None or sections is None:
            key = self._table.c.id
            query = select(key).where(*self._conditions(wanted)).order_by(_order(wanted, key))
            return list(connection.scalars(query.limit(limit)))
        return list(connection.scalars(self._first_ids(wanted, sections, limit)))

    def count(self, connection: Connection, wanted: WorkflowFilter) -> int:
        if wanted.state not in (WorkflowState.READY, WorkflowState.PAUSED):
            return connection.scalar(self._counting(wanted)) or 0
        c = self._table.c
        counted = select(func.count()).select_from(self._table)
        stored = counted.where(c.state == wanted.state, *self._stored(wanted)).scalar_subquery()
        resting = counted.where(*self._stored(wanted), *self._resting()).scalar_subquery()
        if wanted.state is WorkflowState.PAUSED:
            return connection.scalar(select(stored + resting)) or 0
        # The few that perform are subtracted: comparing each ready one with them takes longer.
        performing = self._counting(replace(wanted, state=WorkflowState.PERFORMING))
        difference = stored - performing.scalar_subquery() - resting
        return connection.scalar(select(difference)) or 0

    def count_to(self, connection: Connection, wanted: WorkflowFilter, most: int) -> int:
        """Count the workflows, and stop at `most`."""
        sections = self.sections(connection, wanted)
        if sections is None:
            query = select(self._table.c.id).where(*self._conditions(wanted)).limit(most)
        else:
            query = self._first_ids(wanted, sections, most)
        counted = select(func.count()).select_from(query.subquery())
        return connection.scalar(counted) or 0

    def hero_types(self, connection: Connection) -> list[str]:
        """Return the types that heroes have, by one index lookup each."""
        column = self._table.c.hero_type
        query = select(column).where(column.is_not(None)).order_by(column).limit(1)
        types: list[str] = []
        found = connection.scalar(query)
        while found is not None:
            types.append(found)
            found = connection.scalar(query.where(column > found))
        return types

    def _counting(self, wanted: WorkflowFilter) -> Select[Any]:
        return select(func.count()).select_from(self._table).where(*self._conditions(wanted))

    def _first_ids(
        self, wanted: WorkflowFilter, sections: Sequence[Section], limit: int
    ) -> Select[Any]:
        """Select the first ids of all sections: a few of each, merged."""
        c = self._table.c
        ids = select(c.id).where(*self._created(wanted)).limit(limit)
        heads = [self._head(ids, wanted, one) for one in sections]
        if not heads:
            return select(c.id).where(c.id.in_([]))
        if len(heads) == 1:
            return heads[0]
        merged = union_all(*(select(head.subquery()) for head in heads)).subquery()
        return select(merged.c.id).order_by(_order(wanted, merged.c.id)).limit(limit)

    def _head(self, ids: Select[Any], wanted: WorkflowFilter, section: Section) -> Select[Any]:
        """Select the first ids of a section."""
        index: Index = self._tables.workflows_by_state
        values: tuple[Any, ...] = (section.state, section.type)
        query = ids
        if section.is_waiting:
            index = self._tables.workflows_by_waits
            values = (section.type,) if self._tables.has_partial_indexes else (1, section.type)
            if wanted.state is WorkflowState.PAUSED:
                query = ids.where(*self._resting())
            elif wanted.state is WorkflowState.READY:
                query = ids.where(*self._busy_and_waiting())
        elif wanted.state is WorkflowState.READY:
            is_free = [self._table.c.id.not_in(self._running()), self._table.c.open_waits == 0]
            query = ids.where(*is_free)
        elif wanted.state is WorkflowState.PERFORMING:
            query = ids.where(*self._performing(wanted))
        return self._dialect.along_index(
            query, index, values, after=wanted.after, descending=wanted.is_newest_first
        )

    def _conditions(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        return [*self._stored(wanted), *self._performing(wanted)]

    def _stored(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        """Return the conditions on what is stored of a workflow."""
        c, graphs = self._table.c, self._tables.graphs.c
        column = self._dialect.unindexed if wanted.is_narrow else _as_it_is
        states = wanted.stored_states
        conditions: list[ColumnElement[bool]] = []
        if len(states) < len(STORED_WORKFLOW_STATES):
            conditions.append(column(c.state).in_(states))
        if wanted.types is not None:
            conditions.append(column(c.type).in_(wanted.types))
        if wanted.hero is not None:
            hero_type, hero_id = wanted.hero
            conditions += [c.hero_type == hero_type, c.hero_id == hero_id]
        if wanted.template is not None:
            built = select(graphs.workflow_id).where(graphs.template == wanted.template)
            conditions.append(c.id.in_(built))
        if wanted.after is not None:
            is_newest_first = wanted.is_newest_first
            conditions.append(c.id < wanted.after if is_newest_first else c.id > wanted.after)
        return [*conditions, *self._created(wanted)]

    def _created(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        since = [] if wanted.since is None else [self._table.c.created_at >= wanted.since]
        return since if wanted.traits is None else [*since, *self._asked(wanted.traits)]

    def _asked(self, traits: WorkflowTraits) -> list[ColumnElement[bool]]:
        asked = conditions_of(self._tables, traits)
        if traits.ids is None:
            return asked
        return [*asked, self._dialect.among(self._table.c.id, traits.ids)]

    def _performing(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        """Return the condition that tells the states apart which are stored as `ready`."""
        c = self._table.c
        match wanted.state:
            case WorkflowState.READY if wanted.is_narrow:
                is_free = (c.open_waits == 0) | self._has_other_active(c)
                return [c.id.not_in(self._running()), is_free]
            case WorkflowState.READY:
                return [c.id.not_in(self._running()), c.id.not_in(self._resting_ids())]
            case WorkflowState.PERFORMING:
                return [c.id.in_(self._running())]
            case WorkflowState.PAUSED:
                return [or_(c.state == WorkflowState.PAUSED, and_(*self._resting()))]
            case _:
                return []

    def _running(self) -> Select[Any]:
        # By the claim, which has an index that holds few rows, and as a list of its own: compared
        # with EXISTS, PostgreSQL and MariaDB would read the executions of all workflows.
        executions = self._tables.step_executions.c
        return select(executions.workflow_id).where(executions.claim_token.is_not(None))

    def _resting(self) -> list[ColumnElement[bool]]:
        """Return the conditions of a workflow that only waits for a person or an event."""
        c = self._table.c
        is_ready = self._dialect.unindexed(c.state) == WorkflowState.READY
        return [*self._has_waits(), is_ready, ~self._has_other_active(c)]

    def _resting_ids(self) -> Select[Any]:
        # A list of its own too, which is read along the index of those that wait.
        waiting = self._table.alias("waiting").c
        is_ready = self._dialect.unindexed(waiting.state) == WorkflowState.READY
        conditions = [*self._has_waits(waiting), is_ready, ~self._has_other_active(waiting)]
        return select(waiting.id).where(*conditions)

    def _busy_and_waiting(self) -> list[ColumnElement[bool]]:
        """Return the conditions of a graph in which a node waits while others go on."""
        c = self._table.c
        is_ready = self._dialect.unindexed(c.state) == WorkflowState.READY
        is_going_on = self._has_other_active(c)
        return [*self._has_waits(), is_ready, is_going_on, c.id.not_in(self._running())]

    def _has_other_active(self, workflows: Any) -> ColumnElement[bool]:
        """True if an execution is active that waits neither for a person nor for an event."""
        executions = self._tables.step_executions.c
        is_resting = (executions.state == StepState.WAITING) & executions.child_id.is_(None)
        return exists().where(
            executions.workflow_id == workflows.id,
            is_active_execution(self._tables),
            ~is_resting,
        )


def _order(wanted: WorkflowFilter, key: ColumnElement[Any]) -> ColumnElement[Any]:
    return key.desc() if wanted.is_newest_first else key


def _as_it_is(column: Column[Any]) -> ColumnElement[Any]:
    return column
