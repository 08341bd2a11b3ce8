"""The outcome of workflows that a bulk continued: which passed their step, which failed again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.states import StepState, WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The watched workflows that failed again or still run; the others have passed their step."""

    failed: list[Key]
    undecided: list[Key]


def check(drive: Drive, watched: Mapping[Key, Sequence[str]]) -> FollowUp:
    """Return which workflows failed again, and which still run."""
    return drive.store.read(lambda connection: _check(connection, drive, watched))


def _check(connection: Connection, drive: Drive, watched: Mapping[Key, Sequence[str]]) -> FollowUp:
    store = drive.store
    workflows = store.workflows.get_many(connection, list(watched))
    nodes = [(key, node) for key, names in watched.items() for node in names]
    latest: dict[Key, list[ExecutionRecord]] = defaultdict(list)
    for one in store.attempts.latest(connection, nodes):
        latest[one.workflow_id].append(one)
    found = FollowUp(failed=[], undecided=[])
    for key, workflow in workflows.items():
        if _has_failed(workflow, latest[key]):
            found.failed.append(key)
        elif not _has_passed(workflow, latest[key]):
            found.undecided.append(key)
    return found


def _has_failed(workflow: WorkflowRecord, attempts: Sequence[ExecutionRecord]) -> bool:
    """True if the failure stopped the workflow, so that no reattempt is scheduled."""
    is_at_rest = workflow.state in (WorkflowState.PAUSED, WorkflowState.CANCELED)
    return is_at_rest and any(one.state is StepState.FAILED for one in attempts)


def _has_passed(workflow: WorkflowRecord, attempts: Sequence[ExecutionRecord]) -> bool:
    if workflow.state in (WorkflowState.FINISHED, WorkflowState.CANCELED):
        return True
    return all(is_done(one.state, one.outcome) for one in attempts)
