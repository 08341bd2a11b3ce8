"""The results of a workflow, and its parent and children, as a handle shows them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.dynamic.node_arguments import BATCH_JOB
from geneva_drive.definition.nodes.child import ChildStep
from geneva_drive.definition.nodes.task import JobTask
from geneva_drive.drive.handle.fields import W
from geneva_drive.drive.handle.graph import HandleGraph
from geneva_drive.drive.step_execution import FailedItem
from geneva_drive.engine import kept_results
from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.errors import InvalidInput
from geneva_drive.masked_fields import mask_text
from geneva_drive.serialization import typed_json
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import Key

if TYPE_CHECKING:
    from geneva_drive.definition.nodes.approval import ApprovalMethod, ApprovalStep
    from geneva_drive.definition.waits.approval_decision import ApprovalDecision
    from geneva_drive.drive.handle.handle import WorkflowHandle

R = TypeVar("R")
F = TypeVar("F")


class HandleFamily(HandleGraph[W]):
    """The results and skipped items of the workflow, its parent and its children."""

    def failed_items(self, step: object | None = None) -> list[FailedItem]:
        """Return the items that a batch or a resumable step skipped, in the order of its workers.

        Items are skipped by `batch.items(on_error="skip")` or `on_item_error="skip"`. Without
        `step`, the skipped items of all steps are returned.
        """
        store, key = self._drive.store, self._record.id
        names = None if step is None else self._names_of_loop(step)
        found = store.read(lambda c: store.checkpoints.of_steps(c, key, names, SKIPPED_ITEM))
        # Numbers have at least three digits, so a longer id has a greater number.
        found.sort(key=lambda row: (len(row[0]), row[0]))
        return [FailedItem(worker, record) for worker, record in found]

    def _names_of_loop(self, step: object) -> list[str]:
        """Return the names under which executions of a loop may be stored."""
        definition = self._definition
        if definition is None or self._record.type == DYNAMIC_TYPE:
            node = self.dag["nodes"][self._node_id(step)]
            return [node["args"]["worker"] if node.get("job") == BATCH_JOB else node["name"]]
        node = definition.require(step)
        if node.is_batch:
            node = definition.worker_of(node.name)
        former = node.options.renamed_from
        return [node.name] if former is None else [node.name, former]

    @property
    def result(self) -> Any:
        """The value given to `self.finish(result=...)`, else the kept result of the last step done.

        None before the end, after a cancel, and if that step kept no result.
        """
        return typed_json.load(self._read_result())

    @property
    def stored_result(self) -> str | None:
        """The result as typed JSON for display: masked fields are hidden."""
        return mask_text(self._read_result(), self._drive.settings.masked_fields)

    def _read_result(self) -> str | None:
        if self._listed is not None:
            return self._listed.result
        store, record = self._drive.store, self._record
        if record.state is not WorkflowState.FINISHED:
            return None
        return store.read(lambda connection: kept_results.of_workflow(connection, store, record))

    @overload
    def result_of(self, step: str) -> Any: ...
    @overload
    def result_of(self, step: ChildStep) -> Any: ...
    @overload
    def result_of(
        self, step: ApprovalStep[..., Any, F] | ApprovalMethod[..., Any, F]
    ) -> ApprovalDecision[F]: ...
    @overload
    def result_of(self, step: JobTask[Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: JobTask[R]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., Coroutine[Any, Any, R]]) -> R: ...
    @overload
    def result_of(self, step: Callable[..., R]) -> R: ...
    def result_of(self, step: Any) -> Any:
        """Return the result of a step with `keep_result=True`; None if it has not run.

        The result of an approval is its decision, and that of a child workflow's step is the
        child's `result`.
        """
        [result] = self.results_of([step])
        return result

    def results_of(self, steps: Iterable[object] | None = None) -> list[Any]:
        """Return the kept results of several steps, in their order.

        For a fan-out, pass the ids that `fan_out` returned, or the names of its nodes.
        """
        if steps is None:
            raise InvalidInput(
                "results_of() of a handle needs the steps to read, as in results_of(['fetch', "
                "'pack']). Only inside a step may they be left out: it then reads the steps that "
                "the running one depends on."
            )
        return kept_results.of_nodes(
            lambda: self._drive.store, self._record, self._definition, steps
        )

    @property
    def parent(self) -> WorkflowHandle[Any] | None:
        """The workflow that started this one as its child; None without one, or once deleted."""
        parent_id = self.parent_id
        if parent_id is None:
            return None
        store = self._drive.store
        record = store.read(lambda connection: store.workflows.get(connection, parent_id))
        return None if record is None else self._drive.open_handle(record)

    @property
    def parent_id(self) -> Any:
        """The id of `parent`."""
        if self._listed is not None:
            return self._listed.parent_id
        found = self._parent_and_node()
        return found[0] if found else None

    @property
    def parent_node(self) -> str | None:
        """The name of the parent's step or node that started this workflow."""
        found = self._parent_and_node()
        return found[1] if found else None

    @property
    def children(self) -> list[WorkflowHandle[Any]]:
        """The workflows that this one started as children and that still exist, oldest first."""
        store, key = self._drive.store, self._record.id
        records = store.read(lambda connection: store.families.children(connection, key))
        return [self._drive.open_handle(record) for record in records]

    @property
    def child_ids(self) -> list[Any]:
        """The ids of `children`."""
        store, key = self._drive.store, self._record.id
        return store.read(lambda connection: store.families.child_ids(connection, key))

    def _parent_and_node(self) -> tuple[Key, str] | None:
        store, key = self._drive.store, self._record.parent_execution_id
        if key is None:
            return None
        return store.read(lambda connection: store.families.parent(connection, key))
