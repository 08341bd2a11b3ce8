"""Commit the endings of executions: lock, decide, write, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from geneva_drive.clock import Clock
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.commit.writer import group_by_workflow, write_ended
from geneva_drive.engine.graphs import successors
from geneva_drive.engine.graphs.summary import NodeEnd
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.decide import decide, is_in_graph
from geneva_drive.engine.transitions.partitions import sibling_partitions
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store


def apply(
    connection: Connection,
    store: Store,
    endings: Sequence[EndedRun],
    clock: Clock,
    *,
    chaining: NextClaim | None = None,
    read_back: bool = False,
) -> list[Applied | None]:
    """Decide and write the changes after each ending; the result is None where the claim was lost.

    `read_back` also reads the scheduled executions, for telemetry.
    """
    results: list[Applied | None] = [None] * len(endings)
    remaining = list(range(len(endings)))
    while remaining:
        round_ = _Round(connection, store, [endings[index] for index in remaining], clock)
        written = round_.write(chaining, read_back=read_back)
        for index, one in zip(remaining, written, strict=True):
            results[index] = one
        remaining = [remaining[index] for index in round_.postponed]
    return results


class _Round:
    """Endings that are decided and written together.

    The ended nodes of a graph are decided together. A round takes only one ending of any other
    workflow: if several partitions ended, each must see the change of the one before it.
    """

    def __init__(
        self, connection: Connection, store: Store, endings: Sequence[EndedRun], clock: Clock
    ) -> None:
        self._connection = connection
        self._store = store
        self._endings = endings
        self._workflows = store.workflows.lock(connection, [one.workflow_id for one in endings])
        self._executions = self._lock_executions()
        # Read after locking, so that it is not before a time that the last holder wrote.
        self._now = clock.now()
        self.postponed: list[int] = []

    def _lock_executions(self) -> dict[Key, ExecutionRecord]:
        """Lock the executions, and read the columns that may have changed since their claim.

        In most rows, only the claim token and the stop request can have changed. The row of a loop
        is read whole, because checkpoints write to it too.
        """
        store, connection = self._store, self._connection
        seen = {
            one.execution_id: one.seen[1]
            for one in self._endings
            if one.seen is not None and not one.may_loop
        }
        others = [one.execution_id for one in self._endings if one.execution_id not in seen]
        found = store.executions.lock(connection, others) if others else {}
        claims = store.executions.lock_claims(connection, seen) if seen else {}
        for key, (token, stop) in claims.items():
            found[key] = seen[key]._replace(claim_token=token, stop=stop)
        return found

    def write(self, chaining: NextClaim | None, *, read_back: bool) -> list[Applied | None]:
        """Write the round; the result is None for a lost claim and a postponed ending."""
        groups = self._groups()
        divided = {key for key, indexes in groups.items() if self._is_partition(indexes[0])}
        partitions = group_by_workflow(
            self._store.executions.lock_partitions(self._connection, divided)
        )
        decided = [
            (self._decide(indexes, partitions), [self._endings[index] for index in indexes])
            for indexes in groups.values()
        ]
        applied = write_ended(
            self._connection, self._store, decided, self._now, chaining, read_back=read_back
        )
        results: list[Applied | None] = [None] * len(self._endings)
        for indexes, parts in zip(groups.values(), applied, strict=True):
            for index, part in zip(indexes, parts, strict=True):
                results[index] = part
        return results

    def _groups(self) -> dict[Key, list[int]]:
        """Group endings by workflow; drop lost claims, and postpone endings to the next round."""
        groups: dict[Key, list[int]] = {}
        for index, ending in enumerate(self._endings):
            if not self._is_held(ending):
                continue
            if ending.workflow_id not in groups:
                groups[ending.workflow_id] = [index]
            elif self._is_in_graph(index) and self._is_in_graph(groups[ending.workflow_id][0]):
                groups[ending.workflow_id].append(index)
            else:
                self.postponed.append(index)
        return groups

    def _is_held(self, ending: EndedRun) -> bool:
        workflow = self._workflows.get(ending.workflow_id)
        execution = self._executions.get(ending.execution_id)
        if workflow is None or execution is None or execution.claim_token != ending.claim_token:
            return False
        # A different count means that a commit whose answer was lost has saved some iterations.
        return ending.saved_iterations in (None, execution.completed_iterations)

    def _is_in_graph(self, index: int) -> bool:
        ending = self._endings[index]
        return is_in_graph(
            self._workflows[ending.workflow_id],
            self._executions[ending.execution_id],
            ending.definition,
        )

    def _is_partition(self, index: int) -> bool:
        is_partition = self._executions[self._endings[index].execution_id].is_partition
        return is_partition and not self._is_in_graph(index)

    def _decide(
        self, indexes: Sequence[int], partitions: Mapping[Key, list[ExecutionRecord]]
    ) -> Change:
        ending = self._endings[indexes[0]]
        workflow = self._workflows[ending.workflow_id]
        execution = self._executions[ending.execution_id]
        if self._is_in_graph(indexes[0]):
            ends = [self._node_end(self._endings[index]) for index in indexes]
            return successors.settle(self._connection, self._store, workflow, ends, self._now)
        siblings = sibling_partitions(execution, partitions.get(workflow.id, ()))
        return decide(
            ending.definition,
            workflow,
            execution,
            ending.outcome,
            self._now,
            ending.position,
            siblings,
        )

    def _node_end(self, ending: EndedRun) -> NodeEnd:
        return NodeEnd(
            definition=ending.definition,
            execution=self._executions[ending.execution_id],
            outcome=ending.outcome,
            position=ending.position,
            stored=ending.stored,
        )
