"""The one door through which state is written: many changes, one transaction, set by set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from geneva_drive.clock import Clock
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.commit.writer import group_by_workflow, write_ended
from geneva_drive.engine.graphs import successors
from geneva_drive.engine.graphs.summary import NodeEnd
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.partitions import sibling_partitions
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store


def apply(
    connection: Connection,
    store: Store,
    endings: Sequence[Ending],
    clock: Clock,
    *,
    chaining: Chaining | None = None,
    read_back: bool = False,
) -> list[Applied | None]:
    """Decide and write what follows from each ending; None for one whose claim was lost.

    `read_back` fetches the executions that were scheduled, for those who are told of them.
    """
    results: list[Applied | None] = [None] * len(endings)
    remaining = list(range(len(endings)))
    while remaining:
        turn = _Turn(connection, store, [endings[place] for place in remaining], clock)
        written = turn.write(chaining, read_back=read_back)
        places, remaining = remaining, []
        for place, is_taken, one in zip(places, turn.taken, written, strict=True):
            if is_taken:
                results[place] = one
            else:
                remaining.append(place)
    return results


class _Turn:
    """Endings decided and written together.

    Of a graph's nodes all that have ended, of any other workflow one: where several of its
    partitions have ended, each sees what the one before did.
    """

    def __init__(
        self, connection: Connection, store: Store, endings: Sequence[Ending], clock: Clock
    ) -> None:
        self._connection = connection
        self._store = store
        self._endings = endings
        self._workflows = store.workflows.lock(connection, [one.workflow_id for one in endings])
        self._executions = self._lock_executions()
        # Under the locks: whoever held them before has ended something earlier than this.
        self._now = clock.now()
        self.taken = [True] * len(endings)

    def _lock_executions(self) -> dict[Key, ExecutionRecord]:
        """Lock what ended; of what its claim has seen, only what others may have changed is read.

        That is nearly all there is. Of a loop, its own checkpoints have changed more.
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

    def write(self, chaining: Chaining | None, *, read_back: bool) -> list[Applied | None]:
        groups = self._groups()
        divided = {key for key, places in groups.items() if self._is_partition(places[0])}
        partitions = group_by_workflow(
            self._store.executions.lock_partitions(self._connection, divided)
        )
        decided = [
            (self._decide(places, partitions), [self._endings[place] for place in places])
            for places in groups.values()
        ]
        shared = write_ended(
            self._connection, self._store, decided, self._now, chaining, read_back=read_back
        )
        results: list[Applied | None] = [None] * len(self._endings)
        for places, parts in zip(groups.values(), shared, strict=True):
            for place, part in zip(places, parts, strict=True):
                results[place] = part
        return results

    def _groups(self) -> dict[Key, list[int]]:
        """Group those whose claim holds by workflow, and leave others for the next turn."""
        groups: dict[Key, list[int]] = {}
        for place, ending in enumerate(self._endings):
            if not self._is_held(ending):
                continue
            if ending.workflow_id not in groups:
                groups[ending.workflow_id] = [place]
            elif self._is_in_graph(place) and self._is_in_graph(groups[ending.workflow_id][0]):
                groups[ending.workflow_id].append(place)
            else:
                self.taken[place] = False
        return groups

    def _is_held(self, ending: Ending) -> bool:
        workflow = self._workflows.get(ending.workflow_id)
        execution = self._executions.get(ending.execution_id)
        if workflow is None or execution is None or execution.claim_token != ending.claim_token:
            return False
        # Otherwise a commit whose answer was lost has done some of it.
        return ending.saved_iterations in (None, execution.completed_iterations)

    def _is_in_graph(self, place: int) -> bool:
        ending = self._endings[place]
        return successors.is_in_graph(
            self._workflows[ending.workflow_id],
            self._executions[ending.execution_id],
            ending.definition,
        )

    def _is_partition(self, place: int) -> bool:
        is_partition = self._executions[self._endings[place].execution_id].share is not None
        return is_partition and not self._is_in_graph(place)

    def _decide(
        self, places: Sequence[int], partitions: Mapping[Key, list[ExecutionRecord]]
    ) -> Change:
        ending = self._endings[places[0]]
        workflow = self._workflows[ending.workflow_id]
        execution = self._executions[ending.execution_id]
        if self._is_in_graph(places[0]):
            ends = [self._node_end(self._endings[place]) for place in places]
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

    def _node_end(self, ending: Ending) -> NodeEnd:
        return NodeEnd(
            definition=ending.definition,
            execution=self._executions[ending.execution_id],
            outcome=ending.outcome,
            position=ending.position,
            stored=ending.stored,
        )
