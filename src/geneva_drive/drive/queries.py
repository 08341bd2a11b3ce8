"""Lazy, chainable queries for workflows and step executions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from geneva_drive import checks
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.engine import heroes
from geneva_drive.errors import InvalidInput
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import Key

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle

W = TypeVar("W", bound=Workflow[Any], covariant=True)

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
    types: list[str] | None = None
    state: WorkflowState | None = None
    only_ongoing: bool = False
    hero: tuple[str, str] | None = None
    maximum: int | None = None
    template: str | None = None
    since: datetime | None = None
    is_newest_first: bool = False
    cursor: Key | None = None  # the id after which it goes on

    def ready(self) -> WorkflowQuery[W]:
        return replace(self, state=WorkflowState.READY)

    def performing(self) -> WorkflowQuery[W]:
        return replace(self, state=WorkflowState.PERFORMING)

    def finished(self) -> WorkflowQuery[W]:
        return replace(self, state=WorkflowState.FINISHED)

    def canceled(self) -> WorkflowQuery[W]:
        return replace(self, state=WorkflowState.CANCELED)

    def paused(self) -> WorkflowQuery[W]:
        return replace(self, state=WorkflowState.PAUSED)

    def ongoing(self) -> WorkflowQuery[W]:
        return replace(self, only_ongoing=True)

    def for_hero(self, hero: object) -> WorkflowQuery[W]:
        reference = heroes.reference_to(hero)
        if reference is None:
            raise InvalidInput("for_hero() needs a hero, got None.")
        return replace(self, hero=(reference.type, reference.id))

    def of_type(self, type_name: str) -> WorkflowQuery[W]:
        """Select workflows by type; this process need not have the class."""
        return replace(self, types=[type_name])

    def of_template(self, name: str) -> WorkflowQuery[W]:
        """Select workflows that a template built."""
        return replace(self, template=name)

    def created_since(self, moment: datetime) -> WorkflowQuery[W]:
        return replace(self, since=moment)

    def newest_first(self) -> WorkflowQuery[W]:
        return replace(self, is_newest_first=True)

    def after(self, workflow_id: object) -> WorkflowQuery[W]:
        """Continue a list after the workflow with this id, which may be gone meanwhile."""
        return replace(self, cursor=keys.parse(self._drive.store.key_type, workflow_id))

    def limit(self, count: int) -> WorkflowQuery[W]:
        return replace(
            self, maximum=checks.whole_number("The argument of limit()", count, at_least=0)
        )

    def all(self) -> list[WorkflowHandle[W]]:
        return list(self)

    def first(self) -> WorkflowHandle[W] | None:
        return next(iter(self if self.maximum == 0 else self.limit(1)), None)

    def ids(self) -> list[Any]:
        return [workflow.id for workflow in self]

    def count(self) -> int:
        store = self._drive.store
        with store.reading() as connection:
            total = store.workflows.count(connection, self._conditions())
        return total if self.maximum is None else min(total, self.maximum)

    def __iter__(self) -> Iterator[WorkflowHandle[W]]:
        store = self._drive.store
        last = None
        remaining = self.maximum
        while remaining is None or remaining > 0:
            page = _PAGE if remaining is None else min(_PAGE, remaining)
            with store.reading() as connection:
                records = store.workflows.list_matching(
                    connection,
                    self._conditions(),
                    limit=page,
                    after=last,
                    newest_first=self.is_newest_first,
                )
                # A dynamic workflow may have 100,000 active executions: read them only on demand.
                small = [record.id for record in records if record.type != DYNAMIC_TYPE]
                active = store.executions.active_of(connection, small)
            by_workflow: dict[Any, list[Any]] = {workflow_id: [] for workflow_id in small}
            for execution in active:
                by_workflow[execution.workflow_id].append(execution)
            for record in records:
                known = by_workflow.get(record.id)
                yield self._drive.open_handle(record, None if known is None else tuple(known))
            if len(records) < page:
                return
            last = records[-1].id
            remaining = None if remaining is None else remaining - len(records)

    def _conditions(self) -> list[Any]:
        workflows = self._drive.store.workflows
        conditions = []
        if self.types is not None:
            conditions.append(workflows.is_of_types(self.types))
        if self.state is not None:
            conditions.append(workflows.in_state(self.state))
        if self.only_ongoing:
            conditions.append(workflows.is_ongoing())
        if self.hero is not None:
            conditions.append(workflows.is_of_hero(*self.hero))
        if self.template is not None:
            conditions.append(workflows.is_of_template(self.template))
        if self.since is not None:
            conditions.append(workflows.is_created_since(self.since))
        if self.cursor is not None:
            conditions.append(workflows.is_after(self.cursor, self.is_newest_first))
        return conditions


@dataclass(frozen=True, slots=True)
class ExecutionQuery:
    """The step executions that match, ordered by id."""

    _drive: Drive
    conditions: Mapping[str, Any]
    maximum: int | None = None

    def limit(self, count: int) -> ExecutionQuery:
        return replace(
            self, maximum=checks.whole_number("The argument of limit()", count, at_least=0)
        )

    def all(self) -> list[StepExecution]:
        store = self._drive.store
        with store.reading() as connection:
            records = store.executions.list_matching(
                connection, self.conditions, limit=self.maximum
            )
        return [self._drive.open_execution(record) for record in records]

    def first(self) -> StepExecution | None:
        return next(iter(self if self.maximum == 0 else self.limit(1)), None)

    def ids(self) -> list[Any]:
        return [execution.id for execution in self.all()]

    def count(self) -> int:
        store = self._drive.store
        with store.reading() as connection:
            total = store.executions.count(connection, self.conditions)
        return total if self.maximum is None else min(total, self.maximum)

    def __iter__(self) -> Iterator[StepExecution]:
        return iter(self.all())
