"""What must hold of the load, whoever was killed while it ran."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import geneva_drive as gd
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.scenarios.conftest import effects_of

Step = tuple[int, str]  # a workflow's id, and the name of one of its steps
History = dict[int, list[ExecutionRecord]]  # by workflow, in the order in which they were recorded


@dataclass(frozen=True, slots=True)
class Begun:
    """A body that began, as it noted itself."""

    step: Step
    attempt: int
    at: datetime


def assert_the_load_is_whole(
    drive: gd.Drive, notes: Path, count: int, steps: Sequence[str], *, late_at_most: int = 0
) -> None:
    """Compare what is recorded with what was asked for, and with what the bodies noted.

    A process that was suspended may begin bodies, `late_at_most` of them, whose steps others have
    done meanwhile.
    """
    history = history_of(drive)
    states = Counter(workflow.state for workflow in gd.Workflow.using(drive).query())
    assert states == {"finished": count}
    assert len(history) == count
    for executions in history.values():
        _assert_each_step_is_recorded_once(executions, steps)
        _assert_nothing_is_held_or_left(executions)
        _assert_one_ended_before_the_next(executions)
    _assert_bodies_agree(history, begun_bodies(notes), late_at_most)
    assert effects_of(drive) == {(workflow_id, "charge"): 1 for workflow_id in history}


def history_of(drive: gd.Drive) -> History:
    history: History = defaultdict(list)
    store = drive.store
    for record in store.read(lambda c: store.executions.list_matching(c, {}, limit=None)):
        history[record.workflow_id].append(record)
    return history


def begun_bodies(folder: Path) -> list[Begun]:
    lines = [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]
    return [
        Begun((int(workflow_id), step), int(attempt), datetime.fromisoformat(at))
        for workflow_id, step, attempt, at in lines
    ]


def _assert_each_step_is_recorded_once(
    executions: Sequence[ExecutionRecord], steps: Sequence[str]
) -> None:
    """Step after step: attempts that were recovered, numbered without a gap, and one success."""
    counts = Counter(execution.step_name for execution in executions)
    expected = []
    for step in steps:
        last = counts[step]
        expected += [(step, number, "failed", "recovered") for number in range(1, last)]
        expected.append((step, last, "completed", "success"))
    assert [(e.step_name, e.attempt_number, e.state, e.outcome) for e in executions] == expected


def _assert_nothing_is_held_or_left(executions: Sequence[ExecutionRecord]) -> None:
    for execution in executions:
        assert not execution.claimable
        assert execution.claim_token is None
        is_lost = execution.error_class == "geneva_drive.errors.ClaimLost"
        assert is_lost == (execution.outcome == "recovered")


def _assert_one_ended_before_the_next(executions: Sequence[ExecutionRecord]) -> None:
    for execution in executions:
        assert execution.started_at is not None
        assert execution.finished_at is not None
        assert execution.started_at <= execution.finished_at
    for former, following in pairwise(executions):
        assert former.finished_at is not None
        assert former.finished_at <= following.created_at


def _assert_bodies_agree(history: History, begun: Sequence[Begun], late_at_most: int) -> None:
    recorded = {
        ((one.workflow_id, one.step_name), one.attempt_number): one
        for executions in history.values()
        for one in executions
    }
    completed = {
        step: execution
        for (step, _), execution in recorded.items()
        if execution.outcome == "success"
    }
    runs = Counter((body.step, body.attempt) for body in begun)
    assert runs.keys() <= recorded.keys(), "a body ran of which there is no record"
    successes = {(step, execution.attempt_number) for step, execution in completed.items()}
    assert successes <= runs.keys(), "a step is recorded as completed and did not run"
    # The body of a transaction that the database took away runs again in the same attempt.
    again = {run for run, times in runs.items() if times > 1 and run[0][1] != "charge"}
    assert again == set(), "an attempt ran twice"
    late = [body for body in begun if body.at > (completed[body.step].finished_at or body.at)]
    assert late[late_at_most:] == [], "bodies began after their steps had been completed"
    early = [b for b in begun if b.at < (recorded[b.step, b.attempt].started_at or b.at)]
    assert early == [], "bodies began before they were claimed"
