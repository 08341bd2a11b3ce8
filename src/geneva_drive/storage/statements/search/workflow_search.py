"""Search for workflows by type, state, hero and template, in the order of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Select,
    and_,
    func,
    select,
    union_all,
)
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import (
    STORED_WORKFLOW_STATES,
    Need,
    WorkflowState,
)
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_failed_execution
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.search.state_conditions import StateConditions
from geneva_drive.storage.statements.search.workflow_filter import Section, WorkflowFilter
from geneva_drive.storage.statements.search.workflow_traits import (
    WorkflowTraits,
    conditions_of,
    is_last_failure,
)

_STATES_OF_NEEDS = {
    Need.OPERATOR: (WorkflowState.PAUSED,),
    Need.NONE: (WorkflowState.CANCELED, WorkflowState.FINISHED),
    Need.TIMER: (WorkflowState.READY,),
    Need.CHILD: (WorkflowState.READY,),
    Need.WORKER: (WorkflowState.READY,),
}
_WIDENED = 4  # the next window has so many times as many workflows
_MOST_SECTIONS = 400  # in one statement: SQLite allows at most 500 parts of a UNION


class WorkflowSearch:
    """Reads the workflows that a filter selects."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.workflows
        self._dialect = dialect
        self._states = StateConditions(tables, dialect)

    def sections(self, connection: Connection, wanted: WorkflowFilter) -> list[Section] | None:
        """Return the sections with the wanted workflows; None if another index is faster.

        A caller that pages reuses them, so it does not find workflows whose type has no workflow
        yet.
        """
        states = wanted.stored_states
        is_anything = wanted.types is None and len(states) == len(STORED_WORKFLOW_STATES)
        if wanted.is_narrow or wanted.template is not None:
            return None
        given = wanted.types
        need = None if wanted.traits is None or wanted.state is not None else wanted.traits.needs
        if need is not None:
            found = self._sections_of_need(connection, need, given)
            return found if len(found) <= _MOST_SECTIONS else None
        if is_anything:
            return None
        found = [
            Section(state, name)
            for state in states
            # Workflows that are paused but stored as ready are in the sections of waiting ones.
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
        """Return the sections in which workflows may have this need; a condition selects them."""
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
        """Return the types that have a workflow waiting for a person or an event."""
        return self._types_along(
            connection, self._tables.workflows_by_waits, self._states.has_waits()
        )

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
        if wanted.is_by_error and self._tables.has_partial_indexes:
            ids = self._ids_by_error(connection, wanted, limit)
            query = select(self._table).where(self._dialect.among(self._table.c.id, ids))
        elif sections is None:
            query = select(self._table).where(*self._conditions(wanted)).limit(limit)
        elif wanted.is_sparse:
            ids = self._ids_by_windows(connection, wanted, sections, limit)
            query = select(self._table).where(self._dialect.among(self._table.c.id, ids))
        else:
            found = self._first_ids(wanted, sections, limit).subquery()
            query = select(self._table).join(found, found.c.id == self._table.c.id)
        ordered = query.order_by(*self._orders(wanted))
        return [WorkflowRecord.of(row) for row in connection.execute(ordered).mappings()]

    def _ids_by_windows(
        self,
        connection: Connection,
        wanted: WorkflowFilter,
        sections: Sequence[Section],
        limit: int,
    ) -> list[Key]:
        """Return the first ids, searched in one window of ids after another.

        In a section without a match, the statement reads every workflow up to the end of the
        window. Without windows, it would read the whole section before the matches of the other
        sections can be shown.
        """
        found: list[Key] = []
        size = limit
        while True:
            end = connection.scalar(self._end_of_window(wanted, sections, size))
            query = self._first_ids(wanted, sections, limit - len(found), until=end)
            found += connection.scalars(query)
            if end is None or len(found) == limit:
                return found
            wanted, size = replace(wanted, after=end), size * _WIDENED

    def _ids_by_error(
        self, connection: Connection, wanted: WorkflowFilter, limit: int
    ) -> list[Key]:
        """Return the first ids along the index of errors that fulfill the other conditions."""
        assert wanted.traits is not None, "they ask for the error"
        traits, after, size = replace(wanted.traits, error_class=None), wanted.after, limit
        found: list[Key] = []
        while True:
            query = self._failed_with(wanted, after, size)
            some = list(connection.scalars(query))
            others = replace(wanted, after=None, traits=replace(traits, ids=some))
            found += self.ids(connection, others, None) if some else []
            if len(some) < size or len(found) >= limit:
                return found[:limit]
            after, size = some[-1], size * _WIDENED

    def _failed_with(self, wanted: WorkflowFilter, after: Key | None, limit: int) -> Select[Any]:
        """Select workflows whose last failure has the wanted error, in the order of their ids."""
        assert wanted.traits is not None, "they ask for the error"
        index = self._tables.failures_by_error
        assert index is not None, "only asked for where there is one"
        failed = select(self._tables.step_executions.c.workflow_id).where(
            is_failed_execution(self._tables), is_last_failure(self._tables)
        )
        return self._dialect.along_index(
            failed.limit(limit),
            index,
            (wanted.traits.error_class,),
            after=after,
            descending=wanted.is_newest_first,
        )

    def _end_of_window(
        self, wanted: WorkflowFilter, sections: Sequence[Section], size: int
    ) -> Select[Any]:
        """Select the last id of a window in which each section has at most `size` workflows."""
        c = self._table.c
        ends = [
            self._along(
                select(c.id).where(*(self._states.has_waits() if one.is_waiting else ())),
                wanted,
                one,
            )
            .offset(size - 1)
            .limit(1)
            for one in sections
        ]
        if not ends:
            return select(c.id).where(c.id.in_([]))
        merged = union_all(*(select(end.subquery()) for end in ends)).subquery()
        return select(merged.c.id).order_by(_order(wanted, merged.c.id)).limit(1)

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
        resting = counted.where(*self._stored(wanted), *self._states.resting()).scalar_subquery()
        if wanted.state is WorkflowState.PAUSED:
            return connection.scalar(select(stored + resting)) or 0
        # Subtract the few performing workflows: comparing each ready one with them takes longer.
        performing = self._counting(replace(wanted, state=WorkflowState.PERFORMING))
        difference = stored - performing.scalar_subquery() - resting
        return connection.scalar(select(difference)) or 0

    def count_to(self, connection: Connection, wanted: WorkflowFilter, most: int) -> int:
        """Count the workflows, and stop at `most`."""
        if wanted.is_by_error and self._tables.has_partial_indexes:
            return len(self._ids_by_error(connection, wanted, most))
        sections = self.sections(connection, wanted)
        if sections is None:
            query = select(self._table.c.id).where(*self._conditions(wanted)).limit(most)
        else:
            query = self._first_ids(wanted, sections, most)
        counted = select(func.count()).select_from(query.subquery())
        return connection.scalar(counted) or 0

    def hero_types(self, connection: Connection) -> list[str]:
        """Return the types of heroes, with one index lookup each."""
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
        self,
        wanted: WorkflowFilter,
        sections: Sequence[Section],
        limit: int,
        until: Key | None = None,
    ) -> Select[Any]:
        """Select the first ids of all sections, up to an id: the first of each, merged."""
        c = self._table.c
        ids = select(c.id).where(*self._created(wanted)).limit(limit)
        if until is not None:
            ids = ids.where(c.id >= until if wanted.is_newest_first else c.id <= until)
        heads = [self._head(ids, wanted, one) for one in sections]
        if not heads:
            return select(c.id).where(c.id.in_([]))
        if len(heads) == 1:
            return heads[0]
        merged = union_all(*(select(head.subquery()) for head in heads)).subquery()
        return select(merged.c.id).order_by(_order(wanted, merged.c.id)).limit(limit)

    def _head(self, ids: Select[Any], wanted: WorkflowFilter, section: Section) -> Select[Any]:
        """Select the first ids of a section."""
        query = ids
        if section.is_waiting:
            if wanted.state is WorkflowState.PAUSED:
                query = ids.where(*self._states.resting())
            elif wanted.state is WorkflowState.READY:
                query = ids.where(*self._states.busy_and_waiting())
        elif wanted.state is WorkflowState.READY:
            is_free = [
                self._table.c.id.not_in(self._states.running()),
                self._table.c.open_waits == 0,
            ]
            query = ids.where(*is_free)
        elif wanted.state is WorkflowState.PERFORMING:
            query = ids.where(*self._states.performing(wanted))
        return self._along(query, wanted, section)

    def _along(self, query: Select[Any], wanted: WorkflowFilter, section: Section) -> Select[Any]:
        """Return the query for the workflows of a section, in order, after the filter's `after`."""
        index: Index = self._tables.workflows_by_state
        values: tuple[Any, ...] = (section.state, section.type)
        if section.is_waiting:
            index = self._tables.workflows_by_waits
            values = (section.type,) if self._tables.has_partial_indexes else (1, section.type)
        return self._dialect.along_index(
            query, index, values, after=wanted.after, descending=wanted.is_newest_first
        )

    def _conditions(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        return [*self._stored(wanted), *self._states.performing(wanted)]

    def _stored(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        """Return the conditions on a workflow's stored columns."""
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
            conditions.append(self._comes_after(wanted))
        return [*conditions, *self._created(wanted)]

    def _comes_after(self, wanted: WorkflowFilter) -> ColumnElement[bool]:
        c, at = self._table.c, wanted.after_created
        is_newest_first = wanted.is_newest_first
        has_later_id = c.id < wanted.after if is_newest_first else c.id > wanted.after
        if at is None or not wanted.is_by_creation:
            return has_later_id
        is_later = c.created_at < at if is_newest_first else c.created_at > at
        return and_(
            c.created_at <= at if is_newest_first else c.created_at >= at, is_later | has_later_id
        )

    def _orders(self, wanted: WorkflowFilter) -> list[ColumnElement[Any]]:
        c = self._table.c
        columns = [c.created_at, c.id] if wanted.is_by_creation else [c.id]
        return [_order(wanted, each) for each in columns]

    def _created(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        since = [] if wanted.since is None else [self._table.c.created_at >= wanted.since]
        return since if wanted.traits is None else [*since, *self._asked(wanted.traits)]

    def _asked(self, traits: WorkflowTraits) -> list[ColumnElement[bool]]:
        asked = conditions_of(self._tables, traits)
        if traits.ids is None:
            return asked
        return [*asked, self._dialect.among(self._table.c.id, traits.ids)]


def _order(wanted: WorkflowFilter, key: ColumnElement[Any]) -> ColumnElement[Any]:
    return key.desc() if wanted.is_newest_first else key


def _as_it_is(column: Column[Any]) -> ColumnElement[Any]:
    return column
