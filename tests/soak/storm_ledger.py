"""What must hold after a storm of commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import geneva_drive as gd
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.scenarios.conftest import effects_of
from tests.scenarios.judging import Begun, begun_bodies, history_of

DONE = [("completed", "success"), ("skipped", "skipped_by_operator")]
CANCELED = ("canceled", "canceled_by_operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A command that a client gave, and whether it was accepted or refused."""

    workflow_id: int
    command: str
    actor: str
    is_accepted: bool
    is_forced: bool = False


def assert_the_storm_is_on_record(
    drive: gd.Drive, notes: Path, answers: Sequence[Answer], steps: Sequence[str], count: int
) -> None:
    """Compare what is recorded with what the clients were answered and the bodies noted."""
    history = history_of(drive)
    workflows = gd.Workflow.using(drive).query().all()
    accepted = [answer for answer in answers if answer.is_accepted]
    assert len(workflows) == count
    _assert_accepted_commands_are_on_record(workflows, accepted)
    for workflow in workflows:
        own = [answer for answer in accepted if answer.workflow_id == workflow.id]
        _assert_each_step_is_done_once(workflow, history[workflow.id], steps)
        _assert_commands_took_effect(workflow, history[workflow.id], own)
    records = [record for executions in history.values() for record in executions]
    forced = {answer.workflow_id for answer in accepted if answer.is_forced}
    _assert_bodies_agree(records, begun_bodies(notes), forced)
    assert effects_of(drive) == {
        (record.workflow_id, "charge"): 1
        for record in records
        if (record.step_name, record.outcome) == ("charge", "success")
    }


def _assert_accepted_commands_are_on_record(
    workflows: Sequence[gd.WorkflowHandle[Any]], accepted: Sequence[Answer]
) -> None:
    recorded = Counter(
        (workflow.id, entry.command, entry.actor)
        for workflow in workflows
        for entry in workflow.audit_entries
    )
    assert recorded == Counter((one.workflow_id, one.command, one.actor) for one in accepted)


def _assert_each_step_is_done_once(
    workflow: gd.WorkflowHandle[Any], executions: Sequence[ExecutionRecord], steps: Sequence[str]
) -> None:
    """Step after step in their order: attempts without a gap, and one that ended it."""
    names = []
    ends = []
    for name, group in groupby(executions, key=lambda record: record.step_name):
        attempts = list(group)
        assert [one.attempt_number for one in attempts] == list(range(1, len(attempts) + 1))
        assert {one.outcome for one in attempts[:-1]} <= {"recovered"}
        names.append(name)
        ends.append((attempts[-1].state, attempts[-1].outcome))
    is_whole = workflow.state == "finished"
    assert names == list(steps if is_whole else steps[: len(names)])
    assert [end for end in ends[:-1] if end not in DONE] == []
    assert ends[-1] in (DONE if is_whole else [*DONE, CANCELED])
    assert not any(record.claimable or record.claim_token for record in executions)


def _assert_commands_took_effect(
    workflow: gd.WorkflowHandle[Any],
    executions: Sequence[ExecutionRecord],
    accepted: Sequence[Answer],
) -> None:
    given = Counter(answer.command for answer in accepted)
    skipped = sum(record.outcome == "skipped_by_operator" for record in executions)
    assert skipped == given["skip"]
    # A workflow whose last step runs when it is to be canceled ends finished.
    if workflow.state == "canceled":
        assert given["cancel"] > 0
    elif given["cancel"]:
        assert (workflow.state, executions[-1].outcome) == ("finished", "success")


def _assert_bodies_agree(
    records: Sequence[ExecutionRecord], begun: Sequence[Begun], forced: set[int]
) -> None:
    recorded = {((r.workflow_id, r.step_name), r.attempt_number): r for r in records}
    runs = Counter((body.step, body.attempt) for body in begun)
    assert runs.keys() <= recorded.keys(), "a body ran of which there is no record"
    outcomes = {run: record.outcome for run, record in recorded.items()}
    not_run = [run for run, outcome in outcomes.items() if outcome == "success" and run not in runs]
    assert not_run == [], "a step is recorded as completed and did not run"
    passed = [run for run in runs if outcomes[run] == "skipped_by_operator"]
    assert passed == [], "a step is recorded as skipped and ran"
    # Only `cancel(force=True)` drops the outcome of a body that runs.
    dropped = [
        run for run in runs if outcomes[run] == "canceled_by_operator" and run[0][0] not in forced
    ]
    assert dropped == [], "a step is recorded as canceled and ran"
    # The body of a transaction that the database took away runs again in the same attempt.
    again = [run for run, times in runs.items() if times > 1 and run[0][1] != "charge"]
    assert again == [], "an attempt ran twice"
