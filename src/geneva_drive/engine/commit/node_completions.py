"""The fast path for plain completions of dynamic nodes: one change for each workflow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.clock import Clock
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.commit.writer import ChangedUnderLock, group_by_workflow, write_ended
from geneva_drive.engine.graphs.combined_change import change_after
from geneva_drive.engine.graphs.dependency_counts import DoneNode, DoneNodes, count_down
from geneva_drive.engine.graphs.summary import Summary
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.store import Store


def is_plain(ending: EndedRun) -> bool:
    """True if the ending is a success of a dynamic workflow's node that stores no result."""
    return (
        ending.stored is not None
        and ending.seen is not None
        and ending.seen[0].type == DYNAMIC_TYPE
        and not ending.seen[1].is_worker
        and isinstance(ending.outcome, Returned)
        and ending.outcome.result is None
    )


def complete(
    connection: Connection,
    store: Store,
    endings: Sequence[EndedRun],
    clock: Clock,
    chaining: NextClaim | None,
) -> dict[Key, Applied]:
    """Write plain endings; return the written changes by execution id.

    An ending is missing from the result if its workflow has a request or has not started. If a
    claim was lost, `ChangedUnderLock` is raised and the caller must roll back. In both cases the
    caller passes the endings to the general path.
    """
    workflows = store.workflows.lock(connection, [one.workflow_id for one in endings])
    # Read after locking, so that it is not before a time that the last holder wrote.
    now = clock.now()
    by_workflow: dict[Key, list[EndedRun]] = defaultdict(list)
    for one in endings:
        if one.workflow_id in workflows and _may_continue(workflows[one.workflow_id]):
            by_workflow[one.workflow_id].append(one)
    if not by_workflow:
        return {}
    _complete_executions(connection, store, by_workflow.values(), now)
    changes = _decide(connection, store, workflows, by_workflow, now)
    decided = list(zip(changes, by_workflow.values(), strict=True))
    shared = write_ended(connection, store, decided, now, chaining)
    return {
        one.execution_id: part
        for (_, ended), parts in zip(decided, shared, strict=True)
        for one, part in zip(ended, parts, strict=True)
    }


def _may_continue(workflow: WorkflowRecord) -> bool:
    is_free = workflow.state is WorkflowState.READY and workflow.requested is None
    return is_free and workflow.started_at is not None


def _complete_executions(
    connection: Connection, store: Store, groups: Iterable[Sequence[EndedRun]], now: datetime
) -> None:
    by_token: dict[str, list[Key]] = defaultdict(list)
    for ended in groups:
        for one in ended:
            by_token[one.claim_token].append(one.execution_id)
    for token, ids in by_token.items():
        found = store.executions.complete(connection, ids, token, now)
        if found != len(ids):
            raise ChangedUnderLock("executions", len(ids), found)


def _decide(
    connection: Connection,
    store: Store,
    workflows: Mapping[Key, WorkflowRecord],
    by_workflow: Mapping[Key, Sequence[EndedRun]],
    now: datetime,
) -> list[Change]:
    passed = [DoneNodes(workflows[key], _done(ended)) for key, ended in by_workflow.items()]
    successors = count_down(connection, store, passed, now)
    over = [
        one.workflow.id
        for one, following in zip(passed, successors, strict=True)
        if following.is_over
    ]
    active = group_by_workflow(store.executions.active_of(connection, over) if over else ())
    return [
        change_after(
            Summary(one.workflow, last_step_name=_last_step_name(by_workflow[one.workflow.id])),
            following,
            active.get(one.workflow.id, ()),
        )
        for one, following in zip(passed, successors, strict=True)
    ]


def _done(ended: Sequence[EndedRun]) -> dict[str, DoneNode]:
    return {
        one.seen[1].node_id: DoneNode(one.seen[1].ancestry_hash, one.stored)
        for one in ended
        if one.seen is not None
    }


def _last_step_name(ended: Sequence[EndedRun]) -> str | None:
    return ended[-1].seen[1].step_name if ended[-1].seen is not None else None
