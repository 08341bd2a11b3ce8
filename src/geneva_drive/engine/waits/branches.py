"""Branches of documents: the child workflows of a `parallel` or `foreach`.

Each branch, and each item, is a workflow of the same document and version that begins at the
nested step. Its node waits for it as for any child. What a branch wrote with `set` is read from
the metadata of its executions, and merged into the parent when the branch is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive.declarative.actions.changes import ContextChange, apply_changes
from geneva_drive.declarative.json_types import type_name
from geneva_drive.engine.commit.creation import NewWorkflow
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.errors import ExpressionFailed
from geneva_drive.serialization import typed_json
from geneva_drive.states import ENDED_WORKFLOW_STATES, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store

if TYPE_CHECKING:
    from geneva_drive.declarative.routes import EndBranch
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition
    from geneva_drive.declarative.runtime.step_end import StepEnd
    from geneva_drive.declarative.steps import ForeachStep, ParallelStep

PASSED = "passed"  # the results of branches
NOT_PASSED = "not_passed"
_PARALLEL = "branches"
_FOREACH = "foreach"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBranches:
    """Branches to start together; the node waits for the first of them."""

    children: tuple[NewWorkflow, ...]
    items: str | None = None  # the memory of a `foreach`, as typed JSON
    items_done: int = 0

    def cursor(self, ids: Sequence[Key]) -> str:
        """Return the node's cursor: the memory of a `foreach`, or the ids of the branches."""
        return self.items or typed_json.dump({_PARALLEL: list(ids)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedBranch:
    """A branch that has not ended; another branch woke the node, or its worker was lost."""

    execution_id: Key
    child_id: Key
    cursor: str
    items_done: int
    strangers: tuple[Key, ...]  # branches that an earlier attempt started


BranchPlan = NewBranches | AwaitedBranch


@dataclass(frozen=True, slots=True)
class Waiting:
    """The branches are not over; `changes` are merged before the node waits."""

    plan: BranchPlan
    changes: tuple[ContextChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _EndedBranch:
    end: EndBranch
    changes: tuple[ContextChange, ...]


class Branching:
    """One run of a node with branches: it starts them, waits again, or judges their ends."""

    def __init__(
        self,
        environment: Environment,
        execution: ExecutionRecord,
        definition: DocumentDefinition,
        scope: Mapping[str, Any],
    ) -> None:
        self._environment = environment
        self._execution = execution
        self._definition = definition
        self._scope = scope

    def parallel(self, step: ParallelStep) -> StepEnd | Waiting:
        from geneva_drive.declarative import routes
        from geneva_drive.declarative.runtime.step_end import StepEnd

        ids = self._remembered(_PARALLEL)
        if ids is None:
            firsts = routes.first_steps(step)
            children = [self._child(first, self._scope, step.timeout) for first in firsts]
            return Waiting(NewBranches(children=tuple(children)))
        found = self._read(ids)
        ended = [self._ended(key, found) for key in ids]
        for key, one in zip(ids, ended, strict=True):
            if one is None:
                return Waiting(self._awaited(key, found))
        known = [one for one in ended if one is not None]
        changes = tuple(change for one in known for change in one.changes)
        return StepEnd(routes.verdict(step, [one.end for one in known]), changes)

    def foreach(self, step: ForeachStep) -> StepEnd | Waiting:
        from geneva_drive.declarative import routes
        from geneva_drive.declarative.runtime.step_end import StepEnd

        memory = self._remembered(_FOREACH)
        place, child_id = self._execution.completed_iterations, self._execution.child_id
        if memory is None:
            memory, place, child_id = self._begin(step), 0, None
            if not memory["items"]:
                return StepEnd(routes.verdict(step, ()))
        if child_id is None:
            return Waiting(self._item(step, memory, place, self._scope))
        found = self._read([child_id])
        one = self._ended(child_id, found)
        if one is None:
            return Waiting(self._awaited(child_id, found))
        # The item variable ends with the item, so changes to it are dropped.
        changes = tuple(each for each in one.changes if each.path[0] != step.item_var)
        if not one.end.passed or place + 1 == len(memory["items"]):
            return StepEnd(routes.verdict(step, [one.end]), changes)
        scope = apply_changes(self._scope, changes)
        return Waiting(self._item(step, memory, place + 1, scope), changes)

    def _remembered(self, key: str) -> Any:
        return (typed_json.load(self._execution.cursor) or {}).get(key)

    def _begin(self, step: ForeachStep) -> dict[str, Any]:
        from geneva_drive.declarative.templates import render

        items = render(step.items, self._scope)
        if not isinstance(items, list | tuple):
            raise ExpressionFailed(
                f"The items of foreach {step.id!r} must be a list, got {type_name(items)}."
            )
        deadline = None if step.timeout is None else self._now + step.timeout
        return {"items": list(items), "deadline": deadline}

    def _item(
        self, step: ForeachStep, memory: dict[str, Any], place: int, scope: Mapping[str, Any]
    ) -> NewBranches:
        context = {**scope, step.item_var: memory["items"][place]}
        deadline: datetime | None = memory["deadline"]
        left = None if deadline is None else max(deadline - self._now, timedelta(0))
        child = self._child(step.steps[0].id, context, left)
        cursor = typed_json.dump({_FOREACH: memory})
        return NewBranches(children=(child,), items=cursor, items_done=place)

    @property
    def _now(self) -> datetime:
        return self._environment.clock.now()

    def _child(
        self, first: str, context: Mapping[str, Any], lifetime: timedelta | None
    ) -> NewWorkflow:
        limit = self._environment.settings.max_payload_size
        return NewWorkflow(
            definition=definition_lookup.branch_of(self._definition, first),
            hero=None,
            allow_multiple=False,
            context=typed_json.dump_context(context, limit),
            queue=None,
            priority=None,
            wait=None,
            idempotency_key=None,
            parent_execution_id=self._execution.id,
            lifetime=lifetime,
        )

    def _awaited(self, child_id: Key, found: _Found) -> AwaitedBranch:
        assert self._execution.cursor is not None, "branches were started"
        strangers = (
            key
            for key, one in found.workflows.items()
            if one.parent_execution_id != self._execution.id
        )
        return AwaitedBranch(
            execution_id=self._execution.id,
            child_id=child_id,
            cursor=self._execution.cursor,
            items_done=self._execution.completed_iterations,
            strangers=tuple(strangers),
        )

    def _read(self, ids: Sequence[Key]) -> _Found:
        store = self._environment.store
        return store.database.patiently(
            lambda: store.read(lambda connection: _Found.read(connection, store, ids))
        )

    def _ended(self, key: Key, found: _Found) -> _EndedBranch | None:
        from geneva_drive.declarative.routes import EndBranch

        workflow = found.workflows.get(key)
        if workflow is None:
            return _EndedBranch(EndBranch(False, f"Workflow {key} of the branch was deleted."), ())
        if workflow.state not in ENDED_WORKFLOW_STATES:
            return None
        executions = found.executions.get(key, ())
        changes = tuple(change for one in executions for change in changes_of(one))
        if workflow.state is WorkflowState.FINISHED:
            is_passed = workflow.result != NOT_PASSED
            return _EndedBranch(EndBranch(is_passed, workflow.result_reason), changes)
        return _EndedBranch(EndBranch(False, _why_canceled(executions)), changes)


@dataclass(frozen=True, slots=True)
class _Found:
    """The workflows of branches, and their executions once all of them have ended."""

    workflows: Mapping[Key, WorkflowRecord]
    executions: Mapping[Key, Sequence[ExecutionRecord]]

    @classmethod
    def read(cls, connection: Connection, store: Store, ids: Sequence[Key]) -> _Found:
        workflows = store.workflows.get_many(connection, ids)
        if any(one.state not in ENDED_WORKFLOW_STATES for one in workflows.values()):
            return cls(workflows, {})
        executions = {key: store.executions.of_workflow(connection, key) for key in workflows}
        return cls(workflows, executions)


def changes_of(execution: ExecutionRecord) -> Iterator[ContextChange]:
    """Yield the changes that a branch's step made to the context."""
    written = (typed_json.load(execution.metadata) or {}).get("set", ())
    for path, value in written:
        yield ContextChange(tuple(path), value)


def _why_canceled(executions: Sequence[ExecutionRecord]) -> str:
    failed = [one for one in executions if one.state is StepState.FAILED and one.error_message]
    return failed[-1].error_message or "" if failed else "The branch was canceled."
