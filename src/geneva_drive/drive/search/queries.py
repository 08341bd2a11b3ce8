"""Lazy, chainable queries for workflows and step executions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.search.many_executions import may_have_many
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine.heroes import heroes
from geneva_drive.errors import InvalidInput
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.statements.search.workflow_filter import Section, WorkflowFilter

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle

W = TypeVar("W", bound=Workflow[Any, Any], covariant=True)

_PAGE = 500


@dataclass(frozen=True, slots=True)
class WorkflowQuery(Generic[W]):
    """The workflows that match, oldest first; the database is asked when they are read.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> gd.Workflow.paused().count()
    0
    """

    _drive: Drive
    wanted: WorkflowFilter
    maximum: int | None = None

    def ready(self) -> WorkflowQuery[W]:
        return self._with(state=WorkflowState.READY)

    def performing(self) -> WorkflowQuery[W]:
        return self._with(state=WorkflowState.PERFORMING)

    def finished(self) -> WorkflowQuery[W]:
        return self._with(state=WorkflowState.FINISHED)

    def canceled(self) -> WorkflowQuery[W]:
        return self._with(state=WorkflowState.CANCELED)

    def paused(self) -> WorkflowQuery[W]:
        return self._with(state=WorkflowState.PAUSED)

    def ongoing(self) -> WorkflowQuery[W]:
        return self._with(only_ongoing=True)

    def for_hero(self, hero: object) -> WorkflowQuery[W]:
        reference = heroes.reference_to(hero)
        if reference is None:
            raise InvalidInput("for_hero() needs a hero, got None.")
        return self._with(hero=(reference.type, reference.id))

    def of_type(self, type_name: str) -> WorkflowQuery[W]:
        """Select workflows by type; this process need not have the class."""
        return self._with(types=[checks.text("of_type()", type_name)])

    def of_template(self, name: str) -> WorkflowQuery[W]:
        """Select workflows that a template built."""
        return self._with(template=checks.text("of_template()", name))

    def created_since(self, moment: datetime) -> WorkflowQuery[W]:
        return self._with(since=checks.moment("The argument of created_since()", moment))

    def newest_first(self) -> WorkflowQuery[W]:
        return self._with(is_newest_first=True)

    def after(self, workflow_id: object) -> WorkflowQuery[W]:
        """Continue a list after the workflow with this id, which may have been deleted."""
        return self._with(after=keys.parse(self._drive.store.key_type, workflow_id))

    def limit(self, count: int) -> WorkflowQuery[W]:
        return replace(self, maximum=_count(count))

    def all(self) -> list[WorkflowHandle[W]]:
        return list(self)

    def first(self) -> WorkflowHandle[W] | None:
        return next(iter(self if self.maximum == 0 else self.limit(1)), None)

    def ids(self) -> list[Any]:
        store = self._drive.store
        search = store.workflow_search
        return store.read(lambda connection: search.ids(connection, self.wanted, self.maximum))

    def count(self) -> int:
        store = self._drive.store
        search = store.workflow_search
        total = store.read(lambda connection: search.count(connection, self.wanted))
        return total if self.maximum is None else min(total, self.maximum)

    def __iter__(self) -> Iterator[WorkflowHandle[W]]:
        store, wanted = self._drive.store, self.wanted
        search = store.workflow_search
        sections = store.read(lambda connection: search.sections(connection, self.wanted))
        remaining = self.maximum
        while remaining is None or remaining > 0:
            page = _PAGE if remaining is None else min(_PAGE, remaining)
            read = partial(self._read_page, wanted=wanted, sections=sections, limit=page)
            records, active = store.read(read)
            for record in records:
                known = active.get(record.id)
                yield self._drive.open_handle(record, None if known is None else tuple(known))
            if len(records) < page:
                return
            wanted = replace(wanted, after=records[-1].id)
            remaining = None if remaining is None else remaining - len(records)

    def _read_page(
        self,
        connection: Connection,
        *,
        wanted: WorkflowFilter,
        sections: Sequence[Section] | None,
        limit: int,
    ) -> tuple[Sequence[WorkflowRecord], dict[Any, list[ExecutionRecord]]]:
        store = self._drive.store
        records = store.workflow_search.page(connection, wanted, sections, limit=limit)
        # The others read their active executions only on demand.
        small = [record.id for record in records if not may_have_many(record)]
        active: dict[Any, list[ExecutionRecord]] = {workflow_id: [] for workflow_id in small}
        for execution in store.executions.active_of(connection, small):
            active[execution.workflow_id].append(execution)
        return records, active

    def _with(self, **changes: Any) -> WorkflowQuery[W]:
        return replace(self, wanted=replace(self.wanted, **changes))


@dataclass(frozen=True, slots=True)
class ExecutionQuery:
    """The step executions that match, ordered by id."""

    _drive: Drive
    conditions: Mapping[str, Any]
    maximum: int | None = None

    def limit(self, count: int) -> ExecutionQuery:
        return replace(self, maximum=_count(count))

    def all(self) -> list[StepExecution]:
        store = self._drive.store
        records = store.read(
            lambda connection: store.executions.list_matching(
                connection, self.conditions, limit=self.maximum
            )
        )
        return [self._drive.open_execution(record) for record in records]

    def first(self) -> StepExecution | None:
        return next(iter(self if self.maximum == 0 else self.limit(1)), None)

    def ids(self) -> list[Any]:
        return [execution.id for execution in self.all()]

    def count(self) -> int:
        store = self._drive.store
        total = store.read(lambda connection: store.executions.count(connection, self.conditions))
        return total if self.maximum is None else min(total, self.maximum)

    def __iter__(self) -> Iterator[StepExecution]:
        return iter(self.all())


def _count(value: object) -> int:
    return checks.whole_number(
        "The argument of limit()", value, at_least=0, at_most=checks.LARGEST_NUMBER
    )
